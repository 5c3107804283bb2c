"""Uncertainty of a fitted object: covariance of its pose and size from what one picture can know.

The sizes of the object are unknowns of the fit like its pose, known beforehand as well as the catalogue says. What is
measured are the distances of the seen points to the surface, with the noise of stereo at that range, and the edges to
the left and right as far as nothing nearer hides them. The inverse of the information of all that is the covariance
(Hartley and Zisserman, Multiple View Geometry, 5.2); how far the camera's mounting is off comes on top.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quartet_perception.scene.solids import PosedSolid, Solid
from quartet_perception.scene.view import Mask, View, depth_noise
from quartet_perception.segmenters.base import SegmentedObject

Array = NDArray[np.float64]

_WINDOW_PX = 7.0
"""Width of the window over which errors of stereo are correlated: Keselman et al., CVPRW 2017."""
_MOST_POINTS = 200
_MODEL_M = 0.0015
"""How far a real surface is off a box, cylinder or sphere: not averaged over its points."""
_SIZE_M = 0.001
"""The same of a size: a ball's rim, which depth sees at a grazing angle, is lost."""
_HOLLOW_M = 0.004
"""How far something open is off, of which inside and outside of a wall are seen."""
_EDGE_PX = 1.5
"""Standard deviation of where an edge of an outline is seen [pixels]: depth frays there, and colours run."""
_OCCLUDER_M = 0.02
"""What is nearer than an edge by more than this hides what is behind it."""
_BESIDE_PX = 4
"""Distance from an end of a mask at which depth is that of the neighbour, and that of the object [pixels]."""
_FROM_ABOVE = 0.94
"""Sine of the angle below the horizon from which an object counts as seen from above."""
_LEAST_EDGE = 0.15
"""Share of the rows in which an edge must be in view to be measured."""
_FREE_SIZE = 0.25
"""Relative error of sizes that no catalogue gives."""
_MEASURED_SIZE = 0.025
"""The same that a measurement from near leaves beside what the catalogue allows."""
_IRREGULAR, _IRREGULAR_YAW = 0.035, 0.07
"""Standard deviation of the middle of something irregular, as a share of its size, and of its yaw [rad]."""
_HIDDEN = 0.1
"""Error of the middle as a share of the size and of the part that is hidden, which a fit takes for granted."""
_MOST_YAW = np.pi / np.sqrt(12)
"""Standard deviation of a yaw that is not known at all, for a period of half a turn [rad]."""


@dataclass(frozen=True)
class PoseUncertainty:
    """What is not known of an object's middle and yaw in the base frame, of the picture and of the camera's mounting.

    noise: covariance, 4x4 of x, y, z [m] and yaw [rad]; another picture from elsewhere has another one. mounting: 4x6,
    what one standard deviation of each shift and turn of the camera does; all pictures of one camera share them. size:
    covariance, 2x2 of the sizes along its own x and y [m]. of_hand: whether all is measured from where the hand comes.
    """

    noise: Array
    mounting: Array
    size: Array
    of_hand: bool = False

    @cached_property
    def covariance(self) -> Array:
        """4x4 of x, y, z [m] and yaw [rad]."""
        return self.noise + self.mounting @ self.mounting.T

    @property
    def position_sd(self) -> tuple[float, float, float]:
        """Standard deviations along x, y and z [m]."""
        x, y, z = np.sqrt(np.diag(self.covariance)[:3])
        return float(x), float(y), float(z)

    @property
    def yaw_sd(self) -> float:
        """Standard deviation of the yaw [rad]."""
        return float(np.sqrt(self.covariance[3, 3]))

    def along(self, yaw: float) -> float:
        """Return the standard deviation of the position along a direction on the floor [m]."""
        axis = np.array([np.cos(yaw), np.sin(yaw)])
        return float(np.sqrt(axis @ self.covariance[:2, :2] @ axis))


