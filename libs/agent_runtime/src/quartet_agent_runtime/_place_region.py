"""The region of a place, and whether a detected object lies in it."""

import math
from dataclasses import dataclass
from typing import Literal

from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts import PlaceArguments
from quartet_contracts.tools.perception import Detection, PlacingPoseResult
from quartet_site import SiteFile, Surface, normalise

Mode = Literal["floor", "surface", "container"]
Range = tuple[float, float]

EDGE_M = 0.08
"""Slack on the outline of a place: both it and the object are measured from one picture."""
SINK_M, STACK_M = 0.05, 0.60
"""The middle of an object is at most this far below and above the top of the surface that carries it."""
FLOOR_M = 0.35
"""The middle of an object that lies on the floor is lower than this."""
FLOOR_RADIUS_M = 1.5
"""What is put on the floor, or lies at any other target, is at most this far from the robot that stands before it."""
NEAR_DROP_M = 0.35


@dataclass(frozen=True)
class PlaceRegion:
    """A box in the base frame that the middle of the object must be in [m], with a circle for containers."""

    x: Range
    y: Range
    z: Range
    within: tuple[float, float, float] | None = None
    """x, y and radius of a circle that the middle must be in as well.

    However a container is turned, what lies beside it is outside of this circle; a box around it has room for more.
    """
    carried_at: float | None = None
    """Height of the surface, or of the floor, that carries the object; None for a container."""

    def holds(self, seen: Detection) -> bool:
        """Whether the middle of `seen` lies in the region; what is in the gripper does not."""
        return seen.position_base is not None and not seen.in_gripper and self.contains(seen.position_base)

    def contains(self, point: tuple[float, float, float]) -> bool:
        """Whether a point [m, base frame] lies in the region."""
        inside = zip((self.x, self.y, self.z), point, strict=True)
        if not all(low <= value <= high for (low, high), value in inside):
            return False
        return self.covers(point[0], point[1])

    def covers(self, x: float, y: float) -> bool:
        """Whether a point of the floor plane [m, base frame] lies in the circle of a container, else in the box."""
        if self.within is None:
            return self.x[0] <= x <= self.x[1] and self.y[0] <= y <= self.y[1]
        return math.hypot(x - self.within[0], y - self.within[1]) <= self.within[2]


def mode_of(site: SiteFile, location: str) -> Mode:
    """Return what kind of place a name means: "floor" for all that is no surface and no container."""
    name = normalise(location)
    for place in [*site.surfaces, *site.containers]:
        if name in {place.name, *place.aliases}:
            return "surface" if isinstance(place, Surface) else "container"
    return "floor"


async def region_of(check: RequestContext, arguments: PlaceArguments) -> PlaceRegion | None:
    """Return the region of the target as it is seen now, None when it is not seen."""
    mode = mode_of(check.site, arguments.target_location)
    if mode == "floor":
        return PlaceRegion(
            (-FLOOR_RADIUS_M, FLOOR_RADIUS_M), (-FLOOR_RADIUS_M, FLOOR_RADIUS_M), (-0.1, FLOOR_M), carried_at=0.0
        )
    for seen in await check.first_seen(arguments.target_location, object_id=arguments.target_id):
        if seen.position_base is not None and seen.size_m is not None:
            return _around(mode, seen.position_base, seen.size_m, opening_m(check.site, arguments))
    return None


def around_drop(mode: Mode, pose: PlacingPoseResult, opening: float | None) -> PlaceRegion | None:
    """Return the region around a drop point, for when the outline of the place is not in view.

    The drop point of a container is over its middle.
    """
    if pose.drop_point is None or pose.surface_height_m is None:
        return None
    x, y, _ = pose.drop_point
    low, high = _heights(mode, pose.surface_height_m)
    within = (x, y, opening) if mode == "container" and opening is not None else None
    carried_at = None if mode == "container" else pose.surface_height_m
    ranges = (x - NEAR_DROP_M, x + NEAR_DROP_M), (y - NEAR_DROP_M, y + NEAR_DROP_M), (low, high)
    return PlaceRegion(*ranges, within, carried_at)


def opening_m(site: SiteFile, arguments: PlaceArguments) -> float | None:
    """Return how far from the middle of the target container the middle of an object in it can be [m].

    What lies beside it is farther away by a quarter of the object's thickness or more. None for other places.
    """
    name = normalise(arguments.target_location)
    container = next((one for one in site.containers if name in {one.name, *one.aliases}), None)
    if container is None:
        return None
    thing = site.object(arguments.object_name)
    size = None if thing is None else thing.appearance.size_m
    thickness = 0.0 if size is None else min(size)
    return min(container.appearance.known_size_m[:2]) / 2 + thickness / 4


def _around(
    mode: Mode, centre: tuple[float, float, float], size: tuple[float, float, float], opening: float | None = None
) -> PlaceRegion:
    spans = [(c - s / 2 - EDGE_M, c + s / 2 + EDGE_M) for c, s in zip(centre[:2], size[:2], strict=True)]
    top = centre[2] if mode == "surface" else centre[2] + size[2] / 2
    within = (centre[0], centre[1], opening) if mode == "container" and opening is not None else None
    return PlaceRegion(spans[0], spans[1], _heights(mode, top), within, top if mode == "surface" else None)


def _heights(mode: Mode, top: float) -> Range:
    """Return the heights of an object's middle: above a surface, or from the floor to just over a container's rim."""
    return (top - SINK_M, top + STACK_M) if mode == "surface" else (-0.1, top + EDGE_M)
