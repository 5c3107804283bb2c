"""Top-down grasps with a parallel gripper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_perception.errors import ObjectTooWideError
from quartet_perception.estimate import Estimate
from quartet_perception.scene.occupied import CELL_M, Occupied, occupied
from quartet_perception.scene.view import View
from quartet_site import Gripper, RobotFile

_ORIENTED_ASPECT = 1.2
"""Long over short side from which the fingers close across the short axis."""
_YAWS = 36
_TURN_TOLERANCE = np.radians(16)
"""How far a grasp of a long object may turn from its short axis to keep the fingers free."""
_ROOM_M = 0.02
"""Room wanted beside each finger: the arm, the camera's pose and the depth are each off by some millimetres."""
_SURE_ROOM_M, _SURE_HIDDEN = 0.012, 0.25
"""Room, and hidden share, with which no finger met a neighbour in packed scenes but for one in a hundred."""
_HAND_HEIGHT_M, _HAND_WIDER_M = 0.06, 0.02
"""The hand above the fingers is looked at so far up, and is wider than they are by so much on each side."""
_OPENINGS = 6
"""Number of openings that are compared, from fully open to the narrowest that the object fits through."""
_CLEAR_M = 0.02
"""The finger tips pass over an object at least this far above its top. An arm may miss its target by 0.01 m
(quartet_moveit.arm.REACHED_M); the rest is for the height that a camera has measured."""
_WHOLE_WAY = 0.95
"""Part of a straight way that counts as all of it, as in plan_cartesian_path."""


@dataclass(frozen=True)
class Clearance:
    """How low the hand may turn off the straight way down to an object, or up from it.

    lower_by: how far below the wanted height that is [m]. fraction: the part of the straight way up to it, 0 to 1.
    """

    lower_by: float
    fraction: float


def clearance(overlap: float, height: float) -> Clearance:
    """Return the clearance over an object of which the finger tips overlap the uppermost `overlap` [m].

    height: where the hand is to be above its lowest pose [m], which is asked for wherever the arm can be there.
    """
    least = overlap + _CLEAR_M
    return Clearance(max(0.0, height - least), min(_WHOLE_WAY, least / max(height, least)))


@dataclass(frozen=True)
class Grasp:
    """A grasp in the base frame.

    x, y, z: of the tool flange [m]; yaw: direction in which the fingers close [rad]. width: of the object between
    them [m]. tip_z: height of the fingertips. opening: how far the fingers are apart on the way down [m]. room: what
    is left between a finger or the hand and the nearest thing then [m]; below zero it comes down on something. hidden:
    share of the fingers' way down that the picture does not show.
    """

    x: float
    y: float
    z: float
    yaw: float
    width: float
    tip_z: float
    oriented: bool
    opening: float
    room: float
    hidden: float

    @property
    def sure(self) -> bool:
        """Whether there is room for the fingers as far as the picture shows, and it shows enough of it."""
        return self.room >= _SURE_ROOM_M and self.hidden <= _SURE_HIDDEN

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """Orientation x, y, z, w of the tool flange, base frame."""
        return downward(self.yaw)


def downward(yaw: float) -> tuple[float, float, float, float]:
    """Return the orientation x, y, z, w of a tool that points down with its x axis at `yaw` [rad], base frame."""
    return (float(np.cos(yaw / 2)), float(np.sin(yaw / 2)), 0.0, 0.0)


def grasp_depth(height: float, gripper: Gripper) -> float:
    """Return how far below the top of an object of that height the finger tips go [m]."""
    depth = min(height / 2 + gripper.tip_below_middle_m, height - gripper.tip_clearance_m, gripper.grasp_depth_m)
    return float(np.clip(depth, 0.0, gripper.grasp_depth_m))


