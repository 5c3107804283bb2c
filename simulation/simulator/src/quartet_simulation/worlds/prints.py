"""What is printed on things or grown on them: labels, pictures on cartons, stripes, the grain of wood, blush of fruit.

A print is drawn by the name of the thing, on the surface of its body: the texture of MuJoCo is a cube around the body,
and each of its pixels takes the colour of the surface point in its direction.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import mujoco
import numpy as np

from quartet_simulation.worlds.paint import Rgb

PrintPattern = Literal["label", "carton", "stripes", "grain", "mottled"]
PATTERNS: tuple[PrintPattern, ...] = get_args(PrintPattern)
Body = Literal["cylinder", "box", "sphere"]
PRINTABLE: tuple[Body, ...] = get_args(Body)
Half = tuple[float, float, float]
Array = np.ndarray

_PIXELS = 96
"""Width of each of the six sides of a texture: 1 to 2 mm of a thing for each pixel."""
_WHITE, _BLACK = (0.95, 0.95, 0.93), (0.08, 0.08, 0.08)


@dataclass(frozen=True)
class Print:
    """A pattern and the colours that it has beside that of the thing, as far as it needs any."""

    pattern: PrintPattern
    inks: tuple[Rgb, ...] = (_WHITE, _BLACK)


@dataclass(frozen=True)
class _Panel:
    """Points of a surface that one picture is printed on: across and up from its middle, and its size [m]."""

    u: Array
    v: Array
    width: float
    height: float

    def box(self, u: tuple[float, float], v: tuple[float, float]) -> Array:
        """Return which points lie between shares of the width and of the height, -0.5 to 0.5."""
        across, up = self.u / self.width, self.v / self.height
        return (across >= u[0]) & (across < u[1]) & (up >= v[0]) & (up < v[1])

    def ellipse(self, u: float, v: float, radius: float) -> Array:
        """Return which points lie within `radius` [m] of a point that is given in shares."""
        return np.hypot(self.u - u * self.width, 1.3 * (self.v - v * self.height)) < radius


def add_print(
    spec: mujoco.MjSpec, name: str, rgb: Rgb, body: Body, half: tuple[float, float, float], ink: Print
) -> str:
    """Add the material of a printed thing and return its name.

    rgb: of the thing. half: half sizes of its body [m].
    """
    material = f"print of {name}"
    image = draw(zlib.crc32(name.encode()), rgb, body, half, ink)
    texture = spec.add_texture(
        name=material,
        type=mujoco.mjtTexture.mjTEXTURE_CUBE,
        width=_PIXELS,
        height=6 * _PIXELS,
        nchannel=3,
    )
    texture.data = image.tobytes()
    added = spec.add_material(name=material, specular=0.1, shininess=0.1)
    added.textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = material
    return material


def draw(seed: int, rgb: Rgb, body: Body, half: Half, ink: Print) -> Array:
    """Return the six sides of the texture, one below the other (6N x N x 3 uint8): +x, -x, +y, -y, +z, -z."""
    rng = np.random.default_rng(seed)
    points, side = _surface(body, np.asarray(half))
    colours = np.empty((*side.shape, 3))
    colours[:] = rgb
    _DRAWN[ink.pattern](rng, colours, points, side, body, np.asarray(half), ink.inks)
    return (np.clip(colours, 0, 1) * 255).round().astype(np.uint8)


def _surface(body: Body, half: Array) -> tuple[Array, Array]:
    """Return the surface points [m] that the pixels of a texture show, and on which side each lies.

    Sides are numbered as those of the cube; the wall of a cylinder is 0, that of a sphere as well.
    """
    steps = (np.arange(_PIXELS) + 0.5) / _PIXELS * 2 - 1
    s, t = np.meshgrid(steps, steps)
    one = np.ones_like(s)
    # The sides of a cube map as OpenGL has them (specification 4.6, table 8.19).
    sides = [(one, -t, -s), (-one, -t, s), (s, one, t), (s, -one, -t), (s, -t, one), (-s, -t, -one)]
    cube = np.concatenate([np.stack(side, axis=-1) for side in sides])
    number = np.repeat(np.arange(6), _PIXELS)[:, None] * np.ones(_PIXELS, dtype=int)
    if body == "box":
        return cube * half, number
    if body == "sphere":
        return cube / np.linalg.norm(cube, axis=-1, keepdims=True) * half, np.zeros_like(number)
    out = np.hypot(cube[..., 0], cube[..., 1])
    unit = cube / np.maximum(out, np.abs(cube[..., 2]))[..., None]
    lid = np.abs(cube[..., 2]) > out
    return unit * half, np.where(lid, np.where(cube[..., 2] > 0, 4, 5), 0)


def _panels(points: Array, side: Array, body: Body, half: Array) -> list[tuple[Array, _Panel]]:
    """Return the parts of a surface that carry pictures, each with its pixels; lids of cylinders carry none."""
    if body != "box":
        radius = half[0]
        around = np.arctan2(points[..., 1], points[..., 0]) * radius
        up = points[..., 2] if body == "cylinder" else np.arcsin(np.clip(points[..., 2] / radius, -1, 1)) * radius
        height = 2 * half[2] if body == "cylinder" else np.pi * radius
        wall, width = side == 0, np.pi * radius
        # Front and back have the same picture.
        return [(wall, _Panel((around + np.where(around < 0, 1.0, 0.0) * width) - width / 2, up, width, height))]
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    panels: list[tuple[Array, _Panel]] = []
    for number, (u, v, width, height) in enumerate(
        [
            (y, z, half[1], half[2]),
            (-y, z, half[1], half[2]),
            (-x, z, half[0], half[2]),
            (x, z, half[0], half[2]),
            (x, y, half[0], half[1]),
            (x, -y, half[0], half[1]),
        ]
    ):
        panels.append((side == number, _Panel(u, v, 2 * float(width), 2 * float(height))))
    return panels


def _ink(inks: tuple[Rgb, ...], number: int) -> Array:
    usual = (_WHITE, _BLACK)
    return np.asarray(inks[number] if number < len(inks) else usual[number % 2])


def _text(rng: np.random.Generator, panel: _Panel, u: tuple[float, float], v: tuple[float, float], rows: int) -> Array:
    """Return which points are letters, small dark blocks in rows."""
    across = (panel.u / panel.width - u[0]) / (u[1] - u[0])
    up = (panel.v / panel.height - v[0]) / (v[1] - v[0])
    letters = max(6, int((u[1] - u[0]) * panel.width / 0.004))
    known = rng.random((rows, letters)) < 0.7
    row = np.clip((up * rows).astype(int), 0, rows - 1)
    column = np.clip((across * letters).astype(int), 0, letters - 1)
    inside = (across >= 0) & (across < 1) & (up >= 0) & (up < 1)
    return inside & known[row, column] & ((up * rows) % 1 < 0.6) & ((across * letters) % 1 < 0.8)


def _barcode(rng: np.random.Generator, panel: _Panel, u: tuple[float, float], v: tuple[float, float]) -> Array:
    """Return which points are bars."""
    bars = rng.random(24) < 0.5
    place = np.clip(((panel.u / panel.width - u[0]) / (u[1] - u[0]) * 24).astype(int), 0, 23)
    return panel.box(u, v) & bars[place]


def _label(
    rng: np.random.Generator, colours: Array, points: Array, side: Array, body: Body, half: Array, inks: tuple[Rgb, ...]
) -> None:
    """Draw a wave round the thing, a sign with a word above it and small print below it."""
    phase = float(rng.uniform(0, 2 * np.pi))
    for mask, panel in _panels(points, side, body, half):
        if body == "box" and (mask & (side >= 4)).any():
            continue
        middle = 0.05 * np.sin(2 * np.pi * panel.u / panel.width + phase)
        colours[mask & (np.abs(panel.v / panel.height - middle) < 0.08)] = _ink(inks, 0)
        sign = mask & panel.ellipse(0.0, 0.27, 0.11 * min(panel.width, panel.height))
        colours[sign] = _ink(inks, 0)
        colours[mask & _text(rng, panel, (-0.32, 0.32), (-0.40, -0.18), 4)] = _ink(inks, 1)


def _carton(
    rng: np.random.Generator, colours: Array, points: Array, side: Array, body: Body, half: Array, inks: tuple[Rgb, ...]
) -> None:
    """Draw a title, a picture and small print on the wide sides, small print and a bar code on the narrow ones."""
    panels = _panels(points, side, body, half)
    wide = 0.8 * max(panel.width * panel.height for _, panel in panels)
    for mask, panel in panels:
        if panel.width * panel.height >= wide:
            colours[mask & panel.box((-0.5, 0.5), (0.22, 0.40))] = _ink(inks, 0)
            colours[mask & _text(rng, panel, (-0.38, 0.38), (0.26, 0.36), 1)] = _ink(inks, 1)
            picture = 0.24 * min(panel.width, panel.height)
            colours[mask & panel.ellipse(float(rng.uniform(-0.15, 0.15)), -0.08, picture)] = _ink(inks, 2)
            colours[mask & _text(rng, panel, (-0.42, 0.42), (-0.46, -0.34), 2)] = _ink(inks, 1)
        elif (mask & (side < 4)).any():
            colours[mask & _text(rng, panel, (-0.35, 0.35), (0.0, 0.40), 6)] = _ink(inks, 1)
            colours[mask & panel.box((-0.30, 0.30), (-0.40, -0.16))] = _WHITE
            colours[mask & _barcode(rng, panel, (-0.25, 0.25), (-0.38, -0.18))] = _BLACK


def _stripes(
    rng: np.random.Generator, colours: Array, points: Array, side: Array, body: Body, half: Array, inks: tuple[Rgb, ...]
) -> None:
    """Draw bands round the thing."""
    count = int(rng.integers(2, 4))
    for mask, panel in _panels(points, side, body, half):
        if body == "box" and (mask & (side >= 4)).any():
            continue
        for band in range(count):
            at = (band + 0.7) / (count + 0.4) - 0.5
            colours[mask & panel.box((-0.51, 0.51), (at - 0.035, at + 0.035))] = _ink(inks, band % max(len(inks), 1))


def _smooth(rng: np.random.Generator, points: Array, length: float) -> Array:
    """Return noise of mean 0 and deviation 1 at points, of waves about `length` long [m]."""
    waves = rng.normal(size=(12, 3)) / length
    phases = rng.uniform(0, 2 * np.pi, 12)
    return np.sin(points @ waves.T * 2 * np.pi + phases).sum(axis=-1) / np.sqrt(6)


def _grain(
    rng: np.random.Generator, colours: Array, points: Array, side: Array, body: Body, half: Array, inks: tuple[Rgb, ...]
) -> None:
    """Draw year rings around an axis that passes beside the thing."""
    pith = rng.uniform(1.5, 2.5) * float(half.max())
    rings = np.hypot(points[..., 1] - pith, points[..., 2] + 0.6 * pith) + 0.002 * _smooth(rng, points, 0.08)
    shade = 1 + 0.14 * np.sin(rings / 0.006 * 2 * np.pi) + 0.03 * _smooth(rng, points, 0.004)
    colours *= shade[..., None]


def _mottled(
    rng: np.random.Generator, colours: Array, points: Array, side: Array, body: Body, half: Array, inks: tuple[Rgb, ...]
) -> None:
    """Draw a surface that is lighter here and darker there, with patches of the first ink."""
    colours *= (1 + 0.07 * _smooth(rng, points, 0.03))[..., None]
    if inks:
        share = np.clip((_smooth(rng, points, 0.12) - 0.7) / 0.5, 0, 0.7)[..., None]
        colours += share * (np.asarray(inks[0]) - colours)


_DRAWN: dict[PrintPattern, Callable[..., None]] = {
    "label": _label,
    "carton": _carton,
    "stripes": _stripes,
    "grain": _grain,
    "mottled": _mottled,
}
