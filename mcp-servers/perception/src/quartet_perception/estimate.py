"""The estimate of a segmented object in the base frame: middle, box, yaw, what it stands on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.errors import TooFewPointsError
from quartet_perception.scene.pose_fit import refine
from quartet_perception.scene.shapes import box_from_points
from quartet_perception.scene.solids import PosedSolid
from quartet_perception.scene.view import Mask, View
from quartet_perception.segmenters.base import SegmentedObject
from quartet_perception.uncertainty import PoseUncertainty, pose_uncertainty

FROM_ABOVE_M = 0.5
"""What was seen from nearer than this was seen by the wrist camera above it: there is no better look."""
_MIN_POINTS = 12
_ABOVE_M = 0.07
"""Height that a part (a cap, a bottle's neck) may rise above the catalogue's shape."""
_SAME_PLACE_M = 0.015
"""A point is seen again where the depth is off by less than this."""
_SAME_PLACE_SHARE = 0.5
"""Part of the points that must be seen again; the others may be on sides that are turned away."""


@dataclass(frozen=True)
class Estimate:
    """An object in the base frame [m, rad].

    solid: its shape at its pose; its yaw is that of the long side. top, support: heights of its highest point and of
    what it stands on. points: Nx3 seen points. uncertainty: of the solid's pose and size.
    """

    solid: PosedSolid
    top: float
    support: float
    points: NDArray[np.float32]
    camera: str
    range_m: float
    uncertainty: PoseUncertainty

    @property
    def from_above(self) -> bool:
        """Whether the wrist camera saw it from so near that the hand comes to where it was seen."""
        return self.camera == "arm" and self.range_m <= FROM_ABOVE_M

    @property
    def height(self) -> float:
        """Height above what it stands on [m]."""
        return self.top - self.support

    @property
    def centre(self) -> tuple[float, float, float]:
        """Middle, base frame [m]."""
        return (self.solid.x, self.solid.y, (self.top + self.support) / 2)

    @property
    def aspect(self) -> float:
        """Long over short side of the footprint."""
        x, y, _ = self.solid.solid.size
        return 1.0 if self.solid.solid.round else max(x, y) / min(x, y)


def estimate(view: View, found: SegmentedObject) -> Estimate:
    """Return the estimate of a segmented object. Raises TooFewPointsError."""
    points = masked_points(view, found.mask)
    if len(points) < _MIN_POINTS:
        raise TooFewPointsError(
            f"'{found.label}' is seen, but only {len(points)} of its pixels have depth (at least {_MIN_POINTS} are "
            "needed); look from another place or with the other camera"
        )
    solid = found.solid or box_from_points(points, found.support_z)
    if not found.refined and found.solid and found.entry and found.region is not None:
        solid = refine(view, found.solid, found.region, found.entry.appearance.size_error)
    support = found.support_z if found.support_z is not None else solid.z
    return Estimate(
        solid=solid,
        top=_top(view, solid),
        support=support,
        points=points,
        camera=view.camera,
        range_m=float(np.median(view.depth[found.mask & view.valid])),
        uncertainty=pose_uncertainty(view, found, solid, measured=True),
    )


def still_there(view: View, seen: Estimate) -> bool:
    """Return whether a picture shows something where an object was seen before: at the places of its upper points."""
    upper = seen.points[seen.points[:, 2] > seen.top - seen.height / 3]
    pixels, ahead, inside = view.pixels_of(upper)
    if inside.sum() < _MIN_POINTS:
        return False
    off = np.abs(view.depth[pixels] - ahead)
    return float((off < _SAME_PLACE_M).mean()) >= _SAME_PLACE_SHARE


def masked_points(view: View, mask: Mask) -> NDArray[np.float32]:
    """Return the Nx3 points under a mask without its rim, where colour and depth of two objects mix."""
    core = ndimage.binary_erosion(mask)
    sure = core if core.sum() >= 4 * _MIN_POINTS else mask
    return view.points[sure & view.valid]


def _top(view: View, solid: PosedSolid) -> float:
    """Return the height of the highest part: the shape's own top, or what rises out of it."""
    low, high = solid.bounds
    corners, _ = view.project(np.vstack([solid.corners(), [[solid.x, solid.y, solid.top + _ABOVE_M]]]))
    u0, v0 = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, None)
    u1, v1 = np.ceil(corners.max(axis=0)).astype(int) + 1
    points = view.points[v0:v1, u0:u1][view.valid[v0:v1, u0:u1]]
    if len(points) == 0:
        return solid.top
    middle, half = (low + high)[:2] / 2, (high - low)[:2] / 2
    over = (np.abs(points[:, :2] - middle) < 0.7 * half).all(axis=1)
    z = points[over & (points[:, 2] > solid.top + 0.006) & (points[:, 2] < solid.top + _ABOVE_M), 2]
    # Something that hovers above (the open hand) leaves a gap; a cap or neck does not.
    if len(z) < 10 or float(np.percentile(z, 5)) > solid.top + 0.025:
        return solid.top
    return float(np.percentile(z, 97))
