"""One rosbridge client: its operations, subscriptions, advertised topics and goals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from quartet_simulation.bridge import qos
from quartet_simulation.bridge.encoding import to_json
from quartet_simulation.bridge.incoming import Incoming
from quartet_simulation.bridge.offered import OfferedServices
from quartet_simulation.bridge.offered_actions import OfferedActions
from quartet_simulation.bridge.outbox import Outbox
from quartet_simulation.bridge.subscription import Request, Subscription
from quartet_simulation.errors import (
    GoalFailedError,
    GoalRejectedError,
    IgnoredRequestError,
    QosError,
    ServiceFailedError,
    TypeSupportError,
)
from quartet_simulation.faults import Faults
from quartet_simulation.ros.actions import GoalHandle, GoalStatus
from quartet_simulation.ros.graph import Graph, Published, Service
from quartet_simulation.ros.types import Message, complete, definition, full_name, parts

log = logging.getLogger(__name__)

SERVICE_TIMEOUT_S = 5.0
ACTION_SERVER_WAIT_S = 1.0
DEPTH = 10
"""Depth of a subscription without qos."""
NODE = "/rosbridge_websocket"
ROSAPI = "/rosapi"
CLOCK = "/clock"
MAX_PARTIAL = 32
"""Messages of one client that may wait for their missing fragments."""

_FIELDS: dict[str, dict[str, tuple[bool, tuple[type, ...]]]] = {
    "advertise": {"topic": (True, (str,)), "type": (True, (str,)), "latch": (False, (bool,))},
    "unadvertise": {"topic": (True, (str,))},
    "publish": {"topic": (True, (str,))},
    "subscribe": {
        "topic": (True, (str,)),
        "type": (False, (str,)),
        "throttle_rate": (False, (int,)),
        "queue_length": (False, (int,)),
        "compression": (False, (str,)),
        "qos": (False, (dict,)),
    },
    "unsubscribe": {"topic": (True, (str,))},
    "call_service": {"service": (True, (str,)), "timeout": (False, (int, float, type(None)))},
    "advertise_service": {"service": (True, (str,)), "type": (True, (str,))},
    "unadvertise_service": {"service": (True, (str,))},
    "service_response": {"service": (True, (str,)), "result": (True, (bool,))},
    "send_action_goal": {"action": (True, (str,)), "action_type": (True, (str,))},
    "cancel_action_goal": {"action": (True, (str,))},
    "advertise_action": {"action": (True, (str,)), "type": (True, (str,))},
    "unadvertise_action": {"action": (True, (str,))},
    "action_feedback": {"action": (True, (str,)), "values": (False, (dict,))},
    "action_result": {
        "action": (True, (str,)),
        "values": (False, (dict,)),
        "status": (True, (int,)),
        "result": (True, (bool,)),
    },
    "fragment": {"id": (True, (str, int)), "data": (True, (str,)), "num": (True, (int,)), "total": (True, (int,))},
}
"""Fields of each operation: required, and types. What does not fit gets no answer, as on the real bridge."""


_ANY_ID = ("call_service", "publish")
"""Operations whose id is only handed back, or not looked at."""


def resolve(name: str) -> str:
    """A name as it stands in the graph: `~` is the bridge's node, other relative ones are in the root namespace."""
    if name.startswith("~/"):
        return f"{NODE}{name[1:]}"
    return name if name.startswith("/") else f"/{name}"


def named(spelled: str, frame: Message) -> tuple[str, Message]:
    """Name of a service or action in the graph, and the id to answer with, which may stand behind it: `name#id`."""
    name, mark, behind = spelled.partition("#")
    given = frame.get("id")
    if given is None and mark:
        given = behind
    return resolve(name), {} if given is None else {"id": given}


def by_name(args: Any, type_name: str) -> Any:
    """Arguments of a request or goal by the names of its fields; a list has them in their order."""
    if isinstance(args, list):
        return dict(zip((field.name for field in definition(type_name).fields), args, strict=False))
    return args if isinstance(args, dict) else {}


