"""Paths on the costmap: cost to go from the goal by Dijkstra, walked down from the start, then smoothed."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from quartet_simulation.navigation.costmap import RESOLUTION, Costmap

COMFORT = 0.60
"""Beyond this distance from obstacles a path pays nothing extra [m]."""
WEIGHT = 4.0


class PathPlanner:
    """Plans on one costmap; the grid graph is kept until the costmap changes."""

    def __init__(self, costmap: Costmap) -> None:
        self._map = costmap
        self._version = -1
        self._graph: sparse.csr_matrix | None = None
        self._parts: np.ndarray | None = None
        self._free = np.zeros(costmap.shape, dtype=bool)

    def _refresh(self) -> None:
        if self._version == self._map.version and self._graph is not None:
            return
        clearance = self._map.clearance()
        lethal = self._map.lethal
        free = clearance >= lethal
        near = np.clip((COMFORT - clearance) / (COMFORT - lethal), 0, 1)
        cost = 1.0 + WEIGHT * near**2
        height, width = free.shape
        index = np.arange(height * width).reshape(height, width)
        rows, columns, weights = [], [], []
        for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
            a = (slice(0, height - dr), slice(max(0, -dc), width - max(0, dc)))
            b = (slice(dr, height), slice(max(0, dc), width + min(0, dc)))
            both = free[a] & free[b]
            rows.append(index[a][both])
            columns.append(index[b][both])
            weights.append((cost[a][both] + cost[b][both]) / 2 * RESOLUTION * float(np.hypot(dr, dc)))
        i, j, w = np.concatenate(rows), np.concatenate(columns), np.concatenate(weights)
        size = height * width
        self._graph = sparse.csr_matrix(
            (np.concatenate([w, w]), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(size, size)
        )
        self._free, self._version, self._parts = free, self._map.version, None

    def is_free(self, x: float, y: float) -> bool:
        """Can the robot's centre be here, as far as the costmap knows?"""
        self._refresh()
        row, column = self._map.cell(x, y)
        height, width = self._free.shape
        return 0 <= row < height and 0 <= column < width and bool(self._free[row, column])

    def _nearest_free(self, x: float, y: float, reach: float) -> tuple[int, int] | None:
        row, column = self._map.cell(x, y)
        span = int(np.ceil(reach / RESOLUTION))
        height, width = self._free.shape
        r0, r1 = max(0, row - span), min(height, row + span + 1)
        c0, c1 = max(0, column - span), min(width, column + span + 1)
        found = np.argwhere(self._free[r0:r1, c0:c1])
        if len(found) == 0:
            return None
        found += (r0, c0)
        distance = np.hypot(found[:, 0] - row, found[:, 1] - column)
        best = int(distance.argmin())
        return (int(found[best, 0]), int(found[best, 1])) if distance[best] <= span else None

    def plan(
        self,
        start: tuple[float, float],
        goal: tuple[float, float],
        *,
        start_reach: float = 0.5,
        goal_reach: float = 0.25,
    ) -> np.ndarray | None:
        """Points (N, 2) from start to goal, 5 cm apart, or None if there is no way.

        Both ends may lie in the inflated zone by up to `start_reach` and `goal_reach`: a robot that stands at a
        table is nearer to it than a path may pass.
        """
        ends = self._ends(start, goal, start_reach, goal_reach)
        if ends is None or self._graph is None:
            return None
        (a, b), width = ends, self._free.shape[1]
        _, previous = csgraph.dijkstra(self._graph, indices=b, return_predecessors=True)
        if a != b and previous[a] < 0:
            return None
        cells = [a]
        while cells[-1] != b:
            cells.append(int(previous[cells[-1]]))
        points = np.array([self._map.point(c // width, c % width) for c in cells])
        return self._smooth(np.vstack([[start], points, [goal]]))

    def reaches(
        self,
        start: tuple[float, float],
        goal: tuple[float, float],
        *,
        start_reach: float = 0.5,
        goal_reach: float = 0.25,
    ) -> bool:
        """Return whether `plan` finds a way, without planning it."""
        ends = self._ends(start, goal, start_reach, goal_reach)
        if ends is None or self._graph is None:
            return False
        parts = self._parts
        if parts is None:
            _, parts = csgraph.connected_components(self._graph, directed=False)
            self._parts = parts
        return bool(parts[ends[0]] == parts[ends[1]])

    def _ends(
        self, start: tuple[float, float], goal: tuple[float, float], start_reach: float, goal_reach: float
    ) -> tuple[int, int] | None:
        """Return the nodes of the graph where a way from start to goal begins and ends."""
        self._refresh()
        first, last = self._nearest_free(*start, start_reach), self._nearest_free(*goal, goal_reach)
        if first is None or last is None:
            return None
        width = self._free.shape[1]
        return first[0] * width + first[1], last[0] * width + last[1]

    def _smooth(self, points: np.ndarray, rounds: int = 40) -> np.ndarray:
        path = points.copy()
        clearance, (ox, oy) = self._map.clearance(), self._map.origin
        for _ in range(rounds):
            moved = path.copy()
            moved[1:-1] = 0.5 * path[1:-1] + 0.25 * (path[:-2] + path[2:])
            rows = np.round((moved[:, 1] - oy) / RESOLUTION).astype(int).clip(0, clearance.shape[0] - 1)
            columns = np.round((moved[:, 0] - ox) / RESOLUTION).astype(int).clip(0, clearance.shape[1] - 1)
            good = clearance[rows, columns] >= self._map.lethal
            path[good] = moved[good]
        return resample(path, RESOLUTION)


def resample(path: np.ndarray, spacing: float) -> np.ndarray:
    """The same line with points about `spacing` apart."""
    steps = np.hypot(*np.diff(path, axis=0).T)
    keep = np.concatenate([[True], steps > 1e-9])
    path, along = path[keep], np.concatenate([[0.0], np.cumsum(steps[steps > 1e-9])])
    if len(path) == 1:
        return np.vstack([path, path])
    count = max(2, int(np.ceil(along[-1] / spacing)) + 1)
    s = np.linspace(0, along[-1], count)
    return np.column_stack([np.interp(s, along, path[:, 0]), np.interp(s, along, path[:, 1])])
