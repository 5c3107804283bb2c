"""Confirms a success by measuring: where the robot stands, what the gripper holds, what the cameras see.

The agent that reported it has no grant any more, and nothing here moves the robot. What the agents' own checks accept
is accepted here with some slack.
"""

import asyncio
import math
import time

from quartet_agent_runtime import (
    FLOOR_M,
    FLOOR_RADIUS_M,
    LetGo,
    PlaceRegion,
    RequestContext,
    VerificationError,
    around_drop,
    camera_shows_held,
    is_nameless,
    let_go,
    let_go_over,
    lies_outside,
    mode_of,
    needs_release,
    new_detections,
    new_places,
    opening_m,
    region_of,
    spot_of,
    stands_at,
)
from quartet_contracts import HELD_OBJECT, ApproachArguments, NextAction, PickArguments, PlaceArguments, Skill
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.perception import LastSeenResult, PlacingPoseResult
from quartet_site import distance_to_edge, inside, is_floor, normalise

GRASP = "moveit__get_grasp_state"
GRIPPER_AFTER = {Skill.PICK: GraspState.HOLDING, Skill.PLACE: GraspState.EMPTY}
"""What the gripper's sensors have to say after a success."""
SETTLE_S, SETTLE_POLL_S = 3.0, 0.2
"""Time limit and period in which a gripper that moves is asked again."""
LOOKS = 3
"""Pictures in which a target is looked for: what stands half under the arm, or at the edge of the picture, is
recognised in one and not in the next."""
AREA_SLACK_M = 0.8
"""The agent accepts 0.4 m outside of the area before it drives in, which may take it a little further."""
STANDOFF_SLACK_M = 0.4
"""The agent accepts 0.15 m beyond standoff and tolerance; another look measures the distance anew."""


async def doubt(check: RequestContext, *, sees: bool) -> str:
    """Return why the request does not seem to have succeeded, '' when all that can be measured bears it out.

    `sees`: the robot's perception server is known, so that the object is looked for, too. A server that does not
    answer bears out nothing.
    """
    try:
        arguments = check.request.arguments
        if isinstance(arguments, ApproachArguments):
            return await _not_before(check, arguments, sees=sees)
        wanted = GRIPPER_AFTER.get(check.request.skill)
        if wanted is None:
            return ""
        gripper = await _settled(check)
        shown = False
        if sees and isinstance(arguments, PickArguments):
            shown = await camera_shows_held(check, gripper, arguments.object_name, arguments.object_id)
        if gripper.state != wanted and not shown:
            return f"the gripper's sensors say {gripper.state}, not {wanted}"
        if isinstance(arguments, PlaceArguments) and sees:
            return await _not_put_down(check, arguments, await let_go(check, gripper.released))
    except VerificationError as error:
        return f"it could not be confirmed: {error}"
    return ""


async def _settled(check: RequestContext) -> GripperResult:
    """Return what the gripper's sensors say once its fingers rest, or at the end of SETTLE_S."""
    end = time.monotonic() + SETTLE_S
    while True:
        gripper = await check.call(GripperResult, GRASP)
        if gripper.state != GraspState.MOVING or time.monotonic() >= end:
            return gripper
        await asyncio.sleep(SETTLE_POLL_S)


async def _not_before(check: RequestContext, arguments: ApproachArguments, *, sees: bool) -> str:
    """Return why the robot does not stand where an approach was to bring it."""
    area, name = check.site.area(arguments.target_area), normalise(arguments.object_name)
    if area is None:
        return f"'{arguments.target_area}' is no area of this site"
    pose = await check.pose()
    away = 0.0 if inside(area.outline, pose.x, pose.y) else distance_to_edge(area.outline, pose.x, pose.y)
    if away > AREA_SLACK_M:
        return f"the robot stands {away:.2f} m outside of {area.name}"
    whole_area = is_floor(name) or name in {area.name, *area.aliases}
    if not sees or whole_area or arguments.next_action is NextAction.FLOOR_PLACE:
        return ""
    standoff: float = getattr(check.robot.approach.standoff_m, arguments.next_action)
    limit, near = standoff + check.robot.approach.tolerance_m + STANDOFF_SLACK_M, math.inf
    for camera in ("front", "arm") * LOOKS:
        seen = await check.detect(arguments.object_name, camera, arguments.object_id)
        near = min([near, *(one.distance_m for one in seen if one.distance_m is not None and not one.in_gripper)])
        if near <= limit:
            return ""
    where = "not in view" if near == math.inf else f"{near:.2f} m away"
    return f"'{arguments.object_name}' is {where}, not at most {limit:.2f} m before the robot"


