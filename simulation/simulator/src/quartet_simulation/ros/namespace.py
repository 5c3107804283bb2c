"""A namespace of the ROS graph: one robot of several that share a graph, and so a rosbridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quartet_simulation.ros.actions import ActionServer
from quartet_simulation.ros.graph import Graph, Handler, Listener, Published, Topic
from quartet_simulation.ros.types import Message


class Namespace(Graph):
    """The part of `graph` below `name` (`/ada`): what is `/scan` here is `/ada/scan` there, nodes and actions too.

    Frames keep their names, as in Nav2's bringup for several robots, where each has a /tf of its own.
    """

    def __init__(self, graph: Graph, name: str) -> None:
        super().__init__(graph.clock, graph.checked)
        self._graph, self._name = graph, name
        # Of the nodes below this name; the whole graph has them as well.
        self.on_subscribe = _Subscribers(self._tell_subscriptions)
        graph.on_subscribe.append(self.on_subscribe.tell)

    @property
    def demand(self) -> frozenset[str]:
        """Topics below this name that somebody listens to, by their names here. For any thread."""
        start = f"{self._name}/"
        return frozenset(topic[len(self._name) :] for topic in self._graph.demand if topic.startswith(start))

    @demand.setter
    def demand(self, _: frozenset[str]) -> None:
        """The whole graph knows."""

    def advertise(self, name: str, type_name: str, node: str, latched: bool = False) -> Topic:
        """Add a publisher below the namespace."""
        topic = self._graph.advertise(self._name + name, type_name, self._name + node, latched)
        self.topics[name] = topic
        return topic

    def publish(self, name: str, message: Message, node: str = "") -> None:
        """Deliver a message to the listeners of a topic below the namespace."""
        self._graph.publish(self._name + name, message, self._name + node)

    def forward(self, topic: Topic, published: Published, node: str = "") -> None:
        """Forward a message under the name that the topic has in the whole graph."""
        published.topic = topic.name
        self._graph.forward(topic, published, self._name + node)

    def listen(self, name: str, type_name: str | None, node: str, listener: Listener, latest: int = 1) -> object:
        """Subscribe below the namespace; returns the key for `unlisten`."""
        return self._graph.listen(self._name + name, type_name, self._name + node, listener, latest)

    def serve(self, name: str, type_name: str, node: str, handler: Handler) -> None:
        """Add a service below the namespace."""
        self._graph.serve(self._name + name, type_name, self._name + node, handler)

    def add_action(self, server: ActionServer) -> None:
        """Add an action server below the namespace."""
        server.name, server.node = self._name + server.name, self._name + server.node
        self.actions[server.name] = server
        self._graph.add_action(server)

    def _tell_subscriptions(self, name: str, listeners: list[Callable[[str], None]]) -> None:
        if name.startswith(f"{self._name}/"):
            for listener in listeners:
                listener(name[len(self._name) :])


class _Subscribers(list[Callable[[str], None]]):
    """Forwards subscriptions to an observer, with the names inside a namespace."""

    def __init__(self, tell: Callable[[str, list[Any]], None]) -> None:
        super().__init__()
        self._tell = tell

    def tell(self, name: str) -> None:
        self._tell(name, list(self))