def plan_grasp(view: View, seen: Estimate, robot: RobotFile) -> Grasp:
    """Return the best top-down grasp: narrow, fingers clear of neighbours, across the short axis of long objects.

    Raises ObjectTooWideError.
    """
    gripper = robot.gripper
    stroke = gripper.stroke_m
    tip_z = max(seen.top - grasp_depth(seen.height, gripper), seen.support + gripper.tip_clearance_m)
    bearing = float(np.arctan2(seen.solid.y, seen.solid.x))
    oriented = seen.aspect >= _ORIENTED_ASPECT
    if oriented:
        sx, sy, _ = seen.solid.solid.size
        preferred = seen.solid.yaw + (np.pi / 2 if sx >= sy else 0.0)
    elif seen.solid.solid.round:
        preferred = bearing + np.pi / 2
    else:
        preferred = _nearest_quarter(seen.solid.yaw, bearing + np.pi / 2)
    fingers_end = tip_z + gripper.grasp_depth_m
    heights = [(tip_z, fingers_end), (fingers_end, fingers_end + _HAND_HEIGHT_M)]
    taken = occupied(view, seen.solid, seen.support, heights)
    outline = seen.solid.footprint
    best: tuple[float, Grasp] | None = None
    narrowest = np.inf
    for turn in np.linspace(-np.pi / 2, np.pi / 2, _YAWS, endpoint=False):
        if not seen.solid.solid.round and abs(turn) > _TURN_TOLERANCE and (oriented or not _square_on(turn)):
            continue
        yaw = preferred + float(turn)
        axis = np.array([np.cos(yaw), np.sin(yaw)])
        width = float(np.ptp(outline @ axis))
        narrowest = min(narrowest, width)
        if width > stroke - 2 * gripper.side_clearance_m:
            continue
        for opening, beside, over, hidden in _openings(taken, seen, axis, width, gripper):
            cost = _lack(beside) + _lack(over) + width * 4 + abs(float(turn)) * 0.3
            if best is None or cost < best[0]:
                best = (
                    cost,
                    Grasp(
                        seen.solid.x,
                        seen.solid.y,
                        tip_z + gripper.finger_offset_m,
                        _half_turn(yaw),
                        width,
                        tip_z,
                        oriented,
                        opening,
                        min(beside, over),
                        hidden,
                    ),
                )
    if best is None:
        raise ObjectTooWideError(f"{narrowest:.3f} m wide, the fingers open {stroke:.3f} m")
    return best[1]


def reach_of_pick(robot: RobotFile, height: float) -> float:
    """Return the horizontal reach for a top-down grasp at a height [m]: linear between the floor's and a table's."""
    arm = robot.arm
    part = float(np.clip(height / arm.reach_top_down_height_m, 0, 1))
    return arm.reach_floor_m + part * (arm.reach_top_down_m - arm.reach_floor_m)


def _openings(
    taken: Sequence[Occupied], seen: Estimate, axis: NDArray[np.float64], width: float, gripper: Gripper
) -> Iterator[tuple[float, float, float, float]]:
    """Yield openings of the fingers, widest first, with the room around the fingers and around the hand then [m].

    The room is that to the object or to something else, whichever is less; below zero they come down on something.
    """
    fingers, hand = taken
    middle = np.array((seen.solid.x, seen.solid.y))

    def room(places: Occupied, along: tuple[float, float], across: float) -> tuple[float, float]:
        a, c = np.meshgrid(_line(*along), _line(-across, across))
        sides = [np.outer(sign * a.ravel(), axis) + np.outer(c.ravel(), (-axis[1], axis[0])) for sign in (1, -1)]
        clear, hidden = places.at(np.vstack(sides) + middle)
        # Where something is taken, more of it is worse.
        free = float(clear.min()) if clear.min() > 0 else -_ROOM_M * float((clear <= 0).mean())
        return free, float(hidden.mean())

    pad = gripper.pad_width_m / 2
    over, _ = room(hand, (0.0, gripper.stroke_m / 2), pad + _HAND_WIDER_M)
    for opening in np.linspace(gripper.stroke_m, width + 2 * gripper.side_clearance_m, _OPENINGS):
        beside, hidden = room(fingers, (width / 2, opening / 2 + gripper.finger_thickness_m), pad)
        yield float(opening), min(beside, (float(opening) - width) / 2), over, hidden


def _lack(room: float) -> float:
    """Return the cost of too little room: 0 from _ROOM_M, 3 at none, up to 12 on top of something."""
    return 3 * (1 - min(room, _ROOM_M) / _ROOM_M) ** 2


def _line(start: float, end: float) -> NDArray[np.float64]:
    return np.linspace(start, end, max(2, int(np.ceil((end - start) / CELL_M)) + 1))


def _nearest_quarter(yaw: float, wanted: float) -> float:
    """Return the side of a square object that is nearest to `wanted` [rad]."""
    return yaw + round((wanted - yaw) / (np.pi / 2)) * (np.pi / 2)


def _square_on(turn: float) -> bool:
    return abs(abs(float(turn)) - np.pi / 2) < 0.09


def _half_turn(yaw: float) -> float:
    """Return the yaw of the same grasp in [0, pi): the fingers are alike, and pi/2 closes along the y axis."""
    return float(yaw % np.pi)
