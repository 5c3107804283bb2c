"""Draws places on the table that the arm reaches and that keep apart."""

import math
from collections.abc import Sequence

import numpy as np

from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.tabletop.errors import NoPlacementError
from quartet_simulation.tabletop.kinematics import FOOT

WORKSPACE = ((-0.075, 0.575), (-0.455, 0.455))
"""x and y of the workspace that the paper's prompts state [m]."""
REACH = (0.36, 0.64)
"""Distances from the arm's foot at which it reaches down to the table and up to 0.4 m over it [m]."""
EDGE = 0.04
TRIES = 100

Point = tuple[float, float]


class Places:
    """Places of one episode.

    Args:
        rng: what they are drawn from.
        foot: of the arm that has to reach them [m].
    """

    def __init__(self, rng: np.random.Generator, foot: Vector = FOOT) -> None:
        self.rng, self._foot = rng, foot
        self._taken: list[tuple[Point, float]] = []

    def draw(self, radius: float) -> Point:
        """Return a point whose circle of `radius` [m] meets no other one's. Raises NoPlacementError."""
        for _ in range(TRIES):
            point = self._point()
            if self._reaches(point) and all(math.dist(point, other) >= radius + r for other, r in self._taken):
                self._taken.append((point, radius))
                return point
        raise NoPlacementError(f"no place for a circle of {radius} m beside {len(self._taken)} others")

    def frame(self, points: Sequence[Point], most_yaw: float, radius: float) -> tuple[Point, float]:
        """Return a position and a turn [rad] that bring all `points` of its frame within reach.

        Args:
            points: in the frame [m].
            most_yaw: the turn is drawn from -most_yaw to most_yaw.
            radius: of the circle round each point that is taken then [m].

        Raises:
            NoPlacementError: none was found.
        """
        for _ in range(TRIES):
            origin, yaw = self._point(), float(self.rng.uniform(-most_yaw, most_yaw))
            placed = [at(origin, yaw, point) for point in points]
            if all(map(self._reaches, placed)):
                self._taken += [(point, radius) for point in placed]
                return origin, yaw
        raise NoPlacementError(f"no turn and place bring {len(points)} points within reach")

    def yaw(self, most: float = math.pi / 2) -> float:
        """Return a turn from -most to most [rad]."""
        return float(self.rng.uniform(-most, most))

    def _point(self) -> Point:
        (x0, x1), (y0, y1) = WORKSPACE
        return (
            float(self.rng.uniform(x0 + EDGE, x1 - EDGE)),
            float(self.rng.uniform(y0 + EDGE, y1 - EDGE)),
        )

    def _reaches(self, point: Point) -> bool:
        """Return whether the arm reaches down to a point of the table, inside of the workspace."""
        (x0, x1), (y0, y1) = WORKSPACE
        x, y = point
        return x0 <= x <= x1 and y0 <= y <= y1 and REACH[0] <= math.dist(point, self._foot[:2]) <= REACH[1]


def at(origin: Point, yaw: float, point: Point) -> Point:
    """Return a point of a frame in the world."""
    c, s = math.cos(yaw), math.sin(yaw)
    return origin[0] + c * point[0] - s * point[1], origin[1] + s * point[0] + c * point[1]


def half_turn(yaw: float) -> float:
    """Return the turn from -pi/2 to pi/2 of a thing that looks alike after half a turn [rad]."""
    return (yaw + math.pi / 2) % math.pi - math.pi / 2
