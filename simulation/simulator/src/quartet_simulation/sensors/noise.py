"""Noise as a pure function of (seed, sensor, world time), so that looking more often changes nothing.

But for the effort of the fingers: its readings differ also while the world stands still (frames.joint_states).
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np


def generator(seed: int, sensor: str, time: float) -> np.random.Generator:
    """A generator for one reading of one sensor."""
    return np.random.default_rng([seed & 0x7FFFFFFF, zlib.crc32(sensor.encode()), round(time * 1000)])


@lru_cache(maxsize=16)
def unit_noise(seed: int, sensor: str, time: float, length: int) -> np.ndarray:
    """Return the normal noise of one reading, shape (length,), which is the same for each reading at that time.

    Kept, since the joints are read fifty times a second while the world stands still, and a generator takes 0.1 ms.
    """
    noise = generator(seed, sensor, time).normal(size=length)
    noise.setflags(write=False)
    return noise


@lru_cache(maxsize=2)
def _bank_noise(length: int) -> np.ndarray:
    """Return the normal noise of all banks of a length, drawn once for all episodes of a process."""
    unit = np.random.default_rng(20).normal(size=length).astype(np.float32)
    unit.setflags(write=False)
    return unit


class NoiseBank:
    """A long block of normal noise, from which a reading takes a window.

    Drawing fresh noise for each pixel of each frame would cost more than rendering it.
    """

    def __init__(self, length: int, deviation: float = 1.0) -> None:
        self._length = length
        self._values = _bank_noise(2 * length) * np.float32(deviation)

    def window(self, seed: int, sensor: str, time: float, shape: tuple[int, ...]) -> np.ndarray:
        """Return noise of a shape, the same for the same seed, sensor and time."""
        count = int(np.prod(shape))
        if count > self._length:
            raise ValueError(f"noise of {shape} exceeds the bank of {self._length}")
        start = int(generator(seed, sensor, time).integers(0, self._length))
        return self._values[start : start + count].reshape(shape)
