"""Depth as an active stereo camera makes it, aligned to the picture of its colour camera."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import mujoco
import numpy as np
from scipy import ndimage
from scipy.special import ndtr

from quartet_simulation.names import body_name
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.frames import ROWS_AT_ONCE
from quartet_simulation.sensors.levels import DepthLevel, StereoCamera
from quartet_simulation.sensors.noise import generator
from quartet_simulation.worlds.objects import Finish

EDGE = 0.06
"""Relative depth step that is an edge."""
DARK = 28
"""Brightest channel of the picture (0 to 255) below which hardly any light comes back."""
DEPTH_UNIT = 0.001
"""Depth pictures are whole millimetres, as the driver publishes them [m]."""
SKIN = 0.003
"""How far outside of a part a point may lie that still counts as its surface [m]."""


class StereoDepth:
    """Turns rendered depth into what a stereo camera measures, for all cameras of a model."""

    def __init__(self, model: mujoco.MjModel, level: DepthLevel, finishes: Mapping[str, Finish]) -> None:
        """`finishes` says what the surfaces of things do, by name; those of others are matt."""
        self._model, self._level = model, level
        self._losses = losses(model, level, finishes)
        focal = dim.IMAGE_HEIGHT / 2 / np.tan(np.radians(dim.FRONT_FOVY_DEG) / 2)
        window = level.window_px * focal / 640.0
        self._errors = correlated_noise((2 * dim.IMAGE_HEIGHT, 2 * dim.IMAGE_WIDTH), window, 21)
        # Uniform from 0 to 1, and correlated in the same way: holes come in patches.
        self._chances = ndtr(correlated_noise((2 * dim.IMAGE_HEIGHT, 2 * dim.IMAGE_WIDTH), window, 22))

    def measure(
        self, depth: np.ndarray, rgb: np.ndarray, stereo: StereoCamera, camera: int, data: mujoco.MjData, key: _Key
    ) -> np.ndarray:
        """Return measured depth (float32 HxW [m], 0 for no return).

        Args:
            depth: true depth along the optical axis [m], float32 HxW, 0 for nothing.
            rgb: uint8 HxWx3, before noise.
            stereo: where the imagers are.
            camera: id of the camera in the model.
            data: where everything is.
            key: seed, name and time of the picture.
        """
        focal = depth.shape[0] / 2 / np.tan(np.radians(self._model.cam_fovy[camera]) / 2)
        unit = np.float32(stereo.focal_px * stereo.baseline_m)
        shift = focal * (stereo.colour_offset_m + stereo.baseline_m) / float(unit)
        rng = generator(*key)
        errors = _window(self._errors, rng, depth.shape)
        chance = self._chance(depth, rgb, focal, camera, data)
        hole = _window(self._chances, rng, depth.shape) < chance
        measured = np.empty_like(depth)
        for top in range(0, depth.shape[0], ROWS_AT_ONCE):
            some = np.s_[top : top + ROWS_AT_ONCE]
            ahead = depth[some]
            # What is out of the world's end is infinitely far, and hides nothing.
            disparity = np.where(ahead > 0, unit / np.maximum(ahead, np.float32(1e-3)), np.float32(0))
            lost = hole[some] | shadow(disparity, shift) | (ahead < stereo.nearest_m)
            measured[some] = self._matched(disparity, errors[some], lost, unit)
        return measured

    def _matched(self, disparity: np.ndarray, errors: np.ndarray, lost: np.ndarray, unit: np.float32) -> np.ndarray:
        """Return depth [m] from true disparities [pixels], 0 where it is `lost`; `unit` is their product."""
        step = np.float32(self._level.step_px)
        disparity += np.float32(self._level.subpixel_px) * errors
        disparity /= step
        np.round(disparity, out=disparity)
        disparity *= step
        # Beyond one step of disparity there is no depth.
        lost |= disparity < step
        measured = unit / np.maximum(disparity, step)
        measured /= np.float32(DEPTH_UNIT)
        np.round(measured, out=measured)
        measured *= np.float32(DEPTH_UNIT)
        measured[lost] = 0
        return measured

    def _chance(self, depth: np.ndarray, rgb: np.ndarray, focal: float, camera: int, data: mujoco.MjData) -> np.ndarray:
        """Return for each pixel the share of pixels like it that have no depth."""
        chance = np.zeros(depth.shape, dtype=np.float32)
        dark = np.maximum(np.maximum(rgb[..., 0], rgb[..., 1]), rgb[..., 2]) < DARK
        chance[dark] = self._level.dark_loss
        for geom, loss in self._losses:
            _mark_part(chance, loss, self._model.geom_size[geom], depth, focal, _in_camera(data, camera, geom))
        edge = edges(depth)
        chance[edge] = np.maximum(chance[edge], self._level.edge_loss)
        return chance


_Key = tuple[int, str, float]
"""Seed, sensor and world time [s] of a reading."""


@lru_cache(maxsize=4)
def correlated_noise(shape: tuple[int, int], window_px: float, seed: int) -> np.ndarray:
    """Return unit normal noise (float32) whose correlation falls to 1/e where that of a box of this width does.

    That of a box of width w falls linearly and is 1/e at 0.63 w; that of a Gaussian filter is 1/e at 2 sigma.
    """
    noise = np.random.default_rng(seed).normal(size=shape)
    smooth = ndimage.gaussian_filter(noise, (1 - np.exp(-1)) * window_px / 2, mode="wrap")
    unit = (smooth / smooth.std()).astype(np.float32)
    # Drawn once for all episodes of a process.
    unit.setflags(write=False)
    return unit


def shadow(disparity: np.ndarray, shift: float) -> np.ndarray:
    """Return HxW: what the right imager cannot see, since something nearer is in the way.

    It stands to the right of the colour camera, so that near things move to the left by `shift` * disparity [pixels]
    and hide what was to the left of them. Pixels of a row that change their order are not matched (the ordering
    constraint of stereo: Baker and Binford, IJCAI 1981). The picture itself is enough for that: a second rendering
    would cost 6 to 8 ms and differ only where the colour camera sees nothing either.
    """
    seen_at = np.arange(disparity.shape[1], dtype=np.float32) - np.float32(shift) * disparity
    leftmost = np.minimum.accumulate(seen_at[:, ::-1], axis=1)[:, ::-1]
    return seen_at > leftmost


def edges(depth: np.ndarray) -> np.ndarray:
    """Return HxW: both pixels of each step in depth."""
    found = np.zeros(depth.shape, dtype=bool)
    for near, far in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        step = np.abs(depth[far] - depth[near]) > EDGE * np.minimum(depth[near], depth[far])
        found[near] |= step
        found[far] |= step
    return found


def _window(field: np.ndarray, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    top, left = (int(rng.integers(0, have - want + 1)) for have, want in zip(field.shape, shape, strict=True))
    return field[top : top + shape[0], left : left + shape[1]]


def losses(model: mujoco.MjModel, level: DepthLevel, finishes: Mapping[str, Finish]) -> list[tuple[int, float]]:
    """Return the geoms that reflect badly, with the share of pixels without depth on each."""
    share: dict[Finish, float] = {"matt": 0.0, "glossy": level.glossy_loss, "clear": level.clear_loss}
    found: list[tuple[int, float]] = []
    for name, finish in finishes.items():
        body = mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_BODY), body_name(name))
        if body < 0 or not share[finish]:
            continue
        first = int(model.body_geomadr[body])
        found += [(first + offset, share[finish]) for offset in range(int(model.body_geomnum[body]))]
    return found


def _in_camera(data: mujoco.MjData, camera: int, geom: int) -> np.ndarray:
    """Return the pose of a geom in the optical frame (x right, y down, z forward), 4x4."""
    turned = data.cam_xmat[camera].reshape(3, 3) @ np.diag([1.0, -1.0, -1.0])
    pose = np.eye(4)
    pose[:3, :3] = turned.T @ data.geom_xmat[geom].reshape(3, 3)
    pose[:3, 3] = turned.T @ (data.geom_xpos[geom] - data.cam_xpos[camera])
    return pose


def _mark_part(
    chance: np.ndarray, loss: float, size: np.ndarray, depth: np.ndarray, focal: float, pose: np.ndarray
) -> None:
    """Raise `chance` to `loss` where a pixel's point lies on a part: within a ball and, inside of that, its box."""
    x, y, z = pose[:3, 3]
    # Sizes are those of MuJoCo: half sides of a box, radius and half length of a cylinder, radius of a sphere.
    half = (size if size[2] > 0 else np.array([size[0], size[0], size[1] or size[0]])) + SKIN
    radius = float(np.linalg.norm(half))
    if z < radius:
        return
    rows, columns = depth.shape
    u, v = focal * x / z + (columns - 1) / 2, focal * y / z + (rows - 1) / 2
    reach = focal * radius / (z - radius) + 1
    top, bottom = max(int(v - reach), 0), min(int(v + reach) + 1, rows)
    left, right = max(int(u - reach), 0), min(int(u + reach) + 1, columns)
    if top >= bottom or left >= right:
        return
    ahead = depth[top:bottom, left:right]
    across = (np.arange(left, right) - (columns - 1) / 2)[None, :] / focal
    down = (np.arange(top, bottom) - (rows - 1) / 2)[:, None] / focal
    points = np.stack([across * ahead, down * ahead, ahead], axis=-1) - pose[:3, 3]
    on = (np.abs(points @ pose[:3, :3]) < half).all(axis=-1)
    patch = chance[top:bottom, left:right]
    patch[on] = np.maximum(patch[on], loss)