def pose_uncertainty(view: View, found: SegmentedObject, posed: PosedSolid, *, measured: bool) -> PoseUncertainty:
    """Return the uncertainty of a solid that was fitted to what is seen of a segmented object.

    measured: whether the sizes of `posed` are those that the picture shows, not the catalogue's.
    """
    mask = found.mask
    size_error = None if found.solid is None or found.entry is None else found.entry.appearance.size_error
    points = view.points[mask & view.valid].astype(np.float64)
    solid = posed.solid
    range_m = float(np.linalg.norm(posed.centre - view.origin))
    edge_m = _EDGE_PX * range_m / view.intrinsics.fx
    if solid.irregular:
        noise, size = _irregular(solid, edge_m)
    else:
        noise, size = _fitted(view, posed, mask, points, _size_sd(size_error, measured=measured), edge_m)
    samples = max(1.0, len(points) / _samples_apart(view))
    full = np.zeros((4, 4))
    full[np.ix_((0, 1, 3), (0, 1, 3))] = noise
    full[(0, 1), (0, 1)] += (_HIDDEN * (1 - found.visible) * float(np.mean(solid.size[:2]))) ** 2
    full[2, 2] = _MODEL_M**2 + depth_noise(range_m) ** 2 / samples
    return PoseUncertainty(full, _mounting(posed.centre, view), size)


def _mounting(point: Array, view: View) -> Array:
    """Return what one standard deviation of each shift and turn of a camera does at a point (4x6), see PoseUncertainty.

    Shifts and turns are along and about the camera's own axes.
    """
    error, camera = view.calibration_error, view.base_from_camera[:3, :3]
    away = camera.T @ (np.asarray(point, dtype=np.float64) - view.base_from_camera[:3, 3])
    x, y, z = away
    turned = np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])
    effect = np.zeros((4, 6))
    effect[:3, :3] = camera * (error.position_m / np.sqrt(3))
    effect[:3, 3:] = camera @ turned * (error.turn_rad / np.sqrt(3))
    effect[3, 3:] = camera[2] * (error.turn_rad / np.sqrt(3))
    return effect


def in_map(uncertainty: PoseUncertainty, centre: Array, map_from_base: Array, localisation: Array) -> Array:
    """Return the covariance (3x3: x, y, z [m]) of a position in the map.

    centre: in the base frame [m]. map_from_base: 4x4. localisation: 3x3 covariance of the base in the map: x, y [m],
    yaw [rad].
    """
    turn = map_from_base[:3, :3]
    x, y, _ = turn @ centre
    lever = np.array([[1.0, 0.0, -y], [0.0, 1.0, x], [0.0, 0.0, 0.0]])
    return np.asarray(turn @ uncertainty.covariance[:3, :3] @ turn.T + lever @ localisation @ lever.T)


def _size_sd(size_error: float | None, *, measured: bool) -> float:
    """Return the relative standard deviation of a size before the picture, of which the catalogue says the limit."""
    if size_error is None:
        return _FREE_SIZE
    known = size_error / np.sqrt(3)
    return float(np.hypot(known, _MEASURED_SIZE)) if measured else float(known)


def _fitted(
    view: View, posed: PosedSolid, mask: Mask, points: Array, size_sd: float, edge_m: float
) -> tuple[Array, Array]:
    """Return the covariances of x, y, yaw (3x3) and of the sizes (2x2)."""
    solid = posed.solid
    samples = max(1.0, len(points) / _samples_apart(view))
    chosen = points[np.linspace(0, len(points) - 1, min(len(points), _MOST_POINTS)).astype(int)]
    residual = posed.distances(chosen)
    # Spread of the points around the surface, as far as it is more than the law says.
    law = depth_noise(float(np.median(np.linalg.norm(chosen - view.origin, axis=1))))
    weight = 1.0 / (1.0 + (residual / 0.012) ** 2)
    spread = float(np.sqrt((weight * residual**2).sum() / max(weight.sum(), 1e-9)))
    noise_m = max(law, spread)
    jacobian = _jacobian(posed, lambda one: one.distances(chosen))
    information = (jacobian * weight[:, None]).T @ jacobian / len(chosen) * samples / noise_m**2
    for axis, sd, share in _edges(view, posed, mask, edge_m, size_sd):
        if share >= _LEAST_EDGE:
            row = _jacobian(posed, lambda one, axis=axis: np.array([(one.footprint @ axis).max()]))
            information += row.T @ row * share / sd**2
    along, across = solid.size[:2]
    information += np.diag([1e-4, 1e-4, 1 / _MOST_YAW**2, 1 / (size_sd * along) ** 2, 1 / (size_sd * across) ** 2])
    covariance = np.linalg.inv(information)
    model = _HOLLOW_M if solid.hollow else _MODEL_M
    covariance[:2, :2] += model**2 * np.eye(2)
    covariance[2, 2] = min(covariance[2, 2] + (model / max(along, across) / 2) ** 2, _MOST_YAW**2)
    sizes = covariance[3:, 3:] + _SIZE_M**2 * np.eye(2)
    return np.asarray(covariance[:3, :3], dtype=np.float64), np.asarray(sizes, dtype=np.float64)


