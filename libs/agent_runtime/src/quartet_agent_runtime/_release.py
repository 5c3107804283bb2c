"""Whether the gripper's server measured that something was let go over the target of a place, and what stands there."""

import math

from quartet_agent_runtime._place_region import FLOOR_RADIUS_M, PlaceRegion
from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts import HELD_OBJECT, PlaceArguments
from quartet_contracts.tools.moveit import Release
from quartet_contracts.tools.perception import CameraName, Detection, SpotResult
from quartet_site import normalise


def is_nameless(arguments: PlaceArguments) -> bool:
    """Return whether what is put down has neither a name nor an id by which a camera could look for it."""
    return arguments.object_id is None and normalise(arguments.object_name) == HELD_OBJECT


async def stands_there(
    check: RequestContext, released: Release | None, region: PlaceRegion, camera: CameraName
) -> bool | None:
    """Return whether something stands where the fingers let go; None where that is not known.

    For what is_nameless: together with let_go_over it proves a place on a surface or the floor, since things are let go
    where nothing stands. What is measured earlier than the request was made does not count. Raises VerificationError.
    """
    at = await released_at(check, released)
    if at is None or region.carried_at is None:
        return None
    spot = await check.call(
        SpotResult, "perception__measure_spot", position_base=[*at[:2], region.carried_at], camera=camera
    )
    if spot.standing_m is None or spot.age_s > check.age_s:
        return None
    return spot.standing_m > 0


def needs_release(check: RequestContext, region: PlaceRegion) -> bool:
    """Return whether a sighting at the target proves a place only together with a measured release over it.

    So it is in a container, whose inside no camera has seen before the place, and where nobody looked for things alike
    before: what is seen there now may have lain there already.
    """
    return region.within is not None or check.request.alike_before is None


def lies_outside(region: PlaceRegion, seen: Detection) -> bool:
    """Return whether something lies near the robot and not at the target of a place, as what has missed it would."""
    if seen.position_base is None or seen.in_gripper or region.holds(seen):
        return False
    return math.hypot(*seen.position_base[:2]) <= FLOOR_RADIUS_M


async def released_at(check: RequestContext, released: Release | None) -> tuple[float, float, float] | None:
    """Return where the flange was until something was let go, as the gripper's server measured it [m, base frame].

    In this attempt, or at any time for one that follows an attempt of unknown end; the base may have moved since that
    one, so its place on the map counts. None when it is not known. Raises VerificationError when the robot is not
    localised then.
    """
    if released is None:
        return None
    if released.age_s <= check.age_s:
        return released.tool_position
    if not check.request.follows_uncertain or released.tool_position_map is None:
        return None
    pose = await check.pose()
    on_map = released.tool_position_map
    x, y = on_map[0] - pose.x, on_map[1] - pose.y
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return c * x + s * y, c * y - s * x, on_map[2]


async def let_go_over(check: RequestContext, released: Release | None, region: PlaceRegion | None) -> bool:
    """Return whether something was held until it was over the target: the opening of a container, the box of others.

    See released_at.
    """
    if region is None:
        return False
    at = await released_at(check, released)
    return at is not None and region.covers(*at[:2])
