"""Grasp state: what the gripper holds, from width, effort, the driver's status and how the last command ended."""

import contextlib
import math
import time
from dataclasses import dataclass, replace
from statistics import fmean

from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.results import CommonCode
from quartet_robot_link import LATCHED, SENSOR, CallTimeoutError, Message, Robot, Subscription, joint_values
from quartet_tool_server import ToolError

OPEN_SHARE = 0.9
"""An opened gripper is at least this part of its stroke wide."""
NOTHING = frozenset({"detached", "empty"})
"""A driver's words for fingers with nothing between them, however they press."""
LIGHT_READINGS = 8
"""Number of efforts that are averaged while the fingers hardly press: the noise of one reading hides a light touch."""
LIGHT_WAIT_S = 0.5
"""Wall time limit for these readings; a slower driver gives fewer."""
JOINT_WAIT_S = 2.0
"""Wall time limit for the first message with the gripper's joint."""


@dataclass(frozen=True)
class Reading:
    """Reading of the gripper's sensors; status is the driver's own word."""

    width_m: float
    effort_n: float | None
    """Size of the joint's effort; None if its driver publishes none, null, or nothing but 0.0."""
    moving: bool
    status: str | None


class Fingers:
    """The fingers of one robot. They remember how their last command ended, for drivers that publish no effort."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._stop: tuple[float, GraspState] | None = None
        """Width [m] at which the last command left them, and the state by its end: HOLDING after a stall."""

    def forget(self) -> None:
        """Forget the last command, because the fingers are about to move."""
        self._stop = None

    async def stopped(self, wanted_m: float, values: Message, *, opens: bool) -> GripperResult:
        """Return the grasp state after a command that asked for the width `wanted_m`, and remember its end.

        `values`: the action's result, whose flags may be missing. Raises CallTimeoutError, BridgeUnavailableError.
        """
        reading, file = await read(self._robot), self._robot.file.gripper
        short, slack = reading.width_m - wanted_m, file.holding_min_width_m
        stalled, reached = values.get("stalled") is True, values.get("reached_goal") is True
        # Fingers that are as open as can be did not move: their motor may be off.
        if short > 0 and stalled and not reached and reading.width_m < OPEN_SHARE * file.stroke_m:
            state = GraspState.HOLDING
        elif abs(short) <= slack and (opens or wanted_m <= slack):
            # A close to a width of its own may end at the thing.
            state = GraspState.EMPTY
        else:
            state = GraspState.UNKNOWN
        self._stop = reading.width_m, state
        return judge(self._robot, reading, state)

    async def grasp(self) -> GripperResult:
        """Return what the gripper holds, once it has come to rest. Raises CallTimeoutError, BridgeUnavailableError."""
        reading = await read(self._robot)
        width_m, state = self._stop or (math.inf, GraspState.UNKNOWN)
        stays = abs(width_m - reading.width_m) <= self._robot.file.gripper.holding_min_width_m
        return judge(self._robot, reading, state if stays else GraspState.UNKNOWN)


async def read(robot: Robot) -> Reading:
    """Read the gripper once it has come to rest, or when its settle time ends.

    Raises CallTimeoutError, BridgeUnavailableError.
    """
    topics, deadline = robot.file.topics, time.monotonic() + robot.file.gripper.settle_timeout_s
    async with (
        robot.link.subscribe(topics.joint_states, "sensor_msgs/msg/JointState", qos=SENSOR, keep=10) as joints,
        robot.link.subscribe(topics.gripper_status, "std_msgs/msg/String", qos=LATCHED, keep=1) as status,
    ):
        joint_state = JointReader(robot, joints)
        while True:
            position = await joint_state.next_position()
            latched = status.latest
            reading = _reading(robot, joint_state, position, None if latched is None else str(latched.get("data", "")))
            if robot.clock.stands:
                reading = replace(reading, moving=False, status=None if reading.moving else reading.status)
            if reading.moving and time.monotonic() <= deadline:
                continue
            if reading.moving or not _hardly_press(robot, reading):
                return reading
            return replace(reading, effort_n=await _mean_effort(joint_state))


class JointReader:
    """Readings of the finger joints from joint_states; several nodes may publish there, each its own joints."""

    def __init__(self, robot: Robot, joints: Subscription) -> None:
        self._robot, self._joints = robot, joints
        self._latest: dict[str, dict[str, float]] = {"position": {}, "velocity": {}, "effort": {}}

    def latest(self, field: str) -> dict[str, float]:
        """Return the latest `field` (position, velocity, effort) of each finger joint that has one."""
        values = self._latest[field]
        return {name: values[name] for name in self._robot.file.gripper.joint_ranges if name in values}

    async def next(self, timeout_s: float) -> bool:
        """Take one message, and return whether it has a finger joint's position. Raises CallTimeoutError."""
        message = await self._joints.next(timeout_s)
        for field, values in self._latest.items():
            values |= joint_values(message, field)
        return not joint_values(message, "position").keys().isdisjoint(self._robot.file.gripper.joint_ranges)

    async def next_position(self) -> float:
        """Return the next position of the fingers, on the scale of gripper.joint.

        Raises CallTimeoutError, BridgeUnavailableError, and ToolError if a finger joint is missing.
        """
        lacking = time.monotonic() + JOINT_WAIT_S
        while True:
            has_finger = await self.next(JOINT_WAIT_S)
            position = self._robot.file.gripper.position_of(self._latest["position"])
            if has_finger and position is not None:
                return position
            # Another node publishes its own joints on the same topic, or the driver has no position yet.
            if time.monotonic() > lacking:
                raise _no_joint(self._robot, set(self._latest["position"]))


