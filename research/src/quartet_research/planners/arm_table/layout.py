"""Where arms stand at the table, the spots between them, and what each arm reaches."""

import functools
import math
from collections.abc import Collection
from dataclasses import dataclass

from quartet_research.planners.grid_worlds import SizeError

ARM_COUNTS = (3, 6)
"""Numbers of arms in the published experiment: one row, or two rows that face each other."""
SPACING = 0.7
"""Distance of the arms of a row [m]."""
ROWS = (0.0, 1.0)
"""y of the rows of arms [m]; those of the second face the first."""
SPOT_ROWS = (0.4, 0.6)
SPOT_SPACING = 0.35
REACH = (0.36, 0.70)
"""Horizontal distances from its foot at which an arm grasps from above [m]."""
AT_SPOT = 0.05
"""A box so near to a spot stands on it [m]."""

Point = tuple[float, float]
"""Position on the table (x, y) [m]."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Arms and spots of one table; z is 0 at its surface, and x runs along the rows of arms.

    There is one of each size, by `of`, so that a layout is a key of caches.
    """

    arms: dict[str, Point]
    """Foot of each arm."""
    spots: dict[str, Point]
    """Places where a box or a bowl may stand."""

    @classmethod
    @functools.cache
    def of(cls, arms: int) -> "Layout":
        """Return the table of 3 or 6 arms. Raises SizeError."""
        if arms not in ARM_COUNTS:
            raise SizeError(f"a table with {arms} arms is not defined; valid: {', '.join(map(str, ARM_COUNTS))}")
        feet = [(SPACING * column, row) for row in ROWS[: arms // 3] for column in range(3)]
        first, last = -SPACING / 2, 2.5 * SPACING
        count = round((last - first) / SPOT_SPACING) + 1
        points = [(round(first + SPOT_SPACING * i, 3), y) for y in SPOT_ROWS for i in range(count)]
        reached = [point for point in points if any(within_reach(foot, point) for foot in feet)]
        return cls(
            {f"arm{number}": foot for number, foot in enumerate(feet, 1)},
            {f"spot{number}": point for number, point in enumerate(reached, 1)},
        )

    def reaches(self, arm: str, point: Point) -> bool:
        """Return whether an arm grasps at a point of the table."""
        return within_reach(self.arms[arm], point)

    def spot_at(self, point: Point) -> str:
        """Return the spot at a point, empty where there is none."""
        return next((name for name, spot in self.spots.items() if math.dist(spot, point) <= AT_SPOT), "")

    def hops(self, goal: Point, taken: Collection[str]) -> dict[str, int]:
        """Return the fewest moves that bring a box from each spot to `goal` over spots that are not `taken`.

        Spots from which no arm or chain of arms brings it there are left out.
        """
        found: dict[str, int] = {}
        goals, moves = [goal], 0
        while goals:
            moves += 1
            within = [arm for arm in self.arms if any(self.reaches(arm, point) for point in goals)]
            new = [
                name
                for name, point in self.spots.items()
                if name not in found and name not in taken and any(self.reaches(arm, point) for arm in within)
            ]
            found |= dict.fromkeys(new, moves)
            goals = [self.spots[name] for name in new]
        return found


def within_reach(foot: Point, point: Point) -> bool:
    """Return whether an arm at `foot` grasps at `point`."""
    return REACH[0] <= math.dist(foot, point) <= REACH[1]