async def _not_put_down(check: RequestContext, arguments: PlaceArguments, dropped: LetGo | None) -> str:
    """Return why the object does not lie where a place was to put it.

    What is out of view from here, such as a thing in a bin, the agent has seen from above: then the perception server
    has seen it there since the request was made. What looks like it and was known before the place proves nothing, and
    at a target that nobody had looked into nothing does unless it was measured to be let go there.
    """
    name, before = arguments.object_name, check.request.alike_before or []
    in_container = mode_of(check.site, arguments.target_location) == "container"
    # Where others look like it, or may do so unseen, all of them are needed to tell which one is new.
    object_id = None if before or (in_container and normalise(name) != HELD_OBJECT) else arguments.held_id
    if is_nameless(arguments):
        return await _nameless_not_put_down(check, arguments, dropped)
    # Asked before the look, which replaces it by what is measured from here.
    remembered = await _last_seen(check, name, object_id)
    region = await _region(check, arguments)
    if region is None:
        return f"'{arguments.target_location}' is not in view"
    seen = await check.first_seen(name, object_id=object_id)
    if not seen and object_id is not None and normalise(name) != HELD_OBJECT:
        seen = await check.first_seen(name)
    new = new_detections(seen, before)
    if any(region.holds(one) for one in new) or any(region.contains(point) for point in remembered):
        if not needs_release(check, region):
            return ""
        if not let_go_over(dropped, region):
            return f"'{name}' was not measured to be let go at '{arguments.target_location}'; one may have lain there"
        if any(lies_outside(region, one) for one in new) or any(_lies_beside(region, point) for point in remembered):
            return f"'{name}' is seen at '{arguments.target_location}' and another one beside it"
        return ""
    if any(region.holds(one) for one in seen):
        return f"what is seen of '{name}' at '{arguments.target_location}' was there before"
    return f"'{name}' is {'seen elsewhere' if seen else 'not seen'}, not at '{arguments.target_location}'"


async def _nameless_not_put_down(check: RequestContext, arguments: PlaceArguments, dropped: LetGo | None) -> str:
    """Return why what has no name does not stand where it was let go; no camera can look for it anywhere else."""
    target = arguments.target_location
    region = await _region(check, arguments)
    if region is None:
        return f"'{target}' is not in view"
    spot = spot_of(check, dropped, region)
    if spot is None:
        return f"what was put down has no name, and that it was put down at '{target}' was not measured"
    stands = await stands_at(check, spot, "front")
    if stands:
        return ""
    seen = "it is not known whether anything stands" if stands is None else "nothing higher than 1.5 cm stands"
    return f"what was put down has no name, and {seen} where it was let go at '{target}'"


async def _region(check: RequestContext, arguments: PlaceArguments) -> PlaceRegion | None:
    """Return the region of the target; None: it is not in view."""
    for _ in range(LOOKS):
        if region := await region_of(check, arguments) or await _around_drop(check, arguments):
            return region
    return None


def _lies_beside(region: PlaceRegion, point: tuple[float, float, float]) -> bool:
    """Return whether a point [m, base frame] is one on the floor near the robot, and not in the target.

    On the floor: what is still in the gripper is not always known as such.
    """
    x, y, z = point
    return z <= FLOOR_M and math.hypot(x, y) <= FLOOR_RADIUS_M and not region.contains(point)


async def _around_drop(check: RequestContext, arguments: PlaceArguments) -> PlaceRegion | None:
    named = {"target_id": arguments.target_id} if arguments.target_id else {"object_name": arguments.target_location}
    # Only where it was let go is asked for, which the object's height does not change.
    pose = await check.call(PlacingPoseResult, "perception__get_topdown_placing_pose", camera="front", **named)
    return around_drop(mode_of(check.site, arguments.target_location), pose, opening_m(check.site, arguments))


async def _last_seen(check: RequestContext, name: str, object_id: str | None) -> list[tuple[float, float, float]]:
    """Return where a camera saw the object last since the request was made [m, base frame].

    Only the very thing where it still has its id, else all of its name but for what was known before the place.
    """
    found = await check.call(LastSeenResult, "perception__last_seen", names=[name])
    pose, age_s = await check.pose(), check.age_s
    recent = [one for one in found.sightings if one.age_s <= age_s]
    recent = [one for one in recent if one.object_id == object_id] or recent
    places = [one.position_map for one in recent if one.position_map is not None and not one.in_gripper]
    places = new_places(places, check.request.alike_before or [])
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return [(c * (x - pose.x) + s * (y - pose.y), c * (y - pose.y) - s * (x - pose.x), z) for x, y, z in places]
