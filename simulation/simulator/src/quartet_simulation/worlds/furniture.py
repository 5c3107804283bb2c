"""Building blocks of worlds: walls, tables, shelves, beds, bins; static shapes with a colour or a material."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.described.shapes import add_mesh
from quartet_simulation.names import leaf_name
from quartet_simulation.worlds.fixed_model import Shape
from quartet_simulation.worlds.paint import COLOURS, MATERIALS
from quartet_simulation.worlds.world import Rect

Paint = str | tuple[float, float, float]
"""Name of a material, or RGB of 0 to 1."""
WHITE, GREY, DARK_GREY, LIGHT_GREY = (COLOURS[name] for name in ("white", "grey", "dark grey", "light grey"))
WALNUT = MATERIALS["walnut"]
LEAF_FRICTION = 1000.0
"""Torque that turns a door's leaf [Nm]: no robot does."""


@dataclass(frozen=True)
class Block:
    """Box around one solid shape of a piece of furniture or a wall."""

    owner: str
    rect: Rect
    z: tuple[float, float]
    geom: str = ""
    """Name of the shape."""
    loose: bool = False
    """Whether the box is larger than the shape by so much that only the shape itself says what it overlaps."""


class Furniture:
    """Adds furniture to a spec. Positions are map coordinates [m]."""

    def __init__(self, spec: mujoco.MjSpec) -> None:
        self._spec, self._body = spec, spec.worldbody
        self.owner = ""
        """Name of what is being built."""
        self.blocks: list[Block] = []
        """All solid shapes so far."""

    def box(self, name: str, rect: Rect, z: tuple[float, float], colour: Paint, *, solid: bool = True) -> None:
        """A box over `rect` from z[0] to z[1]."""
        x0, y0, x1, y1 = rect
        centre = ((x0 + x1) / 2, (y0 + y1) / 2, (z[0] + z[1]) / 2)
        half = ((x1 - x0) / 2, (y1 - y0) / 2, (z[1] - z[0]) / 2)
        geom = self._body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=centre, size=half)
        self._paint(geom, colour)
        self._solid(geom, rect, z, solid)

    def leaf(self, name: str, rect: Rect, height: float, hinge: tuple[float, float], colour: Paint) -> None:
        """A door's leaf that turns about an upright hinge; it stays where it is, since nothing pushes so hard."""
        outside, body_name = self._body, leaf_name(name)
        self._body = outside.add_body(name=body_name)
        self._body.add_joint(
            name=body_name,
            type=mujoco.mjtJoint.mjJNT_HINGE,
            axis=(0, 0, 1),
            pos=(*hinge, 0),
            frictionloss=LEAF_FRICTION,
        )
        self.box(f"{name} leaf", rect, (0.01, height), colour)
        self._body = outside

    def disc(
        self, name: str, centre: tuple[float, float], radius: float, z: tuple[float, float], colour: Paint
    ) -> None:
        """An upright cylinder from z[0] to z[1]."""
        x, y = centre
        geom = self._body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_CYLINDER,
            pos=(x, y, (z[0] + z[1]) / 2),
            size=[radius, (z[1] - z[0]) / 2, 0],
        )
        self._paint(geom, colour)
        self._solid(geom, (x - radius, y - radius, x + radius, y + radius), z, True)

    def shape(self, name: str, model: str, shape: Shape, pose: np.ndarray) -> None:
        """A shape of the model file `model`, whose frame is at a pose of map (4x4)."""
        turn = np.zeros(4)
        mujoco.mju_mat2Quat(turn, (pose[:3, :3] @ shape.rotation).flatten())
        source, number = shape.model, shape.geom
        geom = self._body.add_geom(
            name=name,
            type=shape.kind,
            size=source.geom_size[number],
            pos=pose[:3, :3] @ shape.position + pose[:3, 3],
            quat=turn,
            rgba=shape.rgba,
            friction=source.geom_friction[number],
            condim=int(source.geom_condim[number]),
        )
        if shape.mesh is not None:
            geom.meshname = f"{model}:{shape.mesh}"
            if self._spec.mesh(geom.meshname) is None:
                add_mesh(self._spec, source, shape.mesh, geom.meshname)
        (x0, y0, z0), (x1, y1, z1) = (tuple(float(value) for value in corner) for corner in shape.extent(pose))
        self._solid(geom, (x0, y0, x1, y1), (z0, z1), shape.solid, loose=not _is_upright_box(geom))

    def _solid(self, geom: Any, rect: Rect, z: tuple[float, float], solid: bool, *, loose: bool = False) -> None:
        if solid:
            self.blocks.append(Block(self.owner, rect, z, geom.name, loose))
        else:
            geom.contype = geom.conaffinity = 0

    def _paint(self, geom: Any, colour: Paint) -> None:
        if isinstance(colour, str):
            geom.material = colour
        else:
            geom.rgba = (*colour, 1)

    def floor(self, name: str, rect: Rect, material: Paint, height: float = 0.0) -> None:
        """A visible floor covering; the ground plane carries the weight."""
        self.box(name, rect, (height - 0.02, height), material, solid=False)

    def ground(self) -> None:
        """Add the floor."""
        geom = self._body.add_geom(
            name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1], pos=(0, 0, 0), rgba=(0.8, 0.8, 0.8, 1)
        )
        geom.group = 4

    def wall(
        self,
        name: str,
        start: tuple[float, float],
        end: tuple[float, float],
        gaps: list[tuple[float, float]],
        *,
        height: float,
        thickness: float,
        colour: Paint,
    ) -> None:
        """A wall along x or y with gaps given as (from, to) along it."""
        along_x = start[1] == end[1]
        a, b = (start[0], end[0]) if along_x else (start[1], end[1])
        cuts = [a, *(v for gap in sorted(gaps) for v in gap), b]
        half = thickness / 2
        for i in range(0, len(cuts), 2):
            lo, hi = cuts[i], cuts[i + 1]
            if hi - lo < 1e-6:
                continue
            rect = (lo, start[1] - half, hi, start[1] + half) if along_x else (start[0] - half, lo, start[0] + half, hi)
            self.box(f"{name} {i // 2}", rect, (0, height), colour)

    def round_table(
        self, name: str, centre: tuple[float, float], diameter: float, height: float, colour: Paint
    ) -> None:
        """A round top on a column with a foot."""
        self.disc(f"{name} top", centre, diameter / 2, (height - 0.04, height), colour)
        self.disc(f"{name} column", centre, 0.05, (0.03, height - 0.04), colour)
        self.disc(f"{name} foot", centre, min(0.25, diameter / 3), (0, 0.03), colour)

    def table(self, name: str, rect: Rect, height: float, colour: Paint, leg: float = 0.05) -> None:
        """Add a table with four legs."""
        x0, y0, x1, y1 = rect
        self.box(f"{name} top", rect, (height - 0.04, height), colour)
        inset = 0.03
        for i, (x, y) in enumerate(
            (
                (x0 + inset, y0 + inset),
                (x1 - inset - leg, y0 + inset),
                (x0 + inset, y1 - inset - leg),
                (x1 - inset - leg, y1 - inset - leg),
            )
        ):
            self.box(f"{name} leg {i}", (x, y, x + leg, y + leg), (0, height - 0.04), colour)

    def cabinet(
        self, name: str, rect: Rect, height: float, body: Paint, top: Paint, *, doors: tuple[str, int] | None = None
    ) -> None:
        """A closed block with a top plate; `doors` = (axis, side, count) draws joints on one face."""
        self.box(f"{name} body", rect, (0, height - 0.03), body)
        self.box(f"{name} top", rect, (height - 0.03, height), top)
        if doors is not None:
            side, count = doors
            self._door_lines(name, rect, height, side, count)

    def _door_lines(self, name: str, rect: Rect, height: float, side: str, count: int) -> None:
        x0, y0, x1, y1 = rect
        thin, line = 0.004, 0.008
        for i in range(1, count):
            if side in "ew":
                y = y0 + (y1 - y0) * i / count
                x = x1 if side == "e" else x0
                face = (x - thin, y - line / 2, x + thin, y + line / 2)
            else:
                x = x0 + (x1 - x0) * i / count
                y = y1 if side == "n" else y0
                face = (x - line / 2, y - thin, x + line / 2, y + thin)
            self.box(f"{name} joint {i}", face, (0.06, height - 0.06), DARK_GREY, solid=False)

    def bin(self, name: str, centre: tuple[float, float], size: float, height: float, colour: Paint) -> Rect:
        """A square open container; returns its outline."""
        x, y = centre
        half, wall = size / 2, 0.012
        rect = (x - half, y - half, x + half, y + half)
        # Reaching below the floor: between a thin bottom and the floor, a flat thing that falls fast would stick.
        self.box(f"{name} bottom", rect, (-0.05, 0.004), colour)
        self.box(f"{name} w", (rect[0], rect[1], rect[0] + wall, rect[3]), (0, height), colour)
        self.box(f"{name} e", (rect[2] - wall, rect[1], rect[2], rect[3]), (0, height), colour)
        self.box(f"{name} s", (rect[0], rect[1], rect[2], rect[1] + wall), (0, height), colour)
        self.box(f"{name} n", (rect[0], rect[3] - wall, rect[2], rect[3]), (0, height), colour)
        return rect

    def sofa(self, name: str, rect: Rect, back: str, colour: Paint) -> None:
        """A sofa whose back is on side n, e, s or w."""
        x0, y0, x1, y1 = rect
        self.box(f"{name} seat", rect, (0.05, 0.42), colour)
        depth = 0.22
        backs = {
            "w": (x0, y0, x0 + depth, y1),
            "e": (x1 - depth, y0, x1, y1),
            "s": (x0, y0, x1, y0 + depth),
            "n": (x0, y1 - depth, x1, y1),
        }
        self.box(f"{name} back", backs[back], (0.42, 0.85), colour)
        arms = (
            ((x0, y0, x1, y0 + 0.18), (x0, y1 - 0.18, x1, y1))
            if back in "we"
            else ((x0, y0, x0 + 0.18, y1), (x1 - 0.18, y0, x1, y1))
        )
        for i, arm in enumerate(arms):
            self.box(f"{name} arm {i}", arm, (0.42, 0.60), colour)

    def bed(self, name: str, rect: Rect, height: float, head: str, cover: Paint) -> None:
        """A bed with its pillows at side n, e, s or w."""
        x0, y0, x1, y1 = rect
        self.box(f"{name} frame", rect, (0.05, height - 0.18), WALNUT)
        self.box(
            f"{name} mattress", (x0 + 0.02, y0 + 0.02, x1 - 0.02, y1 - 0.02), (height - 0.18, height - 0.02), WHITE
        )
        deep = 0.45
        covers = {
            "w": (x0 + deep, y0, x1, y1),
            "e": (x0, y0, x1 - deep, y1),
            "n": (x0, y0, x1, y1 - deep),
            "s": (x0, y0 + deep, x1, y1),
        }
        self.box(f"{name} cover", covers[head], (height - 0.16, height), cover)
        heads = {
            "w": (x0, y0, x0 + 0.04, y1),
            "e": (x1 - 0.04, y0, x1, y1),
            "n": (x0, y1 - 0.04, x1, y1),
            "s": (x0, y0, x1, y0 + 0.04),
        }
        self.box(f"{name} headboard", heads[head], (0.05, height + 0.4), WALNUT)
        pillows = {
            "w": (x0 + 0.08, y0 + 0.1, x0 + 0.4, y1 - 0.1),
            "e": (x1 - 0.4, y0 + 0.1, x1 - 0.08, y1 - 0.1),
            "n": (x0 + 0.1, y1 - 0.4, x1 - 0.1, y1 - 0.08),
            "s": (x0 + 0.1, y0 + 0.08, x1 - 0.1, y0 + 0.4),
        }
        self.box(f"{name} pillow", pillows[head], (height - 0.02, height + 0.08), (0.95, 0.95, 0.93))

    def chair(self, name: str, rect: Rect, back: str, colour: Paint) -> None:
        """Add a chair whose back is on the side `back`."""
        self.table(f"{name} seat", rect, 0.46, colour, leg=0.035)
        x0, y0, x1, y1 = rect
        backs = {
            "w": (x0, y0, x0 + 0.03, y1),
            "e": (x1 - 0.03, y0, x1, y1),
            "s": (x0, y0, x1, y0 + 0.03),
            "n": (x0, y1 - 0.03, x1, y1),
        }
        self.box(f"{name} back", backs[back], (0.46, 0.90), colour)

    def chessboard(self, name: str, centre: tuple[float, float], height: float) -> None:
        """A sheet of A4 with 10 x 7 squares of 27 mm, as docs/hand-eye-board.svg prints it; its longer side is along x.

        As it is read, with x to the right and y up, the square in the upper left corner is black.
        """
        x, y = centre
        self.box(name, (x - 0.1485, y - 0.105, x + 0.1485, y + 0.105), (height, height + 0.003), WHITE, solid=False)
        columns, rows, square = 10, 7, 0.027
        left, top = x - columns / 2 * square, y + rows / 2 * square
        for column in range(columns):
            for row in range(column % 2, rows, 2):
                x0, y1 = left + column * square, top - row * square
                self.box(
                    f"{name} {column} {row}",
                    (x0, y1 - square, x0 + square, y1),
                    (height + 0.003, height + 0.0032),
                    COLOURS["black"],
                    solid=False,
                )

    def rug(self, name: str, rect: Rect, colour: Paint) -> None:
        """Flat and only to be seen."""
        self.box(name, rect, (0.0, 0.004), colour, solid=False)

    def plant(self, name: str, centre: tuple[float, float], height: float) -> None:
        """A pot with dark leaves: something to recognise a room by."""
        x, y = centre
        self.box(f"{name} pot", (x - 0.13, y - 0.13, x + 0.13, y + 0.13), (0, 0.30), LIGHT_GREY)
        for i, (dx, dy, r) in enumerate(((0, 0, 0.20), (0.08, 0.05, 0.14), (-0.07, -0.04, 0.15))):
            z = height - 0.22 - 0.16 * i
            geom = self._body.add_geom(
                name=f"{name} leaves {i}",
                type=mujoco.mjtGeom.mjGEOM_ELLIPSOID,
                pos=(x + dx, y + dy, z),
                size=[r, r, 0.22],
                rgba=(0.15, 0.24, 0.14, 1),
            )
            geom.contype = geom.conaffinity = 0
        self.box(f"{name} stem", (x - 0.015, y - 0.015, x + 0.015, y + 0.015), (0.3, height - 0.3), WALNUT)


def _is_upright_box(geom: Any) -> bool:
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, geom.quat)
    return geom.type == mujoco.mjtGeom.mjGEOM_BOX and np.abs(turn.reshape(3, 3)).max(axis=1).min() > 1 - 1e-9
