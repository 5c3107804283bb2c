"""Search for the target: look nearer at what may be it, turn, look from the poses of places, look over the floor."""

import math

from quartet_agent_runtime import RequestContext
from quartet_approach.floor import Floor
from quartet_approach.geometry import facing, to_map, wrap
from quartet_approach.target import Candidate, SearchMemory, Sight, Target, look
from quartet_approach.traffic import LEAST_LEFT_S, drive, drive_if_open, way_to
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import MotionResult

MAX_VIEWPOINTS = 4
SAME_VIEW_M = 0.5
NEARER_M = 0.4
AHEAD_M = 1.2
"""What is seen from the pose of a place is about so far ahead of it [m]."""
BESIDE_DEG = (35, -35, 70, -70)
"""Directions from which it is looked at where something stands in that pose."""
MAX_SIDES = 6
"""Poses from which a search looks once more, past what may hide the target from the poses of places."""
SIDES_DEG = ((70, 50), (-70, -50))
"""Directions of these looks, to each side the first that is free: a can behind a carton shows half of itself at 70
degrees, a quarter at 50."""
CANDIDATE_M = 1.1
"""Distance from which a candidate is looked at [m]."""
CANDIDATE_DEG = (0, 35, -35, 70, -70, 110, -110)
"""Directions of these looks, from the one in which it was seen."""
CANDIDATE_LOOKS, CANDIDATE_DRIVES = 2, 4
"""Looks at a candidate, and drives for them that may be tried."""
FLOOR_LOOKS, FLOOR_DRIVES, FLOOR_S = 20, 6, 120.0
"""The most looks at floor that no other look has shown from near, drives for them, and time for them [s]."""
HERE_M = 0.3
"""A pose this near needs no drive: the robot turns."""
OCCUPIED = "GOAL_OCCUPIED"
"""How Nav2's code ends where something stands in a pose."""


