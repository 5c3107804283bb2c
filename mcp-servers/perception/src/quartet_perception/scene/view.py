"""View: one RGB-D picture and the pose of its camera."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from quartet_perception.errors import BadImageError
from quartet_site import CalibrationError, Gripper

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Box = tuple[float, float, float, float]
"""x_min, y_min, x_max, y_max [pixels]."""
_OPEN_SHARE = 0.95
"""Fingers that are apart by more than this share of their stroke hold nothing: the widest thing that is grasped leaves
Gripper.side_clearance_m on both sides."""

_HAND_BEHIND_M, _HAND_BEYOND_M = 0.10, 0.02
"""The hand's own body reaches from this far behind the flange to this far beyond the finger tips."""


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera [pixels]; a pixel's centre has whole coordinates."""

    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True)
class View:
    """A colour picture, its aligned depth and the camera's pose.

    rgb: HxWx3 uint8. depth: HxW float32 [m] along the optical axis, 0 or NaN where there is no return.
    base_from_camera: 4x4, from the optical frame (x right, y down, z forward) to the base frame, whose z axis
    is opposite to gravity and whose origin is on the floor.
    map_from_base: 4x4 or None where the robot is not localised. tool_in_base: 4x4 pose of the tool flange, or None.
    gripper: the sizes of the hand at that flange. finger_gap_m: how far its finger pads are apart, or None.
    calibration_error: how far the camera's pose may be off. localisation: 3x3 covariance of map_from_base: x, y [m],
    yaw [rad], or None.
    Raises BadImageError.
    """

    rgb: NDArray[np.uint8]
    depth: Floats
    intrinsics: Intrinsics
    base_from_camera: NDArray[np.float64]
    camera: str = "front"
    stamp: float = 0.0
    map_from_base: NDArray[np.float64] | None = None
    tool_in_base: NDArray[np.float64] | None = None
    gripper: Gripper = field(default_factory=Gripper)
    finger_gap_m: float | None = None
    calibration_error: CalibrationError = field(default_factory=CalibrationError)
    localisation: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.rgb.ndim != 3 or self.rgb.shape[2] != 3 or self.rgb.dtype != np.uint8:
            raise BadImageError(f"colour must be HxWx3 uint8, it is {self.rgb.shape} {self.rgb.dtype}")
        if self.depth.shape != self.rgb.shape[:2]:
            raise BadImageError(
                f"depth {self.depth.shape} does not fit colour {self.rgb.shape[:2]}: "
                "name a depth topic that is aligned to colour in robot.yaml"
            )
        if self.intrinsics.fx <= 0 or self.intrinsics.fy <= 0:
            raise BadImageError(f"camera info has no focal length: {self.intrinsics}")

    @property
    def shape(self) -> tuple[int, int]:
        """Height, width [pixels]."""
        return self.depth.shape  # type: ignore[return-value]

    @property
    def held_width_m(self) -> float | None:
        """Width of what is between the fingers [m]; None where they do not close on anything, or do not tell."""
        gap = self.finger_gap_m
        closed = gap is not None and self.gripper.holding_min_width_m < gap < _OPEN_SHARE * self.gripper.stroke_m
        return gap if closed else None

    @property
    def hand_is_empty(self) -> bool:
        """Whether the fingers tell that they hold nothing: wide open, or closed on nothing."""
        return self.finger_gap_m is not None and self.held_width_m is None

    @cached_property
    def valid(self) -> Mask:
        """HxW: where there is a plausible depth."""
        return np.isfinite(self.depth) & (self.depth > 0.02) & (self.depth < 20.0)

    def ray_component(self, axis: int, stride: int = 1) -> Floats:
        """Return HxW of every `stride`th pixel: x (0), y (1) or z (2) of its direction, as in `rays`."""
        height, width = self.shape
        k = self.intrinsics
        u = (np.arange(0, width, stride, dtype=np.float32) - np.float32(k.cx)) / np.float32(k.fx)
        v = (np.arange(0, height, stride, dtype=np.float32) - np.float32(k.cy)) / np.float32(k.fy)
        r = self.base_from_camera[axis, :3].astype(np.float32)
        part = (u * r[0])[None, :] + (v * r[1])[:, None]
        part += r[2]
        return part

    @cached_property
    def rays(self) -> Floats:
        """HxWx3: direction of each pixel in the base frame, with length 1 along the optical axis."""
        return np.stack([self.ray_component(axis) for axis in range(3)], axis=-1)

    @property
    def origin(self) -> Floats:
        """Camera centre in the base frame [m]."""
        return self.base_from_camera[:3, 3].astype(np.float32)

    @cached_property
    def points(self) -> Floats:
        """HxWx3: the points in the base frame [m]; the camera's own position where there is no depth."""
        return np.stack([*(self._coordinate(axis) for axis in (0, 1)), self.heights], axis=-1)

    @cached_property
    def heights(self) -> Floats:
        """HxW: z of the points [m], several times as fast to process as `points`."""
        return self._coordinate(2)

    def _coordinate(self, axis: int) -> Floats:
        part = self.ray_component(axis)
        part *= np.where(self.valid, self.depth, np.float32(0.0))
        part += self.origin[axis]
        return part

    def in_own_hand(self, points: NDArray[np.floating]) -> Mask:
        """Return which of Nx3 points of the base frame may belong to the robot's hand; none where it is not known."""
        if self.tool_in_base is None:
            return np.zeros(len(points), dtype=bool)
        local = (points - self.tool_in_base[:3, 3]) @ self.tool_in_base[:3, :3]
        beside = (np.abs(local[:, :2]) < self.gripper.hand_radius_m).all(axis=1)
        along = (local[:, 2] > -_HAND_BEHIND_M) & (local[:, 2] < self.gripper.finger_offset_m + _HAND_BEYOND_M)
        return np.asarray(beside & along)

    def project(self, points: NDArray[np.floating]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return pixels (Nx2: u, v) and depths (N) [m] of Nx3 points of the base frame."""
        r, t = self.base_from_camera[:3, :3], self.base_from_camera[:3, 3]
        local = (np.asarray(points, dtype=np.float64) - t) @ r
        z = local[:, 2]
        safe = np.where(np.abs(z) < 1e-6, 1e-6, z)
        k = self.intrinsics
        return np.stack([k.fx * local[:, 0] / safe + k.cx, k.fy * local[:, 1] / safe + k.cy], axis=1), z

    def pixels_of(
        self, points: NDArray[np.floating]
    ) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64], Mask]:
        """Return the pixels (rows, columns) and depths [m] of those of Nx3 points that are in the picture, and which.

        The points are in the base frame; the last is N long, and the others have one entry for each that is True in it.
        """
        pixels, ahead = self.project(points)
        column, row = np.round(pixels).astype(np.intp).T
        rows, columns = self.shape
        inside = (column >= 0) & (column < columns) & (row >= 0) & (row < rows) & (ahead > 0)
        return (row[inside], column[inside]), ahead[inside], inside

    def to_camera(self, point: NDArray[np.floating]) -> tuple[float, float, float]:
        """Return a point of the base frame in the optical frame [m]."""
        local = (np.asarray(point, dtype=np.float64) - self.base_from_camera[:3, 3]) @ self.base_from_camera[:3, :3]
        return float(local[0]), float(local[1]), float(local[2])


def box_of(mask: Mask) -> Box:
    """Return the bounding box of a mask; four zeros for an empty one."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return 0.0, 0.0, 0.0, 0.0
    return float(cols[0]), float(rows[0]), float(cols[-1] + 1), float(rows[-1] + 1)


Depth = TypeVar("Depth", float, NDArray[np.float32])


def depth_noise(depth: Depth) -> Depth:
    """Return the standard deviation of depth to allow for at a distance, or at each of several [m].

    The quadratic law of stereo and structured light, with the size seen on small RGB-D cameras: about 1.5 mm at 1 m
    (Khoshelham and Elberink 2012, Sensors 12(2)).
    """
    return 0.0015 + 0.0015 * depth * depth
