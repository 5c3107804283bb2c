"""Which floor of an area a search has looked at from near, and from where it should look at the rest."""

import math
from collections.abc import Iterable

from quartet_approach.geometry import Point, depth_in
from quartet_contracts.tools import Pose2D

CELL_M = 0.4
STEP_M = 0.8
"""Distance between positions from which to look."""
DIRECTIONS = 8
FROM_M, TO_M = 0.6, 1.4
"""Distance from the robot of floor on which a look ahead shows small things too [m]."""
HALF_VIEW_RAD = math.radians(30)
"""Half of the horizontal field of view that is assumed for the camera."""
LEAST_NEW_M2 = 0.45
"""A look that shows less floor than this that no look has shown is not worth its time."""
DRIVE_M = 3.0
"""A way as long as this halves what a look is worth."""


class Floor:
    """The floor inside `outline` [m, map frame], what furniture covers included, and what looks have shown of it.

    A robot of `robot_radius_m` looks from positions that are at least so far from the edge.
    """

    def __init__(self, outline: list[Point], robot_radius_m: float) -> None:
        self.unseen = {point for point in _points(outline, CELL_M) if depth_in(outline, point) > 0.0}
        """Middles of the squares of CELL_M that no look has shown."""
        self._positions = [point for point in _points(outline, STEP_M) if depth_in(outline, point) >= robot_radius_m]

    def looked(self, poses: Iterable[Pose2D]) -> None:
        """Note that the robot has looked ahead from these poses (map frame)."""
        for pose in poses:
            self.unseen -= self._shown(pose)

    def best_pose(self, here: Pose2D, *, turn: bool = True) -> Pose2D | None:
        """Return the pose for the next look, None when hardly anything is left that a look could show.

        It is here as long as turning shows more, unless `turn` is false. A position is worth what is to be seen around
        it, and less the longer the way to it.
        """
        if turn and (pose := self._best_turn((here.x, here.y))) is not None:
            return pose
        ways = {point: math.dist(point, (here.x, here.y)) for point in self._positions}
        worth = {point: len(self._around(point)) / (1 + away / DRIVE_M) for point, away in ways.items()}
        for point in sorted(worth, key=lambda one: -worth[one]):
            if math.dist(point, (here.x, here.y)) > CELL_M and (pose := self._best_turn(point)) is not None:
                return pose
        return None

    def leave_out(self, pose: Pose2D) -> None:
        """Ask for no further look from the position of `pose`, such as one that the robot does not get to."""
        self._positions = [point for point in self._positions if math.dist(point, (pose.x, pose.y)) > CELL_M]

    def _best_turn(self, point: Point) -> Pose2D | None:
        """Return the pose at `point` that shows most, None where each shows too little."""
        turns = [math.remainder(math.tau * number / DIRECTIONS, math.tau) for number in range(DIRECTIONS)]
        poses = [Pose2D(x=point[0], y=point[1], yaw=yaw) for yaw in turns]
        shown = [len(self._shown(pose)) * CELL_M**2 for pose in poses]
        return poses[shown.index(max(shown))] if max(shown) >= LEAST_NEW_M2 else None

    def _around(self, point: Point) -> set[Point]:
        """Return the unseen cells that are to be seen from `point`."""
        return {cell for cell in self.unseen if FROM_M <= math.dist(cell, point) <= TO_M}

    def _shown(self, pose: Pose2D) -> set[Point]:
        """Return the unseen cells that a look from `pose` shows."""
        x, y, least = math.cos(pose.yaw), math.sin(pose.yaw), math.cos(HALF_VIEW_RAD)
        around = self._around((pose.x, pose.y))
        return {
            cell
            for cell in around
            if (cell[0] - pose.x) * x + (cell[1] - pose.y) * y >= least * math.dist(cell, (pose.x, pose.y))
        }


def _points(outline: list[Point], step: float) -> list[Point]:
    """Return the middles of squares with sides of `step` over the box around `outline`."""
    low_x, low_y = (min(point[axis] for point in outline) for axis in (0, 1))
    high_x, high_y = (max(point[axis] for point in outline) for axis in (0, 1))
    columns, rows = math.ceil((high_x - low_x) / step), math.ceil((high_y - low_y) / step)
    return [(low_x + (i + 0.5) * step, low_y + (j + 0.5) * step) for i in range(columns) for j in range(rows)]
