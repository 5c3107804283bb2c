"""The rosbridge v2 transport: service calls, action goals and topics over one connection."""

import asyncio
import contextlib
import itertools
import logging
import math
import random
import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from quartet_process import tracing
from quartet_robot_link._actions import (
    CANCEL_SERVICE,
    NO_GOAL,
    TYPE_QUERY_ARGS,
    TYPE_QUERY_SERVICE,
    BridgeGoal,
    fail,
    mapping,
    type_in,
)
from quartet_robot_link._clock import TIME_SERVICE
from quartet_robot_link._connection import Connection
from quartet_robot_link._goal_states import STATUS_TOPIC, active_goals, cancel_each, count_canceling
from quartet_robot_link._subscription import BridgeSubscription
from quartet_robot_link.errors import (
    BridgeUnavailableError,
    CallTimeoutError,
    MessageTooLargeError,
    RobotLinkError,
    RosError,
    ServiceUnavailableError,
)
from quartet_robot_link.link import Message, QoS
from quartet_robot_link.permits import PROBE_SERVICE

log = logging.getLogger(__name__)

ORPHAN_TRIES = 3
ORPHAN_RETRY_S = 0.5
SERVED = frozenset({"publish", "action_feedback", "action_result"})
"""Operations that rosbridge sends only while its executor runs; it refuses calls, and ends late ones, without it."""
ZOMBIE = "a zombie bridge: it accepts connections and serves nothing; restart the rosbridge_websocket node"
TYPE_WAIT_S = 0.5
"""Wall time in which rosapi may tell the type of a topic that is silent."""
BRIDGE_TIMEOUT = "Timeout exceeded while waiting for service response"


