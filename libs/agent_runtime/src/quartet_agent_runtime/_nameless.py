"""Whether what has no name, so that no camera can look for it, stands where the fingers let it go.

It is put down where perception has seen room for it, so that what stands there afterwards, and is no higher than what
hung between the fingers can be, is that thing.
"""

import time
from dataclasses import dataclass

from quartet_agent_runtime._place_region import PlaceRegion
from quartet_agent_runtime._release import LetGo
from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts import HELD_OBJECT, PlaceArguments
from quartet_contracts.tools.perception import CameraName, SpotResult
from quartet_site import normalise

MOST_BELOW_M = 0.35
"""What is let go with the finger tips higher than this over its target was not put down: nothing that hangs so far
below them is grasped."""
SLACK_M = 0.03
"""What is put down is measured to be at most this much higher than it can be."""


@dataclass(frozen=True)
class Spot:
    """Where something was let go.

    point: on the surface or the floor that is to carry it [m, base frame]. most_m: its greatest height over that.
    at: when, on this process's monotonic clock [s].
    """

    point: tuple[float, float, float]
    most_m: float
    at: float


def is_nameless(arguments: PlaceArguments) -> bool:
    """Return whether what is put down has neither a name nor an id by which a camera could look for it."""
    return arguments.held_id is None and normalise(arguments.object_name) == HELD_OBJECT


def spot_of(check: RequestContext, dropped: LetGo | None, region: PlaceRegion | None) -> Spot | None:
    """Return where something was let go onto a surface or the floor.

    None where that was not measured, not over the target or too high above it, and for a container.
    """
    if dropped is None or region is None or region.carried_at is None or not region.covers(*dropped.point[:2]):
        return None
    x, y, z = dropped.point
    gripper = check.robot.gripper
    tips_m = z - gripper.finger_offset_m - region.carried_at
    if tips_m > MOST_BELOW_M:
        return None
    return Spot((x, y, region.carried_at), tips_m + gripper.grasp_depth_m + SLACK_M, dropped.at)


async def stands_at(check: RequestContext, spot: Spot, camera: CameraName) -> bool | None:
    """Return whether something stands at the spot; None where that is not known.

    Only what was measured after the fingers had let go counts. Raises VerificationError.
    """
    if spot.most_m <= 0:
        return None
    found = await check.call(
        SpotResult, "perception__measure_spot", position_base=list(spot.point), most_m=spot.most_m, camera=camera
    )
    if found.standing_m is None or time.monotonic() - found.age_s < spot.at:
        return None
    return found.standing_m > 0
