"""The ROS graph of the simulated robot: topics, services and action servers by name.

Everything here belongs to the event loop; `demand` alone may be read by any thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from quartet_simulation.errors import GraphError
from quartet_simulation.ros.actions import ActionServer
from quartet_simulation.ros.types import Message, check, complete, full_name, parts

Handler = Callable[[Message], Awaitable[Message]]


@dataclass
class Published:
    """One published message with its encodings, which its subscribers share."""

    topic: str
    type_name: str
    message: Message
    stamp_ns: int
    frames: dict[str, bytes] = field(default_factory=dict)


Listener = Callable[[Published], None]


@dataclass
class Topic:
    """A topic. `latched` topics hand the last message of each publisher to late subscribers (transient local)."""

    name: str
    type_name: str
    latched: bool = False
    publishers: list[str] = field(default_factory=list)
    listeners: dict[object, Listener] = field(default_factory=dict)
    subscribers: list[str] = field(default_factory=list)
    kept: dict[str, Published] = field(default_factory=dict)
    """Last messages of a latched topic by publisher, the newest at the end."""

    def newest(self, count: int) -> list[Published]:
        """Return up to `count` latched messages, the newest at the end."""
        return list(self.kept.values())[-count:] if count else []


@dataclass(frozen=True)
class Service:
    """A service: the handler gets a whole request and returns a response, without what has default values."""

    name: str
    type_name: str
    node: str
    handler: Handler


class Graph:
    """Topics, services and actions, and the parameters of the nodes.

    `clock` gives world time [ns]; with `checked` every outgoing message is compared with its definition.
    """

    def __init__(self, clock: Callable[[], int], checked: bool = False) -> None:
        self.clock = clock
        self.checked = checked
        self.topics: dict[str, Topic] = {}
        self.services: dict[str, Service] = {}
        self.actions: dict[str, ActionServer] = {}
        self.parameters: dict[str, dict[str, Any]] = {}
        self.demand: frozenset[str] = frozenset()
        self.on_subscribe: list[Callable[[str], None]] = []

    def now(self) -> Message:
        """World time as builtin_interfaces/Time."""
        seconds, nanoseconds = divmod(self.clock(), 1_000_000_000)
        return {"sec": seconds, "nanosec": nanoseconds}

    # --- topics -----------------------------------------------------------------------------------
    def advertise(self, name: str, type_name: str, node: str, latched: bool = False) -> Topic:
        """Add a publisher. Raises UnknownTypeError, or GraphError if the topic has another type."""
        topic = self._topic(name, type_name)
        topic.latched = topic.latched or latched
        topic.publishers.append(node)
        return topic

    def unadvertise(self, name: str, node: str) -> None:
        """Remove a publisher."""
        topic = self.topics.get(name)
        if topic is not None and node in topic.publishers:
            topic.publishers.remove(node)
            self._drop_unused(topic)

    def publish(self, name: str, message: Message, node: str = "") -> None:
        """Deliver a complete message of `node` to all listeners of an advertised topic."""
        topic = self.topics[name]
        self.forward(topic, Published(name, topic.type_name, message, self.clock()), node)

    def forward(self, topic: Topic, published: Published, node: str = "") -> None:
        """Forward a message; a repeated one keeps its encodings."""
        if self.checked:
            check(topic.type_name, published.message)
        if topic.latched:
            topic.kept.pop(node, None)
            topic.kept[node] = published
        for listener in list(topic.listeners.values()):
            listener(published)

    def listen(self, name: str, type_name: str | None, node: str, listener: Listener, latest: int = 1) -> object:
        """Subscribe; returns the key for `unlisten`. Up to `latest` latched messages are handed over at once.

        Raises UnknownTypeError, or GraphError for a type conflict or an unknown topic without a type.
        """
        if type_name is None and name not in self.topics:
            raise GraphError(f"Cannot infer topic type for topic {name} as it is not yet advertised")
        topic = self._topic(name, type_name or self.topics[name].type_name)
        key = object()
        topic.listeners[key] = listener
        topic.subscribers.append(node)
        self._update_demand()
        for published in topic.newest(latest):
            listener(published)
        for notify in self.on_subscribe:
            notify(name)
        return key

    def unlisten(self, name: str, node: str, key: object) -> None:
        """End a subscription by the key that `listen` returned."""
        topic = self.topics.get(name)
        if topic is None or topic.listeners.pop(key, None) is None:
            return
        topic.subscribers.remove(node)
        self._update_demand()
        self._drop_unused(topic)

    def _topic(self, name: str, type_name: str) -> Topic:
        full = full_name(type_name)
        topic = self.topics.get(name)
        if topic is None:
            topic = self.topics[name] = Topic(name, full)
        elif topic.type_name != full:
            raise GraphError(f"Tried to use topic {name} as {full}, but it is already established as {topic.type_name}")
        return topic

    def _drop_unused(self, topic: Topic) -> None:
        if not topic.publishers and not topic.listeners:
            del self.topics[topic.name]

    def _update_demand(self) -> None:
        self.demand = frozenset(name for name, topic in self.topics.items() if topic.listeners)

    # --- services and actions ---------------------------------------------------------------------
    def serve(self, name: str, type_name: str, node: str, handler: Handler) -> None:
        """Add a service."""
        self.services[name] = Service(name, full_name(type_name, "srv"), node, handler)

    def response(self, service: Service, message: Message) -> Message:
        """Return the complete response from the part that a handler gave."""
        name = parts(service.type_name, "srv")[1].name
        whole = complete(name, message)
        if self.checked:
            check(name, whole)
        return whole

    def add_action(self, server: ActionServer) -> None:
        """Add an action server with its cancel service and status topic."""
        self.actions[server.name] = server
        self.serve(f"{server.name}/_action/cancel_goal", "action_msgs/CancelGoal", server.node, server.handle_cancel)
        status = self.advertise(
            f"{server.name}/_action/status", "action_msgs/GoalStatusArray", server.node, latched=True
        )
        server.on_status = lambda message: self.publish(status.name, message)

    def remove_action(self, name: str) -> None:
        """Remove an action server."""
        server = self.actions.pop(name)
        del self.services[f"{name}/_action/cancel_goal"]
        server.on_status = None
        self.unadvertise(f"{name}/_action/status", server.node)

    def nodes(self) -> list[str]:
        """All node names."""
        names = {"/rosbridge_websocket", "/rosapi"}
        names |= {node for topic in self.topics.values() for node in (*topic.publishers, *topic.subscribers)}
        names |= {service.node for service in self.services.values()}
        names |= {action.node for action in self.actions.values()}
        return sorted(names)