class BridgeLink:
    """A `RobotLink` over rosbridge that reconnects by itself.

    Use `await BridgeLink.open(url)` and `await link.close()`. When the connection is lost, every pending call and goal
    fails. With the next one, subscriptions are made again, and goals without a result are canceled, since nobody can
    follow them any more. Nothing else is sent again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Callable[[], str | None] = lambda: None,
        call_timeout_s: float = 5.0,
        connect_wait_s: float = 1.0,
        probe_every_s: float = 5.0,
        probe_wait_s: float = 5.0,
        backoff_s: tuple[float, float] = (0.1, 3.0),
    ) -> None:
        """Make a link that is not connected yet; see `open`.

        `token`: gives the bearer token of a bridge proxy; None: nothing asks for one.
        `connect_wait_s`: wall time that a call waits for a connection.
        `probe_every_s`: wall time without a sign of its executor after which the bridge is asked whether it lives.
        `probe_wait_s`: wall time limit for the answer, in which a busy executor gets to it.
        """
        self.url = url
        self._call_timeout_s, self._connect_wait_s = call_timeout_s, connect_wait_s
        self._probe_every_s, self._probe_wait_s = probe_every_s, probe_wait_s
        self._connection = Connection(
            url,
            token=token,
            on_open=self._restore,
            on_operation=self._handle,
            on_too_large=self._refuse,
            on_lost=self._fail_pending,
            backoff_s=backoff_s,
        )
        self._ids = itertools.count(1)
        self._prefix = f"q{random.getrandbits(32):08x}"
        self._calls: dict[str, asyncio.Future[Message]] = {}
        self._goals: dict[str, BridgeGoal] = {}
        self._orphans: set[str] = set()
        """Actions that may run a goal whose connection was lost."""
        self._subscriptions: dict[str, list[BridgeSubscription]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._served_at = -math.inf
        """When the newest frame came that the bridge's executor served [monotonic s]."""
        self._was_zombie = False
        """The bridge was given up because its executor served nothing."""

    @classmethod
    async def open(cls, url: str, *, wait_s: float = 0.0, **settings: Any) -> "BridgeLink":
        """Start connecting; waits up to `wait_s` for the first connection and goes on trying after that."""
        link = cls(url, **settings)
        link._spawn(link._connection.run())
        link._spawn(link._watch())
        if wait_s > 0:
            await link.wait_connected(wait_s)
        return link

    async def close(self) -> None:
        """End the connection and everything that waits for it."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._connection.end("the link was closed")

    @property
    def connected(self) -> bool:
        """Whether calls can be sent now."""
        return self._connection.ready

    @property
    def reconnects(self) -> int:
        """Connections that were lost so far."""
        return self._connection.reconnects

    @property
    def topics(self) -> frozenset[str]:
        """Topics that somebody here subscribes to."""
        return frozenset(self._subscriptions)

    def reconnect(self, why: str) -> None:
        """Drop the connection, as if the network had lost it; the link reconnects by itself."""
        self._connection.abort(why)

    async def wait_connected(self, timeout_s: float) -> bool:
        """Return True once connected, False when `timeout_s` (wall time) passed first."""
        return await self._connection.wait_ready(timeout_s)

    async def call_service(
        self, service: str, args: Message | None = None, *, timeout_s: float | None = None
    ) -> Message:
        """Return the service's response; see RobotLink for the errors."""
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
        """Send a goal; its acceptance or rejection comes through the handle. Raises BridgeUnavailableError."""
        await self._require_connection()
        operation = {"op": "send_action_goal", "action": action, "action_type": action_type, "args": args}
        goal = BridgeGoal({**operation, "feedback": True}, on_feedback, self.cancel_goals)
        await self._send_goal(goal)
        return goal

    async def cancel_goals(self, action: str, *, timeout_s: float | None = None) -> int:
        """Cancel every goal of an action server and return how many are canceling. Raises CancelRejectedError."""
        return count_canceling(action, await self.call_service(f"{action}{CANCEL_SERVICE}", {}, timeout_s=timeout_s))

    async def action_type(self, action: str, *, timeout_s: float | None = None) -> str | None:
        """Return `pkg/action/Name` of an action server, None when that cannot be learned; sends no goal."""
        try:
            await self.call_service(f"{action}{TYPE_QUERY_SERVICE}", TYPE_QUERY_ARGS, timeout_s=timeout_s)
        except RosError as error:
            return type_in(str(error))
        return None

    async def has_action_server(self, action: str, *, timeout_s: float | None = None) -> bool:
        """Return whether an action server of that name answers; sends and cancels no goal."""
        try:
            await self.call_service(f"{action}{CANCEL_SERVICE}", NO_GOAL, timeout_s=timeout_s)
        except ServiceUnavailableError:
            return False
        except RosError:
            return True
        return True

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
        """Subscribe now, or as soon as there is a connection."""
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
        subscription = BridgeSubscription(
            operation,
            keep,
            on_message,
            on_close=self._unsubscribe,
            down=self._down,
            type_there=self._topic_type,
        )
        self._subscriptions.setdefault(topic, []).append(subscription)
        self._send_soon(operation)
        return subscription

    async def _topic_type(self, topic: str) -> str | None:
        """Return the type of a topic, None where rosapi does not tell it soon."""
        try:
            answer = await self._call("/rosapi/topic_type", {"topic": topic}, TYPE_WAIT_S)
        except RobotLinkError:
            return None
        return answer.get("type") or None

    def _unsubscribe(self, subscription: BridgeSubscription) -> None:
        topic = subscription.topic
        remaining = [s for s in self._subscriptions.get(topic, []) if s is not subscription]
        if remaining:
            self._subscriptions[topic] = remaining
        else:
            self._subscriptions.pop(topic, None)
        self._send_soon({"op": "unsubscribe", "id": subscription.operation["id"], "topic": topic})

    def latest(self, topic: str) -> Message | None:
        """Return the newest message of a topic that somebody here subscribes to."""
        found = (s.latest for s in self._subscriptions.get(topic, []))
        return next((message for message in found if message is not None), None)

    async def advertise(self, topic: str, msg_type: str) -> None:
        """Become a publisher ahead of `publish`. Raises BridgeUnavailableError."""
        await self._require_connection()
        await self._connection.send(
            {"op": "advertise", "id": f"{self._prefix}:adv:{topic}", "topic": topic, "type": msg_type}
        )

    async def publish(self, topic: str, msg_type: str, msg: Message) -> None:
        """Publish one message. Raises BridgeUnavailableError."""
        await self.advertise(topic, msg_type)
        await self._connection.send({"op": "publish", "topic": topic, "msg": msg})

    async def probe(self, timeout_s: float = 2.0) -> bool:
        """Return whether the bridge lives: it answers a ping, and, where it has been silent, its executor a call."""
        if not self.connected:
            return False
        if time.monotonic() - self._served_at <= self._probe_every_s:
            return await self._connection.ping(timeout_s)
        return await self._executor_serves(timeout_s)

    async def _executor_serves(self, timeout_s: float) -> bool:
        """Return whether rosbridge's executor answers a call, or serves anything else meanwhile.

        rosapi is asked as well: a bridge with a `services_glob` does not answer calls of other services at all.
        """
        asked_at = time.monotonic()
        probe, _ = await asyncio.gather(
            self._call(PROBE_SERVICE, {"names": []}, timeout_s),
            self._call(TIME_SERVICE, {}, timeout_s),
            return_exceptions=True,
        )
        if isinstance(probe, Exception) and not isinstance(probe, RobotLinkError):
            raise probe
        # A node without parameter services: that the bridge refuses the call is all that can be known.
        return isinstance(probe, RosError) or (self._connection.is_open and self._served_at > asked_at)

    # --- calls -------------------------------------------------------------------------------------------------

    async def _call(self, service: str, args: Message, timeout_s: float) -> Message:
        """Call a service on the present connection."""
        key = self._id("call")
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._calls[key] = future
        try:
            # The bridge's own limit is 5 s unless told; ours ends first, so that its late answer is never mistaken.
            operation = {"op": "call_service", "id": key, "service": service, "args": args, "timeout": timeout_s + 1.0}
            with tracing.step(f"rosbridge {service}"):
                async with asyncio.timeout(timeout_s):
                    await self._connection.send(operation)
                    response = await future
        except TimeoutError:
            raise CallTimeoutError(
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
            await self._connection.send({**goal.operation, "id": key})
        except RobotLinkError:
            self._goals.pop(key, None)
            raise

    async def _retry(self, goal: BridgeGoal) -> None:
        try:
            await self._send_goal(goal)
        except RobotLinkError as error:
            fail(goal.future, error)
        except Exception as error:
            fail(goal.future, RosError(f"the goal could not be sent again: {error!r}"))
            raise

    async def _require_connection(self) -> None:
        if not self.connected and not await self.wait_connected(self._connect_wait_s):
            raise self._connection.error()

    def _down(self) -> BridgeUnavailableError | None:
        """Return the error for a reader while there is no connection."""
        return None if self.connected else self._connection.error()

    def _send_soon(self, operation: Message) -> None:
        """Send a subscription in order; without a connection it is dropped, since the next one makes it again."""
        if self._connection.is_open:
            self._spawn(self._send_quietly(operation))

    async def _send_quietly(self, operation: Message) -> None:
        with contextlib.suppress(BridgeUnavailableError):
            await self._connection.send(operation)

    # --- connection --------------------------------------------------------------------------------------------

    async def _restore(self) -> None:
        """Subscribe again, cancel orphaned goals. Raises BridgeUnavailableError for a bridge that is still a zombie."""
        for subscription in [s for group in self._subscriptions.values() for s in group]:
            await self._connection.send(subscription.operation)
        if self._was_zombie and not await self._executor_serves(self._probe_wait_s):
            raise BridgeUnavailableError(ZOMBIE)
        self._was_zombie = False
        for action in sorted(self._orphans):
            await self._cancel_orphans_of(action)

    async def _cancel_orphans_of(self, action: str) -> None:
        """Cancel with retries: a bridge that has just started may not have discovered the action server yet.

        What refuses stays an orphan, so that it is asked again on the next connection.
        """

        def call(service: str, args: Message) -> Coroutine[Any, Any, Message]:
            return self._call(service, args, self._call_timeout_s)

        for attempt in range(1, ORPHAN_TRIES + 1):
            try:
                if not count_canceling(action, await call(f"{action}{CANCEL_SERVICE}", {})):
                    await cancel_each(call, action, lambda: active_goals(self.latest(f"{action}{STATUS_TOPIC}")))
            except (CallTimeoutError, RosError) as error:
                if attempt == ORPHAN_TRIES:
                    log.error(
                        "a goal of %s that lost its connection could not be canceled: %s; use the stop button if the "
                        "robot moves",
                        action,
                        error,
                    )
                    return
                await asyncio.sleep(ORPHAN_RETRY_S)
            else:
                self._orphans.discard(action)
                return

    def _fail_pending(self, why: str) -> None:
        """Fail everything that waits for the connection."""
        calls, self._calls = self._calls, {}
        goals, self._goals = self._goals, {}
        text = f"the connection to the robot's rosbridge at {self._connection.address} was lost ({why})"
        for future in calls.values():
            fail(future, BridgeUnavailableError(f"{text} before the answer came; whether the call acted is not known"))
        for goal in goals.values():
            self._orphans.add(goal.action)
            fail(goal.future, BridgeUnavailableError(f"{text} during {goal.action}; look before doing it again"))

    async def _watch(self) -> None:
        """Connect again when the bridge accepts connections but serves nothing: a silent one is asked first.

        While somebody waits for a goal's result the connection is kept: giving it up would end the goal, and the
        motion has limits of its own.
        """
        while True:
            await asyncio.sleep(self._probe_every_s / 2)
            silent = self.connected and time.monotonic() - self._served_at > self._probe_every_s
            try:
                if not silent or await self.probe(self._probe_wait_s):
                    continue
            except Exception:
                # Without this watch nobody would notice a silent bridge any more.
                log.exception("the watch of %s failed once", self._connection.address)
                continue
            if any(goal.awaited for goal in self._goals.values()):
                log.warning("%s does not answer; the connection is kept while a goal runs", self._connection.address)
            elif self.connected:
                self._was_zombie = await self._connection.ping(self._probe_wait_s)
                self.reconnect(ZOMBIE if self._was_zombie else "the network does not answer")

    # --- frames ------------------------------------------------------------------------------------------------

    def _handle(self, operation: Message) -> None:
        kind, key = str(operation.get("op", "")), str(operation.get("id", ""))
        if kind in SERVED or (kind == "service_response" and operation.get("result") is not False):
            self._served_at = time.monotonic()
        if kind == "publish":
            self._deliver(operation)
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
        elif kind == "status" and operation.get("level") == "error":
            log.warning("%s: %s", self._connection.address, str(operation.get("msg"))[:300])

    def _deliver(self, operation: Message) -> None:
        message = mapping(operation.get("msg"))
        if message is not None:
            for subscription in list(self._subscriptions.get(str(operation.get("topic")), [])):
                subscription.deliver(message)

    def _refuse(self, error: MessageTooLargeError) -> None:
        for subscription in list(self._subscriptions.get(error.topic, [])):
            subscription.fail(error)

    def _goal_ended(self, goal: BridgeGoal, operation: Message) -> None:
        if goal.must_be_sent_again(operation):
            self._spawn(self._retry(goal))
        else:
            goal.finish(operation)

    def _id(self, what: str) -> str:
        return f"{self._prefix}:{what}:{next(self._ids)}"

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._note_end)
        return task

    def _note_end(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: a background task failed", self._connection.address, exc_info=error)


def _service_error(service: str, text: str) -> RobotLinkError:
    if "does not exist" in text:
        return ServiceUnavailableError(f"{text}; check that its node runs")
    if BRIDGE_TIMEOUT in text:
        return CallTimeoutError(f"service {service}: {text}; whether it acted is not known")
    return RosError(f"service {service} failed: {text}")
