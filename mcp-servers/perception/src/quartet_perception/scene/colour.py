"""Colours under unknown light: white balance, and which pixels belong to a colour."""

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_BITS = 5
_LEVELS = 1 << _BITS
FULL = 255
"""Membership of a pixel that belongs to a colour beyond doubt."""
_HEX = re.compile(r"^#[0-9a-f]{6}$", re.IGNORECASE)
_REFERENCE_DEG, _REFERENCE_PIXELS = 10.0, 1500
"""Angle within which a pixel of a plane may be the surface of known colour: the most that a camera's own white balance
is off; and the least number of such pixels that tell the light."""
_UNLIKE_DEG = 4.0
"""A pixel that is by so much nearer in angle to one of two colours is that one beyond doubt."""

# Hue centre and half-width [degrees], saturation range, value range (0 to 1), as people name colours: the basic
# terms of Berlin and Kay placed in HSV. Hues of None are the greys.
_WORDS: dict[str, tuple[float | None, float, tuple[float, float], tuple[float, float]]] = {
    "red": (0, 16, (0.50, 1.0), (0.15, 1.0)),
    "orange": (26, 12, (0.62, 1.0), (0.45, 1.0)),
    "yellow": (52, 14, (0.45, 1.0), (0.40, 1.0)),
    "lime": (72, 16, (0.45, 1.0), (0.45, 1.0)),
    "green": (118, 45, (0.28, 1.0), (0.10, 1.0)),
    "teal": (178, 18, (0.30, 1.0), (0.15, 1.0)),
    "turquoise": (178, 18, (0.30, 1.0), (0.15, 1.0)),
    "cyan": (186, 18, (0.30, 1.0), (0.30, 1.0)),
    "blue": (220, 30, (0.30, 1.0), (0.12, 1.0)),
    "purple": (282, 28, (0.22, 1.0), (0.12, 1.0)),
    "violet": (282, 28, (0.22, 1.0), (0.12, 1.0)),
    "pink": (338, 24, (0.20, 0.75), (0.50, 1.0)),
    "brown": (26, 16, (0.30, 0.85), (0.10, 0.62)),
    "wood": (30, 16, (0.22, 0.75), (0.22, 0.90)),
    "wooden": (30, 16, (0.22, 0.75), (0.22, 0.90)),
    "beige": (38, 16, (0.10, 0.42), (0.50, 1.0)),
    "gold": (45, 12, (0.40, 1.0), (0.35, 0.95)),
    "white": (None, 0, (0.0, 0.16), (0.66, 1.0)),
    "grey": (None, 0, (0.0, 0.18), (0.20, 0.80)),
    "gray": (None, 0, (0.0, 0.18), (0.20, 0.80)),
    "silver": (None, 0, (0.0, 0.18), (0.35, 0.95)),
    "black": (None, 0, (0.0, 0.35), (0.0, 0.20)),
}
COLOUR_WORDS = frozenset(_WORDS)
_TONES = ("light", "dark")
_DARK = 0.2
"""Largest channel of a colour that is dark: its angle is noise."""


def parse_colours(colours: Iterable[str]) -> list[str]:
    """Return `colours` in lower case. Raises ValueError for an unknown one, with the valid words."""
    checked = [c.lower() for c in colours]
    for colour in checked:
        if _word_of(colour) not in _WORDS and not _HEX.match(colour):
            raise ValueError(
                f"colour {colour!r} is not known; valid: '#rrggbb' or {', '.join(sorted(_WORDS))}, "
                f"each also with {' or '.join(_TONES)} before it"
            )
    return checked


