"""What depth pictures show around an arm, as voxels: the octomap of MoveIt's occupancy map monitor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import ndimage

RESOLUTION = 0.025
"""Edge of a voxel [m]: `octomap_resolution` of move_group."""
RANGE = 2.0
"""What is farther from a camera than this enters no voxel [m]: `max_range` of an updater."""
REACH, LOWEST, HIGHEST = 2.0, -0.5, 2.0
"""Voxels are kept so far around the base, and between these heights above it [m]."""
EVERY = 3
"""Of the rows and columns of a picture each third is looked at; two of these pixels are at most 13 mm apart."""
MOVED = 0.5
"""Voxels are kept around another place once the base is so far from the last one [m]."""
_SHAPE = (round(2 * REACH / RESOLUTION), round(2 * REACH / RESOLUTION), round((HIGHEST - LOWEST) / RESOLUTION))


@dataclass(frozen=True)
class Voxels:
    """Which voxels are occupied: bool (X, Y, Z); `corner` is the lower corner of the first, counted in voxels.

    What lies outside is free. The voxels at the border are never occupied.
    """

    occupied: np.ndarray
    corner: np.ndarray

    def at(self, points: np.ndarray) -> np.ndarray:
        """Return which of the points (..., 3) [m] lie in an occupied voxel."""
        cells = np.floor(points / RESOLUTION).astype(np.int64) - self.corner
        np.clip(cells, 0, np.array(self.occupied.shape) - 1, out=cells)
        rows, columns = self.occupied.shape[1:]
        flat = (cells[..., 0] * rows + cells[..., 1]) * columns + cells[..., 2]
        return self.occupied.ravel()[flat]


@dataclass(frozen=True)
class DepthView:
    """A depth picture (float32 HxW [m], 0 for no return) from a camera whose optical frame is at `pose`, 4x4."""

    depth: np.ndarray
    focal: float
    """[pixels]"""
    pose: np.ndarray

    @property
    def middle(self) -> tuple[float, float]:
        """Row and column of the optical axis [pixels]."""
        rows, columns = self.depth.shape
        return (rows - 1) / 2, (columns - 1) / 2

    def points(self) -> np.ndarray:
        """Return where the pixels are that have a depth within RANGE, (N, 3) [m]."""
        rows, columns = np.mgrid[0 : self.depth.shape[0] : EVERY, 0 : self.depth.shape[1] : EVERY]
        depth = self.depth[::EVERY, ::EVERY]
        good = (depth > 0) & (depth < RANGE)
        row, column = self.middle
        ahead = depth[good].astype(float)
        across, down = (columns[good] - column) / self.focal * ahead, (rows[good] - row) / self.focal * ahead
        return np.stack([across, down, ahead], axis=1) @ self.pose[:3, :3].T + self.pose[:3, 3]

    def sees_through(self, points: np.ndarray) -> np.ndarray:
        """Return which of the points (N, 3) are more than a voxel nearer than what the picture shows there."""
        local = (points - self.pose[:3, 3]) @ self.pose[:3, :3]
        ahead = np.maximum(local[:, 2], 1e-6)
        row, column = self.middle
        rows = np.rint(local[:, 1] / ahead * self.focal + row)
        columns = np.rint(local[:, 0] / ahead * self.focal + column)
        height, width = self.depth.shape
        shown = (local[:, 2] > 0) & (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        result = np.zeros(len(points), dtype=bool)
        there = self.depth[rows[shown].astype(int), columns[shown].astype(int)]
        result[shown] = there > ahead[shown] + RESOLUTION
        return result


@dataclass
class Octomap:
    """The voxels around an arm, in a frame that stands still; the last picture of a voxel counts.

    MoveIt adds up several pictures a second; here one stands for those that a robot at rest takes of the same view.
    What was not seen is free, as in MoveIt.
    """

    _corner: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    _occupied: np.ndarray = field(default_factory=lambda: np.zeros(_SHAPE, dtype=bool))

    def clear(self) -> None:
        """Forget everything."""
        self._occupied[:] = False

    def centre_on(self, base: np.ndarray) -> None:
        """Keep voxels around the position of the base (3,) from now on; what is too far from it is forgotten."""
        wanted = np.floor((base + np.array([-REACH, -REACH, LOWEST])) / RESOLUTION).astype(np.int64)
        step = wanted - self._corner
        if np.abs(step).max() * RESOLUTION < MOVED:
            return
        kept = np.zeros_like(self._occupied)
        if (np.abs(step) < _SHAPE).all():
            ends = tuple(zip(step.tolist(), _SHAPE, strict=True))
            to = tuple(slice(max(0, -by), min(size, size - by)) for by, size in ends)
            of = tuple(slice(max(0, by), min(size, size + by)) for by, size in ends)
            kept[to] = self._occupied[of]
        self._corner, self._occupied = wanted, kept

    def integrate(self, view: DepthView, body: np.ndarray) -> None:
        """Take over a picture; `body` are points (N, 3) all over the robot, which is no obstacle to itself.

        The body, padded by a voxel, frees the voxels that it is in. MoveIt frees those in which it sees the body.
        """
        grid = self._occupied
        known = _true_in(grid)
        gone = known[view.sees_through((known + self._corner + 0.5) * RESOLUTION)]
        grid[tuple(gone.T)] = False
        grid[self._cells(view.points())] = True
        self._clear_around(body)
        for axis in range(3):
            ends: list[slice | list[int]] = [slice(None)] * 3
            ends[axis] = [0, -1]
            grid[tuple(ends)] = False

    def _clear_around(self, body: np.ndarray) -> None:
        """Free the voxels of a body (N, 3), padded by one."""
        cells = self._cells(body)
        if not len(cells[0]):
            return
        low = [max(0, int(axis.min()) - 1) for axis in cells]
        box = tuple(slice(start, int(axis.max()) + 2) for start, axis in zip(low, cells, strict=True))
        own = np.zeros_like(self._occupied[box])
        own[tuple(axis - start for start, axis in zip(low, cells, strict=True))] = True
        self._occupied[box] &= ~ndimage.maximum_filter(own, 3)

    def _cells(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cells = np.floor(points / RESOLUTION).astype(np.int64) - self._corner
        inside = ((cells >= 0) & (cells < _SHAPE)).all(axis=1)
        x, y, z = cells[inside].T
        return x, y, z

    def voxels(self) -> Voxels:
        """Return what is occupied now, as a copy."""
        return Voxels(self._occupied.copy(), self._corner.copy())


def _true_in(grid: np.ndarray) -> np.ndarray:
    """Return what numpy.argwhere does, in a fifth of its time: most groups of eight voxels are free.

    grid: contiguous, of a size that eight divides.
    """
    flat = grid.ravel()
    groups = np.flatnonzero(flat.view(np.uint64))
    found = (groups[:, None] * 8 + np.arange(8)).ravel()
    return np.stack(np.unravel_index(found[flat[found]], grid.shape), axis=1)
