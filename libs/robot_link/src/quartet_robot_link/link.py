"""Interface of a transport to the robot; rosbridge is the one that exists."""

import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Protocol

Message = dict[str, Any]
"""A ROS message as a dict: field name to value; binary arrays are bytes (CBOR) or base64 text (JSON)."""


def number(value: object) -> float | None:
    """Return a finite number of a message, None for anything else: rosbridge sends NaN and infinity as null."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


@dataclass(frozen=True)
class QoS:
    """Quality of service of a subscription, as rosbridge takes it."""

    reliability: Literal["reliable", "best_effort"] = "reliable"
    durability: Literal["volatile", "transient_local"] = "volatile"
    depth: int = 10
    history: Literal["keep_last", "keep_all"] = "keep_last"

    def as_message(self) -> Message:
        """Return the `qos` field of a rosbridge operation."""
        return {
            "history": self.history,
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
        }


SENSOR = QoS(reliability="best_effort", depth=5)
"""Matches every publisher of sensor data, reliable or not."""
LATCHED = QoS(durability="transient_local", depth=1)
"""For topics whose last message is kept for late subscribers."""
STATIC_TRANSFORMS = QoS(durability="transient_local", depth=100)
"""For /tf_static, with tf2_ros' depth: each publisher keeps a message, and a depth of 1 loses most of them."""
MERGED_SUFFIX = "_merged"
"""Ends the topic with all static transforms: rosbridge gives each client but the first only one latched message."""


class GoalStatus(IntEnum):
    """End states of an action goal (action_msgs/msg/GoalStatus)."""

    SUCCEEDED = 4
    CANCELED = 5
    ABORTED = 6


@dataclass(frozen=True)
class GoalResult:
    """How a goal ended and the action's result message."""

    status: GoalStatus
    values: Message = field(default_factory=dict[str, Any])


class GoalHandle(Protocol):
    """A goal that was sent."""

    @property
    def action(self) -> str:
        """Name of the action."""
        ...

    @property
    def feedback(self) -> Message | None:
        """The newest feedback message, None before the first."""
        ...

    @property
    def done(self) -> bool:
        """True once the result or an error is there."""
        ...

    async def result(self) -> GoalResult:
        """Wait for the end. Raises ActionUnavailableError, GoalRejectedError, RosError or BridgeUnavailableError."""
        ...

    async def cancel(self, timeout_s: float | None = None) -> int:
        """Ask the robot to cancel and return how many goals are canceling; the end comes through `result`."""
        ...


class Subscription(Protocol):
    """Messages of one topic from now on; survives reconnects. Use as an async context manager or close it."""

    @property
    def topic(self) -> str:
        """Name of the topic."""
        ...

    @property
    def latest(self) -> Message | None:
        """The newest message, None before the first."""
        ...

    async def next(self, timeout_s: float) -> Message:
        """Return the oldest unread message of those kept, or wait for one.

        Raises CallTimeoutError, BridgeUnavailableError, MessageTooLargeError.
        """
        ...

    def __aiter__(self) -> AsyncIterator[Message]: ...

    def close(self) -> None:
        """Unsubscribe. Closing twice does nothing."""
        ...

    async def __aenter__(self) -> "Subscription": ...

    async def __aexit__(self, *exc: object) -> None: ...


class RobotLink(Protocol):
    """A transport to one robot. Every call has a deadline; nothing but subscriptions outlives a lost connection."""

    @property
    def connected(self) -> bool:
        """Whether calls can be sent now."""
        ...

    @property
    def reconnects(self) -> int:
        """Connections that were lost so far."""
        ...

    async def wait_connected(self, timeout_s: float) -> bool:
        """Return True once connected, False when `timeout_s` (wall time) passed first."""
        ...

    async def call_service(
        self, service: str, args: Message | None = None, *, timeout_s: float | None = None
    ) -> Message:
        """Return the service's response. `timeout_s` is wall time; None means the robot file's default.

        Raises BridgeUnavailableError, CallTimeoutError, ServiceUnavailableError, RosError.
        """
        ...

    async def send_goal(
        self,
        action: str,
        action_type: str,
        args: Message,
        *,
        on_feedback: Callable[[Message], None] | None = None,
    ) -> GoalHandle:
        """Send a goal and return at once; acceptance or rejection comes through the handle's `result`.

        Raises BridgeUnavailableError when there is no connection.
        """
        ...

    async def cancel_goals(self, action: str, *, timeout_s: float | None = None) -> int:
        """Cancel every goal of an action server, whoever sent it, and return how many are canceling.

        Raises BridgeUnavailableError, CallTimeoutError, ServiceUnavailableError, CancelRejectedError, RosError.
        """
        ...

    async def action_type(self, action: str, *, timeout_s: float | None = None) -> str | None:
        """Return `pkg/action/Name` of an action server; None when there is none or its type cannot be learned.

        Sends no goal. Raises BridgeUnavailableError, CallTimeoutError.
        """
        ...

    async def has_action_server(self, action: str, *, timeout_s: float | None = None) -> bool:
        """Return whether an action server of that name answers; sends and cancels no goal.

        Raises BridgeUnavailableError, CallTimeoutError.
        """
        ...

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
    ) -> Subscription:
        """Subscribe now, or as soon as there is a connection. `keep`: unread messages kept, the oldest are dropped."""
        ...

    def latest(self, topic: str) -> Message | None:
        """Return the newest message of a topic that somebody here subscribes to."""
        ...

    async def advertise(self, topic: str, msg_type: str) -> None:
        """Become a publisher ahead of `publish`: subscribers miss what is sent before they discovered it.

        Raises BridgeUnavailableError.
        """
        ...

    async def publish(self, topic: str, msg_type: str, msg: Message) -> None:
        """Publish one message. Raises BridgeUnavailableError; nothing is kept for later."""
        ...

    async def probe(self, timeout_s: float = 2.0) -> bool:
        """Return whether the bridge answers, so that a silent one is noticed."""
        ...

    async def close(self) -> None:
        """End the connection and everything that waits for it."""
        ...
