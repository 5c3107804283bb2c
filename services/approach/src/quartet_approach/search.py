"""Search for the target: turn on the spot, then look from the poses of the area's surfaces and containers."""

import math

from quartet_agent_runtime import RequestContext
from quartet_approach.geometry import facing, to_map, wrap
from quartet_approach.target import Sight, Target, look
from quartet_approach.traffic import drive_if_open
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import MotionResult

MAX_VIEWPOINTS = 4
SAME_VIEW_M = 0.5
NEARER_M = 0.4
AHEAD_M = 1.2
"""What is seen from the pose of a place is about so far ahead of it [m]."""
BESIDE_DEG = (35, -35, 70, -70)
"""Directions from which it is looked at where something stands in that pose."""
OCCUPIED = "GOAL_OCCUPIED"
"""How Nav2's code ends where something stands in a pose."""


async def find(check: RequestContext, target: Target) -> Sight | None:
    """Return the target as it is seen from anywhere in its area, None when it is not seen."""
    if sight := await look(check, target):
        return sight
    if sight := await _spin(check, target):
        return sight
    return await visit(check, target)


async def _spin(check: RequestContext, target: Target) -> Sight | None:
    """Turn step by step, at most a full turn, and look after each step."""
    rules = check.robot.approach
    around = math.ceil(360 / rules.spin_step_deg) - 1
    for _ in range(min(rules.spin_steps, around)):
        turn = await check.call(MotionResult, "nav2__spin_robot", angle=math.radians(rules.spin_step_deg))
        if sight := await look(check, target):
            return sight
        if not turn.ok:
            return None
    return None


async def visit(check: RequestContext, target: Target) -> Sight | None:
    """Look from before each surface and container of the area, first the target itself, then the nearest."""
    site, here = check.site, await check.pose()
    places = [place for place in [*site.surfaces, *site.containers] if place.area == target.area.name]
    poses = [
        Pose2D(x=place.approach.x, y=place.approach.y, yaw=place.approach.yaw)
        for place in sorted(places, key=lambda place: place != target.place)
        if place.approach is not None
    ]
    seen: list[Pose2D] = [Pose2D(x=target.area.entry.x, y=target.area.entry.y, yaw=target.area.entry.yaw)]
    for pose in poses if target.place else sorted(poses, key=lambda p: math.dist((p.x, p.y), (here.x, here.y))):
        if len(seen) > MAX_VIEWPOINTS or any(_alike(pose, other) for other in seen):
            continue
        seen.append(pose)
        if not await _stand_to_see(check, target, pose):
            continue
        if sight := await look(check, target):
            return sight
        # Something flat or small may be recognised only from nearer.
        await check.call(MotionResult, "nav2__drive_on_heading", distance=NEARER_M)
        if sight := await look(check, target):
            return sight
    return None


async def _stand_to_see(check: RequestContext, target: Target, pose: Pose2D) -> bool:
    """Drive to a pose, or where something stands there to one that sees the same from another side."""
    why = await drive_if_open(check, pose)
    if not why.endswith(OCCUPIED):
        return not why
    before = to_map(pose, (AHEAD_M, 0.0))
    for degrees in BESIDE_DEG:
        other = facing(before, pose.yaw + math.pi + math.radians(degrees), AHEAD_M)
        if target.holds((other.x, other.y)) and not await drive_if_open(check, other):
            return True
    return False


def _alike(one: Pose2D, other: Pose2D) -> bool:
    return math.dist((one.x, one.y), (other.x, other.y)) < SAME_VIEW_M and abs(wrap(one.yaw - other.yaw)) < math.pi / 4
