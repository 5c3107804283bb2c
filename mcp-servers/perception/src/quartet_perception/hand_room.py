"""The room that the fingers, the hand and its camera have on their way down to an object."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quartet_perception.estimate import Estimate
from quartet_perception.scene.occupied import CELL_M, Occupied, occupied
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
    """What is around an object where the hand would be, for grasps from above at any yaw.

    Room is the distance [m] of a part of the hand to the nearest thing; below zero it comes down on something.
    """

    def __init__(
        self, views: Sequence[View], seen: Estimate, tip_z: float, gripper: Gripper, wrist_camera: Array | None = None
    ) -> None:
        """Look at the pictures, see `occupied`.

        Args:
            views: pictures from the same standpoint, the newest first.
            seen: the object.
            tip_z: height of the finger tips at the grasp [m].
            gripper: sizes of the hand.
            wrist_camera: 4x4 pose of the wrist camera in the frame of the tool flange; None where there is none.
        """
        self._gripper = gripper
        self._middle = np.array((seen.solid.x, seen.solid.y))
        self._camera = wrist_camera
        fingers_end = tip_z + gripper.grasp_depth_m
        slices = [(tip_z, fingers_end), (fingers_end, fingers_end + _HAND_HEIGHT_M)]
        if wrist_camera is not None:
            camera_z = tip_z + gripper.finger_offset_m - float(wrist_camera[2, 3])
            slices.append((camera_z - _CAMERA_M[2], camera_z + _CAMERA_M[2]))
        self._slices = occupied(views, seen.solid, seen.support, slices)

    def openings(self, yaw: float, width: float) -> Iterator[tuple[float, float, float]]:
        """Yield openings of the fingers [m], widest first, the room beside each finger then, and how much is hidden.

        yaw: direction in which the fingers close [rad]. width: of the object between them [m]. The room is also that
        to the object. Hidden is the share of the fingers' places that no picture shows, 0 to 1.
        """
        gripper = self._gripper
        for opening in np.linspace(gripper.stroke_m, width + 2 * gripper.side_clearance_m, _OPENINGS):
            outer = opening / 2 + gripper.finger_thickness_m
            fingers = _both_sides(yaw, (width / 2, outer), gripper.pad_width_m / 2)
            beside, hidden = self._room(self._slices[0], fingers)
            yield float(opening), min(beside, (float(opening) - width) / 2), hidden

    def over(self, yaw: float) -> float:
        """Return the room of the hand above the fingers [m]."""
        across = self._gripper.pad_width_m / 2 + HAND_WIDER_M
        return self._room(self._slices[1], _both_sides(yaw, (0.0, self._gripper.stroke_m / 2), across))[0]

    def camera(self, yaw: float) -> tuple[float, float]:
        """Return the room of the wrist camera [m], which the hand has on one side, and how much of its place is hidden.

        The room is infinite without one. Hidden is what no picture shows of the worst place, 0 to 1: the far
        corner of a carton, behind the side that is seen, is enough to stop the hand.
        """
        if self._camera is None:
            return np.inf, 0.0
        clear, hidden = self._slices[2].at(camera_outline(self._camera, yaw) + self._middle)
        return self._room_of(clear), float(hidden.max())

    def _room(self, places: Occupied, points: Array) -> tuple[float, float]:
        clear, hidden = places.at(points + self._middle)
        return self._room_of(clear), float(hidden.mean())

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
