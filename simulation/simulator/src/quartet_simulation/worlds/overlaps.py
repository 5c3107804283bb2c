"""Which furniture of a world file stands in other furniture, in a wall, in the scene or in a door."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import mujoco
import numpy as np

from quartet_simulation.worlds.file import WorldFile
from quartet_simulation.worlds.furniture import Block
from quartet_simulation.worlds.paint import add_materials
from quartet_simulation.worlds.scene import build_scene, is_of_scene
from quartet_site import Fault

TOUCHING = 0.002
"""Shapes that overlap by no more than this stand side by side [m]."""
BEHIND_DOOR = 0.25
"""How deep a door's passage is kept free on each side of its wall [m]."""
PASSAGE = "passage:"
"""Begins the name of the shape that stands for the passage of a door."""


class _Overlaps:
    """The solid shapes of a world; the numbers are those of `blocks`."""

    def __init__(self, spec: mujoco.MjSpec, blocks: list[Block]) -> None:
        self._spec, self.blocks = spec, blocks
        boxes = np.array([(*one.rect[:2], one.z[0], *one.rect[2:], one.z[1]) for one in blocks]).reshape(-1, 6)
        self._low, self._high = boxes[:, :3], boxes[:, 3:]

    @cached_property
    def _compiled(self) -> tuple[mujoco.MjModel, mujoco.MjData]:
        model = self._spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        return model, data

    def pairs(self) -> Iterator[tuple[Block, Block]]:
        """Yield each two blocks of different owners whose boxes overlap, the earlier one first."""
        for number, block in enumerate(self.blocks):
            for other in self._after(number):
                if block.owner != self.blocks[other].owner:
                    yield block, self.blocks[other]

    def _after(self, number: int) -> list[int]:
        rest = slice(number + 1, None)
        depth = np.minimum(self._high[rest], self._high[number]) - np.maximum(self._low[rest], self._low[number])
        return [int(other) for other in np.flatnonzero(depth.min(axis=1) > TOUCHING) + number + 1]

    def truly(self, one: Block, other: Block) -> bool:
        """Return whether the shapes overlap, and not only the boxes around them."""
        if not (one.loose or other.loose):
            return True
        model, data = self._compiled
        pair = model.geom(one.geom).id, model.geom(other.geom).id
        return mujoco.mj_geomDistance(model, data, *pair, 1.0, None) < -TOUCHING


def standing_in_each_other(file: WorldFile) -> Iterator[Fault]:
    """Return the faults of furniture that overlaps something, and of what stands in a door.

    Raises ValueError where MuJoCo refuses the scene.
    """
    spec = mujoco.MjSpec()
    add_materials(spec, dict.fromkeys(file.colours, ((0, 0, 0), "plain")), textures=False)
    blocks = build_scene(file, spec)
    numbers = {piece.name: number for number, piece in enumerate(file.furniture)}
    passages = list(_passages(file))
    for block in passages:
        _add(spec, block)
    # Everything stands on the floor of a scene, and bins reach into it.
    overlaps = _Overlaps(
        spec, [*passages, *(one for one in blocks if not is_of_scene(one.owner) or one.z[1] > TOUCHING)]
    )
    told: set[frozenset[str]] = set()
    in_doors: list[Fault] = []
    for a, b in overlaps.pairs():
        pair = frozenset((a.owner, b.owner))
        in_door = a.owner.startswith(PASSAGE) and (b.owner in numbers or is_of_scene(b.owner))
        overlaps_piece = not a.owner.startswith(PASSAGE) and pair & set(numbers)
        if pair in told or not (in_door or overlaps_piece) or not overlaps.truly(a, b):
            continue
        told.add(pair)
        if in_door:
            place = ("furniture", numbers[b.owner]) if b.owner in numbers else ("scene",)
            door = a.owner.removeprefix(PASSAGE)
            in_doors.append((place, f"{_quoted(b.owner, numbers)} stands in the door '{door}'; keep its passage free"))
        else:
            yield _fault(a, b, numbers)
    yield from in_doors


def _fault(a: Block, b: Block, numbers: dict[str, int]) -> Fault:
    one, other = sorted((a, b), key=lambda block: -numbers.get(block.owner, -1))
    x0, y0, x1, y1 = _common(a.rect, b.rect)
    return (
        ("furniture", numbers[one.owner]),
        f"'{one.owner}' overlaps {_quoted(other.owner, numbers)} by {x1 - x0:.2f} x {y1 - y0:.2f} m at "
        f"({(x0 + x1) / 2:.2f}, {(y0 + y1) / 2:.2f}); move one of them",
    )


def _passages(file: WorldFile) -> Iterator[Block]:
    walls = {wall.name: wall for wall in file.walls}
    for door in file.doors:
        wall = walls.get(door.wall)
        if wall is None:
            continue
        middle, away = wall.start[1 - wall.along], wall.thickness / 2 + BEHIND_DOOR
        along, across = door.gap, (middle - away, middle + away)
        rect = (along[0], across[0], along[1], across[1])
        if wall.along == 1:
            rect = (across[0], along[0], across[1], along[1])
        yield Block(PASSAGE + door.name, rect, (0.05, 1.5), PASSAGE + door.name)


def _add(spec: mujoco.MjSpec, block: Block) -> None:
    """Add a block as a shape of its own."""
    low, high = np.array([*block.rect[:2], block.z[0]]), np.array([*block.rect[2:], block.z[1]])
    spec.worldbody.add_geom(
        name=block.geom, type=mujoco.mjtGeom.mjGEOM_BOX, pos=(low + high) / 2, size=(high - low) / 2
    )


def _common(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float, float]:
    return max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])


def _quoted(owner: str, numbers: dict[str, int]) -> str:
    return f"'{owner}'" if owner in numbers else f"the {owner}"
