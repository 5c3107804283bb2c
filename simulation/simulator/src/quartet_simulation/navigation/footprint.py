"""The robot's outline as its base moves: how far points around it are from its parts, at each height."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from quartet_simulation.physics import Physics
from quartet_simulation.worlds.floor_plan import hull_of, outside_of

CELL, LAYER = 0.02, 0.06
"""Grid of the distances: along the floor, and upwards [m]."""
WITHIN = 0.30
"""Up to this far around the robot distances are known [m]; what is farther counts as this far."""
ARM_SLACK = 0.025
"""So much larger than it is the arm counts [m]: what the laser shows and where the encoders have the hand is off by as
much, and a turn swings the hand half a metre ahead of the base's middle. A door leaves room beside it, not beside the
base."""
ARM_MOVED, FINGERS_MOVED = 0.02, 0.005
"""The outline is computed anew once a joint of the arm has moved by more than this [rad], or a finger [m]."""


@dataclass(frozen=True)
class _Part:
    """A geom in base_footprint: its frame, and the corners of the box around it [m]."""

    geom: int
    place: np.ndarray
    turn: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Footprint:
    """Distances to all that drives along with a base: its body, and its arm as it is now with what it holds.

    Nav2 has a polygon on the floor for it, which would keep an arm that reaches over a table away from the table; here
    each layer of LAYER has an outline of its own, as in its voxel layer.

    Args:
        physics: of the robot.
        body: the robot as its encoders have it.
        held: name of what is in the gripper, whose shape and place in it are the true ones.
    """

    def __init__(self, physics: Physics, body: Callable[[], Physics], held: Callable[[], str | None]) -> None:
        self._physics, self._body, self._held = physics, body, held
        model = physics.model
        solid = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
        self._own = [int(geom) for geom in physics.own_geoms if solid[geom]]
        self._hulls = {geom: hull_of(model, geom) for geom in self._own}
        self._of: tuple[np.ndarray, str | None] | None = None
        base = model.body(physics.name("base_footprint")).id
        self._of_base = [geom for geom in self._own if int(model.geom_bodyid[geom]) == base]
        self._body_layers = self._arm_layers = self._measure(model, self._parts(physics, self._of_base))
        self.arm_box = np.zeros(3), np.zeros(3)
        """Lower and upper corner of the box around arm, gripper and what it holds, in base_footprint [m]."""

    def from_body(self, points: np.ndarray) -> np.ndarray:
        """Return how far points of base_footprint are from the base's own body [m]: negative inside, at most WITHIN.

        points: (..., 3) [m], or (..., 2) for points of the floor.
        """
        return self._body_layers.at(points) if points.shape[-1] == 3 else self._body_layers.over(points)

    def from_arm(self, points: np.ndarray) -> np.ndarray:
        """Return how far points (..., 3) are from the arm and what it holds, ARM_SLACK larger than they are [m]."""
        return self._arm_layers.at(points)

    def update(self) -> bool:
        """Take over how arm and gripper are now; return whether that is new."""
        physics, held = self._physics, self._held()
        now = np.concatenate([physics.arm_positions() / ARM_MOVED, [physics.opening() / FINGERS_MOVED]])
        if self._of is not None and self._of[1] == held and float(np.abs(now - self._of[0]).max()) < 1.0:
            return False
        self._of = now, held
        body = self._body()
        geoms = [geom for geom in (*self._own, *self._geoms_of(held)) if geom not in self._of_base]
        arm = self._parts(body, geoms)
        self._arm_layers = self._measure(body.model, arm, ARM_SLACK)
        self.arm_box = np.min([part.low for part in arm], axis=0), np.max([part.high for part in arm], axis=0)
        return True

    def _geoms_of(self, held: str | None) -> list[int]:
        if held is None:
            return []
        model, body = self._physics.model, self._physics.objects[held]
        first = int(model.body_geomadr[body])
        geoms = [geom for geom in range(first, first + int(model.body_geomnum[body])) if model.geom_contype[geom]]
        self._hulls |= {geom: hull_of(model, geom) for geom in geoms if geom not in self._hulls}
        return geoms

    def _parts(self, body: Physics, geoms: Sequence[int]) -> list[_Part]:
        x, y, yaw = body.base_pose()
        c, s = np.cos(yaw), np.sin(yaw)
        to_map = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        parts: list[_Part] = []
        for geom in geoms:
            turn = to_map.T @ body.data.geom_xmat[geom].reshape(3, 3)
            place = (body.data.geom_xpos[geom] - [x, y, 0.0]) @ to_map
            box = body.model.geom_aabb[geom]
            middle, half = place + turn @ box[:3], np.abs(turn) @ box[3:]
            parts.append(_Part(geom, place, turn, middle - half, middle + half))
        return parts

    def _measure(self, model: mujoco.MjModel, parts: Sequence[_Part], slack: float = 0.0) -> _Layers:
        layers = _Layers(np.min([part.low for part in parts], axis=0), np.max([part.high for part in parts], axis=0))
        for part in parts:
            for layer, points, window in layers.around(part.low, part.high):
                local = (points - part.place) @ part.turn
                away = outside_of(model, part.geom, self._hulls[part.geom], local)
                layers.nearer(layer, window, away - slack)
        return layers


class _Layers:
    """Distances on a grid, for boxes of points from `low` to `high` (3,) [m]."""

    def __init__(self, low: np.ndarray, high: np.ndarray) -> None:
        self._corner = np.floor((low[:2] - WITHIN) / CELL).astype(int)
        columns, rows = np.ceil((high[:2] + WITHIN) / CELL).astype(int) - self._corner + 1
        self._grid: NDArray[np.float32] = np.full(
            (max(1, int(np.ceil(high[2] / LAYER))), rows, columns), WITHIN, dtype=np.float32
        )
        self._flat: NDArray[np.float32] | None = None

    def around(self, low: np.ndarray, high: np.ndarray) -> list[tuple[int, np.ndarray, tuple[slice, slice]]]:
        """Return points (N, 3) of each layer around a box, with the layer and the window of it that they fill."""
        count, rows, columns = self._grid.shape
        first = np.maximum(np.floor((low[:2] - WITHIN) / CELL).astype(int) - self._corner, 0)
        last = np.minimum(np.ceil((high[:2] + WITHIN) / CELL).astype(int) - self._corner, (columns - 1, rows - 1))
        window = slice(first[1], last[1] + 1), slice(first[0], last[0] + 1)
        y, x = np.mgrid[window]
        flat = np.stack([(x + self._corner[0]).ravel() * CELL, (y + self._corner[1]).ravel() * CELL], axis=1)
        found: list[tuple[int, np.ndarray, tuple[slice, slice]]] = []
        for layer in range(max(0, int(low[2] / LAYER)), min(count, int(high[2] / LAYER) + 1)):
            # The part's own heights within the layer, so that it is in the layer wherever it begins.
            bottom, top = max(low[2], layer * LAYER), min(high[2], (layer + 1) * LAYER)
            found += [
                (layer, np.column_stack([flat, np.full(len(flat), z)]), window)
                for z in dict.fromkeys((bottom, (bottom + top) / 2, top))
            ]
        return found

    def nearer(self, layer: int, window: tuple[slice, slice], away: np.ndarray) -> None:
        """Take over distances of the points of a window where they are less."""
        part = self._grid[layer][window]
        np.minimum(part, away.reshape(part.shape).astype(np.float32), out=part)
        self._flat = None

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return the distances of points (..., 3) [m]."""
        layer = np.floor(points[..., 2] / LAYER)
        known = (layer >= 0) & (layer < len(self._grid))
        return self._between(self._grid, np.where(known, layer, 0.0), points, known)

    def over(self, points: np.ndarray) -> np.ndarray:
        """Return the distances of points (..., 2) on the floor from what is above it, at whatever height [m]."""
        flat = self._grid.min(axis=0, keepdims=True) if self._flat is None else self._flat
        self._flat, nowhere = flat, np.zeros(points.shape[:-1])
        return self._between(flat, nowhere, points, nowhere == 0)

    def _between(self, grid: np.ndarray, layer: np.ndarray, points: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Interpolate between the four cells around each point; what is not `known` is far."""
        _, rows, columns = grid.shape
        x, y = points[..., 0] / CELL - self._corner[0], points[..., 1] / CELL - self._corner[1]
        inside = (x >= 0) & (y >= 0) & (x < columns - 1) & (y < rows - 1) & known
        found = np.full(x.shape, WITHIN)
        x, y = x[inside], y[inside]
        column, row = x.astype(int), y.astype(int)
        dx, dy, flat = x - column, y - row, grid.ravel()
        at = (np.broadcast_to(layer, inside.shape)[inside].astype(int) * rows + row) * columns + column
        lower = flat[at] * (1 - dx) + flat[at + 1] * dx
        upper = flat[at + columns] * (1 - dx) + flat[at + columns + 1] * dx
        found[inside] = lower * (1 - dy) + upper * dy
        return found
