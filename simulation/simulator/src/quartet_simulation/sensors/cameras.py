"""RGB-D cameras: rendering, depth in metres, sensor noise."""

from __future__ import annotations

import ctypes.util
import importlib
import os
import time as wall
from typing import Any

import mujoco
import numpy as np

from quartet_simulation import metrics
from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.frames import SIZES
from quartet_simulation.sensors.levels import STEREO, SensorLevel
from quartet_simulation.sensors.noise import NoiseBank, generator
from quartet_simulation.sensors.stereo import EDGE, StereoDepth

RANGE = {"front": (0.25, 8.0), "arm": (0.10, 6.0), "overhead": (0.1, 40.0)}
"""Depth outside these distances has no return [m]."""
COLOUR_NOISE = 2.2
DEPTH_NOISE = 0.0010
"""Standard deviation of depth at 1 m [m]; grows with the square of the distance."""


def _headless_context(width: int, height: int) -> Any:
    """An off-screen OpenGL context: MUJOCO_GL if it is set, else EGL, else OSMesa. Raises SimulationError."""
    wanted = os.environ.get("MUJOCO_GL", "").lower()
    # PyOpenGL settles on one platform per process, so the choice is made by what is installed, not by trying.
    backend = wanted if wanted in ("egl", "osmesa") else "egl" if ctypes.util.find_library("EGL") else "osmesa"
    try:
        return importlib.import_module(f"mujoco.{backend}").GLContext(width, height)
    except Exception as error:  # each library raises its own
        raise SimulationError(
            f"no off-screen renderer ({backend}: {error or type(error).__name__}). "
            "Install libegl1 and libgl1, or libosmesa6 and set MUJOCO_GL=osmesa."
        ) from error


class Cameras:
    """Owns the renderer; to be used only in the thread that made it (EGL contexts belong to a thread)."""

    def __init__(self, model: mujoco.MjModel, level: SensorLevel) -> None:
        self._model = model
        self._stereo = None if level.depth is None else StereoDepth(model, level.depth)
        self._context = _headless_context(1280, 960)
        self._context.make_current()
        self._gpu = mujoco.MjrContext(model, int(mujoco.mjtFontScale.mjFONTSCALE_100))
        mujoco.mjr_setBuffer(int(mujoco.mjtFramebuffer.mjFB_OFFSCREEN), self._gpu)
        self._gpu.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._scene = mujoco.MjvScene(model, maxgeom=max(1000, 2 * model.ngeom))
        self._option = mujoco.MjvOption()
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._colour_bank = NoiseBank(dim.IMAGE_WIDTH * dim.IMAGE_HEIGHT * 3)
        self._depth_bank = NoiseBank(dim.IMAGE_WIDTH * dim.IMAGE_HEIGHT)
        self._colour_steps = np.clip(np.round(self._colour_bank._values * COLOUR_NOISE), -9, 9).astype(np.int8)

    def render(
        self,
        camera: str,
        data: mujoco.MjData,
        seed: int,
        time: float,
        warmth: tuple[float, float, float],
        prefix: str = "",
    ) -> tuple[np.ndarray, np.ndarray]:
        """(rgb uint8 HxWx3, depth float32 m HxW with 0 for no return). Raises UnknownNameError.

        `prefix` says whose camera it is, see robot/model.py.
        """
        if camera not in SIZES:
            raise UnknownNameError("camera", camera, SIZES)
        width, height = SIZES[camera]
        name = camera if camera == "overhead" else prefix + camera
        began = wall.perf_counter()
        rgb, depth = self._draw(name, data, width, height)
        if camera != "overhead":
            depth = self._measured_depth(depth, rgb, camera, data, seed, time)
            rgb = self._noisy_colour(rgb, camera, seed, time, warmth)
        metrics.RENDER_SECONDS.labels(camera).observe(wall.perf_counter() - began)
        return rgb, depth

    def _draw(self, camera: str, data: mujoco.MjData, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        self._context.make_current()
        self._view.fixedcamid = self._model.camera(camera).id
        everything = int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateScene(self._model, data, self._option, None, self._view, everything, self._scene)
        # Shadows double the time of a frame; people like them, segmenters do not need them.
        self._scene.flags[int(mujoco.mjtRndFlag.mjRND_SHADOW)] = camera == "overhead"
        viewport = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(viewport, self._scene, self._gpu)
        rgb = np.empty((height, width, 3), dtype=np.uint8)
        raw = np.empty((height, width), dtype=np.float32)
        mujoco.mjr_readPixels(rgb, raw, viewport, self._gpu)
        near = self._model.vis.map.znear * self._model.stat.extent
        far = self._model.vis.map.zfar * self._model.stat.extent
        # Depth buffer with 1 at the near and 0 at the far plane, back to distance along the optical axis.
        depth = (near * far) / (near + raw[::-1].astype(np.float64) * (far - near))
        depth[raw[::-1] <= 0] = 0
        return np.ascontiguousarray(rgb[::-1]), depth.astype(np.float32)

    def _noisy_colour(
        self, rgb: np.ndarray, camera: str, seed: int, time: float, warmth: tuple[float, float, float]
    ) -> np.ndarray:
        if warmth != (1.0, 1.0, 1.0):
            table = np.clip(np.arange(256)[:, None] * np.array(warmth), 0, 255).astype(np.uint8)
            rgb = np.stack([table[:, i][rgb[..., i]] for i in range(3)], axis=-1)
        count = rgb.size
        start = int(generator(seed, f"{camera} colour", time).integers(0, count))
        steps = self._colour_steps[start : start + count].reshape(rgb.shape)
        return np.clip(rgb.astype(np.int16) + steps, 0, 255).astype(np.uint8)

    def _measured_depth(
        self, depth: np.ndarray, rgb: np.ndarray, camera: str, data: mujoco.MjData, seed: int, time: float
    ) -> np.ndarray:
        if self._stereo is not None:
            key = (seed, f"{camera} depth", time)
            measured = self._stereo.measure(depth, rgb, STEREO[camera], int(self._view.fixedcamid), data, key)
            measured[depth > RANGE[camera][1]] = 0
            return measured
        unit = self._depth_bank.window(seed, f"{camera} depth", time, depth.shape)
        noisy = depth + unit * (DEPTH_NOISE * depth * depth)
        near, far = RANGE[camera]
        invalid = (depth < near) | (depth > far)
        jump = np.abs(np.diff(depth, axis=1)) > EDGE * depth[:, 1:]
        # Stereo loses about every other pixel along an edge.
        invalid[:, 1:] |= jump & (unit[:, 1:] > 0)
        noisy[invalid] = 0
        return np.round(noisy, 3)

    def close(self) -> None:
        """Free the renderer."""
        self._gpu.free()
        self._context.free()
