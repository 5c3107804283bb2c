"""The way on which the hand comes to an object: its direction, and what the cameras have seen on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools import PITCH, Direction
from quartet_perception.scene.view import View

Array = NDArray[np.float64]
Quaternion = tuple[float, float, float, float]

_WRIST_M, _WRIST_RADIUS_M = 0.15, 0.05
"""Behind the flange, the wrist of an arm is at least this long and so far from the axis of the hand."""
_OVER_M = 0.02
"""What is this near to the axis of a hand from above is over the object, and no tall neighbour of it."""
_SOMETHING_PIXELS = 30
"""So many pixels on the way of the hand are something, and not noise of the depth."""


@dataclass(frozen=True)
class ApproachWay:
    """A straight way of the hand to an object, in the base frame.

    azimuth: direction in which it leads over the floor [rad]; of a way straight down, the direction from which angles
    of the hand about its axis are counted.
    """

    direction: Direction
    azimuth: float = -np.pi / 2

    @property
    def pitch(self) -> float:
        """Angle of the fingers below the horizon [rad]."""
        return PITCH[self.direction]

    @property
    def described(self) -> str:
        """Words for a message."""
        words = {"above": "from above", "inclined": "inclined, from the front", "front": "from the front"}
        return f"the hand comes {words[self.direction]}"

    @property
    def axes(self) -> Array:
        """3x3, columns: u, level and across the way; v; and w, back along the way. Of a way straight down: x, y, z."""
        c, s, level, down = np.cos(self.azimuth), np.sin(self.azimuth), np.cos(self.pitch), np.sin(self.pitch)
        u, w = np.array((-s, c, 0.0)), np.array((-level * c, -level * s, down))
        return np.column_stack([u, np.cross(w, u), w])

    def closing_yaw(self, turn: float) -> float:
        """Return the yaw [rad] in which fingers close that are turned by `turn` [rad] about the axis of the hand."""
        return self.azimuth + np.pi / 2 + turn

    def quaternion(self, turn: float) -> Quaternion:
        """Return the orientation x, y, z, w of the flange. turn: 0 or pi where the way does not lead straight down."""
        x, y, _, _ = downward(self.closing_yaw(turn))
        tilt = (self.pitch - np.pi / 2) * np.cos(turn) / 2
        c, s = float(np.cos(tilt)), float(np.sin(tilt))
        return x * c, y * c, 0.0 - y * s, 0.0 - x * s

    def turn_with_camera_up(self, wrist_camera: Array | None) -> float:
        """Return the turn of the hand [rad] with which its camera is on the upper side.

        wrist_camera: its 4x4 pose in the frame of the flange, None where there is none.
        """
        return float(np.pi) if wrist_camera is not None and wrist_camera[1, 3] < 0 else 0.0

    def is_covered(self, views: Sequence[View], tip: Array, from_m: float, to_m: float, lowest_m: float) -> bool:
        """Return whether a view shows something where hand and wrist would be.

        tip: of the fingers at the grasp, base frame [m]. from_m, to_m: distance from there, back along the way, at
        which the object ends and the flange is [m]. lowest_m: height of what belongs to what the object stands on [m].
        """
        radius = _OVER_M if self.direction == "above" else _WRIST_RADIUS_M
        for view in views:
            points = view.points[::2, ::2][view.valid[::2, ::2] & (view.heights[::2, ::2] > lowest_m)]
            across, off, back = ((points - tip) @ self.axes).T
            there = (back > from_m) & (back < to_m + _WRIST_M) & (np.hypot(across, off) < radius)
            if int(np.count_nonzero(~view.in_own_hand(points[there]))) > _SOMETHING_PIXELS // 4:
                return True
        return False


DOWN = ApproachWay("above")


def downward(yaw: float) -> Quaternion:
    """Return the orientation x, y, z, w of a tool that points down with its x axis at `yaw` [rad], base frame."""
    return (float(np.cos(yaw / 2)), float(np.sin(yaw / 2)), 0.0, 0.0)
