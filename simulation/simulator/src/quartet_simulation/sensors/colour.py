"""Colour as a camera with automatic exposure and white balance sends it, with vignetting, motion blur and noise."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from quartet_simulation.robot import dimensions as dim
from quartet_simulation.sensors.frames import ROWS_AT_ONCE
from quartet_simulation.sensors.levels import ColourLevel
from quartet_simulation.sensors.noise import NoiseBank, generator

DRIFT_PERIODS_S = (11.0, 47.0)
"""How fast exposure and white balance wander; an assumption."""
LEAST_BLUR, MOST_BLUR = 0.5, 32.0
"""Motion of the picture during one exposure that blurs it, and the longest that is modelled [pixels]."""


class ColourCamera:
    """Turns rendered colour into what the driver publishes, for all cameras of a model."""

    def __init__(self, model: mujoco.MjModel, level: ColourLevel) -> None:
        self._model, self._level = model, level
        self._noise = NoiseBank(dim.IMAGE_WIDTH * dim.IMAGE_HEIGHT * 3, level.noise)
        self._falloff: dict[float, np.ndarray] = {}

    def measure(
        self,
        rgb: np.ndarray,
        depth: np.ndarray,
        camera: int,
        data: mujoco.MjData,
        key: tuple[int, str, float],
        warmth: tuple[float, float, float],
    ) -> np.ndarray:
        """Return the picture that is published, uint8 HxWx3.

        Args:
            rgb: rendered, uint8 HxWx3.
            depth: true depth along the optical axis [m], float32 HxW.
            camera: id of the camera in the model.
            data: where everything is, and how it moves.
            key: seed, name and time of the picture.
            warmth: colour of the light, one factor for each channel.
        """
        focal = rgb.shape[0] / 2 / math.tan(math.radians(float(self._model.cam_fovy[camera])) / 2)
        motion = self._level.exposure_s * image_velocity(self._model, data, camera, focal, depth)
        light = blurred(rgb, motion) if np.hypot(*motion) > LEAST_BLUR else rgb
        gains = np.asarray(warmth) * channel_gains(self._level, key)
        # Rows of numbers in place of pixels of three: NumPy is fast along the last axis alone.
        gain = np.tile(gains.astype(np.float32), rgb.shape[1])
        rows = rgb.shape[0], rgb.shape[1] * 3
        light, falloff = light.reshape(rows), self._vignette(rgb.shape, focal)
        noise = self._noise.window(*key, rows)
        published = np.empty(rows, dtype=np.uint8)
        for top in range(0, rows[0], ROWS_AT_ONCE):
            some = np.s_[top : top + ROWS_AT_ONCE]
            seen = falloff[some] * gain
            seen *= light[some]
            seen += noise[some]
            np.clip(seen, 0, 255, out=seen)
            published[some] = seen
        return published.reshape(rgb.shape)

    def _vignette(self, shape: tuple[int, ...], focal: float) -> np.ndarray:
        """Return HxW3: the share of the light that reaches each channel of each pixel."""
        if focal not in self._falloff:
            rows, columns = shape[:2]
            v, u = np.mgrid[:rows, :columns] - np.array([(rows - 1) / 2, (columns - 1) / 2])[:, None, None]
            cosine = focal / np.sqrt(u * u + v * v + focal * focal)
            self._falloff[focal] = np.repeat((cosine**self._level.vignetting).astype(np.float32), 3, axis=1)
        return self._falloff[focal]


def channel_gains(level: ColourLevel, key: tuple[int, str, float]) -> np.ndarray:
    """Return how much too bright each channel is, shape (3,); it changes slowly over an episode."""
    seed, camera, time = key
    phases = generator(seed, f"{camera} exposure", 0.0).uniform(0, 2 * np.pi, (3, len(DRIFT_PERIODS_S)))
    turns = 2 * np.pi * time / np.array(DRIFT_PERIODS_S)
    # Each sine has an RMS of 1 / sqrt(2), so that the sum of all has one of 1.
    brightness, red, blue = np.sin(turns + phases).sum(axis=1) * math.sqrt(2 / len(DRIFT_PERIODS_S))
    # White is (1, 1, 1), which is sqrt(3) long; what is across of it is shared by red and blue.
    share = math.tan(level.white_rad) * math.sqrt(3 / 2)
    return 2.0 ** (level.exposure_stops * brightness) * np.array([1 + share * red, 1.0, 1 + share * blue])


def image_velocity(
    model: mujoco.MjModel, data: mujoco.MjData, camera: int, focal: float, depth: np.ndarray
) -> np.ndarray:
    """Return how fast the middle of the picture moves right and down [pixels/s], at its median depth."""
    twist = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, int(mujoco.mjtObj.mjOBJ_CAMERA), camera, twist, 1)
    # The camera's frame is x right, y up, z back; rotation comes first.
    tilt, pan, _, right, up, _ = twist
    sample = depth[::16, ::16]
    ahead = float(np.median(sample[sample > 0])) if (sample > 0).any() else np.inf
    return focal * np.array([pan - right / ahead, tilt + up / ahead])


def blurred(rgb: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Return the mean of a picture (uint8 HxWx3) along a motion (right, down) [pixels], float32."""
    length = float(np.hypot(*motion))
    motion = motion * min(1.0, MOST_BLUR / max(length, 1e-9))
    count = math.ceil(min(length, MOST_BLUR)) + 1
    margin = int(MOST_BLUR / 2) + 1
    padded = np.pad(rgb, ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    total = np.zeros(rgb.shape, dtype=np.uint16)
    for part in np.linspace(-0.5, 0.5, count):
        left, top = (margin + round(float(part * step)) for step in motion)
        total += padded[top : top + rgb.shape[0], left : left + rgb.shape[1]]
    return total.astype(np.float32) / np.float32(count)