def _irregular(solid: Solid, edge_m: float) -> tuple[Array, Array]:
    across = (_IRREGULAR * np.array(solid.size[:2])).mean()
    variance = float(across) ** 2 + edge_m**2
    return np.diag([variance, variance, _IRREGULAR_YAW**2]), variance * np.eye(2)


def _jacobian(posed: PosedSolid, of: Callable[[PosedSolid], Array]) -> Array:
    """Return the derivatives of a function of a posed solid by x, y, yaw and its two horizontal sizes."""
    base, columns = of(posed), []
    for change, step in (
        (posed.moved(1e-4, 0.0), 1e-4),
        (posed.moved(0.0, 1e-4), 1e-4),
        (posed.moved(0.0, 0.0, 1e-3), 1e-3),
        (_resized(posed, 0, 1e-4), 1e-4),
        (_resized(posed, 1, 1e-4), 1e-4),
    ):
        columns.append((of(change) - base) / step)
    return np.stack(columns, axis=-1)


def _resized(posed: PosedSolid, axis: int, step: float) -> PosedSolid:
    size = list(posed.solid.size)
    factor = 1 + step / size[axis]
    size[axis] += step
    parts = tuple(
        replace(
            part,
            size=tuple(s * factor if k == axis else s for k, s in enumerate(part.size)),
            offset=tuple(o * factor if k == axis else o for k, o in enumerate(part.offset)),
        )
        for part in posed.solid.parts
    )
    if posed.solid.primitive == "sphere":
        size = [size[0], size[1], size[2] + step / 2]
    return replace(posed, solid=replace(posed.solid, size=tuple(size), parts=parts))


def _edges(
    view: View, posed: PosedSolid, mask: Mask, edge_m: float, size_sd: float
) -> list[tuple[Array, float, float]]:
    """Return of each side of the outline its direction on the floor, the error of its place [m] and its open share."""
    sight = (posed.centre - view.origin) / max(float(np.linalg.norm(posed.centre - view.origin)), 1e-9)
    steep = max(abs(float(sight[2])), 0.05)
    away = sight[:2] / max(float(np.linalg.norm(sight[:2])), 1e-9)
    if steep > _FROM_ABOVE:
        # The columns of the picture: its upper end is ahead.
        up = -view.base_from_camera[:2, 1]
        away = up / max(float(np.linalg.norm(up)), 1e-9)
    right = np.array([away[1], -away[0]])
    # The farther the line of sight is from the vertical, the less an upper or lower end tells of the place, and the
    # more of the height.
    height = size_sd * posed.height * np.sqrt(1 - min(steep, 1.0) ** 2) / steep
    far = float(np.hypot(edge_m / steep, height))
    shares = _open_edges(view, mask)
    return [
        (right, edge_m, shares[0]),
        (-right, edge_m, shares[1]),
        (away, far, shares[2]),
        (-away, edge_m / steep, shares[3]),
    ]


def _open_edges(view: View, mask: Mask) -> list[float]:
    """Return the shares of the right, left, upper and lower end of a mask that are in view, nothing nearer beside."""
    shares: list[float] = []
    for turned, depth, valid in (
        (mask, view.depth, view.valid),
        (mask[:, ::-1], view.depth[:, ::-1], view.valid[:, ::-1]),
        (mask[::-1].T, view.depth[::-1].T, view.valid[::-1].T),
        (mask.T, view.depth.T, view.valid.T),
    ):
        rows, width = np.flatnonzero(turned.any(axis=1)), turned.shape[1]
        ends = width - 1 - turned[rows, ::-1].argmax(axis=1)
        beside = ends + _BESIDE_PX
        clipped = np.minimum(beside, width - 1)
        own = depth[rows, np.maximum(ends - _BESIDE_PX, 0)]
        hidden = valid[rows, clipped] & (depth[rows, clipped] < own - _OCCLUDER_M)
        shares.append(float(((beside < width) & ~hidden).mean()) if len(rows) else 0.0)
    return shares


def _samples_apart(view: View) -> float:
    """Return how many pixels share one independent measurement of depth."""
    return (_WINDOW_PX * view.intrinsics.fx / 640.0) ** 2
