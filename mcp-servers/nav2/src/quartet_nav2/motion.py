"""Runs one Nav2 action and says how it ended."""

import asyncio
import math
from typing import Any

from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import NavCode
from quartet_contracts.tools.results import CommonCode
from quartet_nav2.codes import advice, name_of
from quartet_robot_link import (
    ActionUnavailableError,
    GoalRejectedError,
    GoalStatus,
    Message,
    MotionOutcome,
    Robot,
    TransformUnavailableError,
    duration,
    number,
)
from quartet_safety.motion import CanceledError, MotionLease
from quartet_tool_server import InvalidArgumentsError, Progress, ToolError, ToolServer

MIN_SPEED_M_S = 0.01
"""Slower is standing, and the time that it would take has no end."""
SLACK_S = 10.0
"""Time on top of what a turn or a drive takes at the given speed, for acceleration and waiting."""
SLOWNESS = 3.0
"""A motion may take this many times as long as at full speed."""
GRACE_S = 5.0
"""Nav2's own time allowance ends this much before ours, so that its result arrives."""


def limit_for(length: float, speed: float) -> float:
    """ROS time [s] that a motion over `length` at `speed` may take."""
    return SLACK_S + SLOWNESS * abs(length) / speed


def check_speed(speed: float, robot: Robot) -> None:
    """Raises InvalidArgumentsError for a speed that the robot file does not allow."""
    cap = robot.file.base.linear_speed_m_s
    if not MIN_SPEED_M_S <= speed <= cap:
        raise InvalidArgumentsError(
            f"speed {speed:g} m/s is not valid; valid: at least {MIN_SPEED_M_S:g}, at most {cap:g}"
        )


def check_length(name: str, value: float, limit: float, unit: str, *, signed: bool = False, instead: str = "") -> None:
    """Raises InvalidArgumentsError when a distance or an angle is out of range."""
    low = -limit if signed else 0.0
    if not (low <= value <= limit) or (value == 0 and not signed):
        valid = f"{low:g} to {limit:g} {unit}" if signed else f"above 0, at most {limit:g} {unit}"
        raise InvalidArgumentsError(f"{name} {value:g} is not valid; valid: {valid}{instead}")


async def drive(
    server: ToolServer,
    lease: MotionLease,
    action: str,
    kind: str,
    args: Message,
    *,
    limit_s: float,
    progress: Progress,
) -> MotionOutcome:
    """Run one goal of a Nav2 action to its end.

    Raises ToolError NAV2_NOT_ACTIVE, NAVIGATION_CANCELED (before the goal was sent, such as between two steps of a
    call), and what ToolServer.run_goal raises except CanceledError.
    """
    try:
        return await server.run_goal(
            lease, action, f"nav2_msgs/action/{kind}", args, limit_s=limit_s + GRACE_S, progress=progress
        )
    except CanceledError as error:
        raise ToolError(f"{error}; the base stands", code=NavCode.NAVIGATION_CANCELED) from error
    except ActionUnavailableError as error:
        raise ToolError(f"{error}. Nav2 is not running or not active.", code=NavCode.NAV2_NOT_ACTIVE) from error
    except GoalRejectedError as error:
        raise ToolError(
            f"{error}. Nav2 refuses goals while it is not active: wait until it is, then try again.",
            code=NavCode.NAV2_NOT_ACTIVE,
        ) from error


async def run_without_lease(robot: Robot, action: str, kind: str, goal: Message, *, limit_s: float) -> MotionOutcome:
    """Run one goal of a Nav2 action that moves nothing, and so needs no motion lease.

    Raises ToolError NAV2_NOT_ACTIVE, and what Motion.outcome raises.
    """
    running = robot.start_motion(action, f"nav2_msgs/action/{kind}", goal, limit_s=limit_s)
    try:
        return await running.outcome()
    except asyncio.CancelledError:
        running.cancel("the caller gave the call up")
        raise
    except (ActionUnavailableError, GoalRejectedError) as error:
        text = f"{error}. Nav2 is not running or not active: wait until it is, then try again."
        raise ToolError(text, code=NavCode.NAV2_NOT_ACTIVE) from error


def verdict(outcome: MotionOutcome) -> dict[str, Any]:
    """Fields of the result that follow from how the action ended."""
    code = int(outcome.values.get("error_code") or 0)
    fields: dict[str, Any] = {
        "nav2_error_code": code,
        "nav2_error": "" if code == 0 else name_of(code),
        "duration_s": round(outcome.duration_s, 2),
    }
    if outcome.status is GoalStatus.SUCCEEDED:
        return fields
    if outcome.status is GoalStatus.CANCELED:
        because = outcome.canceled_because or "canceled by somebody else"
        return fields | failed(NavCode.NAVIGATION_CANCELED, f"the motion was canceled ({because}); the goal has ended")
    name = name_of(code) if code else "ABORTED"
    text = str(outcome.values.get("error_msg") or "")
    message = f"Nav2 gave up: {name}{f' ({text})' if text else ''}; {advice(name)}"
    wire = CommonCode.TRANSFORM_UNAVAILABLE if name.endswith("TF_ERROR") else NavCode.NAVIGATION_FAILED
    return fields | failed(wire, message)


def failed(code: str, message: str) -> dict[str, Any]:
    """Fields of a failed result."""
    return {"ok": False, "error_code": str(code), "message": message}


async def where(robot: Robot, *, timeout_s: float = 1.0) -> Pose2D | None:
    """Pose of the base in the map, None while it is not known: a motion's own outcome matters more."""
    try:
        pose = await robot.base_pose(timeout_s=timeout_s)
    except TransformUnavailableError:
        return None
    return Pose2D(x=pose.x, y=pose.y, yaw=pose.yaw, frame_id=pose.frame)


def pose_stamped(robot: Robot, x: float | None, y: float | None, yaw: float) -> Message:
    """geometry_msgs/msg/PoseStamped on the floor of the map; no stamp means the newest transform."""
    return {
        "header": {"frame_id": robot.file.frames.map},
        "pose": {
            "position": {"x": x, "y": y, "z": 0.0},
            "orientation": {"x": 0.0, "y": 0.0, "z": math.sin(yaw / 2), "w": math.cos(yaw / 2)},
        },
    }


def spin_goal(angle: float, limit_s: float) -> Message:
    """Goal of nav2_msgs/action/Spin; `angle` [rad], positive to the left."""
    return {"target_yaw": angle, "time_allowance": duration(limit_s)}


def straight_goal(distance: float, speed: float, limit_s: float) -> Message:
    """Goal of nav2_msgs/action/DriveOnHeading and BackUp [m, m/s]."""
    return {
        "target": {"x": distance, "y": 0.0, "z": 0.0},
        "speed": speed,
        "time_allowance": duration(limit_s),
    }


def turn_progress(angle: float) -> Progress:
    """Progress of a spin from its feedback."""

    def report(feedback: Message) -> tuple[float, float | None, str]:
        done = abs(number(feedback.get("angular_distance_traveled")) or 0.0)
        return done, abs(angle), f"turned {math.degrees(done):.0f} of {math.degrees(abs(angle)):.0f} degrees"

    return report


def drive_progress(distance: float) -> Progress:
    """Progress of a straight drive from its feedback."""

    def report(feedback: Message) -> tuple[float, float | None, str]:
        done = abs(number(feedback.get("distance_traveled")) or 0.0)
        return done, distance, f"drove {done:.2f} of {distance:.2f} m"

    return report