class Bridge:
    """What all connections share: the graph, the faults, and actions that are out of order."""

    def __init__(self, graph: Graph, faults: Faults, max_message_size: int) -> None:
        self.graph, self.faults, self.max_message_size = graph, faults, max_message_size
        self.poisoned: set[str] = set()
        self.seen_actions: set[str] = set()
        self._unheard: set[Callable[[], object]] = set()
        faults.when_ended(self._drop_unheard)
        graph.serve(f"{NODE}/get_parameters", "rcl_interfaces/GetParameters", NODE, _no_parameters)

    def note_opened(self, drop: Callable[[], object]) -> None:
        """Take note of a new connection, which `drop` ends."""
        if "zombie" in self.faults.active:
            self._unheard.add(drop)

    def note_closed(self, drop: Callable[[], object]) -> None:
        """Forget a connection."""
        self._unheard.discard(drop)

    def _drop_unheard(self, fault: str) -> None:
        """End the connections whose first words nobody heard, as a bridge does that is started again.

        Else a client would wait for ever for the topics that it has subscribed to on them.
        """
        if fault == "zombie":
            for drop in self._unheard:
                drop()
            self._unheard.clear()


async def _no_parameters(request: Message) -> Message:
    """Answer GetParameters of the bridge's own node: none is set."""
    return {"values": [{} for _ in request["names"]]}


