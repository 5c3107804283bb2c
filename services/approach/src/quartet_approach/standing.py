"""Bring the robot to the standoff: straight in where that works, around the furniture where it does not."""

import math
from dataclasses import dataclass, replace

from quartet_agent_runtime import RequestContext
from quartet_approach.geometry import facing
from quartet_approach.target import NEARER_M, Sight, Target, look, remembered
from quartet_approach.traffic import drive_if_open
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import ApproachTargetResult, MotionResult

ROUNDS = 4
STRAIGHT_WITHIN_M = 1.2
"""Up to this far beyond the standoff the robot drives in a straight line, from further away it navigates."""
FRONT_M = 0.20
"""Free floor before a surface at the end of navigation; the drive-in covers it."""
AROUND_DEG = (0, 35, -35, 17, -17, 70, -70, 110, -110, 145, -145, 180)
"""Directions from which to try a target, relative to where it was seen from."""
BETWEEN_DEG = (52, -52, 90, -90, 127, -127, 162, -162)
"""Those between them, for where something small leaves no pose of the others free."""
ASIDE_DEG = (70, -70, 110, -110, 145, -145, 180, 35, -35, 17, -17)
"""Directions from which to try a surface of which this side has no room or no way for the arm: other edges first."""
TOO_NEAR_M = 0.25
FACING_RAD = math.radians(20)
BACK_OFF_M = 0.25
OTHER_SIDE_M = 0.3
"""A pose at least this far from where the robot stands is another side, from which the arm has another way."""
FAR_ENOUGH_M = 0.15
"""A target still counts as reached this far beyond standoff and tolerance, when nothing brings the robot nearer."""


@dataclass(frozen=True)
class Standing:
    """How the drive-in ended; `sight` is the last look at the target, None when it was lost."""

    reached: bool
    sight: Sight | None
    note: str


async def stand_before(check: RequestContext, target: Target, sight: Sight) -> Standing:
    """Drive in, look again and correct, at most ROUNDS times; from another side first where that is asked for.

    Where no other side is free, the robot stands nearer than usual instead.
    """
    note, fresh = "", False
    if target.other_side:
        if (moved := await _from_another_side(check, target, sight)) is not None:
            sight, fresh = moved, True
        else:
            # The robot may have driven to some of these poses, so that the target is elsewhere relative to it now.
            sight = remembered(sight, await check.pose())
            target = replace(target, standoff=target.standoff - NEARER_M)
    limit = target.standoff + check.robot.approach.tolerance_m
    for _ in range(ROUNDS):
        if sight.distance <= limit:
            fresh = await _settled(check, target, sight) and fresh
            break
        if sight.distance <= target.standoff + STRAIGHT_WITHIN_M:
            x, y = sight.aim_base
            drive = await check.call(
                ApproachTargetResult,
                "nav2__approach_target",
                target_x_base=x,
                target_y_base=y,
                standoff_m=target.standoff,
                speed=check.robot.approach.speed_m_s,
            )
            note = "" if drive.ok else f"drive-in: {drive.error_code} {drive.nav2_error}: {drive.message}"
            if drive.ok or (drive.distance_after_m or math.inf) <= limit:
                again = await _look_again(check, target, sight)
                if again is not None:
                    sight, fresh = again, True
                    continue
                note = "the target was lost from view after the drive-in"
        moved = await _from_another_side(check, target, sight)
        if moved is None:
            note = note or "no free pose in front of the target could be reached"
            break
        sight, note, fresh = moved, "", True
    last = sight if fresh else await _look_again(check, target, sight)
    if last is None:
        return Standing(False, None, "the last look does not show the target")
    reached = last.distance <= limit + FAR_ENOUGH_M
    return Standing(reached, last, note or f"{last.distance:.2f} m before the target, standoff {target.standoff:.2f} m")


async def _settled(check: RequestContext, target: Target, sight: Sight) -> bool:
    """Face the target and keep the distance that the arm needs; return whether nothing had to be done."""
    missing = target.standoff - sight.distance
    if abs(sight.bearing) > FACING_RAD:
        await check.call(MotionResult, "nav2__spin_robot", angle=sight.bearing)
    if missing > TOO_NEAR_M:
        await check.call(MotionResult, "nav2__backup_robot", distance=missing)
    return abs(sight.bearing) <= FACING_RAD and missing <= TOO_NEAR_M


async def _look_again(check: RequestContext, target: Target, sight: Sight) -> Sight | None:
    """Return the target as it is seen after a motion; turn to where it must be when it is not in view."""
    if again := await look(check, target, expected=sight.centre):
        return again
    expected = remembered(sight, await check.pose())
    if abs(expected.bearing) <= math.radians(check.robot.approach.turn_threshold_deg):
        return None
    await check.call(MotionResult, "nav2__spin_robot", angle=expected.bearing)
    return await look(check, target, expected=sight.centre)


async def _from_another_side(check: RequestContext, target: Target, sight: Sight) -> Sight | None:
    """Navigate to free poses on all sides of the target until it is seen from one."""
    here = await check.pose()
    around_deg = ASIDE_DEG if target.other_side and target.kind == "surface" else AROUND_DEG
    usual = [*_given(check, target, here), *_around(check, target, sight, here, around_deg)]
    for poses in (usual, _around(check, target, sight, here, BETWEEN_DEG)):
        driven = False
        for pose in poses:
            if await drive_if_open(check, pose):
                continue
            driven = True
            again = await _look_again(check, target, sight)
            if again is not None:
                return again
        if driven:
            # Nothing bars the way to the target: it is not seen from its sides.
            break
    return None


def _given(check: RequestContext, target: Target, here: Pose2D) -> list[Pose2D]:
    """Return the site's own pose before the target, where it has one and the robot does not stand there already."""
    given = target.place.approach if target.place else None
    away = check.robot.base.footprint_radius_m
    if given is None or target.other_side or math.dist((given.x, given.y), (here.x, here.y)) <= away:
        return []
    return [Pose2D(x=given.x, y=given.y, yaw=given.yaw)]


def _around(
    check: RequestContext, target: Target, sight: Sight, here: Pose2D, around_deg: tuple[int, ...]
) -> list[Pose2D]:
    """Return poses in the area that face the target from these directions.

    Without the present side where the robot is to stand at another one.
    """
    apart = OTHER_SIDE_M if target.other_side else BACK_OFF_M
    poses: list[Pose2D] = []
    # Around the middle of a surface, as far from its edge as the base needs.
    inside = math.dist(sight.centre, sight.aim)
    distance = target.standoff
    if target.kind == "surface":
        distance = max(distance, check.robot.base.footprint_radius_m + FRONT_M)
    seen_from = math.atan2(here.y - sight.centre[1], here.x - sight.centre[0])
    for degrees in around_deg:
        pose = facing(sight.centre, seen_from + math.radians(degrees), inside + distance)
        if target.other_side and degrees == 0:
            continue
        if target.holds((pose.x, pose.y)) and math.dist((pose.x, pose.y), (here.x, here.y)) > apart:
            poses.append(pose)
    return poses