@lru_cache(maxsize=128)
def membership_table(colours: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return a table over quantised RGB: how much a pixel belongs to any of `colours`, 0 to FULL."""
    axis = (np.arange(_LEVELS, dtype=np.float32) + 0.5) / _LEVELS
    rgb = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3).astype(np.float32)
    best = np.zeros(len(rgb), dtype=np.float32)
    for colour in parse_colours(colours):
        np.maximum(best, _sample(rgb, colour) if colour.startswith("#") else _word(rgb, colour), out=best)
    return np.round(best * FULL).astype(np.uint8)


@lru_cache(maxsize=256)
def words_of_sample(colour: str) -> frozenset[str]:
    """Return the colour words that a person may use for a '#rrggbb' sample."""
    rgb = np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]], dtype=np.float32)
    return frozenset(word for word in _WORDS if _word(rgb, word)[0] >= 0.5)


def quantised(rgb: NDArray[np.uint8], gains: NDArray[np.floating]) -> NDArray[np.int32]:
    """Return HxW indices into a membership table, after multiplying the channels by `gains` (3)."""
    levels = np.arange(256, dtype=np.float64)[:, None] * np.asarray(gains, dtype=np.float64)
    table = (np.clip(levels, 0, 255).astype(np.int32)) >> (8 - _BITS)
    index = table[rgb[..., 0], 0] << (2 * _BITS)
    index |= table[rgb[..., 1], 1] << _BITS
    index |= table[rgb[..., 2], 2]
    return index


def white_balance(rgb: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the channel gains (3) that make the light white and the picture normally bright.

    Shades of grey with p = 6 (Finlayson and Trezzi 2004) over pixels that are neither clipped nor strongly
    coloured, so that a large coloured object does not pass for coloured light; limited to lamps as homes have them.
    """
    small = rgb[::4, ::4].reshape(-1, 3).astype(np.float64)
    top, low = small.max(axis=1), small.min(axis=1)
    usable = small[(top > 12) & (top < 252) & (low > 0.35 * top)]
    if len(usable) < 50:
        return np.ones(3)
    light = np.mean((usable / 255.0) ** 6, axis=0) ** (1 / 6)
    light = light / light.mean()
    tint = np.clip(1.0 / light, 0.72, 1.55)
    bright = float(np.percentile(usable @ (tint / 3.0), 97))
    exposure = float(np.clip(205.0 / max(bright, 1.0), 0.85, 3.2))
    return tint * exposure


def balance_by(pixels: NDArray[np.uint8], sample: str) -> NDArray[np.float64] | None:
    """Return the channel gains (3) under which pixels (Nx3) of a surface have its known colour '#rrggbb'.

    None where too few of them can be that surface. A table that fills the picture passes for coloured light in
    `white_balance`, which then makes gray things blue; a table of known colour tells the light.
    """
    known = _rgb_of(sample)
    seen = pixels.astype(np.float64)
    norm = np.linalg.norm(seen, axis=1)
    cosine = (seen @ known) / (np.maximum(norm, 1.0) * np.linalg.norm(known))
    own = seen[(norm > 40) & (seen.max(axis=1) < 252) & (cosine > np.cos(np.radians(_REFERENCE_DEG)))]
    if len(own) < _REFERENCE_PIXELS:
        return None
    return 255.0 * known / np.maximum(np.median(own, axis=0), 1.0)


@lru_cache(maxsize=256)
def rather_than_table(colours: tuple[str, ...], sample: str) -> NDArray[np.uint8]:
    """Return a table over quantised RGB like `membership_table`, where pixels more like `sample` do not belong.

    Gray and pale things and wood differ by a few degrees, which is less than the light alone may change.
    """
    table = membership_table(colours)
    own = [_rgb_of(colour) for colour in colours if colour.startswith("#")]
    if len(own) < len(colours) or max(float(colour.max()) for colour in own) < _DARK:
        return table
    axis = (np.arange(_LEVELS) + 0.5) / _LEVELS
    rgb = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    nearest = np.min([_angle(rgb, colour) for colour in own], axis=0)
    share = np.clip(0.5 + (_angle(rgb, _rgb_of(sample)) - nearest) / (2 * _UNLIKE_DEG), 0, 1)
    return np.round(table * np.clip(2 * share, 0, 1)).astype(np.uint8)


def _rgb_of(sample: str) -> NDArray[np.float64]:
    """Return red, green and blue of '#rrggbb', 0 to 1."""
    return np.array([int(sample[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _angle(rgb: NDArray[np.float64], colour: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the angles between colours (Nx3) and one as vectors [degrees]."""
    length = np.maximum(np.linalg.norm(rgb, axis=1), 1e-4) * max(float(np.linalg.norm(colour)), 0.02)
    return np.degrees(np.arccos(np.clip(rgb @ colour / length, -1, 1)))


def _word_of(colour: str) -> str:
    """Return the colour word without "light" or "dark" before it."""
    tone, _, word = colour.partition(" ")
    return word if tone in _TONES else colour


def _word(rgb: Floats, colour: str) -> Floats:
    hue, width, saturation, value = _WORDS[_word_of(colour)]
    if colour.startswith("light "):
        saturation = (0.5 * saturation[0], 0.5 * (saturation[0] + saturation[1])) if hue is not None else saturation
        value = (max(value[0], 0.55), 1.0)
    elif colour.startswith("dark "):
        value = (0.06, 0.46)
    h, s, v = _hsv(rgb)
    # The saturation of nearly black pixels is noise.
    s = np.where(v < 0.10, np.minimum(s, 0.2), s) if hue is None else s
    part = _range(s, saturation, 0.08) * _range(v, value, 0.08)
    if hue is None:
        return part
    away = np.abs((h - np.float32(hue) + 180) % 360 - 180)
    return np.asarray(part * np.clip(1 - (away - width) / 8, 0, 1), dtype=np.float32)


def _sample(rgb: Floats, colour: str) -> Floats:
    """Return membership by the angle between colours as vectors (free of shading), with wide limits on brightness."""
    sample = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)], dtype=np.float32)
    norm = np.linalg.norm(rgb, axis=1)
    length = max(float(np.linalg.norm(sample)), 0.02)
    cosine = (rgb @ sample) / (np.maximum(norm, 1e-4) * length)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    ratio = norm / length
    neutral = float(sample.max() - sample.min()) < 0.16 * float(sample.max())
    dark = float(sample.max()) < _DARK
    limit = 5.0 if neutral else 9.0
    if dark:  # dark pixels have noisy chromaticity; brightness says more
        hues = np.where(norm < 0.22, 1.0, np.clip(1 - (angle - 18) / 10, 0, 1))
        return np.asarray(np.clip(1 - (norm - length - 0.10) / 0.12, 0, 1) * hues, dtype=np.float32)
    low, high = (0.62, 1.45) if neutral else (0.38, 1.65)
    return np.clip(1 - (angle - limit) / 4, 0, 1) * _range(ratio, (low, high), 0.15)


def _range(values: Floats, limits: tuple[float, float], soft: float) -> Floats:
    low, high = limits
    below = 1.0 if low <= 0 else np.clip(1 - (low - values) / soft, 0, 1)
    above = 1.0 if high >= 1 and soft == 0.08 else np.clip(1 - (values - high) / soft, 0, 1)
    return np.asarray(below * above * np.ones_like(values), dtype=np.float32)


def _hsv(rgb: Floats) -> tuple[Floats, Floats, Floats]:
    """Return hue [degrees], saturation and value of Nx3 colours."""
    top, low = rgb.max(axis=1), rgb.min(axis=1)
    span = np.maximum(top - low, 1e-6)
    r, g, b = rgb[:, 0], rgb[:, 1], rgb[:, 2]
    hue = np.where(top == r, (g - b) / span % 6, np.where(top == g, (b - r) / span + 2, (r - g) / span + 4)) * 60
    return hue.astype(np.float32), (span / np.maximum(top, 1e-6)).astype(np.float32), top
