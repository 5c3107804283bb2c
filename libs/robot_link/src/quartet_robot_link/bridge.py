"""rosbridge v2 over a websocket: the only module that speaks it."""

import asyncio
import contextlib
import itertools
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Literal

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from quartet_robot_link._action_type import ARGS, SERVICE, type_in
from quartet_robot_link._decode import Decoder, Undecodable
from quartet_robot_link._goal import BridgeGoal, fail, mapping
from quartet_robot_link._subscription import BridgeSubscription
from quartet_robot_link.errors import (
    BridgeUnavailable,
    CallTimeout,
    LinkError,
    RosError,
    ServiceUnavailable,
)
from quartet_robot_link.link import Message, QoS

log = logging.getLogger(__name__)

MAX_FRAME_BYTES = 64 * 1024 * 1024
ORPHAN_TRIES = 3
ORPHAN_RETRY_S = 0.5
PROBE_SERVICE = "/rosapi/get_time"
"""Any answer to it, also a refusal, proves that the robot's side is alive."""
BRIDGE_TIMEOUT = "Timeout exceeded while waiting for service response"


class BridgeLink:
    """A connection to rosbridge that comes back by itself; see link.RobotLink for the calls.

    Use `await BridgeLink.open(url)` and `await link.close()`. After a lost connection every pending call and goal has
    failed, subscriptions are made again, and goals whose result was still to come are canceled: nobody can follow
    them any more. Nothing else is sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        call_timeout_s: float = 5.0,
        connect_wait_s: float = 1.0,
        probe_every_s: float = 5.0,
        backoff_s: tuple[float, float] = (0.1, 3.0),
    ) -> None:
        self.url = url
        self._call_timeout_s, self._connect_wait_s = call_timeout_s, connect_wait_s
        self._probe_every_s, self._backoff_s = probe_every_s, backoff_s
        self._socket: ClientConnection | None = None
        self._ready = asyncio.Event()
        self._ids = itertools.count(1)
        self._prefix = f"q{random.getrandbits(32):08x}"
        self._calls: dict[str, asyncio.Future[Message]] = {}
        self._goals: dict[str, BridgeGoal] = {}
        self._orphans: set[str] = set()
        self._subscriptions: dict[str, list[BridgeSubscription]] = {}
        self._heard_at = time.monotonic()
        self._why_down = "not connected yet"
        self._tasks: set[asyncio.Task[Any]] = set()
        self.reconnects = 0

    @classmethod
    async def open(cls, url: str, *, wait_s: float = 0.0, **settings: Any) -> "BridgeLink":
        """Start connecting; waits up to `wait_s` for the first connection and goes on trying after that."""
        link = cls(url, **settings)
        link._spawn(link._run())
        link._spawn(link._watch())
        if wait_s > 0:
            await link.wait_connected(wait_s)
        return link

    @property
    def connected(self) -> bool:
        return self._ready.is_set()

    def down(self) -> str:
        """What a caller is told while there is no connection."""
        return (
            f"no connection to the robot's rosbridge at {self.url} ({self._why_down}); it is tried again all the time: "
            "check that rosbridge runs and that the address in robot.yaml or QUARTET_BRIDGE_URL is right"
        )

    async def wait_connected(self, timeout_s: float) -> bool:
        try:
            await asyncio.wait_for(self._ready.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    async def call_service(
        self, service: str, args: Message | None = None, *, timeout_s: float | None = None
    ) -> Message:
        await self._require_connection()
        return await self._call(service, args or {}, self._call_timeout_s if timeout_s is None else timeout_s)

    async def send_goal(
        self,
        action: str,
        action_type: str,
        args: Message,
        *,
        on_feedback: Callable[[Message], None] | None = None,
    ) -> BridgeGoal:
        await self._require_connection()
        operation = {"op": "send_action_goal", "action": action, "action_type": action_type, "args": args}
        goal = BridgeGoal(self, {**operation, "feedback": True}, on_feedback)
        await self._send_goal(goal)
        return goal

    async def cancel_goals(self, action: str, *, timeout_s: float | None = None) -> int:
        response = await self.call_service(f"{action}/_action/cancel_goal", {}, timeout_s=timeout_s)
        return len(response.get("goals_canceling") or [])

    async def action_type(self, action: str, *, timeout_s: float | None = None) -> str | None:
        try:
            await self.call_service(f"{action}{SERVICE}", ARGS, timeout_s=timeout_s)
        except RosError as error:
            return type_in(str(error))
        return None

    def subscribe(
        self,
        topic: str,
        msg_type: str,
        *,
        qos: QoS | None = None,
        compression: Literal["none", "cbor", "png"] = "none",
        throttle_ms: int = 0,
        keep: int = 10,
        on_message: Callable[[Message], None] | None = None,
    ) -> BridgeSubscription:
        operation: Message = {
            "op": "subscribe",
            "id": self._id("sub"),
            "topic": topic,
            "type": msg_type,
            "compression": compression,
            "throttle_rate": throttle_ms,
            "queue_length": keep if throttle_ms else 0,
        }
        if qos is not None:
            operation["qos"] = qos.as_message()
        subscription = BridgeSubscription(self, operation, keep, on_message)
        self._subscriptions.setdefault(topic, []).append(subscription)
        self._send_soon(operation)
        return subscription

    def drop(self, subscription: BridgeSubscription) -> None:
        """End a subscription."""
        topic = subscription.topic
        remaining = [s for s in self._subscriptions.get(topic, []) if s is not subscription]
        if remaining:
            self._subscriptions[topic] = remaining
        else:
            self._subscriptions.pop(topic, None)
        self._send_soon({"op": "unsubscribe", "id": subscription.operation["id"], "topic": topic})

    def latest(self, topic: str) -> Message | None:
        found = (s.latest for s in self._subscriptions.get(topic, []))
        return next((message for message in found if message is not None), None)

    async def advertise(self, topic: str, msg_type: str) -> None:
        await self._require_connection()
        await self._send({"op": "advertise", "id": f"{self._prefix}:adv:{topic}", "topic": topic, "type": msg_type})

    async def publish(self, topic: str, msg_type: str, msg: Message) -> None:
        await self.advertise(topic, msg_type)
        await self._send({"op": "publish", "topic": topic, "msg": msg})

    async def probe(self, timeout_s: float = 2.0) -> bool:
        if not self.connected:
            return False
        try:
            await self._call(PROBE_SERVICE, {}, timeout_s)
        except RosError:
            return True
        except LinkError:
            return False
        return True

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._lost("the link was closed")

    # --- calls -------------------------------------------------------------------------------------------------

    async def _call(self, service: str, args: Message, timeout_s: float) -> Message:
        """One service call on the connection that is there now."""
        key = self._id("call")
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._calls[key] = future
        try:
            # The bridge's own limit is 5 s unless told; ours ends first, so that its late answer is never mistaken.
            operation = {"op": "call_service", "id": key, "service": service, "args": args, "timeout": timeout_s + 1.0}
            async with asyncio.timeout(timeout_s):
                await self._send(operation)
                response = await future
        except TimeoutError:
            raise CallTimeout(
                f"service {service} did not answer within {timeout_s:g} s; whether it acted is not known"
            ) from None
        finally:
            self._calls.pop(key, None)
            future.cancel()
        if response.get("result") is False:
            raise _service_error(service, str(response.get("values")))
        return mapping(response.get("values")) or {}

    async def _send_goal(self, goal: BridgeGoal) -> None:
        key = self._id("goal")
        self._goals[key] = goal
        try:
            await self._send({**goal.operation, "id": key})
        except LinkError:
            self._goals.pop(key, None)
            raise

    async def _retry(self, goal: BridgeGoal) -> None:
        try:
            await self._send_goal(goal)
        except LinkError as error:
            fail(goal.future, error)

    async def _require_connection(self) -> None:
        if not self.connected and not await self.wait_connected(self._connect_wait_s):
            raise BridgeUnavailable(self.down())

    async def _send(self, operation: Message) -> None:
        socket = self._socket
        if socket is None:
            raise BridgeUnavailable(self.down())
        try:
            await socket.send(orjson.dumps(operation, option=orjson.OPT_SERIALIZE_NUMPY).decode())
        except ConnectionClosed as error:
            raise BridgeUnavailable(f"the connection to {self.url} was lost while sending: {error}") from error

    def _send_soon(self, operation: Message) -> None:
        """For subscriptions: in order, and dropped without a connection because they are made again with the next."""
        if self._socket is not None:
            self._spawn(self._send_quietly(operation))

    async def _send_quietly(self, operation: Message) -> None:
        with contextlib.suppress(BridgeUnavailable):
            await self._send(operation)

    # --- connection --------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        shortest, longest = self._backoff_s
        delay = shortest
        while True:
            try:
                async with connect(
                    self.url,
                    compression=None,
                    max_size=MAX_FRAME_BYTES,
                    max_queue=64,
                    open_timeout=5.0,
                    close_timeout=1.0,
                    proxy=None,
                ) as socket:
                    delay = shortest
                    await self._serve(socket)
            except (OSError, TimeoutError, WebSocketException) as error:
                self._why_down = str(error) or type(error).__name__
            except Exception as error:
                # Whatever one connection did wrong, the robot must be reachable over the next.
                self._why_down = f"{type(error).__name__}: {error}"
                log.exception("the connection to %s failed", self.url)
            await asyncio.sleep(delay * random.uniform(0.7, 1.3))
            delay = min(longest, delay * 2)

    async def _serve(self, socket: ClientConnection) -> None:
        decoder = Decoder()
        self._socket, self._heard_at = socket, time.monotonic()
        greeting = self._spawn(self._greet())
        try:
            async for frame in socket:
                self._heard_at = time.monotonic()
                try:
                    for operation in decoder.decode(frame):
                        self._handle(operation)
                except Undecodable as error:
                    log.warning("ignored: %s", error)
            self._why_down = "the robot's side closed the connection"
        except ConnectionClosed as error:
            self._why_down = str(error)
        finally:
            greeting.cancel()
            self._lost(self._why_down)

    async def _greet(self) -> None:
        """Subscriptions again, abandoned goals canceled; then calls may come."""
        with contextlib.suppress(BridgeUnavailable):
            for subscription in [s for group in self._subscriptions.values() for s in group]:
                await self._send(subscription.operation)
            for action in sorted(self._orphans):
                await self._cancel_orphans_of(action)
            self._ready.set()
            log.info("connected to %s", self.url)

    async def _cancel_orphans_of(self, action: str) -> None:
        """A bridge that has just started may not have discovered the action server yet."""
        for attempt in range(1, ORPHAN_TRIES + 1):
            try:
                await self._call(f"{action}/_action/cancel_goal", {}, self._call_timeout_s)
            except (CallTimeout, RosError) as error:
                if attempt == ORPHAN_TRIES:
                    log.error("a goal of %s that lost its connection could not be canceled: %s", action, error)
                    return
                await asyncio.sleep(ORPHAN_RETRY_S)
            else:
                self._orphans.discard(action)
                return

    def _lost(self, why: str) -> None:
        """Everything that waits for the connection fails now."""
        was_connected = self._socket is not None
        self._ready.clear()
        self._socket = None
        if was_connected:
            self.reconnects += 1
        calls, self._calls = self._calls, {}
        goals, self._goals = self._goals, {}
        text = f"the connection to the robot's rosbridge at {self.url} was lost ({why})"
        for future in calls.values():
            fail(future, BridgeUnavailable(f"{text} before the answer came; whether the call acted is not known"))
        for goal in goals.values():
            self._orphans.add(goal.action)
            fail(goal.future, BridgeUnavailable(f"{text} during {goal.action}; look before doing it again"))

    async def _watch(self) -> None:
        """A bridge can accept connections and never answer: ask when it is silent, reconnect when it stays so."""
        while True:
            await asyncio.sleep(self._probe_every_s / 2)
            silent = self.connected and time.monotonic() - self._heard_at > self._probe_every_s
            if silent and not await self.probe() and self._socket is not None:
                self._why_down = "the bridge accepts connections and does not answer"
                log.warning("%s: %s", self.url, self._why_down)
                self._socket.transport.abort()

    # --- frames ------------------------------------------------------------------------------------------------

    def _handle(self, operation: Message) -> None:
        kind, key = operation.get("op"), str(operation.get("id", ""))
        if kind == "publish":
            message = mapping(operation.get("msg"))
            if message is not None:
                for subscription in list(self._subscriptions.get(str(operation.get("topic")), [])):
                    subscription.deliver(message)
        elif kind == "service_response":
            future = self._calls.get(key)
            if future is not None and not future.done():
                future.set_result(operation)
        elif kind == "action_feedback":
            goal, values = self._goals.get(key), mapping(operation.get("values"))
            if goal is not None and values is not None:
                goal.on_feedback(values)
        elif kind == "action_result":
            goal = self._goals.pop(key, None)
            if goal is not None:
                self._goal_ended(goal, operation)

    def _goal_ended(self, goal: BridgeGoal, operation: Message) -> None:
        if goal.must_be_sent_again(operation):
            self._spawn(self._retry(goal))
        else:
            goal.finish(operation)

    def _id(self, what: str) -> str:
        return f"{self._prefix}:{what}:{next(self._ids)}"

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _service_error(service: str, text: str) -> LinkError:
    if "does not exist" in text:
        return ServiceUnavailable(f"{text}; check that its node runs")
    if BRIDGE_TIMEOUT in text:
        return CallTimeout(f"service {service}: {text}; whether it acted is not known")
    return RosError(f"service {service} failed: {text}")
