"""A coarse depth picture of the front camera by rays, for a costmap: a rendered one costs ten times as much."""

from __future__ import annotations

import math
from typing import TypeVar

import mujoco
import numpy as np

from quartet_simulation.physics import Physics
from quartet_simulation.sensors.cameras import DEPTH_NOISE, RANGE
from quartet_simulation.sensors.levels import STEREO, DepthLevel
from quartet_simulation.sensors.noise import generator
from quartet_simulation.sensors.stereo import DARK, losses

COLUMNS, ROWS = 64, 48
"""Rays are 1.2 degrees apart, every tenth pixel of the picture."""
FARTHEST_M = 3.0
"""Nothing is told apart beyond this [m]."""


D = TypeVar("D", float, np.ndarray)


def depth_error(level: DepthLevel | None, depth: D) -> D:
    """Return the RMS error of a depth of the front camera [m]."""
    if level is None:
        return DEPTH_NOISE * depth * depth
    stereo = STEREO["front"]
    return level.subpixel_px / (stereo.focal_px * stereo.baseline_m) * depth * depth


class DepthRays:
    """The front camera of one robot, its true mounting included; depth errs as in sensors/stereo.py, ray by ray.

    There are no shadows of the stereo camera and no holes at edges, which are narrower than the rays are apart. The arm
    hides what is behind it, the base does not.
    """

    def __init__(self, physics: Physics, level: DepthLevel | None) -> None:
        self._physics, self._level = physics, level
        self._camera = int(physics.model.camera(physics.name("front")).id)
        focal = ROWS / 2 / math.tan(math.radians(float(physics.model.cam_fovy[self._camera])) / 2)
        across, down = np.meshgrid(
            (np.arange(COLUMNS) - (COLUMNS - 1) / 2) / focal, (np.arange(ROWS) - (ROWS - 1) / 2) / focal
        )
        self.focal = focal
        """[rays], as of a picture with so many columns and rows."""
        self._ahead = np.stack([across, down, np.ones_like(across)], axis=-1).reshape(-1, 3)
        """Of each ray, with a depth of 1 in the optical frame (x right, y down, z forward)."""
        self._lengths = np.linalg.norm(self._ahead, axis=1)
        self._loss = np.zeros(physics.model.ngeom + 1)
        """Share of rays that come back with no depth, by geom."""
        if level is not None:
            self._loss[:-1][physics.model.geom_rgba[:, :3].max(axis=1) * 255 < DARK] = level.dark_loss
            for geom, share in losses(physics.model, level, physics.world.finishes):
                self._loss[geom] = share

    def measure(self, seed: int, held: str | None) -> np.ndarray:
        """Return depth along the optical axis (ROWS x COLUMNS) [m].

        0 where nothing comes back, and where it comes from the robot itself or what it holds; infinite beyond
        FARTHEST_M.
        """
        physics, data, level = self._physics, self._physics.data, self._level
        # MuJoCo's cameras look along -z with y up.
        turn = data.cam_xmat[self._camera].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0])
        rays = (self._ahead / self._lengths[:, None]) @ turn.T
        count = len(rays)
        geoms, distances = np.full(count, -1, dtype=np.int32), np.full(count, -1.0)
        mujoco.mj_multiRay(
            physics.model,
            data,
            data.cam_xpos[self._camera].copy(),
            rays.flatten(),
            np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8),
            1,
            # The camera's own housing is around it.
            physics.model.body(physics.name("base_footprint")).id,
            geoms,
            distances,
            None,
            count,
            FARTHEST_M * float(self._lengths.max()),
        )
        depth = np.where(geoms < 0, np.inf, distances / self._lengths)
        rng = generator(seed, "front depth rays", physics.time)
        unit, chance = rng.normal(size=count), rng.random(count)
        with np.errstate(invalid="ignore"):
            measured = np.where(np.isfinite(depth), depth + unit * depth_error(level, depth), np.inf)
        nearest = RANGE["front"][0] if level is None else STEREO["front"].nearest_m
        measured[(depth < nearest) | (chance < self._loss[geoms])] = 0.0
        measured[self._own(geoms, held)] = 0.0
        measured[measured > FARTHEST_M] = np.inf
        return measured.reshape(ROWS, COLUMNS)

    def error(self, depth: np.ndarray) -> np.ndarray:
        """Return the RMS error of depths [m]."""
        return depth_error(self._level, depth)

    def points(self, depth: np.ndarray, pose: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the points (N, 3) [m] of the `wanted` rays (ROWS, COLUMNS); the optical frame is at `pose`, 4x4."""
        return self._ahead[wanted.ravel()] * depth[wanted][:, None] @ pose[:3, :3].T + pose[:3, 3]

    def _own(self, geoms: np.ndarray, held: str | None) -> np.ndarray:
        physics = self._physics
        own = np.isin(geoms, physics.own_geoms)
        if held is not None:
            own |= (geoms >= 0) & (physics.model.geom_bodyid[geoms] == physics.objects[held])
        return own