async def find(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Look nearer at the candidates, turn, look from the area's places, then over the floor not yet seen from near.

    Returns the target as it is seen, None when it is not.
    """
    for step in (_look_nearer, _spin, _look_nearer, visit, _look_over):
        if sight := await step(check, target, memory):
            return sight
    return None


async def _look_nearer(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Look from nearer at what may be the target, while there is time."""
    while check.left_s >= LEAST_LEFT_S and (candidate := memory.take(target)):
        if sight := await _look_at(check, target, candidate, memory):
            return sight
    return None


async def _look_at(check: RequestContext, target: Target, candidate: Candidate, memory: SearchMemory) -> Sight | None:
    (x, y), (from_x, from_y) = candidate.centre, candidate.seen_from
    looks = drives = 0
    for degrees in CANDIDATE_DEG:
        if looks == CANDIDATE_LOOKS or drives == CANDIDATE_DRIVES or check.left_s < LEAST_LEFT_S:
            break
        pose = facing((x, y), math.atan2(from_y - y, from_x - x) + math.radians(degrees), CANDIDATE_M)
        if not target.holds((pose.x, pose.y)) or not (await way_to(check, pose)).open:
            continue
        drives += 1
        if await drive(check, pose):
            continue
        looks += 1
        if sight := await look(check, target, candidate.centre, memory):
            return sight
    return None


async def _spin(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Turn step by step, at most a full turn, and look after each step."""
    rules = check.robot.approach
    around = math.ceil(360 / rules.spin_step_deg) - 1
    for _ in range(min(rules.spin_steps, around)):
        turn = await check.call(MotionResult, "nav2__spin_robot", angle=math.radians(rules.spin_step_deg))
        if sight := await look(check, target, memory=memory):
            return sight
        if not turn.ok:
            return None
    return None


async def visit(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Look from before each surface and container of the area, first the target itself, then the nearest.

    An object that is not seen from there may stand behind something else, so it is looked for from the sides, too.
    """
    site, here = check.site, await check.pose()
    places = [place for place in [*site.surfaces, *site.containers] if place.area == target.area.name]
    poses = [
        Pose2D(x=place.approach.x, y=place.approach.y, yaw=place.approach.yaw)
        for place in sorted(places, key=lambda place: place != target.place)
        if place.approach is not None
    ]
    seen: list[Pose2D] = [Pose2D(x=target.area.entry.x, y=target.area.entry.y, yaw=target.area.entry.yaw)]
    if target.place is None:
        poses.sort(key=lambda pose: math.dist((pose.x, pose.y), (here.x, here.y)))
    for pose in poses:
        if len(seen) > MAX_VIEWPOINTS or any(_alike(pose, other) for other in seen):
            continue
        seen.append(pose)
        if not await _stand_to_see(check, target, pose):
            continue
        if sight := await _look_twice(check, target, memory):
            return sight
    return await _look_from_sides(check, target, poses, memory) if target.kind == "object" else None


async def _look_from_sides(
    check: RequestContext, target: Target, poses: list[Pose2D], memory: SearchMemory
) -> Sight | None:
    """Look at what is seen from these poses from the sides, while there is time."""
    sides = [[_from_side(pose, degrees) for degrees in side] for pose in poses for side in SIDES_DEG]
    seen: list[Pose2D] = []
    for side in sides:
        if len(seen) == MAX_SIDES or check.left_s < LEAST_LEFT_S:
            break
        new = [one for one in side if target.holds((one.x, one.y)) and not any(_alike(one, other) for other in seen)]
        for pose in new:
            if not await drive_if_open(check, pose):
                seen.append(pose)
                if sight := await _look_twice(check, target, memory):
                    return sight
                break
    return None


async def _look_over(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Look at the floor of the area that no look has shown from near, while there is time: small things lie there."""
    if target.kind != "object":
        return None
    floor = memory.floor_of(target.area, check.robot.base.footprint_radius_m)
    least_left_s, arrived = max(LEAST_LEFT_S, check.left_s - FLOOR_S), True
    while memory.floor_looks < FLOOR_LOOKS and check.left_s >= least_left_s:
        here = await check.pose()
        # Where the robot could not turn, it stands too near to something.
        pose = floor.best_pose(here, turn=arrived)
        if pose is None:
            break
        arrived = await _go_to_look(check, memory, floor, here, pose)
        if not arrived:
            continue
        memory.floor_looks += 1
        if sight := await look(check, target, memory=memory):
            return sight
        # The robot may have stopped a little beside the pose, and the same look would be asked for again.
        floor.looked([pose])
        if sight := await _look_nearer(check, target, memory):
            return sight
    return None


async def _go_to_look(check: RequestContext, memory: SearchMemory, floor: Floor, here: Pose2D, pose: Pose2D) -> bool:
    """Turn or drive to a pose, which is asked for no more where that fails; return whether the robot is there."""
    if math.dist((pose.x, pose.y), (here.x, here.y)) < HERE_M:
        return (await check.call(MotionResult, "nav2__spin_robot", angle=wrap(pose.yaw - here.yaw))).ok
    if memory.floor_drives < FLOOR_DRIVES and (await way_to(check, pose)).open:
        memory.floor_drives += 1
        if not await drive(check, pose):
            return True
    floor.leave_out(pose)
    return False


async def _look_twice(check: RequestContext, target: Target, memory: SearchMemory) -> Sight | None:
    """Look, and once more from nearer: something flat or small may be recognised only from there."""
    if sight := await look(check, target, memory=memory):
        return sight
    await check.call(MotionResult, "nav2__drive_on_heading", distance=NEARER_M)
    return await look(check, target, memory=memory) or await _look_nearer(check, target, memory)


def _from_side(pose: Pose2D, degrees: float) -> Pose2D:
    """Return a pose that sees what is seen from `pose`, from another direction."""
    return facing(to_map(pose, (AHEAD_M, 0.0)), pose.yaw + math.pi + math.radians(degrees), AHEAD_M)


async def _stand_to_see(check: RequestContext, target: Target, pose: Pose2D) -> bool:
    """Drive to a pose, or where something stands there to one that sees the same from another side."""
    why = await drive_if_open(check, pose)
    if not why.endswith(OCCUPIED):
        return not why
    for degrees in BESIDE_DEG:
        other = _from_side(pose, degrees)
        if target.holds((other.x, other.y)) and not await drive_if_open(check, other):
            return True
    return False


def _alike(one: Pose2D, other: Pose2D) -> bool:
    return math.dist((one.x, one.y), (other.x, other.y)) < SAME_VIEW_M and abs(wrap(one.yaw - other.yaw)) < math.pi / 4
