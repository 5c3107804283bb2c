"""Shared steps of the arm tools: run a MoveIt action, read the arm's pose, verify that the target was reached."""

import math
from typing import Any

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import MoveitCode
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.codes import ADVICE, SUCCESS, name_of, tool_code
from quartet_robot_link import (
    ActionUnavailableError,
    CallTimeoutError,
    GoalStatus,
    Message,
    MotionOutcome,
    Robot,
    TransformUnavailableError,
)
from quartet_robot_link.geometry import angle_between, wrap
from quartet_safety.motion import MotionLease
from quartet_tool_server import ToolServer

REACHED_M = 0.01
REACHED_RAD = 0.05
"""A motion that ends further than this from its target has failed, whatever MoveIt says."""
REACHED_JOINT_RAD = 0.02


async def run(
    server: ToolServer, lease: MotionLease, action: str, kind: str, goal: Message, *, limit_s: float
) -> MotionOutcome:
    """One goal of a moveit_msgs action. Raises what ToolServer.run_goal raises."""

    def report(feedback: Message) -> tuple[float, float | None, str]:
        return 0.0, None, str(feedback.get("state") or "moving").lower()

    try:
        return await server.run_goal(
            lease, action, f"moveit_msgs/action/{kind}", goal, limit_s=limit_s, progress=report
        )
    except ActionUnavailableError as error:
        raise ActionUnavailableError(f"{error} (MoveIt's move_group is not running)") from error


def moveit_code(values: Message) -> int:
    """Number in a response's or result's error_code."""
    return int((values.get("error_code") or {}).get("val") or 0)


def verdict(outcome: MotionOutcome, *, planned: bool) -> dict[str, Any]:
    """Fields of the result that follow from how the action ended."""
    code = moveit_code(outcome.values)
    fields: dict[str, Any] = {
        "moveit_error_code": code,
        "moveit_error": "" if code == SUCCESS else name_of(code),
        "planned": planned,
        "executed": False,
        "duration_s": round(outcome.duration_s, 2),
    }
    if outcome.status is GoalStatus.SUCCEEDED and code == SUCCESS:
        return fields | {"planned": True, "executed": True}
    if outcome.status is GoalStatus.CANCELED:
        because = outcome.canceled_because or "canceled by somebody else"
        return fields | failed(CommonCode.CANCELED, f"the motion was canceled ({because}); the arm holds where it is")
    wire = tool_code(code, planned=planned)
    text = str((outcome.values.get("error_code") or {}).get("message") or "")
    return fields | failed(
        wire, f"MoveIt gave up: {name_of(code)}{f' ({text})' if text else ''}; {ADVICE.get(wire, '')}"
    )


def failed(code: str, message: str) -> dict[str, Any]:
    """Fields of a failed result."""
    return {"ok": False, "error_code": str(code), "message": message.rstrip("; ")}


async def tool_pose(robot: Robot) -> Pose3D:
    """Pose of the tool flange in the base frame, from /tf. Raises TransformUnavailableError."""
    return await link_pose(robot, None)


async def link_pose(robot: Robot, link: str | None) -> Pose3D:
    """Pose of a link (None: the tool flange) in the base frame, from /tf. Raises TransformUnavailableError."""
    return await pose_in(robot, robot.file.frames.base, link)


async def pose_in(robot: Robot, frame: str, link: str | None = None) -> Pose3D:
    """Pose of a link (None: the tool flange) in `frame`, from /tf. Raises TransformUnavailableError."""
    found = await robot.transform(frame, link or robot.file.frames.tool)
    return Pose3D(frame_id=frame, position=found.translation, orientation=found.quaternion)


async def tool_pose_or_none(robot: Robot) -> Pose3D | None:
    """The same, None while it is not known: a motion's own outcome matters more."""
    try:
        return await tool_pose(robot)
    except TransformUnavailableError:
        return None


async def arm_joints(robot: Robot) -> list[float]:
    """Joint positions of the arm [rad] in the order of the robot file.

    Raises CallTimeoutError, BridgeUnavailableError.
    """
    positions = await robot.joint_positions()
    missing = [name for name in robot.file.arm.joints if name not in positions]
    if missing:
        raise CallTimeoutError(
            f"{robot.file.topics.joint_states} lacks {', '.join(missing)}; check arm.joints in robot.yaml"
        )
    return [positions[name] for name in robot.file.arm.joints]


def missed(reached: Pose3D, wanted: Pose3D) -> str | None:
    """Return how far the tool is from its target, None when it is there."""
    off = math.dist(reached.position, wanted.position)
    angle = angle_between(reached.orientation, wanted.orientation)
    if off <= REACHED_M and angle <= REACHED_RAD:
        return None
    return f"the tool is {off * 1000:.0f} mm and {math.degrees(angle):.1f} degrees from its target"


def missed_joints(robot: Robot, reached: list[float], wanted: list[float]) -> str | None:
    """Joints that are not where they should be, None when all are."""
    off = [
        f"{name} by {math.degrees(abs(wrap(a - b))):.1f} degrees"
        for name, a, b in zip(robot.file.arm.joints, reached, wanted, strict=True)
        if abs(wrap(a - b)) > REACHED_JOINT_RAD
    ]
    return f"joints are off: {', '.join(off)}" if off else None


def not_reached(text: str) -> dict[str, Any]:
    """Fields of a result whose motion was reported as done and was not."""
    code = MoveitCode.EXECUTION_FAILED
    return failed(code, f"MoveIt reported success, but {text}; {ADVICE[code]}") | {"executed": False}
