"""Top-down grasps with a parallel gripper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_perception.errors import ObjectTooWideError
from quartet_perception.estimate import Estimate
from quartet_perception.grasp_uncertainty import GraspUncertainty, grasp_uncertainty
from quartet_perception.hand_room import ROOM_M, HandRoom
from quartet_perception.scene.view import View
from quartet_site import PASS_M, RobotFile

OBLONG = 1.2
"""Long over short side from which the fingers close across the short axis."""
_YAWS = 36
_TURN_TOLERANCE = np.radians(16)
"""How far a grasp of a long object may turn from its short axis to keep the fingers free."""
_SURE_SDS, _SURE_HIDDEN = 2.0, 0.25
"""Standard deviations that must have room, and hidden share up to which it is sure that the hand passes."""
_TOO_FEW_SDS = 1.0
"""With room for fewer standard deviations between finger and object, one grasp in three would come down on it."""
_WHOLE_WAY = 0.95
"""Part of a straight way that counts as all of it, as in plan_cartesian_path."""
_HIDDEN_COST = 1.0
"""Cost of a side of which no picture shows whether the camera has room there."""
_TURNED_ROUND = 0.05
"""Cost of the hand turned by half a turn, which matters to its camera alone."""


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
    least = overlap + PASS_M
    return Clearance(max(0.0, height - least), min(_WHOLE_WAY, least / max(height, least)))


@dataclass(frozen=True)
class Grasp:
    """A grasp in the base frame.

    x, y, z: of the tool flange [m]; yaw: direction in which the fingers close [rad]. width: of the object between
    them, length: across that [m]. tip_z: height of the fingertips. opening: how far the fingers are apart on the way
    down [m]. room: what is left between a finger or the hand and the nearest thing then [m]; below zero it comes down
    on something. hidden: share of the fingers' or the camera's way down that no picture shows. uncertainty: of where
    the hand comes, measured from the object.
    """

    x: float
    y: float
    z: float
    yaw: float
    width: float
    length: float
    tip_z: float
    oriented: bool
    opening: float
    room: float
    hidden: float
    uncertainty: GraspUncertainty

    @property
    def sure(self) -> bool:
        """Whether there is room for the fingers as far as the picture shows, and it shows enough of it."""
        return not self.uncertain and self.hidden <= _SURE_HIDDEN

    @property
    def uncertain(self) -> bool:
        """Whether the hand may be off by more than the room that it has."""
        return self.room < self.needed_m

    @property
    def too_uncertain(self) -> bool:
        """Whether the fingers may well come down on the object itself."""
        return (self.opening - self.width) / 2 < _TOO_FEW_SDS * self.uncertainty.room

    @property
    def needed_m(self) -> float:
        """Room that the hand needs for where it may be off [m]."""
        return _SURE_SDS * self.uncertainty.room

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        """Orientation x, y, z, w of the tool flange, base frame."""
        return downward(self.yaw)


def downward(yaw: float) -> tuple[float, float, float, float]:
    """Return the orientation x, y, z, w of a tool that points down with its x axis at `yaw` [rad], base frame."""
    return (float(np.cos(yaw / 2)), float(np.sin(yaw / 2)), 0.0, 0.0)


def plan_grasp(
    view: View,
    seen: Estimate,
    robot: RobotFile,
    before: Sequence[View] = (),
    wrist_camera: NDArray[np.float64] | None = None,
) -> Grasp:
    """Return the best top-down grasp: narrow, fingers clear of neighbours, across the short axis of long objects.

    before: earlier pictures from the same standpoint, for neighbours that this one does not show. wrist_camera: its
    4x4 pose in the frame of the tool flange, for things that it would meet.

    Raises ObjectTooWideError.
    """
    gripper = robot.gripper
    stroke = gripper.stroke_m
    tip_z = max(seen.top - gripper.grasp_depth(seen.height), seen.support + gripper.tip_clearance_m)
    bearing = float(np.arctan2(seen.solid.y, seen.solid.x))
    oriented = seen.aspect >= OBLONG
    if oriented:
        sx, sy, _ = seen.solid.solid.size
        preferred = seen.solid.yaw + (np.pi / 2 if sx >= sy else 0.0)
    elif seen.solid.solid.round:
        preferred = bearing + np.pi / 2
    else:
        preferred = _nearest_quarter(seen.solid.yaw, bearing + np.pi / 2)
    hand = HandRoom([view, *before], seen, tip_z, gripper, wrist_camera)
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
        over = hand.over(yaw)
        hand_yaw, camera, camera_hidden = _better_side(hand, yaw)
        for opening, beside, hidden in hand.openings(yaw, width):
            cost = _lack(beside) + _lack(over) + _lack(camera) + width * 4 + abs(float(turn)) * 0.3
            if best is None or cost < best[0]:
                best = (
                    cost,
                    Grasp(
                        seen.solid.x,
                        seen.solid.y,
                        tip_z + gripper.finger_offset_m,
                        hand_yaw,
                        width,
                        float(np.ptp(outline @ [-axis[1], axis[0]])),
                        tip_z,
                        oriented,
                        opening,
                        min(beside, over, camera),
                        max(hidden, camera_hidden),
                        grasp_uncertainty(seen, yaw, robot.arm.tool_error_m),
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


def _lack(room: float) -> float:
    """Return the cost of too little room: 0 from ROOM_M, 3 at none, up to 12 on top of something."""
    return 3 * (1 - min(room, ROOM_M) / ROOM_M) ** 2


def _nearest_quarter(yaw: float, wanted: float) -> float:
    """Return the side of a square object that is nearest to `wanted` [rad]."""
    return yaw + round((wanted - yaw) / (np.pi / 2)) * (np.pi / 2)


def _square_on(turn: float) -> bool:
    return abs(abs(float(turn)) - np.pi / 2) < 0.09


def _better_side(hand: HandRoom, yaw: float) -> tuple[float, float, float]:
    """Return the yaw of the hand for fingers that close along `yaw`, and room [m] and hidden share of its camera then.

    The fingers are alike: that in [0, pi) is preferred, of which pi/2 closes along the y axis.
    """
    usual = yaw % np.pi
    first, second = ((one, *hand.camera(one)) for one in (usual, usual + np.pi))
    costs = [_lack(room) + _HIDDEN_COST * hidden for _, room, hidden in (first, second)]
    return first if costs[0] <= costs[1] + _TURNED_ROUND else second
