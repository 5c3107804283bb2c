"""approach_target: drive in to a standoff from a target that was seen."""

import math
from dataclasses import dataclass
from typing import Any

from quartet_contracts.tools.nav2 import ApproachTargetResult
from quartet_nav2.motion import (
    check_speed,
    drive,
    drive_progress,
    limit_for,
    spin_goal,
    straight_goal,
    turn_progress,
    verdict,
    where,
)
from quartet_robot_link import Message, MotionOutcome, Robot
from quartet_robot_link.geometry import Vector
from quartet_site import RobotFile
from quartet_tool_server import Finite, InvalidArgumentsError, ToolServer

MAX_DISTANCE_M = 5.0
"""A target further away is driven to with navigate_to_pose first."""


@dataclass(frozen=True)
class Sight:
    """Target as seen from base_footprint: distance on the floor plane [m] and bearing [rad, left positive]."""

    distance: float
    bearing: float


def drive_distance(distance: float, standoff: float, file: RobotFile) -> float:
    """Return how far to drive towards a target [m]; 0 when the robot is near enough.

    The published rule is max(distance - standoff, 0.20), and nothing at all up to standoff + 0.10: a short drive is
    stretched to the minimum that the base does well. The stretch is limited here so that the robot never plans to end
    nearer than standoff - tolerance, which matters when robot.yaml has a longer minimum or a tighter tolerance.
    """
    rules = file.approach
    if distance <= standoff + rules.tolerance_m:
        return 0.0
    stretched = min(rules.minimum_drive_m, distance - standoff + rules.tolerance_m)
    return max(distance - standoff, stretched)


def approach_way(x: float, y: float, standoff: float) -> tuple[float, float]:
    """Return how far approach_target drives towards a target at (x, y) [m] of the base frame; (0, 0) if it is near."""
    distance = math.hypot(x, y)
    share = max(0.0, 1.0 - standoff / distance) if distance > 0 else 0.0
    return share * x, share * y


def register(server: ToolServer) -> None:
    """Add approach_target."""
    robot, file = server.robot, server.robot.file

    def approach_limits(target_x_base: float, target_y_base: float, standoff_m: float, speed: float) -> None:
        distance = math.hypot(target_x_base, target_y_base)
        if not 0 < standoff_m <= MAX_DISTANCE_M:
            raise InvalidArgumentsError(
                f"standoff_m {standoff_m:g} is not valid; valid: above 0, at most {MAX_DISTANCE_M:g}"
            )
        if distance > MAX_DISTANCE_M:
            raise InvalidArgumentsError(
                f"the target is {distance:.2f} m away; valid: at most {MAX_DISTANCE_M:g} m. Drive nearer with "
                "navigate_to_pose, then look again"
            )
        check_speed(speed, robot)

    def approach_goal(
        target_x_base: float, target_y_base: float, standoff_m: float, speed: float
    ) -> tuple[str, Message]:
        x, y = approach_way(target_x_base, target_y_base, standoff_m)
        return "DriveOnHeading", {"target": {"x": x, "y": y}, "speed": speed}

    @server.tool(moves="base", limits=approach_limits, goal=approach_goal)
    async def approach_target(
        target_x_base: Finite, target_y_base: Finite, standoff_m: Finite, speed: Finite = file.approach.speed_m_s
    ) -> ApproachTargetResult:
        """Turn to a target that was just seen and drive straight in until it is standoff_m away.

        target_x_base (forward) and target_y_base (left) in metres in the base frame, as detect_objects gives them in
        position_base (of a wide surface: near_point_base), for the pose in which the robot stands now. standoff_m:
        distance from the robot's centre to the target at the end. Nothing moves when the distance is already at most
        the standoff plus its tolerance (ok is true, driven_m 0). Distances after the motion come from odometry: look
        again to be sure.
        Failures: INVALID_PARAMETERS, NAVIGATION_FAILED (e.g. DRIVE_COLLISION_AHEAD: it stopped before an obstacle;
        distance_after_m says how near it came, which may be enough), NAVIGATION_CANCELED, NAV2_NOT_ACTIVE, BUSY,
        TIMEOUT, TRANSFORM_UNAVAILABLE or BRIDGE_UNAVAILABLE (look before trying again), STOPPED (report it).
        """
        distance, bearing = math.hypot(target_x_base, target_y_base), math.atan2(target_y_base, target_x_base)
        before: dict[str, Any] = {"distance_before_m": distance, "bearing_before_rad": bearing}
        tolerance = file.approach.tolerance_m
        if distance <= standoff_m + tolerance:
            return ApproachTargetResult(
                **before,
                distance_after_m=distance,
                bearing_after_rad=bearing,
                within_tolerance=True,
                pose=await where(robot),
                message=f"already {distance:.2f} m away, within {tolerance:g} m of the standoff; nothing moved",
            )
        # Before the turn, so that nothing moves towards what is out of bounds; the drive itself is judged once more.
        await server.limits.check_way("approach_target", *approach_way(target_x_base, target_y_base, standoff_m))
        async with server.leases.acquire("base", "approach_target") as lease:
            target = await _in_odom(robot, target_x_base, target_y_base)
            sight, turned, driven, took = Sight(distance, bearing), 0.0, 0.0, 0.0
            outcome: MotionOutcome | None = None
            if abs(bearing) > math.radians(file.approach.turn_threshold_deg):
                limit_s = limit_for(bearing, file.base.angular_speed_rad_s)
                outcome = await drive(
                    server,
                    lease,
                    file.actions.spin,
                    "Spin",
                    spin_goal(bearing, limit_s),
                    limit_s=limit_s,
                    progress=turn_progress(bearing),
                )
                sight = await _see(robot, target)
                turned, took = bearing - sight.bearing, outcome.duration_s
            length = drive_distance(sight.distance, standoff_m, file)
            if length > 0 and (outcome is None or verdict(outcome).get("ok", True)):
                limit_s = limit_for(length, speed)
                outcome = await drive(
                    server,
                    lease,
                    file.actions.drive_on_heading,
                    "DriveOnHeading",
                    straight_goal(length, speed, limit_s),
                    limit_s=limit_s,
                    progress=drive_progress(length),
                )
                ahead, sight = sight, await _see(robot, target)
                driven, took = ahead.distance - sight.distance, took + outcome.duration_s
            fields: dict[str, Any] = {} if outcome is None else verdict(outcome)
            fields |= {"duration_s": round(took, 2)}
            return ApproachTargetResult(
                **before,
                **fields,
                distance_after_m=sight.distance,
                bearing_after_rad=sight.bearing,
                turned_rad=turned,
                driven_m=driven,
                within_tolerance=abs(sight.distance - standoff_m) <= tolerance,
                pose=await where(robot),
            )


async def _in_odom(robot: Robot, x: float, y: float) -> Vector:
    """A point of the base frame in the odom frame, which does not jump while the robot drives."""
    frames = robot.file.frames
    return (await robot.transform(frames.odom, frames.base)).apply((x, y, 0.0))


async def _see(robot: Robot, target: Vector) -> Sight:
    """The target from where the base is now."""
    frames = robot.file.frames
    x, y, _ = (await robot.transform(frames.base, frames.odom)).apply(target)
    return Sight(math.hypot(x, y), math.atan2(y, x))
