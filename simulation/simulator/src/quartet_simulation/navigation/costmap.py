"""The static map from the world's geometry, with marked obstacles and distances to the nearest one."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from scipy import ndimage

from quartet_simulation.worlds.floor_plan import covered
from quartet_simulation.worlds.world import World

RESOLUTION = 0.05
BORDER = 0.30
HEIGHTS = (0.03, 0.90)
"""What lies between these heights blocks the body [m]."""
OTHER_ROBOT, PERSON, LEAF = "robot:", "person:", "leaf:"
"""How the keys of marks begin that are other robots, people, and parts of closed doors; those of things are names."""
PERSON_MARK = 0.35
"""Radius of a person in the costmap: a body, and a step [m]."""
LEAF_MARK, LEAF_MARKS = 0.08, 9
"""Radius of a mark of a closed door [m], and how many it has along its leaf."""
MARGIN = 0.04
"""Free space on each side of the body that a path must leave [m]."""


class Costmap:
    """Occupancy on a grid; cell (row, column) is at origin + (column, row) * RESOLUTION.

    `half_width` is that of the body that is to pass, between `heights` above the floor [m].
    """

    def __init__(
        self,
        world: World,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        half_width: float,
        heights: tuple[float, float] = HEIGHTS,
    ) -> None:
        # Half a cell is rounding.
        self.lethal = half_width + MARGIN - RESOLUTION / 2
        """A cell nearer to an obstacle than this cannot hold the robot's centre [m]."""
        x0, y0, x1, y1 = world.bounds
        self.origin = (x0 - BORDER, y0 - BORDER)
        self.shape = (
            int(np.ceil((y1 - y0 + 2 * BORDER) / RESOLUTION)) + 1,
            int(np.ceil((x1 - x0 + 2 * BORDER) / RESOLUTION)) + 1,
        )
        self.static = self._rasterise(model, data, heights)
        self._marks: dict[str, tuple[float, float, float]] = {}
        self._clearance: np.ndarray | None = None
        self.version = 0

    def _rasterise(self, model: mujoco.MjModel, data: mujoco.MjData, heights: tuple[float, float]) -> np.ndarray:
        occupied = covered(model, data, self.origin, self.shape, RESOLUTION, heights)
        occupied[0], occupied[-1], occupied[:, 0], occupied[:, -1] = True, True, True, True
        return occupied

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return row and column of a point in map [m]."""
        return round((y - self.origin[1]) / RESOLUTION), round((x - self.origin[0]) / RESOLUTION)

    def point(self, row: int, column: int) -> tuple[float, float]:
        """Return the middle of a cell in map [m]."""
        return self.origin[0] + column * RESOLUTION, self.origin[1] + row * RESOLUTION

    def inside(self, x: float, y: float) -> bool:
        """Return whether a point of map is on the costmap."""
        # In floats, so that no number is too large to be asked about.
        row, column = (y - self.origin[1]) / RESOLUTION, (x - self.origin[0]) / RESOLUTION
        return -0.5 <= row < self.shape[0] - 0.5 and -0.5 <= column < self.shape[1] - 0.5

    def occupancy_grid(self) -> dict[str, Any]:
        """Return the static map: resolution [m], origin (x, y) [m], data int8 HxW (0 free, 100 occupied)."""
        return {
            "resolution": RESOLUTION,
            # Cells are centred on their point; a grid's origin is the corner of its first cell.
            "origin": (self.origin[0] - RESOLUTION / 2, self.origin[1] - RESOLUTION / 2),
            "data": np.where(self.static, 100, 0).astype(np.int8),
        }

    def mark(self, marks: dict[str, tuple[float, float, float]]) -> None:
        """Add obstacles (key -> x, y, radius); a key that is there already moves."""
        changed = {k: v for k, v in marks.items() if self._marks.get(k) != v}
        if changed:
            self._marks.update(changed)
            self._touch()

    def unmark(self, keys: set[str]) -> None:
        """Forget marked obstacles by their keys."""
        if keys & set(self._marks):
            self._marks = {k: v for k, v in self._marks.items() if k not in keys}
            self._touch()

    def clear(self) -> None:
        """Forget all marked obstacles."""
        if self._marks:
            self._marks = {}
            self._touch()

    def _touch(self) -> None:
        self._clearance = None
        self.version += 1

    @property
    def marks(self) -> dict[str, tuple[float, float, float]]:
        """Marked obstacles by key: x, y and radius [m]."""
        return dict(self._marks)

    @property
    def others_near(self) -> bool:
        """Whether another robot or a person is marked, who may give way."""
        return any(key.startswith((OTHER_ROBOT, PERSON)) for key in self._marks)

    def clearance(self) -> np.ndarray:
        """Distance of every cell to the nearest obstacle [m]."""
        if self._clearance is None:
            occupied = self.static.copy()
            if self._marks:
                rows, columns = np.indices(self.shape)
                xs = self.origin[0] + columns * RESOLUTION
                ys = self.origin[1] + rows * RESOLUTION
                for x, y, radius in self._marks.values():
                    occupied |= (xs - x) ** 2 + (ys - y) ** 2 <= max(radius, RESOLUTION) ** 2
            self._clearance = ndimage.distance_transform_edt(~occupied) * RESOLUTION
        return self._clearance

    def clearance_at(self, x: float, y: float) -> float:
        """Return the distance from a point of map to the nearest obstacle [m]."""
        row, column = self.cell(x, y)
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            return 0.0
        return float(self.clearance()[row, column])

    def clearances_at(self, points: np.ndarray) -> np.ndarray:
        """Return the distance from each point of map (..., 2) to the nearest obstacle [m]."""
        cells = np.round((points - np.array(self.origin)) / RESOLUTION).astype(int)
        column, row = cells[..., 0], cells[..., 1]
        inside = (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        rows, columns = row.clip(0, self.shape[0] - 1), column.clip(0, self.shape[1] - 1)
        return np.where(inside, self.clearance()[rows, columns], 0.0)
