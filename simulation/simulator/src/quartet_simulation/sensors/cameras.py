"""RGB-D cameras: rendering, depth in metres, sensor noise."""

from __future__ import annotations

import ctypes.util
import importlib
import os
import time as wall
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np

from quartet_process import tracing
from quartet_simulation import metrics
from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.colour import ColourCamera
from quartet_simulation.sensors.frames import SIZES
from quartet_simulation.sensors.levels import STEREO, SensorLevel
from quartet_simulation.sensors.noise import NoiseBank, generator
from quartet_simulation.sensors.stereo import EDGE, StereoDepth
from quartet_simulation.worlds.objects import Finish

RANGE = {"front": (0.25, 8.0), "arm": (0.10, 6.0), "overhead": (0.1, 40.0)}
"""Depth outside these distances has no return [m]."""
COLOUR_NOISE = 2.2
DEPTH_NOISE = 0.0010
"""Standard deviation of depth at 1 m [m]; grows with the square of the distance."""

SHADOW_CLIP_M, SHADOW_AHEAD_M, SHADOW_PIXELS = 2.0, 1.3, 512
"""The shadow map of a robot camera: half its side, how far ahead of the camera its middle is, and its width in pixels.

A pixel of it is 8 mm. With the map of the whole room, 2048 pixels wide, a frame takes three times as long.
"""
ROUND_SLICES, ROUND_STACKS, FLAT_QUADS = 24, 10, 1
"""Faces of round and flat parts where shadows are drawn. Round ones are at most 0.9 % too thin; flat ones have no more
than they need, since light comes from afar."""


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

    def __init__(self, model: mujoco.MjModel, level: SensorLevel, finishes: Mapping[str, Finish]) -> None:
        """`finishes` says what the surfaces of things do to depth, by name; those of others are matt."""
        self._model = model
        self._stereo = None if level.depth is None else StereoDepth(model, level.depth, finishes)
        self._colour = None if level.colour is None else ColourCamera(model, level.colour)
        self._context = _headless_context(1280, 960)
        self._context.make_current()
        self._gpu = _renderer(model)
        self._shadowed = None if self._colour is None else _renderer_with_shadows(model)
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

        `prefix` says whose camera it is, see names.py.
        """
        if camera not in SIZES:
            raise UnknownNameError("camera", camera, SIZES)
        width, height = SIZES[camera]
        name = camera if camera == "overhead" else prefix + camera
        began = wall.perf_counter()
        with tracing.span(f"render {camera}"):
            rgb, depth = self._draw(name, data, width, height)
            if camera != "overhead":
                rgb, depth = (
                    self._noisy_colour(rgb, depth, camera, data, seed, time, warmth),
                    self._measured_depth(depth, rgb, camera, data, seed, time),
                )
        metrics.RENDER_SECONDS.labels(camera).observe(wall.perf_counter() - began)
        return rgb, depth

    def _draw(self, camera: str, data: mujoco.MjData, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        self._context.make_current()
        self._view.fixedcamid = self._model.camera(camera).id
        everything = int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateScene(self._model, data, self._option, None, self._view, everything, self._scene)
        # Shadows double the time of a frame; people like them, clean sensors do without.
        robot = camera != "overhead"
        self._scene.flags[int(mujoco.mjtRndFlag.mjRND_SHADOW)] = not robot or self._shadowed is not None
        gpu = self._gpu if self._shadowed is None or not robot else self._shadowed
        if gpu is self._shadowed:
            _aim_shadows(self._scene)
        viewport = mujoco.MjrRect(0, 0, width, height)
        # Each renderer has a frame buffer of its own; without this, one draws over what the other one drew.
        mujoco.mjr_setBuffer(int(mujoco.mjtFramebuffer.mjFB_OFFSCREEN), gpu)
        mujoco.mjr_render(viewport, self._scene, gpu)
        rgb = np.empty((height, width, 3), dtype=np.uint8)
        raw = np.empty((height, width), dtype=np.float32)
        mujoco.mjr_readPixels(rgb, raw, viewport, gpu)
        near = self._model.vis.map.znear * self._model.stat.extent
        far = self._model.vis.map.zfar * self._model.stat.extent
        # Depth buffer with 1 at the near and 0 at the far plane, back to distance along the optical axis.
        precise = np.float64 if self._stereo is None else np.float32
        depth = precise(near * far) / (precise(near) + raw[::-1].astype(precise) * precise(far - near))
        depth[raw[::-1] <= 0] = 0
        return np.ascontiguousarray(rgb[::-1]), depth.astype(np.float32)

    def _noisy_colour(
        self,
        rgb: np.ndarray,
        depth: np.ndarray,
        camera: str,
        data: mujoco.MjData,
        seed: int,
        time: float,
        warmth: tuple[float, float, float],
    ) -> np.ndarray:
        if self._colour is not None:
            key = (seed, f"{camera} colour", time)
            return self._colour.measure(rgb, depth, int(self._view.fixedcamid), data, key, warmth)
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
        # The names of what is freed are those of this context; in another one they are of another simulation.
        self._context.make_current()
        self._gpu.free()
        if self._shadowed is not None:
            self._shadowed.free()
        self._context.free()


def _renderer(model: mujoco.MjModel) -> mujoco.MjrContext:
    gpu = mujoco.MjrContext(model, int(mujoco.mjtFontScale.mjFONTSCALE_100))
    gpu.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
    return gpu


def _renderer_with_shadows(model: mujoco.MjModel) -> mujoco.MjrContext:
    """Return a renderer that draws a near shadow map and few faces."""
    quality = model.vis.quality
    names = ("numquads", "numslices", "numstacks", "shadowsize")
    before = [getattr(quality, name) for name in names]
    wanted = (FLAT_QUADS, ROUND_SLICES, ROUND_STACKS, SHADOW_PIXELS)
    for name, value in zip(names, wanted, strict=True):
        setattr(quality, name, value)
    gpu = _renderer(model)
    for name, value in zip(names, before, strict=True):
        setattr(quality, name, value)
    gpu.shadowClip = SHADOW_CLIP_M
    return gpu


def _aim_shadows(scene: mujoco.MjvScene) -> None:
    """Move the shadow map of the first lamp from afar to what is before the camera; other lamps cast no shadow."""
    lights = [scene.lights[index] for index in range(scene.nlight)]
    camera = next(light for light in lights if light.headlight)
    lamps = [light for light in lights if light.castshadow and light.type == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL]
    for light in lights:
        light.castshadow = 0
    for lamp in lamps[:1]:
        lamp.castshadow = 1
        lamp.pos[:] = camera.pos + SHADOW_AHEAD_M * camera.dir - 2 * SHADOW_CLIP_M * lamp.dir
