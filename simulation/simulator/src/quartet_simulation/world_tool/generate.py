"""Furnished homes drawn from a seed, each proved solvable before it is used."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from quartet_simulation.errors import SimulationError
from quartet_simulation.world_tool.proof import unsolvable
from quartet_simulation.worlds.faults import faults_of
from quartet_simulation.worlds.file import WorldFile
from quartet_simulation.worlds.free_floor import FreeFloor
from quartet_simulation.worlds.load import WORLD_FILE, make_world
from quartet_simulation.worlds.objects import CATALOGUE
from quartet_simulation.worlds.world import Rect

ATTEMPTS = 40
PLACES = 40
"""How often a piece of furniture is tried before the room does without it."""
FROM_WALL = 0.06
BEFORE = 1.55
"""Free floor before what the robot drives up to [m]."""
DOOR_WIDTHS = (0.80, 1.00)
TINTS = ("white", "cream", "beige", "light grey", "#c9d3c4", "#c4ccd8", "#d8c9c4")
TOPS = ("wood", "beech", "walnut", "light grey", "grey", "#5b6a72", "#8a5a44")
BODIES = ("white", "cream", "dark grey", "beech", "walnut", "#6f7f68")
CLOTH = ("grey", "beige", "brown", "#5a6b7d", "#7d5a5f", "#566b52")
THINGS = 10


@dataclass
class _Room:
    name: str
    rect: Rect
    furniture: list[dict[str, Any]] = field(default_factory=list)
    taken: list[Rect] = field(default_factory=list)
    free: list[Rect] = field(default_factory=list)
    """Floor that must stay free."""


def generate(seed: int) -> str:
    """Return the world file of a home: the first of the homes of this seed in which a robot can do jobs.

    The same seed gives the same text. Raises SimulationError when none of ATTEMPTS homes is solvable.
    """
    faults: list[str] = []
    for attempt in range(ATTEMPTS):
        fields = _draw(seed, np.random.default_rng([seed, attempt, 12]))
        if fields is None:
            continue
        text = f"# Home drawn from seed {seed}. Lengths in metres, map frame; docs/worlds.md explains every field.\n"
        text += yaml.safe_dump(fields, sort_keys=False, width=118, default_flow_style=None)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / WORLD_FILE).write_text(text, encoding="utf-8")
            faults = unsolvable(folder)
        if not faults:
            return text
    raise SimulationError(f"no home of seed {seed} is solvable in {ATTEMPTS} attempts; the last one: {faults[:1]}")


def _draw(seed: int, rng: np.random.Generator) -> dict[str, Any] | None:
    """Return the fields of a world file, None where the robot finds no room in what was drawn."""
    rooms, walls, doors = _floor_plan(rng)
    for room in rooms:
        _furnish(room, rng)
    fields: dict[str, Any] = {
        "name": f"generated {seed}",
        "description": f"A home drawn from seed {seed}.",
        "materials": {
            "laid floor": {"colour": str(rng.choice(["#b08860", "#8f7a66", "#c2b49c"])), "pattern": "planks"}
        },
        "rooms": [
            {
                "name": room.name,
                "outline": [[x, y] for x, y in _corners(room.rect)],
                "floor": "tiles" if room.name in ("kitchen", "hallway") else str(rng.choice(["laid floor", "parquet"])),
            }
            for room in rooms
        ],
        "walls": walls,
        "doors": doors,
        "furniture": [piece for room in rooms for piece in room.furniture],
        "lights": {
            "ambient": round(float(rng.uniform(0.32, 0.42)), 3),
            "camera": 0.3,
            "lamps": [
                {
                    "direction": [round(float(v), 3) for v in rng.uniform(-0.5, 0.5, 2)] + [-1.0],
                    "strength": round(float(rng.uniform(0.35, 0.48)), 3),
                }
            ],
        },
        "things": [],
    }
    file = WorldFile.model_validate(fields)
    if faults_of(file):
        return None
    world, faults = make_world(file)
    if faults or len(world.surfaces) < 3 or not world.containers:
        return None
    floor = FreeFloor(file)
    for area, room in zip(world.areas, fields["rooms"], strict=True):
        zone = _floor_zone(floor, file, area.entry[:2], area.name, rng)
        if zone is not None:
            room["floor_zone"] = {"name": room["name"], "rect": zone}
    fields["things"] = _things(fields, rng)
    return fields if fields["things"] else None


def _corners(rect: Rect) -> list[tuple[float, float]]:
    x0, y0, x1, y1 = rect
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def _length(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 2)


def _floor_plan(rng: np.random.Generator) -> tuple[list[_Room], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rooms on one or both sides of a hallway, or in a row, with their walls and doors."""
    names = ["kitchen", *rng.permutation(["living room", "bedroom", "study"]).tolist()]
    names = names[: int(rng.integers(2, 5))]
    rng.shuffle(names)
    if len(names) == 2 or rng.random() < 0.35:
        return _in_a_row(names[:3], rng)
    return _along_a_hallway(names, rng)