async def _mean_effort(joint_state: JointReader) -> float | None:
    """Return the size of the mean effort of the latest readings and those that follow, None if none measures it."""
    efforts = list[float]()
    until = time.monotonic() + LIGHT_WAIT_S
    with contextlib.suppress(CallTimeoutError):
        has_finger = True
        while True:
            if has_finger and (measured := joint_state.latest("effort")):
                efforts.append(_grip(measured))
            if len(efforts) >= LIGHT_READINGS or time.monotonic() >= until:
                break
            has_finger = await joint_state.next(LIGHT_WAIT_S)
    # A sensor is never exactly 0.0 that often: a driver fills in what it does not measure.
    return abs(fmean(efforts)) if any(efforts) else None


def _grip(efforts: dict[str, float]) -> float:
    """Return the effort of the only finger joint with its sign, or the mean size of both."""
    values = list(efforts.values())
    return values[0] if len(values) == 1 else fmean(map(abs, values))


def _reading(robot: Robot, joint_state: JointReader, position: float, status: str | None) -> Reading:
    limit = robot.file.gripper.at_rest_rad_s
    speeds = map(abs, joint_state.latest("velocity").values())
    moving = status == "moving" if status else max(speeds, default=0.0) > limit
    efforts = joint_state.latest("effort")
    effort = abs(_grip(efforts)) if any(efforts.values()) else None
    return Reading(max(0.0, robot.file.gripper.width_at(position)), effort, moving, status)


def _half_open(robot: Robot, reading: Reading) -> bool:
    file = robot.file.gripper
    return file.holding_min_width_m < reading.width_m < OPEN_SHARE * file.stroke_m


def _hardly_press(robot: Robot, reading: Reading) -> bool:
    """Whether only a small effort can tell that the fingers touch something."""
    light = reading.effort_n is None or reading.effort_n < robot.file.gripper.holding_min_effort_n
    return light and _half_open(robot, reading) and reading.status not in NOTHING


def _no_joint(robot: Robot, seen: set[str]) -> ToolError:
    missing = [f"'{name}'" for name in robot.file.gripper.joint_ranges if name not in seen]
    return ToolError(
        f"{robot.file.topics.joint_states} has no position of joint {' or '.join(missing)}; it has: "
        f"{', '.join(sorted(seen))}. Set gripper.joint and gripper.second_joint in robot.yaml",
        code=CommonCode.ROS_ERROR,
    )


def judge(robot: Robot, reading: Reading, stop: GraspState = GraspState.UNKNOWN) -> GripperResult:
    """Return the grasp state of a reading; `stop` is how the last command left the fingers, if they are still there.

    HOLDING takes both: fingers apart, and effort on them (or the driver's word for that). Where no effort is measured,
    fingers that stalled hold something, and fingers that came as far as asked hold nothing.

    Half open fingers are EMPTY when nothing presses on them (or the driver says so). In between they touch something,
    which may hang there or lie next to them: light things stay between fingers that press a fifth of what is called
    holding.
    """
    file = robot.file.gripper
    status, effort = reading.status or "", reading.effort_n
    attached = status.removeprefix("attached:").strip() if status.startswith("attached:") else None
    if effort is None:
        pressed, touches = stop is GraspState.HOLDING, stop is not GraspState.EMPTY and status != "open"
    else:
        pressed, touches = effort >= file.holding_min_effort_n, effort >= file.touching_effort_n
    if status:
        pressed = bool(attached) or status == "holding"
    if reading.moving:
        state = GraspState.MOVING
    elif reading.width_m > file.holding_min_width_m and pressed:
        state = GraspState.HOLDING
    elif _half_open(robot, reading) and touches and status not in NOTHING:
        state = GraspState.UNKNOWN
    else:
        state = GraspState.EMPTY
    wide = f"something {reading.width_m * 1000:.0f} mm wide"
    unsure = (
        f"the fingers may hold {wide}: joint '{file.joint}' has no effort, and only the wrist camera can tell"
        if effort is None
        else f"the fingers touch {wide} with {effort:.1f} N, less than the {file.holding_min_effort_n:g} N that hold "
        "it for sure; close the fingers to hold it, open them to let go"
    )
    messages = {
        GraspState.HOLDING: f"{wide} is held",
        GraspState.EMPTY: "nothing is held",
        GraspState.MOVING: f"the fingers still move after {file.settle_timeout_s:g} s",
        GraspState.UNKNOWN: unsure,
    }
    return GripperResult(
        state=state,
        width_m=reading.width_m,
        effort_n=effort,
        attached_object=attached if state is GraspState.HOLDING else None,
        message=messages[state],
    )
