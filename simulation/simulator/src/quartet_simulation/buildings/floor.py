"""Where a body can be on a storey, and how it gets from point to point there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from scipy import ndimage

from quartet_simulation.bodies.body import Body
from quartet_simulation.buildings.building import Position, Stand, Storey
from quartet_simulation.buildings.cameras import in_view
from quartet_simulation.buildings.extent import extent_of
from quartet_simulation.buildings.surroundings import Surroundings
from quartet_simulation.errors import SimulationError
from quartet_simulation.navigation.costmap import RESOLUTION, Costmap
from quartet_simulation.navigation.planner import PathPlanner

OFF_FLOOR_M = 0.5
"""A point belongs to the nearest free cell up to this far away [m]."""
ASIDE = (0.0, math.radians(20), math.radians(-20))
"""A robot that faces a point may be turned away from it by so much."""


class Floor:
    """Free cells of a storey for one body, in connected parts.

    A body passes by its half width, since it drives ahead. It stands only where none of its shapes meets furniture.
    """

    def __init__(self, storey: Storey, body: Body) -> None:
        self._storey, self._body = storey, body
        extent, mobility = extent_of(body), body.file.mobility
        self.costmap = Costmap(storey.world, storey.model, storey.data, extent.half_width, extent.heights)
        self.height = mobility.flying_height_m if mobility.kind == "rotors" else 0.0
        """Of the base frame above the floor [m]."""
        free = self.costmap.clearance() >= self.costmap.lethal
        self._parts = connected(free)
        rooms = {self.part_at(*area.entry[:2]) for area in storey.world.areas}
        # What lies between the outer walls of a world and its bounds is no floor.
        self._parts[~np.isin(self._parts, list(rooms))] = 0
        self._planner = PathPlanner(self.costmap)
        self._paths: dict[tuple[float, ...], np.ndarray] = {}
        bearing = 0.0 if body.arm is None else body.arm.bearing
        self._bearing = math.radians(bearing)

    @cached_property
    def surroundings(self) -> Surroundings:
        """Collision checks of the body on this storey."""
        return Surroundings(self._storey.world, self._body)

    def part_at(self, x: float, y: float) -> int:
        """Return the part of the floor at a point, or the nearest one within OFF_FLOOR_M; 0 if there is none."""
        cell = self._free_cell(x, y)
        return 0 if cell is None else int(self._parts[cell])

    def _free_cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the free cell that is nearest to a point, or None if none is within OFF_FLOOR_M."""
        if not self.costmap.inside(x, y):
            return None
        (row, column), span = self.costmap.cell(x, y), math.ceil(OFF_FLOOR_M / RESOLUTION)
        r0, c0 = max(row - span, 0), max(column - span, 0)
        cells = np.argwhere(self._parts[r0 : row + span + 1, c0 : column + span + 1]) + np.array([r0, c0])
        distances = np.hypot(cells[:, 0] - row, cells[:, 1] - column)
        if distances.min(initial=np.inf) > span:
            return None
        nearest = cells[distances.argmin()]
        return int(nearest[0]), int(nearest[1])

    def points(self, parts: Collection[int], x: float, y: float) -> np.ndarray:
        """Return the free points (N, 2) of parts of the floor [m], nearest to (x, y) first."""
        cells = np.argwhere(np.isin(self._parts, list(parts)))
        points = np.array(self.costmap.origin) + cells[:, ::-1] * RESOLUTION
        return points[np.argsort(np.hypot(points[:, 0] - x, points[:, 1] - y), kind="stable")]

    def facing(self, x: float, y: float, at: tuple[float, float]) -> Iterator[Stand]:
        """Yield poses at (x, y) that point the arm towards `at`, or what is ahead of a body without one."""
        bearing = math.atan2(at[1] - y, at[0] - x) - self._bearing
        for aside in ASIDE:
            yaw = math.remainder(bearing + aside, 2 * math.pi)
            yield Stand(self._storey.name, float(x), float(y), yaw, self.height)

    def standing(self, parts: Collection[int], at: Position) -> Stand | None:
        """Return the nearest pose to a position in which the body stands free and faces it; None if there is none.

        A body without an arm faces a position with a camera, so it keeps the distance that the camera needs.
        """
        points = self.points(parts, *at[:2])
        looks = self._body.arm is None and bool(self._body.cameras)
        for some in (self._viewing(points, at), points) if looks else (points,):
            for x, y in some:
                for stand in self.facing(x, y, at[:2]):
                    if self.surroundings.free(stand):
                        return stand
        return None

    def _viewing(self, points: np.ndarray, at: Position) -> np.ndarray:
        """Return those of points (N, 2) from which a camera sees a position that the body faces."""
        cells = np.round(np.hypot(points[:, 0] - at[0], points[:, 1] - at[1]) / RESOLUTION).astype(int)
        away = [
            Stand(self._storey.name, at[0] - cell * RESOLUTION, at[1], 0.0, self.height)
            for cell in range(1 + max(cells, default=0))
        ]
        return points[np.array([in_view(self._body, stand, at) for stand in away], dtype=bool)[cells]]

    def path(self, start: tuple[float, float], goal: tuple[float, float]) -> np.ndarray:
        """Return points (N, 2) from start to goal [m], which are in one part of the floor."""
        key = (*start, *goal)
        if key not in self._paths:
            cells = self._free_cell(*start), self._free_cell(*goal)
            points = None
            if cells[0] is not None and cells[1] is not None:
                points = self._planner.plan(self.costmap.point(*cells[0]), self.costmap.point(*cells[1]))
            if points is None:
                raise SimulationError(f"no path leads from {start} to {goal}; valid: points in one part of the floor")
            self._paths[key] = points
        return self._paths[key]

    def straight(self, start: tuple[float, float], goal: tuple[float, float]) -> bool:
        """Return whether the body can move from start to goal in a straight line."""
        count = 2 + math.ceil(math.dist(start, goal) / RESOLUTION)
        return bool((self.costmap.clearances_at(np.linspace(start, goal, count)) >= self.costmap.lethal).all())


def connected(free: np.ndarray) -> np.ndarray:
    """Return the number of the connected part of each free cell (H, W), from 1 on; 0 where a cell is not free."""
    parts, _ = cast("tuple[np.ndarray, int]", ndimage.label(free, structure=np.ones((3, 3))))
    return parts


@lru_cache(maxsize=128)
def floor_of(storey: Storey, body: Body) -> Floor:
    """Return the floor of a storey for a body; computed once a process."""
    return Floor(storey, body)
