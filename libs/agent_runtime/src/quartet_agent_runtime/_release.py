"""Whether the gripper's server measured that something was let go over the target of a place."""

import math
import time
from dataclasses import dataclass

from quartet_agent_runtime._place_region import FLOOR_RADIUS_M, PlaceRegion
from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts.tools.moveit import Release
from quartet_contracts.tools.perception import Detection


@dataclass(frozen=True)
class LetGo:
    """When and where the fingers let go what they held.

    point: of the flange just before [m, base frame]. at: on this process's monotonic clock [s].
    """

    point: tuple[float, float, float]
    at: float


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


async def let_go(check: RequestContext, released: Release | None) -> LetGo | None:
    """Return where something was let go, by what the gripper's server has just measured; None when it is not known.

    In this attempt, or at any time for one that follows an attempt of unknown end; the base may have moved since that
    one, so its place on the map counts. To be called as soon as `released` has come, whose age is that of then. Raises
    VerificationError when the robot is not localised then.
    """
    if released is None:
        return None
    at = time.monotonic() - released.age_s
    if released.age_s <= check.age_s:
        return LetGo(released.tool_position, at)
    if not check.request.follows_uncertain or released.tool_position_map is None:
        return None
    pose = await check.pose()
    on_map = released.tool_position_map
    x, y = on_map[0] - pose.x, on_map[1] - pose.y
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return LetGo((c * x + s * y, c * y - s * x, on_map[2]), at)


def let_go_over(dropped: LetGo | None, region: PlaceRegion | None) -> bool:
    """Return whether something was held until it was over the target: the opening of a container, the box of others."""
    return dropped is not None and region is not None and region.covers(*dropped.point[:2])
