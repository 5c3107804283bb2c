"""What is known about one found object in the base frame: middle, box, yaw, what it stands on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception import fit
from quartet_perception.errors import TooFewPoints
from quartet_perception.segmenter import Found
from quartet_perception.solids import Placed, Solid
from quartet_perception.view import Mask, View

_MIN_POINTS = 12
_ABOVE_M = 0.07
"""How far a part (a cap, a bottle's neck) may rise above the catalogue's shape."""


@dataclass(frozen=True)
class Estimate:
    """An object in the base frame [m, rad].

    solid: its shape at its pose; its yaw is that of the long side. top, support: heights of its highest point and of
    what it stands on. points: Nx3 seen points.
    """

    solid: Placed
    top: float
    support: float
    points: NDArray[np.float32]
    camera: str
    range_m: float

    @property
    def height(self) -> float:
        return self.top - self.support

    @property
    def centre(self) -> tuple[float, float, float]:
        return (self.solid.x, self.solid.y, (self.top + self.support) / 2)

    @property
    def aspect(self) -> float:
        """Long over short side of the footprint."""
        x, y, _ = self.solid.solid.size
        return 1.0 if self.solid.solid.round else max(x, y) / min(x, y)


def estimate(view: View, found: Found) -> Estimate:
    """The object behind a detection. Raises TooFewPoints."""
    points = masked_points(view, found.mask)
    if len(points) < _MIN_POINTS:
        raise TooFewPoints(
            f"'{found.label}' is seen, but only {len(points)} of its pixels have depth (at least {_MIN_POINTS} are "
            "needed); look from another place or with the other camera"
        )
    solid = found.solid or box_of_points(points, found.support_z)
    if found.solid is not None and found.region is not None and found.member is not None:
        solid = fit.refine(view, found.solid, found.region, found.member)
    support = found.support_z if found.support_z is not None else solid.z
    return Estimate(
        solid=solid,
        top=_top(view, solid),
        support=support,
        points=points,
        camera=view.camera,
        range_m=float(np.median(view.depth[found.mask & view.valid])),
    )


def masked_points(view: View, mask: Mask) -> NDArray[np.float32]:
    """Nx3 points under a mask without its rim, where colour and depth of two things mix."""
    core = ndimage.binary_erosion(mask)
    sure = core if core.sum() >= 4 * _MIN_POINTS else mask
    return view.points[sure & view.valid]


def box_of_points(points: NDArray[np.floating], support: float | None = None) -> Placed:
    """Gravity-aligned box around points, by principal components of their footprint (long side along its x)."""
    xy = np.asarray(points[:, :2], dtype=np.float64)
    z = np.asarray(points[:, 2], dtype=np.float64)
    values, vectors = np.linalg.eigh(np.cov(xy.T))
    axis = vectors[:, int(np.argmax(values))]
    yaw = float(np.arctan2(axis[1], axis[0]))
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    local = xy @ turn
    low, high = np.percentile(local, 1, axis=0), np.percentile(local, 99, axis=0)
    x, y = turn @ ((low + high) / 2)
    bottom = float(np.percentile(z, 2)) if support is None else support
    top = float(np.percentile(z, 98))
    sx, sy = np.maximum(high - low, 0.005)
    return Solid("box", (float(sx), float(sy), max(top - bottom, 0.005))).place(float(x), float(y), bottom, yaw)


def _top(view: View, solid: Placed) -> float:
    """Height of the highest part: the shape's own top, or what rises out of it."""
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
