"""Commands of grippers that have no action: a service or a topic starts them, and /joint_states shows how they end."""

import asyncio
import contextlib
import math
import time

import anyio

from quartet_contracts.tools.moveit import MoveitCode
from quartet_moveit.fingers import JointReader
from quartet_robot_link import SENSOR, CallTimeoutError, GoalStatus, Message, MotionOutcome, Robot
from quartet_safety.motion import MotionLease, MotionRefusedError
from quartet_site import Gripper
from quartet_tool_server import REPORT_EVERY_S, ToolError, report_progress

START_S = 1.5
"""Time in which fingers that move at all have begun to. This and the times below are ROS time, or wall time while a
simulation stands still [s]."""
REST_S = 0.5
"""Time without motion after which the fingers have stopped."""
REST_M = 0.0005
"""Change of the opening below which the fingers stand still [m]."""
SEND_EVERY_S = 0.2
"""Time between two messages until the fingers move: a driver misses those before it discovered the topic."""
TRAVEL_S = 1
"""Duration of a JointTrajectory [s]."""


def command_message(file: Gripper, position: float) -> Message:
    """Return the message of a topic that sends the fingers to `position` of gripper.joint."""
    positions = file.positions_for(position)
    if file.command == "JointTrajectory":
        point = {"positions": positions, "time_from_start": {"sec": TRAVEL_S, "nanosec": 0}}
        return {"joint_names": list(file.joint_ranges), "points": [point]}
    return {"data": positions[0] if file.command == "Float64" else positions}


async def drive(lease: MotionLease, robot: Robot, position: float, *, limit_s: float) -> MotionOutcome:
    """Send the fingers to `position` of gripper.joint and wait until they rest, for at most `limit_s`.

    A canceled call holds the fingers where they are if a topic commands them; a service cannot be canceled. The
    outcome's values are those of a GripperCommand; `stalled` is said of fingers only that did move. Raises
    MotionRefusedError, CallTimeoutError, BridgeUnavailableError, ServiceUnavailableError, RosError, and ToolError if
    the driver refuses.
    """
    topic = robot.file.topics.joint_states
    lease.check()
    await lease.ready()
    async with robot.link.subscribe(topic, "sensor_msgs/msg/JointState", qos=SENSOR, keep=10) as joints:
        travel = _Travel(robot, JointReader(robot, joints), position)
        await lease.unless_canceled(travel.read())
        sending = asyncio.create_task(_send(robot, position, limit_s))
        try:
            return await travel.follow(lease, sending, limit_s)
        except asyncio.CancelledError:
            lease.cancel("the caller gave the call up")
            lease.cut_short = True
            with anyio.CancelScope(shield=True):
                await travel.hold(sending)
            raise
        except (CallTimeoutError, ToolError):
            await travel.hold(sending)
            raise
        finally:
            sending.cancel()


class _Travel:
    """Fingers on their way to a position of gripper.joint. Times are ROS time [s]."""

    def __init__(self, robot: Robot, reader: JointReader, position: float) -> None:
        self._robot, self._reader, self._wanted = robot, reader, position
        self._now = math.nan
        """Latest position of gripper.joint."""

    @property
    def _misses(self) -> float:
        """Difference between the opening and the wanted one [m]."""
        file = self._robot.file.gripper
        return abs(file.width_at(self._now) - file.width_at(self._wanted))

    async def read(self) -> None:
        """Wait for the next position of the fingers. Raises as JointReader.next_position."""
        self._now = await self._reader.next_position()

    async def hold(self, sending: asyncio.Task[None]) -> None:
        """End `sending`, then send fingers that a topic commands to where they are: no other command may follow."""
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        if self._robot.file.gripper.command_kind == "msg":
            await _send(self._robot, self._now, 0.0)

    async def follow(self, lease: MotionLease, sending: asyncio.Task[None], limit_s: float) -> MotionOutcome:
        """Wait until the fingers rest."""
        robot, file = self._robot, self._robot.file.gripper
        reached = file.holding_min_width_m
        now = changed = sent = 0.0
        ros, wall = robot.clock.now(), time.monotonic()
        told = wall
        still, moved, there = self._now, False, self._misses <= reached
        while True:
            # The next lines end a canceled call; an end to the messages must not delay them.
            with contextlib.suppress(MotionRefusedError):
                await lease.unless_canceled(self.read())
            if lease.canceled.is_set() or robot.guard.latched:
                await self.hold(sending)
                lease.cut_short = True
                await lease.explain_canceled_goal(by_us=lease.canceled.is_set())
                return MotionOutcome(GoalStatus.CANCELED, {}, now, lease.reason)
            before, ros, wall = (ros, wall), robot.clock.now(), time.monotonic()
            now += wall - before[1] if robot.clock.stands else max(0.0, ros - before[0])
            if abs(file.width_at(self._now) - file.width_at(still)) > REST_M:
                still, changed, moved = self._now, now, True
            if sending.done():
                sending.result()
                if now - changed >= (REST_S if moved or there else START_S):
                    arrived = self._misses <= reached
                    values = {"reached_goal": arrived, "stalled": moved and not arrived}
                    return MotionOutcome(GoalStatus.SUCCEEDED, values, now)
                if file.command_kind == "msg" and not moved and now - sent >= SEND_EVERY_S:
                    await _send(robot, self._wanted, limit_s)
                    sent = now
            if now > limit_s:
                raise CallTimeoutError(f"the fingers did not come to rest within {limit_s:g} s; read the grasp state")
            if wall - told >= REPORT_EVERY_S:
                told = wall
                await report_progress(0.0, None, f"the fingers are {file.width_at(self._now) * 1000:.0f} mm apart")


async def _send(robot: Robot, position: float, limit_s: float) -> None:
    """Give the driver one command. `limit_s` is wall time for a service that answers when the fingers have stopped."""
    file = robot.file.gripper
    if file.command_topic is not None:
        await robot.link.advertise(file.command_topic, file.command_type)
        await robot.link.publish(file.command_topic, file.command_type, command_message(file, position))
        return
    closes = position == file.closed_position
    service = file.close_service if closes or file.open_service is None else file.open_service
    assert service is not None
    args = {"data": file.close_data is closes} if file.command == "SetBool" else {}
    answer = await robot.link.call_service(service, args, timeout_s=limit_s)
    if not answer.get("success"):
        raise ToolError(
            f"{service} refused: {answer.get('message') or 'no reason given'}; read the grasp state, then try again",
            code=MoveitCode.GRIPPER_FAILED,
        )
