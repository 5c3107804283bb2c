"""publish_once, publish_for_durations: only to topics that the site lists, under fence, stop and guard."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
from pydantic import Field

from quartet_contracts.tools.ros import PublishResult
from quartet_robot_link import BridgeUnavailableError, Message, Robot
from quartet_robot_link.permits import plain
from quartet_ros.graph import Name, known_topic
from quartet_ros.permits import check_velocity, topic_permit
from quartet_ros.types import Checker, message_structures
from quartet_safety.motion import MotionLease
from quartet_site import WritableTopic
from quartet_tool_server import REPORT_EVERY_S, Finite, InvalidArgumentsError, ToolServer, report_progress

DISCOVERY_S = 0.2
"""Wall time that a new publisher gets before its first message."""
REPEAT_S = 0.1
"""A velocity is repeated this often, since controllers drop one that grows old."""
VELOCITY_S = 0.5
"""Duration for which publish_once repeats a velocity before it sends zero [s]."""
MAX_MESSAGES = 100
MAX_TOTAL_S = 60.0
VELOCITIES = {"geometry_msgs/Twist", "geometry_msgs/TwistStamped"}

MsgType = Annotated[str, Field(max_length=128, description="e.g. geometry_msgs/msg/Twist; looked up when left out")]


def register(server: ToolServer) -> None:
    """Add publish_once and publish_for_durations."""
    robot = server.robot

    async def check(topic: str, msg_type: str, messages: list[Message]) -> tuple[WritableTopic, str]:
        """Everything that can be wrong is found before the first message is sent."""
        permit = topic_permit(server, topic, msg_type)
        _, known = await known_topic(robot, permit.name, permit.type)
        parts = await message_structures(robot, known)
        checker = Checker(parts)
        for message in messages:
            checker.check(known, message)
        check_velocity(server, permit, checker.twists)
        for message in messages:
            await server.limits.check_message(permit, message)
        return permit, known

    @server.tool
    async def publish_once(topic: Name, msg_type: MsgType, msg: dict[str, Any]) -> PublishResult:
        """Publish one message to a topic that the site allows. Fields that are left out get their default.

        A velocity (Twist) is held for 0.5 s and then ended with zero; drive further with publish_for_durations.
        Failures: DENIED (the site does not allow it; do not try again), INVALID_PARAMETERS (no such topic, wrong type
        or field, faster than the site's cap), BUSY, CANCELED, FENCED, STOPPED (report it), ROS_ERROR, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        permit, known = await check(topic, msg_type, [msg])
        await server.limits.check_velocity("publish_once", velocities(permit, [msg], [VELOCITY_S]))
        async with _publisher(server, permit, known, "publish_once") as sender:
            await sender.hold(msg, VELOCITY_S if sender.moves else 0.0)
        return sender.result()

    @server.tool
    async def publish_for_durations(
        topic: Name,
        msg_type: MsgType,
        messages: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_MESSAGES)],
        durations: Annotated[
            list[Annotated[Finite, Field(ge=0, le=MAX_TOTAL_S)]],
            Field(min_length=1, max_length=MAX_MESSAGES, description="seconds after each message, 60 in all"),
        ],
    ) -> PublishResult:
        """Publish messages one after the other, and wait after each for its duration, to a topic that the site allows.

        A velocity (Twist) is repeated all the while, and a zero velocity ends the call, also when it is canceled.
        Durations are in the robot's time and never longer in wall time. Failures: as of publish_once.
        """
        if len(messages) != len(durations):
            raise InvalidArgumentsError(
                f"{len(messages)} messages and {len(durations)} durations; valid: as many durations as messages"
            )
        if sum(durations) > MAX_TOTAL_S:
            raise InvalidArgumentsError(
                f"the durations add up to {sum(durations):g} s; valid: at most {MAX_TOTAL_S:g} s"
            )
        permit, known = await check(topic, msg_type, messages)
        await server.limits.check_velocity("publish_for_durations", velocities(permit, messages, durations))
        async with _publisher(server, permit, known, "publish_for_durations") as sender:
            for message, seconds in zip(messages, durations, strict=True):
                await sender.hold(message, seconds)
        return sender.result()


def velocities(permit: WritableTopic, messages: list[Message], seconds: list[float]) -> list[tuple[Message, float]]:
    """The twists of a velocity topic's messages with the time for which each is held; none on another topic."""
    kind = plain(permit.type)
    if kind not in VELOCITIES:
        return []
    twists = [message.get("twist") or {} if kind.endswith("Stamped") else message for message in messages]
    return list(zip(twists, seconds, strict=True))


class _Sender:
    """Publishes to one topic for one call."""

    def __init__(self, robot: Robot, permit: WritableTopic, msg_type: str, lease: MotionLease) -> None:
        self._robot, self._topic, self._type, self._lease = robot, permit.name, msg_type, lease
        self.moves = plain(msg_type) in VELOCITIES
        self._sent, self._started = 0, time.monotonic()
        self._told_at = self._started

    async def hold(self, message: Message, seconds: float) -> None:
        """Send, and wait; nothing goes out once the call is canceled, fenced off, or the guard has latched.

        Raises CanceledError, FencedError, StoppedError, BridgeUnavailableError.
        """
        clock = self._robot.clock
        until, ros_until = time.monotonic() + seconds, clock.now() + seconds
        await self._send(message)
        while (left := min(until - time.monotonic(), ros_until - clock.now())) > 0:
            await _sleep(self._lease, min(left, REPEAT_S))
            await self._lease.ready()
            if self.moves:
                await self._send(message)
            await self._tell()

    async def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told_at >= REPORT_EVERY_S:
            self._told_at = now
            await report_progress(now - self._started, None, f"published {self._sent} messages on {self._topic}")

    async def halt(self) -> None:
        """Zero velocity, whatever the reason for the end: standing still needs no permission."""
        if self.moves and self._sent:
            self._sent += 1
            try:
                await self._robot.link.publish(self._topic, self._type, {})
            except BridgeUnavailableError:
                return  # the controller's own time-out or the guard ends the motion

    async def _send(self, message: Message) -> None:
        await self._lease.ready()
        await self._robot.link.publish(self._topic, self._type, message)
        self._sent += 1

    def result(self) -> PublishResult:
        return PublishResult(
            topic=self._topic,
            msg_type=self._type,
            published=self._sent,
            duration_s=round(time.monotonic() - self._started, 3),
        )


@asynccontextmanager
async def _publisher(server: ToolServer, permit: WritableTopic, msg_type: str, tool: str) -> AsyncGenerator[_Sender]:
    async with server.leases.acquire(f"topic {permit.name}", tool) as lease:
        await lease.ready()
        await server.robot.link.advertise(permit.name, msg_type)
        await _sleep(lease, DISCOVERY_S)
        sender = _Sender(server.robot, permit, msg_type, lease)
        try:
            yield sender
        finally:
            with anyio.CancelScope(shield=True):
                await sender.halt()


async def _sleep(lease: MotionLease, seconds: float) -> None:
    """Wait, at most until the call is canceled."""
    try:
        await asyncio.wait_for(lease.canceled.wait(), seconds)
    except TimeoutError:
        return
