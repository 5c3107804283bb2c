"""Shapes from points: the solid of an object that stands on a support, known from the catalogue or not."""

import numpy as np
from numpy.typing import NDArray

from quartet_perception.scene.outline import rectangles, smallest_rectangle
from quartet_perception.scene.pose_fit import fit_pose
from quartet_perception.scene.solids import PosedSolid, Solid, signed_distances, solids_of
from quartet_site.site import Appearance

_MAX_POINTS = 4000
_FITS_M, _HOLLOW_FITS_M = 0.008, 0.03
"""Median distance of the points from a known solid's surface up to which it explains them."""
_HEIGHT_ERROR_M = 0.025
_FALLEN = 0.6
"""A fallen pose must explain the points this much better than the upright one."""
_ROUND = 1.13
"""Largest over smallest bounding rectangle of a footprint that looks the same from all sides; a square's is 2."""
_LEAST_M = 0.005
_BALL_M, _BALL_BOTTOM_M, _BALL_LARGEST_M = 0.003, 0.012, 0.5
"""A ball: median distance of the points from it, how far its lowest point may be off the support, its diameter."""


def fit_known_solid(
    appearance: Appearance, points: NDArray[np.floating], support: float, camera: NDArray[np.floating]
) -> PosedSolid | None:
    """Return the catalogue's solid at the pose that fits the Nx3 points best, upright or fallen; None for a misfit.

    support: height that it stands on [m]. camera: position of the camera. All in the base frame.
    """
    top = float(np.percentile(points[:, 2], 98))
    best: tuple[float, PosedSolid] | None = None
    for index, solid in enumerate(solids_of(appearance)):
        if abs(top - support - solid.size[2]) > _HEIGHT_ERROR_M:
            continue
        for placed in fit_pose(solid, points, support, camera)[:1]:
            poses = np.array([[placed.x, placed.y, placed.yaw]])
            residual = float(np.median(np.abs(signed_distances(solid, np.asarray(points, float), poses, support))))
            if residual > (_HOLLOW_FITS_M if solid.hollow else _FITS_M):
                continue
            if best is None or residual < (_FALLEN if index else 1.0) * best[0]:
                best = (residual, placed)
    return None if best is None else best[1]


def solid_from_points(points: NDArray[np.floating], support: float) -> PosedSolid:
    """Return a ball, an upright cylinder or the box of the smallest footprint, from `support` to the highest points."""
    points = np.asarray(points[:: 1 + len(points) // _MAX_POINTS], dtype=np.float64)
    ball = _ball(points, support)
    if ball is not None:
        return ball
    height = max(float(np.percentile(points[:, 2], 98)) - support, _LEAST_M)
    around = rectangles(points[:, :2])
    areas = np.array([each.area for each in around])
    if areas.max() < _ROUND * areas.min():
        diameter = float(np.mean([(each.along + each.across) / 2 for each in around]))
        x, y = np.mean([(each.x, each.y) for each in around], axis=0)
        return Solid("cylinder", (diameter, diameter, height)).place(float(x), float(y), support)
    one = smallest_rectangle(points[:, :2])
    return Solid("box", (one.along, one.across, height)).place(one.x, one.y, support, one.yaw)


def box_from_points(points: NDArray[np.floating], support: float | None = None) -> PosedSolid:
    """Return the gravity-aligned box around Nx3 points, by principal components of their footprint.

    Its x axis is its long side. It stands on `support` [m], or, when None, on the lowest points.
    """
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


def _ball(points: NDArray[np.float64], support: float) -> PosedSolid | None:
    """Return the sphere through the points, by linear least squares, if they lie on it and it lies on the support."""
    middle = points.mean(axis=0)
    local = points - middle
    system = np.column_stack([2 * local, np.ones(len(local))])
    (x, y, z, rest), *_ = np.linalg.lstsq(system, (local**2).sum(axis=1), rcond=None)
    centre = np.array([x, y, z])
    radius = float(np.sqrt(max(rest + centre @ centre, 0.0)))
    residual = float(np.median(np.abs(np.linalg.norm(local - centre, axis=1) - radius)))
    x, y, z = centre + middle
    # A flat patch also lies on a sphere, a huge one.
    plausible = _LEAST_M < 2 * radius < _BALL_LARGEST_M and abs(z - radius - support) < _BALL_BOTTOM_M
    if not plausible or residual > _BALL_M:
        return None
    return Solid("sphere", (2 * radius, 2 * radius, 2 * radius)).place(float(x), float(y), float(z) - radius)