def _in_a_row(names: list[str], rng: np.random.Generator) -> Any:
    depth, x = _length(rng, 4.0, 4.8), 0.0
    rooms: list[_Room] = []
    for name in names:
        width = _length(rng, 4.2, 5.2)
        rooms.append(_Room(name, (x, 0.0, round(x + width, 2), depth)))
        x = round(x + width, 2)
    walls = _outer((0.0, 0.0, x, depth))
    doors: list[dict[str, Any]] = []
    for left, right in pairwise(rooms):
        wall = {
            "name": f"wall {right.name}",
            "from": [left.rect[2], 0.05],
            "to": [left.rect[2], round(depth - 0.05, 2)],
        }
        walls.append(wall)
        doors.append(_door(wall, 1, (1.0, depth - 1.0), f"{right.name} door", (left, right), rng))
    return rooms, walls, doors


def _along_a_hallway(names: list[str], rng: np.random.Generator) -> Any:
    below, above = names[: (len(names) + 1) // 2], names[(len(names) + 1) // 2 :]
    hall, depth = _length(rng, 1.9, 2.3), _length(rng, 3.9, 4.5)
    top = _length(rng, 3.9, 4.5)
    widths = [_length(rng, 4.2, 5.0) for _ in below]
    length = round(sum(widths), 2)
    rooms = [_Room("hallway", (0.0, depth, length, round(depth + hall, 2)))]
    high = round(depth + hall + top, 2)
    walls, doors = _outer((0.0, 0.0, length, high)), []
    south = {"name": "hallway south", "from": [0.05, depth], "to": [round(length - 0.05, 2), depth]}
    north = {**south, "name": "hallway north", "from": [0.05, round(depth + hall, 2)]}
    north["to"] = [round(length - 0.05, 2), round(depth + hall, 2)]
    walls += [south, north]
    for row, wall, y in ((below, south, (0.0, depth)), (above, north, (round(depth + hall, 2), high))):
        shares = [length / len(row)] * len(row) if row is above else widths
        x = 0.0
        for number, (name, share) in enumerate(zip(row, shares, strict=True)):
            end = length if number == len(row) - 1 else round(x + share, 2)
            room = _Room(name, (x, y[0], end, y[1]))
            doors.append(_door(wall, 0, (x + 0.9, end - 0.9), f"{name} door", (room, rooms[0]), rng))
            if number:
                between = [round(y[0] + 0.05, 2), round(y[1] - 0.05, 2)]
                walls.append({"name": f"wall {name}", "from": [x, between[0]], "to": [x, between[1]]})
            rooms.append(room)
            x = end
    return rooms, walls, doors


def _outer(rect: Rect) -> list[dict[str, Any]]:
    x0, y0, x1, y1 = rect
    low, high = round(y0 + 0.05, 2), round(y1 - 0.05, 2)
    return [
        {"name": "wall south", "from": [round(x0 - 0.05, 2), y0], "to": [round(x1 + 0.05, 2), y0]},
        {"name": "wall north", "from": [round(x0 - 0.05, 2), y1], "to": [round(x1 + 0.05, 2), y1]},
        {"name": "wall west", "from": [x0, low], "to": [x0, high]},
        {"name": "wall east", "from": [x1, low], "to": [x1, high]},
    ]


def _door(
    wall: dict[str, Any],
    along: int,
    span: tuple[float, float],
    name: str,
    rooms: tuple[_Room, _Room],
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return a door in a wall, and keep the floor on both sides of it free."""
    width, at = _length(rng, *DOOR_WIDTHS), _length(rng, *span)
    leaf = str(rng.choice(["none", "open"]))
    hinge, opens = str(rng.choice(["low", "high"])), str(rng.choice(["low", "high"]))
    across = wall["from"][1 - along]
    half = width / 2 + 0.25
    for room in rooms:
        low, high = (across - 1.3, across) if room.rect[1 - along] < across - 0.1 else (across, across + 1.3)
        keep = (at - half, low, at + half, high) if along == 0 else (low, at - half, high, at + half)
        room.free.append(keep)
    if "hallway" in (room.name for room in rooms):
        # A leaf in the hallway would bar it.
        hall = next(room for room in rooms if room.name == "hallway")
        opens = "low" if hall.rect[1] >= across - 0.1 else "high"
    return {"name": name, "wall": wall["name"], "at": at, "width": width, "leaf": leaf, "hinge": hinge, "opens": opens}


FURNITURE: dict[str, tuple[str, ...]] = {
    "kitchen": ("kitchen counter", "fridge", "bin:kitchen bin", "dining table"),
    "living room": ("sofa", "coffee table", "tv stand", "plant:living room plant"),
    "bedroom": ("bed", "dresser", "nightstand", "bin:laundry basket"),
    "study": ("desk", "bookshelf", "bin:waste basket", "plant:study plant"),
    "hallway": ("console table",),
}
SIZES: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "kitchen counter": ((1.6, 2.6), (0.58, 0.64), (0.86, 1.0)),
    "fridge": ((0.6, 0.7), (0.6, 0.66), (1.5, 1.6)),
    "dining table": ((1.1, 1.5), (0.75, 0.9), (0.70, 0.76)),
    "sofa": ((1.6, 2.2), (0.78, 0.88), (0.8, 0.8)),
    "coffee table": ((0.8, 1.1), (0.5, 0.6), (0.42, 0.50)),
    "tv stand": ((1.1, 1.5), (0.38, 0.44), (0.46, 0.56)),
    "bed": ((1.2, 1.6), (1.9, 2.0), (0.45, 0.52)),
    "dresser": ((0.9, 1.3), (0.40, 0.46), (0.75, 0.90)),
    "nightstand": ((0.42, 0.50), (0.42, 0.46), (0.5, 0.6)),
    "desk": ((1.1, 1.5), (0.56, 0.66), (0.70, 0.76)),
    "bookshelf": ((0.9, 1.2), (0.30, 0.36), (0.70, 0.90)),
    "console table": ((0.8, 1.2), (0.30, 0.36), (0.72, 0.82)),
}
"""Along the wall, away from it, and height: from, to [m]."""
LOW = frozenset({"sofa", "bed", "fridge"})
"""Pieces to which the robot has nothing to bring; before them less floor stays free."""


def _furnish(room: _Room, rng: np.random.Generator) -> None:
    for what in FURNITURE[room.name]:
        kind, _, name = what.partition(":")
        for _ in range(PLACES):
            piece = _small(room, kind, name, rng) if name else _large(room, kind, rng)
            if piece is not None:
                room.furniture.append(piece)
                break


def _fits(room: _Room, rect: Rect, before: Rect) -> bool:
    """Return whether a piece may stand at `rect` with the floor `before` it kept free; then take both."""
    x0, y0, x1, y1 = room.rect
    inside = rect[0] > x0 and rect[1] > y0 and rect[2] < x1 and rect[3] < y1
    if not inside or before[0] < x0 or before[1] < y0 or before[2] > x1 or before[3] > y1:
        return False
    if any(_meet(rect, other, 0.05) for other in (*room.taken, *room.free)):
        return False
    if any(_meet(before, other, 0.0) for other in room.taken):
        return False
    room.taken.append(rect)
    room.free.append(before)
    return True


def _meet(a: Rect, b: Rect, gap: float) -> bool:
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


def _large(room: _Room, kind: str, rng: np.random.Generator) -> dict[str, Any] | None:
    """Return a piece with its back at a random wall of the room, None where it does not fit."""
    (long, deep, high) = (_length(rng, *span) for span in SIZES[kind])
    back = str(rng.choice(["n", "e", "s", "w"]))
    x0, y0, x1, y1 = room.rect
    gap = FROM_WALL + 0.01
    low, high_end = (x0, x1) if back in "ns" else (y0, y1)
    if high_end - low < long + 0.3:
        return None
    at = _length(rng, low + 0.12, high_end - long - 0.12)
    front = 0.8 if kind in LOW else BEFORE
    middle, half = at + long / 2, max(long, 1.36 if kind not in LOW else long) / 2
    lateral = (max(middle - half, low), min(middle + half, high_end))
    if back == "s":
        rect = (at, y0 + gap, at + long, y0 + gap + deep)
        before = (lateral[0], rect[3], lateral[1], rect[3] + front)
    elif back == "n":
        rect = (at, y1 - gap - deep, at + long, y1 - gap)
        before = (lateral[0], rect[1] - front, lateral[1], rect[1])
    elif back == "w":
        rect = (x0 + gap, at, x0 + gap + deep, at + long)
        before = (rect[2], lateral[0], rect[2] + front, lateral[1])
    else:
        rect = (x1 - gap - deep, at, x1 - gap, at + long)
        before = (rect[0] - front, lateral[0], rect[0], lateral[1])
    rect = tuple(round(v, 3) for v in rect)
    if not _fits(room, rect, before):  # pyright: ignore[reportArgumentType]
        return None
    return _piece(kind, list(rect), high, back, rng)


OPPOSITE = {"n": "s", "s": "n", "e": "w", "w": "e"}


def _piece(kind: str, rect: list[float], height: float, back: str, rng: np.random.Generator) -> dict[str, Any]:
    top, body, cloth = (str(rng.choice(paints)) for paints in (TOPS, BODIES, CLOTH))
    front = OPPOSITE[back]
    base = {"name": kind, "rect": rect}
    if kind in ("kitchen counter", "tv stand", "dresser", "nightstand"):
        doors = {"side": front, "count": int(rng.integers(2, 5))}
        return {**base, "kind": "cabinet", "height": height, "colour": top, "body": body, "doors": doors}
    if kind in ("dining table", "desk", "coffee table", "console table"):
        if kind == "coffee table" and rng.random() < 0.5:
            size = min(rect[2] - rect[0], rect[3] - rect[1])
            centre = [round((rect[0] + rect[2]) / 2, 3), round((rect[1] + rect[3]) / 2, 3)]
            return {"name": kind, "kind": "round table", "centre": centre, "diameter": round(max(size, 0.55), 2),
                    "height": height, "colour": top}  # fmt: skip
        return {**base, "kind": "table", "height": height, "colour": top}
    if kind == "bookshelf":
        return {**base, "kind": "shelf", "height": height, "colour": str(rng.choice(BODIES)), "front": front}
    if kind == "sofa":
        return {**base, "kind": "sofa", "back": back, "colour": cloth}
    if kind == "bed":
        return {**base, "kind": "bed", "height": height, "head": back, "colour": cloth}
    return {**base, "kind": "box", "z": [0.0, height], "colour": "steel"}


def _small(room: _Room, kind: str, name: str, rng: np.random.Generator) -> dict[str, Any] | None:
    """Return a bin or a plant near a corner of the room, None where it does not fit."""
    x0, y0, x1, y1 = room.rect
    size = _length(rng, 0.32, 0.38)
    half = size / 2
    east, north = rng.random() < 0.5, rng.random() < 0.5
    x = round(x1 - half - 0.12 if east else x0 + half + 0.12, 3)
    y = round(y1 - half - 0.12 if north else y0 + half + 0.12, 3)
    rect = (x - half, y - half, x + half, y + half)
    reach = 1.5 if kind == "bin" else 0.0
    before = (
        x - reach if east else x, y - reach if north else y, x if east else x + reach, y if north else y + reach
    )  # fmt: skip
    if not _fits(room, rect, before):
        return None
    if kind == "plant":
        return {"name": name, "kind": "plant", "centre": [x, y], "height": _length(rng, 0.9, 1.3)}
    return {"name": name, "kind": "bin", "centre": [x, y], "size": size, "height": _length(rng, 0.30, 0.40),
            "colour": str(rng.choice(["dark grey", "grey", "#9e8c6b", "#7a8894"]))}  # fmt: skip


def _floor_zone(
    floor: FreeFloor, file: WorldFile, entry: tuple[float, float], room: str, rng: np.random.Generator
) -> list[float] | None:
    """Return a small part of a room's floor that is seen and reached straight from its entry, away from doors."""
    own = next(one for one in file.rooms if one.name == room)
    x0, y0, x1, y1 = own.bounds()
    walls = {wall.name: wall for wall in file.walls}
    doors = [
        (door.at, walls[door.wall].start[1]) if walls[door.wall].along == 0 else (walls[door.wall].start[0], door.at)
        for door in file.doors
    ]
    for _ in range(PLACES * 5):
        x, y = float(rng.uniform(x0 + 0.5, x1 - 0.5)), float(rng.uniform(y0 + 0.5, y1 - 0.5))
        free = float(floor.clearance(np.array([x]), np.array([y]))[0])
        away = math.dist((x, y), entry)
        if free < 0.55 or not 1.2 < away < 2.6 or min(math.dist((x, y), door) for door in doors) < 1.3:
            continue
        if floor.clear_drive(entry, (x, y), 0.7):
            return [round(x - 0.12, 2), round(y - 0.12, 2), round(x + 0.12, 2), round(y + 0.12, 2)]
    return None


def _things(fields: dict[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    file = WorldFile.model_validate(fields)
    surfaces = [piece.name for piece in file.surfaces()]
    zones = [f"floor:{room.floor_zone.name}" for room in file.rooms if room.floor_zone is not None]
    others = sorted(set(CATALOGUE) - {"red coke can"})
    names = ["red coke can", *rng.permutation(others).tolist()[: THINGS - 1]]
    found: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        places = [str(one) for one in rng.permutation(surfaces)[: int(rng.integers(3, 6))]]
        if number in (1, 2) and zones:
            places = [str(rng.choice(zones)), *places]
        found.append({"name": name, "places": places})
    return found
