"""Colours and materials by name: what a world file may call a paint."""

from __future__ import annotations

import re
import zlib
from typing import Literal

import mujoco
import numpy as np

Rgb = tuple[float, float, float]
Pattern = Literal["plain", "grain", "tiles", "planks"]
COLOURS: dict[str, Rgb] = {
    "white": (0.90, 0.90, 0.89),
    "cream": (0.86, 0.84, 0.79),
    "light grey": (0.72, 0.73, 0.74),
    "grey": (0.50, 0.51, 0.53),
    "dark grey": (0.24, 0.25, 0.27),
    "black": (0.06, 0.06, 0.07),
    "steel": (0.66, 0.68, 0.70),
    "red": (0.72, 0.12, 0.12),
    "orange": (0.90, 0.45, 0.08),
    "yellow": (0.92, 0.76, 0.12),
    "green": (0.20, 0.50, 0.24),
    "blue": (0.14, 0.28, 0.62),
    "purple": (0.42, 0.20, 0.56),
    "pink": (0.90, 0.58, 0.68),
    "brown": (0.40, 0.27, 0.17),
    "beige": (0.80, 0.72, 0.58),
}
WOODS: dict[str, Rgb] = {"wood": (0.47, 0.31, 0.18), "beech": (0.70, 0.59, 0.44), "walnut": (0.31, 0.22, 0.16)}
FLOORS: dict[str, Rgb] = {"tiles": (0.74, 0.75, 0.76), "parquet": (0.70, 0.66, 0.60)}
MATERIALS: dict[str, Rgb] = {**WOODS, **FLOORS}
"""Materials that every world has, with their mean colour."""
UNSPOKEN = {"cream", "steel"}
"""Colours that perception does not know by name."""


def seen_as(paint: str | Rgb, rgb: Rgb) -> str:
    """Return how site.yaml states the colour of a paint: a word that perception knows, or '#rrggbb'."""
    spoken = isinstance(paint, str) and (paint == "wood" or paint in COLOURS.keys() - UNSPOKEN)
    return str(paint) if spoken else hex_of(rgb)


def hex_of(rgb: tuple[float, ...]) -> str:
    """Return RGB of 0 to 1 as '#rrggbb'."""
    return "#" + "".join(f"{round(255 * c):02x}" for c in rgb)


def rgb_of(paint: str | Rgb, own: dict[str, Rgb]) -> Rgb | None:
    """Return the colour of a paint: a name, a material (`own` are those of the file), '#rrggbb' or RGB of 0 to 1.

    None for a name that is not known.
    """
    if not isinstance(paint, str):
        return paint
    if re.fullmatch(r"#[0-9a-fA-F]{6}", paint):
        r, g, b = (int(paint[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return r, g, b
    return {**COLOURS, **MATERIALS, **own}.get(paint)


def add_materials(spec: mujoco.MjSpec, own: dict[str, tuple[Rgb, Pattern]], *, textures: bool = True) -> None:
    """Procedural textures, so that no image file is needed: wood grain, floor tiles, planks.

    `own` are the materials of the world beside those that every world has; each is drawn by its name.
    """
    if not textures:
        for name in (*MATERIALS, *own):
            spec.add_material(name=name)
        return
    rng = np.random.default_rng(7)
    _texture(spec, "wood", _grain(rng, WOODS["wood"], 0.10), 1.0)
    _texture(spec, "beech", _grain(rng, WOODS["beech"], 0.06), 1.0)
    _texture(spec, "walnut", _grain(rng, WOODS["walnut"], 0.08), 1.0)
    _texture(spec, "tiles", _tiles(FLOORS["tiles"], (0.62, 0.63, 0.64)), 2.0)
    _texture(spec, "parquet", _planks(rng, FLOORS["parquet"]), 1.6)
    for name, (rgb, pattern) in own.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        images = {
            "plain": lambda rgb=rgb: np.full((8, 8, 3), np.array(rgb) * 255, dtype=np.uint8),
            "grain": lambda rgb=rgb, rng=rng: _grain(rng, rgb, 0.08),
            "tiles": lambda rgb=rgb: _tiles(rgb, tuple(0.85 * c for c in rgb)),
            "planks": lambda rgb=rgb, rng=rng: _planks(rng, rgb),
        }
        _texture(spec, name, images[pattern](), {"tiles": 2.0, "planks": 1.6}.get(pattern, 1.0))


def _texture(spec: mujoco.MjSpec, name: str, image: np.ndarray, repeat: float) -> None:
    height, width, _ = image.shape
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = image.tobytes()
    material = spec.add_material(name=name, texrepeat=[repeat, repeat], texuniform=True, specular=0.1, shininess=0.1)
    material.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = name


def _grain(rng: np.random.Generator, rgb: Rgb, contrast: float) -> np.ndarray:
    size = 128
    rows = np.cumsum(rng.normal(size=(size, 1)), axis=0)
    rows -= np.linspace(rows[0, 0], rows[-1, 0], size)[:, None]
    waves = np.sin(rows * 1.3 + 0.6 * np.sin(np.linspace(0, 2 * np.pi, size, endpoint=False))[None, :])
    shade = 1 + contrast * waves + rng.normal(0, 0.02, (size, size))
    return np.clip(np.array(rgb)[None, None] * shade[..., None] * 255, 0, 255).astype(np.uint8)


def _tiles(colour: Rgb, joint: tuple[float, ...]) -> np.ndarray:
    image = np.empty((128, 128, 3))
    image[:] = colour
    image[:2], image[:, :2] = joint, joint
    return (image * 255).astype(np.uint8)


def _planks(rng: np.random.Generator, colour: Rgb) -> np.ndarray:
    image = np.empty((128, 128, 3))
    for row in range(8):
        shift = int(rng.integers(0, 128))
        for half in range(2):
            tone = np.array(colour) * (1 + rng.normal(0, 0.025))
            columns = (np.arange(64) + 64 * half + shift) % 128
            image[row * 16 : row * 16 + 16, columns] = tone
            image[row * 16 : row * 16 + 16, columns[0]] = np.array(colour) * 0.85
        image[row * 16] = np.array(colour) * 0.85
    return (np.clip(image, 0, 1) * 255).astype(np.uint8)