class Connection:
    """Handles the frames of one client. Its goals go on when it has gone."""

    def __init__(self, bridge: Bridge, outbox: Outbox) -> None:
        self._bridge, self._graph, self._outbox = bridge, bridge.graph, outbox
        self._subscriptions: dict[str, tuple[object, Subscription]] = {}
        self._advertised: list[str] = []
        self._goals: dict[object, GoalHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._incoming = Incoming()
        self._partial: dict[object, dict[int, str]] = {}
        self._offered = OfferedServices(self._graph, NODE, self._send)
        self._offered_actions = OfferedActions(self._graph, NODE, self._send)
        self._closed = False

    def close(self) -> None:
        """Forget the client; running goals stay."""
        self._closed = True
        for topic, (key, subscription) in self._subscriptions.items():
            subscription.close()
            self._graph.unlisten(resolve(topic), NODE, key)
        for topic in self._advertised:
            self._graph.unadvertise(topic, NODE)
        self._offered.close()
        self._offered_actions.close()

    def handle(self, text: str | bytes) -> None:
        """One incoming frame. Whatever is wrong with it gets no answer."""
        if self._bridge.faults.strikes("zombie"):
            return
        for frame in self._incoming.feed(text):
            try:
                self._dispatch(frame)
            except (IgnoredRequestError, TypeSupportError, QosError) as error:
                log.info("ignored a frame: %s", error)
            except Exception:
                # One client's strange frame must not end its connection, let alone the bridge.
                log.exception("a frame could not be handled")

    def _dispatch(self, frame: Any) -> None:
        op = frame.get("op") if isinstance(frame, dict) else None
        fields = _FIELDS.get(op) if isinstance(op, str) else None
        if fields is None:
            raise IgnoredRequestError(f"Unknown operation: {op}")
        if "fragment_size" in frame:
            # Of whatever operation: from now on it holds for everything that this client is sent.
            self._outbox.limit = frame["fragment_size"]
        if op not in _ANY_ID and not isinstance(frame.get("id"), str | int | float | None):
            raise IgnoredRequestError(f"Expected field id to be a string. Invalid value: {frame['id']}")
        for name, (required, types) in fields.items():
            if name not in frame:
                if required:
                    raise IgnoredRequestError(f"Expected a {name} field but none was found.")
            elif not isinstance(frame[name], types):
                raise IgnoredRequestError(f"Expected field {name} to be one of {types}. Invalid value: {frame[name]}")
        getattr(self, f"_{op}")(frame)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, frame: Message) -> None:
        if not self._closed and not self._bridge.faults.strikes("zombie"):
            self._outbox.put(to_json(frame), frame.get("id"))

    def _fragment(self, frame: Message) -> None:
        pieces = self._partial.setdefault(frame["id"], {})
        while len(self._partial) > MAX_PARTIAL:
            del self._partial[next(iter(self._partial))]
        pieces[frame["num"]] = frame["data"]
        if len(pieces) == frame["total"]:
            del self._partial[frame["id"]]
            self.handle("".join(pieces[number] for number in sorted(pieces)))

    # --- topics -------------------------------------------------------------------------------------
    def _advertise(self, frame: Message) -> None:
        latched = bool(frame.get("latch"))
        if "qos" in frame:
            if not isinstance(frame["qos"], dict):
                raise IgnoredRequestError("Expected field qos to be an object")
            latched = latched or qos.parse(frame["qos"]).durability == "transient_local"
        topic, type_name = resolve(frame["topic"]), full_name(frame["type"])
        if topic not in self._advertised:
            self._graph.advertise(topic, frame["type"], NODE, latched)
            self._advertised.append(topic)
        elif (established := self._graph.topics[topic].type_name) != type_name:
            raise IgnoredRequestError(f"{topic} is established as {established}, not {type_name}")

    def _unadvertise(self, frame: Message) -> None:
        topic = resolve(frame["topic"])
        if topic in self._advertised:
            self._advertised.remove(topic)
            self._graph.unadvertise(topic, NODE)

    def _publish(self, frame: Message) -> None:
        topic = self._graph.topics.get(resolve(frame["topic"]))
        if topic is None:
            raise IgnoredRequestError(f"Cannot infer topic type for topic {frame['topic']} as it is not yet advertised")
        message = complete(topic.type_name, frame.get("msg", {}), self._graph.now)
        self._graph.publish(topic.name, message)

    def _subscribe(self, frame: Message) -> None:
        topic, sid = frame["topic"], frame.get("id")
        profile = qos.parse(frame["qos"]) if "qos" in frame else None
        type_name = full_name(frame["type"]) if frame.get("type") else None
        name = resolve(topic)
        known = self._graph.topics.get(name)
        if known is not None and type_name not in (None, known.type_name):
            raise IgnoredRequestError(f"{topic} is established as {known.type_name}, not {type_name}")
        request = Request(
            frame.get("throttle_rate", 0),
            profile.depth if profile is not None else frame.get("queue_length", 0),
            frame.get("compression", "none"),
        )
        if topic in self._subscriptions:
            _, subscription = self._subscriptions[topic]
            subscription.add(sid, request)
            for published in [] if known is None else known.newest(1):
                self._receiver(topic, subscription)(published)
            return
        durability = profile.durability if profile is not None else None
        if durability == "transient_local" and known is not None and known.publishers and not known.latched:
            # DDS does not match a transient-local reader with a volatile writer: no message ever comes.
            return
        subscription = Subscription(self._outbox)
        subscription.add(sid, request)
        receiver = self._receiver(topic, subscription)
        # Each client but the first gets a temporary subscription, which ends with its first message
        # (rosbridge_library, internal/subscribers.py).
        first = known is None or NODE not in known.subscribers
        latched = (profile.depth if profile is not None else DEPTH) if first else 1
        key = self._graph.listen(name, type_name, NODE, receiver, latest=latched if durability != "volatile" else 0)
        self._subscriptions[topic] = (key, subscription)

    def _receiver(self, spelled: str, subscription: Subscription) -> Callable[[Published], None]:
        def receive(published: Published) -> None:
            if any(map(self._bridge.faults.strikes, ("zombie", "dead_executor"))):
                return
            if published.topic == CLOCK and self._bridge.faults.strikes("no_clock"):
                return
            if spelled != published.topic:
                # A client knows a topic by the name that it subscribed to.
                published = replace(published, topic=spelled, frames={})
            subscription.receive(published)

        return receive

    def _unsubscribe(self, frame: Message) -> None:
        topic = frame["topic"]
        if topic in self._subscriptions:
            key, subscription = self._subscriptions[topic]
            if subscription.remove(frame.get("id")):
                del self._subscriptions[topic]
                self._graph.unlisten(resolve(topic), NODE, key)

    # --- services -----------------------------------------------------------------------------------
    def _call_service(self, frame: Message) -> None:
        self._spawn(self._answer_service(frame))

    async def _answer_service(self, frame: Message) -> None:
        name, identity = named(frame["service"], frame)
        answer: Message = {"op": "service_response", "service": frame["service"]}
        try:
            answer |= {"values": await self._service_result(name, frame), "result": True}
        except Exception as error:
            if not isinstance(error, TypeSupportError | ServiceFailedError):
                log.exception("service %s failed", frame["service"])
            answer |= {"values": str(error), "result": False}
        self._send(answer | identity)

    async def _service_result(self, name: str, frame: Message) -> Message:
        service = self._graph.services.get(name)
        if service is None:
            raise ServiceFailedError(self._not_there(name))
        request = parts(service.type_name, "srv")[0].name
        complete_request = complete(request, by_name(frame.get("args"), request), self._graph.now)
        timeout = frame.get("timeout")
        limit = SERVICE_TIMEOUT_S if timeout is None else (timeout or None)
        work = asyncio.ensure_future(self._serve(service, complete_request))
        try:
            return await asyncio.wait_for(asyncio.shield(work), limit)
        except TimeoutError:
            work.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise ServiceFailedError("Timeout exceeded while waiting for service response") from None

    def _not_there(self, name: str) -> str:
        """The classes of an action's own services are not where rosbridge looks for those of services."""
        action, _, part = name.partition("/_action/")
        server, kind = self._graph.actions.get(action), {"send_goal": "SendGoal", "get_result": "GetResult"}.get(part)
        if server is None or kind is None:
            return f"Service {name} does not exist"
        package, _, short = server.type_name.split("/")
        return (
            f"Unable to import srv class {short}_{kind} from package {package}. Caused by module '{package}.srv' has "
            f"no attribute '{short}_{kind}'"
        )

    async def _serve(self, service: Service, request: Message) -> Message:
        if self._bridge.faults.strikes("dead_executor"):
            await asyncio.Event().wait()
        if service.node == ROSAPI and self._bridge.faults.strikes("rosapi_silent"):
            await asyncio.Event().wait()
        if self._bridge.faults.strikes("slow_services"):
            await asyncio.sleep(2.0)
        return self._graph.response(service, await service.handler(request))

    def _advertise_service(self, frame: Message) -> None:
        self._offered.offer(resolve(frame["service"]), frame["service"], frame["type"])

    def _unadvertise_service(self, frame: Message) -> None:
        self._offered.withdraw(resolve(frame["service"]))

    def _service_response(self, frame: Message) -> None:
        self._offered.answer(frame)

    # --- actions ------------------------------------------------------------------------------------
    def _send_action_goal(self, frame: Message) -> None:
        self._spawn(self._answer_goal(frame))

    async def _answer_goal(self, frame: Message) -> None:
        name, identity = named(frame["action"], frame)
        answer: Message = {"op": "action_result", "action": frame["action"]}
        try:
            status, result = await self._goal_result(name, frame, identity)
            answer |= {"values": result, "status": int(status), "result": True}
        except Exception as error:
            if not isinstance(error, TypeSupportError | GoalFailedError):
                log.exception("a goal of %s failed", frame["action"])
            answer |= {"values": str(error), "status": int(GoalStatus.UNKNOWN), "result": False}
        if not self._bridge.faults.strikes("silent_action"):
            self._send(answer | identity)

    async def _goal_result(self, name: str, frame: Message, identity: Message) -> tuple[GoalStatus, Message]:
        bridge = self._bridge
        if bridge.faults.strikes("dead_executor"):
            await asyncio.Event().wait()
        type_name = full_name(frame["action_type"], "action")
        server = self._graph.actions.get(name)
        unavailable = server is None or name in bridge.poisoned or server.type_name != type_name
        if server is not None and server.type_name != type_name and bridge.faults.strikes("wrong_type_poisons"):
            bridge.poisoned.add(name)
        if name not in bridge.seen_actions and bridge.faults.strikes("first_goal_unavailable"):
            unavailable = True
        bridge.seen_actions.add(name)
        if server is None or unavailable:
            await asyncio.sleep(ACTION_SERVER_WAIT_S)
            raise GoalFailedError("No action server available")
        request = complete(server.goal_type, by_name(frame.get("args"), server.goal_type), self._graph.now)

        def feedback(values: Message) -> None:
            self._send({"op": "action_feedback", "action": frame["action"], "values": values} | identity)

        try:
            handle, done = server.send(request, feedback if frame.get("feedback") else None)
        except GoalRejectedError as error:
            log.info("%s: goal rejected: %s", name, error)
            raise GoalFailedError("Action goal was rejected") from None
        goal_id = identity.get("id")
        if goal_id is not None:
            self._goals[goal_id] = handle
        try:
            return await done
        finally:
            self._goals.pop(goal_id, None)

    def _cancel_action_goal(self, frame: Message) -> None:
        handle = self._goals.get(named(frame["action"], frame)[1].get("id"))
        if handle is not None:
            handle.cancel()

    def _advertise_action(self, frame: Message) -> None:
        self._offered_actions.offer(resolve(frame["action"]), frame["action"], frame["type"])

    def _unadvertise_action(self, frame: Message) -> None:
        self._offered_actions.withdraw(resolve(frame["action"]))

    def _action_feedback(self, frame: Message) -> None:
        self._offered_actions.feedback(frame)

    def _action_result(self, frame: Message) -> None:
        self._offered_actions.result(frame)
