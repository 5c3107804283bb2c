"""Grasps with a parallel gripper, from above, inclined and from the front."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_contracts.tools import PITCH, Direction
from quartet_perception.approach_way import DOWN, ApproachWay
from quartet_perception.errors import NoWayError, ObjectTooWideError
from quartet_perception.estimate import Estimate
from quartet_perception.grasp_uncertainty import GraspUncertainty, grasp_uncertainty
from quartet_perception.hand_room import HAND_WIDER_M, ROOM_M, HandRoom
from quartet_perception.object_tracker import Grip
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
_ASIDE = np.radians((0.0, 15.0, -15.0, 30.0, -30.0))
"""Directions from which a hand comes that does not come from above, about the line of sight [rad]."""
_OVER_SUPPORT_M = 0.02
"""Room wanted below a hand that comes from the front."""
_LEAST_BITE_M = 0.01
"""The middle of the fingers is at least this far below the top of an object that is grasped from the front."""
LONGEST_WAY_M = 0.35
"""A hand does not begin farther before an object, however deep it stands on a shelf."""


@dataclass(frozen=True)
class Clearance:
    """How near the hand may turn off the straight way to an object, or back from it.

    lower_by: how much nearer than the wanted distance that is [m]. fraction: the part of the straight way up to it, 0
    to 1.
    """

    lower_by: float
    fraction: float


def clearance(overlap: float, height: float) -> Clearance:
    """Return the clearance at an object of which the finger tips overlap the first `overlap` [m] along their way.

    height: how far the hand is to be before its grasp [m], which is asked for wherever the arm can be there.
    """
    least = overlap + PASS_M
    return Clearance(max(0.0, height - least), min(_WHOLE_WAY, least / max(height, least)))


@dataclass(frozen=True)
class Grasp:
    """A grasp in the base frame.

    x, y, z: of the tool flange [m]; yaw: direction in which the fingers close [rad]. width: of the object between
    them, length: across that [m]. tip_z: height of the fingertips. opening: how far the fingers are apart on the way
    there [m]. room: what is left between a finger or the hand and the nearest thing then [m]; below zero it comes down
    on something. hidden: share of the fingers' or the camera's way that no picture shows. uncertainty: of where
    the hand comes, measured from the object. way: on which the hand comes; turn: of the hand about its axis [rad].
    overlap: how far the finger tips are beyond where the object begins on that way [m].
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
    way: ApproachWay
    turn: float
    overlap: float

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
        return self.way.quaternion(self.turn)

    def grip(self, seen: Estimate) -> Grip:
        """Return how the hand then holds the object."""
        ahead = float(np.hypot(seen.solid.x - self.x, seen.solid.y - self.y))
        return Grip(self.way.direction, self.turn, ahead, self.z - seen.support)

    def tip(self, robot: RobotFile) -> NDArray[np.float64]:
        """Return where the finger tips are, base frame [m]."""
        flange = np.array((self.x, self.y, self.z))
        return flange - robot.gripper.finger_offset_m * self.way.axes[:, 2]


