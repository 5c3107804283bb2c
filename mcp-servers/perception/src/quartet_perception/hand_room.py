"""The room that the fingers, the hand and its camera have on their way to an object."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quartet_perception.approach_way import DOWN, ApproachWay
from quartet_perception.estimate import Estimate
from quartet_perception.scene.occupied import CELL_M, occupied
from quartet_perception.scene.view import View
from quartet_site import Gripper

Array = NDArray[np.float64]

ROOM_M = 0.02
"""Room wanted beside each part: the arm, the camera's pose and the depth are each off by some millimetres."""
_HAND_HEIGHT_M, HAND_WIDER_M = 0.06, 0.02
"""The hand above the fingers is looked at so far up, and is wider than they are by so much on each side."""
_CAMERA_M = (0.05, 0.02, 0.03)
"""Half of the size of the wrist camera's body: along the rows of its picture, along the columns, and in height [m]."""
_OPENINGS = 6
"""Number of openings that are compared, from fully open to the narrowest that the object fits through."""


class HandRoom:
    """What is around an object where the hand would be, on a straight way to it.

    Room is the distance [m] of a part of the hand to the nearest thing, or to the height of what the object stands on;
    below zero it comes down on something.
    """

    def __init__(
        self,
        views: Sequence[View],
        seen: Estimate,
        tip: float,
        gripper: Gripper,
        wrist_camera: Array | None = None,
        way: ApproachWay = DOWN,
        origin: Sequence[float] | None = None,
        length: float = 0.0,
    ) -> None:
        """Look at the pictures, see `occupied`.

        Args:
            views: pictures from the same standpoint, the newest first.
            seen: the object.
            tip: where the finger tips are at the grasp [m], along the axis w of the way: of a way down, their height.
            gripper: sizes of the hand.
            wrist_camera: 4x4 pose of the wrist camera in the frame of the tool flange; None where there is none.
            way: on which the hand comes.
            origin: of the axes of the way, base frame [m]; None: under the object, on the floor.
            length: of the way [m], for things beside it. From above there are none that the hand itself does not meet.
        """
        self._gripper, self._way, self._support = gripper, way, seen.support
        self._origin = np.array((seen.solid.x, seen.solid.y, 0.0) if origin is None else origin, dtype=np.float64)
        self._middle = self._origin[:2] if way is DOWN else np.zeros(2)
        self._camera = wrist_camera
        fingers_end = tip + gripper.grasp_depth_m
        slices = [(tip, fingers_end), (fingers_end, fingers_end + max(_HAND_HEIGHT_M, length))]
        if wrist_camera is not None:
            camera = tip + gripper.finger_offset_m - float(wrist_camera[2, 3])
            slices.append((camera - _CAMERA_M[2], camera + max(_CAMERA_M[2], length)))
        self._starts = [low for low, _ in slices]
        frame = None if way is DOWN else (self._origin, way.axes)
        self._slices = occupied(views, seen.solid, seen.support, slices, frame)

    def openings(self, yaw: float, width: float) -> Iterator[tuple[float, float, float]]:
        """Yield openings of the fingers [m], widest first, the room beside each finger then, and how much is hidden.

        yaw: direction in which the fingers close, about the axis of the hand [rad]; 0 where the way does not lead
        down. width: of the object between them [m]. The room is also that to the object. Hidden is the share of the
        fingers' places that no picture shows, 0 to 1.
        """
        gripper = self._gripper
        for opening in np.linspace(gripper.stroke_m, width + 2 * gripper.side_clearance_m, _OPENINGS):
            outer = opening / 2 + gripper.finger_thickness_m
            fingers = _both_sides(yaw, (width / 2, outer), gripper.pad_width_m / 2)
            beside, hidden = self._room(0, fingers)
            yield float(opening), min(beside, (float(opening) - width) / 2), hidden

    def over(self, yaw: float) -> float:
        """Return the room of the hand above the fingers [m]."""
        across = self._gripper.pad_width_m / 2 + HAND_WIDER_M
        return self._room(1, _both_sides(yaw, (0.0, self._gripper.stroke_m / 2), across))[0]

    def camera(self, yaw: float) -> tuple[float, float]:
        """Return the room of the wrist camera [m], which the hand has on one side, and how much of its place is hidden.

        The room is infinite without one. Hidden is what no picture shows of the worst place, 0 to 1: the far
        corner of a carton, behind the side that is seen, is enough to stop the hand.
        """
        if self._camera is None:
            return np.inf, 0.0
        outline = camera_outline(self._camera, yaw)
        clear, hidden = self._slices[2].at(outline + self._middle)
        return min(self._room_of(clear), self._over_support(2, outline)), float(hidden.max())

    def _room(self, number: int, points: Array) -> tuple[float, float]:
        clear, hidden = self._slices[number].at(points + self._middle)
        return min(self._room_of(clear), self._over_support(number, points)), float(hidden.mean())

    def _over_support(self, number: int, points: Array) -> float:
        """Return how far points (Nx2: u, v) at the beginning of a slice are above what the object stands on [m].

        Infinite on a way down, on which the finger tips are the lowest.
        """
        if self._way is DOWN:
            return np.inf
        at = np.column_stack([points, np.full(len(points), self._starts[number])]) @ self._way.axes[2]
        return float(at.min() + self._origin[2] - self._support)

    @staticmethod
    def _room_of(clear: Array) -> float:
        # Where something is taken, more of it is worse.
        return float(clear.min()) if clear.min() > 0 else -ROOM_M * float((clear <= 0).mean())


def camera_outline(wrist_camera: Array, yaw: float) -> Array:
    """Return Nx2 points of the wrist camera's body around the flange of a hand that points down [m].

    wrist_camera: its 4x4 pose in the frame of the flange. yaw: of the hand [rad].
    """
    a, b = np.meshgrid(_line(-_CAMERA_M[0], _CAMERA_M[0]), _line(-_CAMERA_M[1], _CAMERA_M[1]))
    in_camera = np.stack([a.ravel(), b.ravel(), np.zeros(a.size)], axis=1)
    x, y = (in_camera @ wrist_camera[:3, :3].T + wrist_camera[:3, 3])[:, :2].T
    c, s = np.cos(yaw), np.sin(yaw)
    # The flange points down: its y axis is to the right of its x axis.
    return np.stack([c * x + s * y, s * x - c * y], axis=1)


def _both_sides(yaw: float, along: tuple[float, float], across: float) -> Array:
    """Return Nx2 points of two alike rectangles on both sides of the middle [m]."""
    a, b = np.meshgrid(_line(*along), _line(-across, across))
    axis = np.array([np.cos(yaw), np.sin(yaw)])
    return np.vstack([np.outer(sign * a.ravel(), axis) + np.outer(b.ravel(), (-axis[1], axis[0])) for sign in (1, -1)])


def _line(start: float, end: float) -> Array:
    return np.linspace(start, end, max(2, int(np.ceil((end - start) / CELL_M)) + 1))
