"""Top-down grasps with a parallel gripper."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quartet_perception.errors import ObjectTooWideError
from quartet_perception.estimate import Estimate
from quartet_perception.scene.view import View
from quartet_site import Gripper, RobotFile

_ORIENTED_ASPECT = 1.2
"""Long over short side from which the fingers close across the short axis."""
_YAWS = 36
_TURN_TOLERANCE = np.radians(16)
"""How far a grasp of a long object may turn from its short axis to keep the fingers free."""
_HAND_BEHIND_M, _HAND_BEYOND_M = 0.10, 0.02
"""The hand's own body reaches from this far behind the flange to this far beyond the finger tips."""
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
    them [m]. tip_z: height of the fingertips. blocked: seen points of other objects where the fingers would be.
    """

    x: float
    y: float
    z: float
    yaw: float
    width: float
    tip_z: float
    oriented: bool
    blocked: int

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
    obstacles = _neighbours(view, seen, tip_z, gripper)
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
        blocked = _blocked(obstacles, seen, axis, width, robot)
        cost = min(blocked, 60) * 0.05 + width * 4 + abs(float(turn)) * 0.3
        if best is None or cost < best[0]:
            z = tip_z + gripper.finger_offset_m
            best = (cost, Grasp(seen.solid.x, seen.solid.y, z, _half_turn(yaw), width, tip_z, oriented, blocked))
    if best is None:
        raise ObjectTooWideError(f"{narrowest:.3f} m wide, the fingers open {stroke:.3f} m")
    return best[1]


def reach_of_pick(robot: RobotFile, height: float) -> float:
    """Return the horizontal reach for a top-down grasp at a height [m]: linear between the floor's and a table's."""
    arm = robot.arm
    part = float(np.clip(height / arm.reach_top_down_height_m, 0, 1))
    return arm.reach_floor_m + part * (arm.reach_top_down_m - arm.reach_floor_m)


def _neighbours(view: View, seen: Estimate, tip_z: float, gripper: Gripper) -> NDArray[np.float64]:
    """Return the Nx2 seen points of other objects between the heights of finger tips and palm, near the object."""
    points = view.points[::2, ::2][view.valid[::2, ::2]]
    near = (np.abs(points[:, 0] - seen.solid.x) < 0.16) & (np.abs(points[:, 1] - seen.solid.y) < 0.16)
    points = points[near & (points[:, 2] > max(tip_z, seen.support + 0.012)) & (points[:, 2] < tip_z + 0.12)]
    points = points.astype(np.float64)
    if len(points) == 0:
        return np.zeros((0, 2))
    if view.tool_in_base is not None:
        # The robot's own hand is no neighbour.
        tool = view.tool_in_base
        local = (points - tool[:3, 3]) @ tool[:3, :3]
        beside = (np.abs(local[:, :2]) < gripper.hand_radius_m).all(axis=1)
        along = (local[:, 2] > -_HAND_BEHIND_M) & (local[:, 2] < gripper.finger_offset_m + _HAND_BEYOND_M)
        points = points[~(beside & along)]
    return points[seen.solid.distances(points) > 0.010][:, :2] if len(points) else np.zeros((0, 2))


def _blocked(
    points: NDArray[np.float64], seen: Estimate, axis: NDArray[np.float64], width: float, robot: RobotFile
) -> int:
    """Return how many of the points lie where a finger comes down or closes."""
    if len(points) == 0:
        return 0
    local = points - (seen.solid.x, seen.solid.y)
    along, across = np.abs(local @ axis), np.abs(local @ np.array([-axis[1], axis[0]]))
    outer = robot.gripper.stroke_m / 2 + robot.gripper.finger_thickness_m + 0.003
    lane = robot.gripper.pad_width_m / 2 + 0.006
    return int(((across < lane) & (along < outer) & (along > width / 2 - 0.005)).sum())


def _nearest_quarter(yaw: float, wanted: float) -> float:
    """Return the side of a square object that is nearest to `wanted` [rad]."""
    return yaw + round((wanted - yaw) / (np.pi / 2)) * (np.pi / 2)


def _square_on(turn: float) -> bool:
    return abs(abs(float(turn)) - np.pi / 2) < 0.09


def _half_turn(yaw: float) -> float:
    """Return the yaw of the same grasp in [0, pi): the fingers are alike, and pi/2 closes along the y axis."""
    return float(yaw % np.pi)