def plan_grasp(
    view: View,
    seen: Estimate,
    robot: RobotFile,
    before: Sequence[View] = (),
    wrist_camera: NDArray[np.float64] | None = None,
    direction: Direction = "above",
) -> Grasp:
    """Return the best grasp: narrow, fingers clear of neighbours, across the short axis of long objects.

    before: earlier pictures from the same standpoint, for neighbours that this one does not show. wrist_camera: its
    4x4 pose in the frame of the tool flange, for things that it would meet. direction: from which the hand comes.

    Raises ObjectTooWideError; NoWayError for an object that is too low for the direction.
    """
    gripper = robot.gripper
    stroke = gripper.stroke_m
    outline = seen.solid.footprint
    best: tuple[float, Grasp] | None = None
    narrowest = np.inf
    for way, turns in _ways(seen, direction):
        axes = way.axes
        tip, overlap = _tip(seen, way, robot)
        if way.direction == "above":
            hand = HandRoom([view, *before], seen, float(tip[2]), gripper, wrist_camera)
        else:
            length = way_length(view, seen, way, robot.manipulation.pre_grasp_height_m)
            hand = HandRoom([view, *before], seen, 0.0, gripper, wrist_camera, way, tip.tolist(), length)
        flange = tip + gripper.finger_offset_m * axes[:, 2]
        for closing, turned in turns:
            yaw = way.closing_yaw(closing)
            axis = np.array([np.cos(yaw), np.sin(yaw)])
            width = float(np.ptp(outline @ axis))
            narrowest = min(narrowest, width)
            if width > stroke - 2 * gripper.side_clearance_m:
                continue
            over = hand.over(closing)
            usual = closing % np.pi if way.direction == "above" else way.turn_with_camera_up(wrist_camera)
            turn, camera, camera_hidden = _better_side(hand, usual)
            for opening, beside, hidden in hand.openings(closing, width):
                cost = _lack(beside) + _lack(over) + _lack(camera) + width * 4 + abs(turned) * 0.3
                if best is None or cost < best[0]:
                    best = (
                        cost,
                        Grasp(
                            float(flange[0]),
                            float(flange[1]),
                            float(flange[2]),
                            way.closing_yaw(turn),
                            width,
                            float(np.ptp(outline @ [-axis[1], axis[0]])),
                            float(tip[2]),
                            seen.aspect >= OBLONG,
                            opening,
                            min(beside, over, camera),
                            max(hidden, camera_hidden),
                            grasp_uncertainty(seen, yaw, robot.arm.tool_error_m),
                            way,
                            turn,
                            overlap,
                        ),
                    )
    if best is None and np.isinf(narrowest):
        raise NoWayError(f"it is too low ({seen.height:.3f} m) or turned too far for a hand that comes so")
    if best is None:
        raise ObjectTooWideError(f"{narrowest:.3f} m wide, the fingers open {stroke:.3f} m")
    return best[1]


def _ways(seen: Estimate, direction: Direction) -> Iterator[tuple[ApproachWay, list[tuple[float, float]]]]:
    """Yield ways from a direction, with angles at which the fingers close on each, and how far these are turned [rad].

    The angles are about the axis of the hand, and turned from the preferred one.
    """
    bearing = float(np.arctan2(seen.solid.y, seen.solid.x))
    round_, oriented = seen.solid.solid.round, seen.aspect >= OBLONG
    if direction == "above":
        if oriented:
            sx, sy, _ = seen.solid.solid.size
            preferred = seen.solid.yaw + (np.pi / 2 if sx >= sy else 0.0)
        elif round_:
            preferred = bearing + np.pi / 2
        else:
            preferred = _nearest_quarter(seen.solid.yaw, bearing + np.pi / 2)
        turns = np.linspace(-np.pi / 2, np.pi / 2, _YAWS, endpoint=False)
        if not round_:
            turns = [one for one in turns if abs(one) <= _TURN_TOLERANCE or (not oriented and _square_on(one))]
        yield DOWN, [(preferred + float(one), float(one)) for one in turns]
        return
    if seen.height < 2 * _LEAST_BITE_M:
        return
    if round_:
        for aside in _ASIDE:
            yield ApproachWay(direction, bearing + float(aside)), [(0.0, float(aside))]
        return
    side = _nearest_quarter(seen.solid.yaw, bearing)
    for face in (side, side + np.pi / 2, side - np.pi / 2):
        aside = float(np.arctan2(np.sin(face - bearing), np.cos(face - bearing)))
        if abs(aside) <= np.pi / 4 + _TURN_TOLERANCE:
            yield ApproachWay(direction, face), [(0.0, aside)]


def _tip(seen: Estimate, way: ApproachWay, robot: RobotFile) -> tuple[NDArray[np.float64], float]:
    """Return where the finger tips are at a grasp (base frame), and how far beyond where the object begins [m]."""
    gripper = robot.gripper
    x, y = seen.solid.x, seen.solid.y
    if way.direction == "above":
        tip_z = max(seen.top - gripper.grasp_depth(seen.height), seen.support + gripper.tip_clearance_m)
        return np.array((x, y, tip_z)), seen.top - tip_z
    back = way.axes[:, 2]
    half_hand = gripper.pad_width_m / 2 + HAND_WIDER_M
    middle = seen.support + max(seen.height / 2, half_hand * float(np.cos(way.pitch)) + _OVER_SUPPORT_M)
    middle = min(middle, seen.top - _LEAST_BITE_M)
    level = float(((seen.solid.footprint - (x, y)) @ back[:2]).max())
    begins = level + (seen.top - middle) * float(back[2])
    overlap = min(begins + gripper.tip_below_middle_m, gripper.grasp_depth_m)
    if way.pitch == 0.0:
        overlap = min(overlap, 2 * level - gripper.tip_clearance_m)
    tip = np.array((x, y, middle)) + (begins - overlap) * back
    lowest = seen.support + gripper.tip_clearance_m + gripper.pad_width_m / 2 * float(np.cos(way.pitch))
    short = max(0.0, lowest - float(tip[2])) / float(back[2]) if back[2] > 0 else 0.0
    return tip + short * back, overlap - short


def way_length(view: View, seen: Estimate, way: ApproachWay, usual: float) -> float:
    """Return how far before its grasp a hand begins [m]: before the edge of what the object stands on, where it may.

    usual: the least [m], and that of a hand which comes from above.
    """
    if way.direction == "above":
        return usual
    points = view.points[::2, ::2][view.valid[::2, ::2]]
    points = points[np.abs(points[:, 2] - seen.support) < _OVER_SUPPORT_M]
    off = points[:, :2] - (seen.solid.x, seen.solid.y)
    across, ahead = off @ way.axes[:2, 0], off @ (np.cos(way.azimuth), np.sin(way.azimuth))
    before = -ahead[(np.abs(across) < _OVER_SUPPORT_M) & (ahead < 0)]
    edge = float(np.percentile(before, 98)) if len(before) else 0.0
    return float(np.clip(edge + _OVER_SUPPORT_M, usual, max(usual, LONGEST_WAY_M)))


def reach_of_pick(robot: RobotFile, height: float, direction: Direction = "above") -> float:
    """Return the horizontal reach for a grasp at a height [m]: linear between the floor's and a table's."""
    arm = robot.arm
    part = float(np.clip(height / arm.reach_top_down_height_m, 0, 1))
    return arm.reach_floor_m + part * (reach_of_place(robot, direction) - arm.reach_floor_m)


def reach_of_place(robot: RobotFile, direction: Direction) -> float:
    """Return the horizontal reach at a table's height [m]; without reach_front_m a hand that leans adds its length."""
    if direction == "above":
        return robot.arm.reach_top_down_m
    ahead = robot.gripper.finger_offset_m * float(np.cos(PITCH[direction]))
    return robot.arm.reach_front_m or robot.arm.reach_top_down_m + ahead


def _lack(room: float) -> float:
    """Return the cost of too little room: 0 from ROOM_M, 3 at none, up to 12 on top of something."""
    return 3 * (1 - min(room, ROOM_M) / ROOM_M) ** 2


def _nearest_quarter(yaw: float, wanted: float) -> float:
    """Return the side of a square object that is nearest to `wanted` [rad]."""
    return yaw + round((wanted - yaw) / (np.pi / 2)) * (np.pi / 2)


def _square_on(turn: float) -> bool:
    return abs(abs(float(turn)) - np.pi / 2) < 0.09


def _better_side(hand: HandRoom, usual: float) -> tuple[float, float, float]:
    """Return the angle of the hand, `usual` or half a turn from it, and room [m] and hidden share of its camera then.

    The fingers are alike. From above, that in [0, pi) is usual, of which pi/2 closes along the y axis.
    """
    first, second = ((one, *hand.camera(one)) for one in (usual, usual + np.pi))
    costs = [_lack(room) + _HIDDEN_COST * hidden for _, room, hidden in (first, second)]
    return first if costs[0] <= costs[1] + _TURNED_ROUND else second
