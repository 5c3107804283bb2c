"""Faults of a world file that only the whole file shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from quartet_simulation.robot import dimensions as dim
from quartet_simulation.worlds.file import Door, Room, Wall, WorldFile
from quartet_simulation.worlds.objects import PARCEL
from quartet_simulation.worlds.overlaps import TOUCHING, standing_in_each_other
from quartet_simulation.worlds.paint import COLOURS, MATERIALS, rgb_of
from quartet_simulation.worlds.piece import PaintName
from quartet_simulation.worlds.pieces import Model
from quartet_simulation.worlds.shelves import Shelf
from quartet_simulation.worlds.world import Rect
from quartet_site import Fault

Place = tuple[str | int, ...]

NARROWEST_DOOR = 0.75
"""Clear width through which the robot's planner finds a way [m]: the body, 0.61, and what it keeps on each side."""
GRIP_ROOM = 0.02
"""How much narrower than the open gripper a thing must be [m]."""
ROOM_STEP = 0.1
"""Distance between the points at which rooms are compared [m]."""
BELOW_FLOOR = 0.02
"""How far a model may reach below the floor [m]."""


def faults_of(file: WorldFile) -> list[Fault]:
    """Return all faults of a file that fits the schema."""
    return [
        *_repeated(file),
        *_paints(file),
        *_doors(file),
        *_rooms(file),
        *_furniture(file),
        *_things(file),
        *_people(file),
        *_names(file),
    ]


def _repeated(file: WorldFile) -> Iterator[Fault]:
    lists: dict[str, list[Any]] = {
        "rooms": file.rooms,
        "walls": file.walls,
        "doors": file.doors,
        "furniture": file.furniture,
        "things": file.things,
        "people": file.people,
    }
    for field, entries in lists.items():
        seen: set[str] = set()
        for number, entry in enumerate(entries):
            named: list[tuple[Place, Any]] = [((field, number, "name"), entry)]
            if isinstance(entry, Shelf):
                named += [((field, number, "boards", index, "name"), one) for index, one in entry.named_boards()]
            for place, one in named:
                if one.name in seen:
                    yield place, f"'{one.name}' is there twice; names must differ"
                seen.add(one.name)


def _paints(file: WorldFile) -> Iterator[Fault]:
    own = file.colours
    used: list[tuple[Place, PaintName]] = [
        (("rooms", number, "floor"), room.floor) for number, room in enumerate(file.rooms)
    ]
    used += [(("walls", number, "colour"), wall.colour) for number, wall in enumerate(file.walls)]
    used += [
        (("furniture", number, field), getattr(piece, field))
        for number, piece in enumerate(file.furniture)
        for field in ("colour", "body")
        if hasattr(piece, field)
    ]
    used += [
        (("furniture", number, "surface", "colour"), piece.surface.colour)
        for number, piece in enumerate(file.furniture)
        if isinstance(piece, Model) and piece.surface is not None and piece.surface.colour is not None
    ]
    used += [(("things", n, "colour"), thing.colour) for n, thing in enumerate(file.things) if thing.colour is not None]
    used += [(("things", n, "inks", m), ink) for n, thing in enumerate(file.things) for m, ink in enumerate(thing.inks)]
    valid = ", ".join(sorted({*COLOURS, *MATERIALS, *own}))
    for place, paint in used:
        if rgb_of(paint, own) is None:
            yield place, f"'{paint}' is no colour and no material; valid: {valid}, '#rrggbb', [r, g, b] of 0 to 1"


def _doors(file: WorldFile) -> Iterator[Fault]:
    walls = {wall.name: wall for wall in file.walls}
    for number, door in enumerate(file.doors):
        wall = walls.get(door.wall)
        if wall is None:
            yield ("doors", number, "wall"), f"there is no wall '{door.wall}'; valid: {', '.join(walls) or 'none'}"
            continue
        low, high = wall.start[wall.along], wall.end[wall.along]
        if door.gap[0] < low or door.gap[1] > high:
            yield (
                ("doors", number, "at"),
                f"the gap from {door.gap[0]:.2f} to {door.gap[1]:.2f} is not in the wall '{wall.name}', which runs "
                f"from {low:.2f} to {high:.2f}",
            )
        elif nowhere := _side_without_room(file, door, wall):
            yield ("doors", number), f"the door leads nowhere: no room is at {nowhere} on one of its sides"
        if door.width < NARROWEST_DOOR and door.leaf != "closed":
            yield (
                ("doors", number, "width"),
                f"{door.width:.2f} m is too narrow for the robot, which is {dim.BASE_WIDTH} m wide; valid from "
                f"{NARROWEST_DOOR} m",
            )
    for (_, a), (number, b) in combinations(enumerate(file.doors), 2):
        if a.wall == b.wall and a.gap[0] < b.gap[1] and b.gap[0] < a.gap[1]:
            yield ("doors", number, "at"), f"'{b.name}' overlaps the door '{a.name}' of the same wall"


def _people(file: WorldFile) -> Iterator[Fault]:
    doors = [door.name for door in file.doors if door.leaf != "closed"]
    for number, person in enumerate(file.people):
        if person.door is not None and person.door not in doors:
            valid = ", ".join(doors) or "none"
            yield ("people", number, "door"), f"there is no door '{person.door}' that is open; valid: {valid}"
        if person.walks and person.door is not None:
            yield ("people", number, "walks"), f"'{person.name}' stands in a door or walks about; leave one of both out"
        if len(person.walks) == 1:
            yield ("people", number, "walks"), f"'{person.name}' walks between points: name two or more"
        for index, (x, y) in enumerate(person.walks):
            if file.room_of(x, y) is None:
                yield ("people", number, "walks", index), f"({x}, {y}) is in none of the rooms"


def _side_without_room(file: WorldFile, door: Door, wall: Wall) -> str | None:
    away = wall.thickness / 2 + 0.1
    for side in (-away, away):
        across = wall.start[1 - wall.along] + side
        x, y = (door.at, across) if wall.along == 0 else (across, door.at)
        if file.room_of(x, y) is None:
            return f"({x:.2f}, {y:.2f})"
    return None


def _common_point(one: Room, other: Room) -> tuple[float, float] | None:
    """Return a point that lies within both rooms, None where they at most share a wall."""
    (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = one.bounds(), other.bounds()
    low, high = (max(ax0, bx0), max(ay0, by0)), (min(ax1, bx1), min(ay1, by1))
    columns, rows = (np.arange(start + ROOM_STEP / 2, end, ROOM_STEP) for start, end in zip(low, high, strict=True))
    points = ((round(float(x), 2), round(float(y), 2)) for x in columns for y in rows)
    return next((at for at in points if one.contains(*at) and other.contains(*at)), None)


def _rooms(file: WorldFile) -> Iterator[Fault]:
    for (_, a), (number, b) in combinations(enumerate(file.rooms), 2):
        if (at := _common_point(a, b)) is not None:
            yield (
                ("rooms", number, "outline"),
                f"'{b.name}' overlaps the room '{a.name}', at {at}; a place must be in one room alone",
            )
    for number, room in enumerate(file.rooms):
        if room.entry is not None and not room.contains(room.entry.x, room.entry.y):
            yield (
                ("rooms", number, "entry"),
                f"({room.entry.x}, {room.entry.y}) is not in the outline of '{room.name}'",
            )


def _furniture(file: WorldFile) -> Iterator[Fault]:
    numbers = {piece.name: number for number, piece in enumerate(file.furniture)}
    for piece in file.furniture:
        x0, y0, x1, y1 = piece.outline()
        if file.room_of((x0 + x1) / 2, (y0 + y1) / 2) is None:
            rooms = ", ".join(room.name for room in file.rooms)
            yield (
                ("furniture", numbers[piece.name]),
                f"'{piece.name}' stands at ({(x0 + x1) / 2:.2f}, {(y0 + y1) / 2:.2f}), in none of the rooms: {rooms}",
            )
    yield from _models(file)
    try:
        yield from standing_in_each_other(file)
    except ValueError as error:
        # MuJoCo refuses a name that is there twice, which is among the faults already.
        if not list(_repeated(file)):
            yield (), f"the scene cannot be built: {error}"


def _models(file: WorldFile) -> Iterator[Fault]:
    """Return what is wrong with pieces from model files, but for what they overlap."""
    for number, piece in enumerate(file.furniture):
        if not isinstance(piece, Model):
            continue
        low = piece.model.lowest() + piece.z
        if low < -BELOW_FLOOR:
            yield (
                ("furniture", number, "z"),
                f"'{piece.name}' reaches {-low:.2f} m below the floor; raise it by {-low:.2f} m (z)",
            )
        surface, height = piece.surface, piece.top_height()
        if surface is None or height is None:
            continue
        place = ("furniture", number, "surface")
        if surface.rect is None and piece.found_top() is None:
            heights = ", ".join(f"{one:.3f}" for one in piece.heights()) or "none"
            yield (*place, "top"), f"no solid shape of '{piece.name}' ends {height:.3f} m high; valid: {heights}"
        elif surface.rect is None and piece.turned():
            yield (
                place,
                f"'{piece.name}' is turned by {piece.yaw} rad, so the rectangle of its top is not worked out; give one "
                "that is along x and y and within the top (rect)",
            )
        elif surface.rect is not None and not _within(surface.rect, piece.outline()):
            x0, y0, x1, y1 = piece.outline()
            yield (
                (*place, "rect"),
                f"{list(surface.rect)} is not within '{piece.name}', which is over [{x0}, {y0}, {x1}, {y1}]",
            )


def _within(inner: Rect, outer: Rect) -> bool:
    low = all(inner[n] >= outer[n] - TOUCHING for n in (0, 1))
    return low and all(inner[n] <= outer[n] + TOUCHING for n in (2, 3))


def _things(file: WorldFile) -> Iterator[Fault]:
    zones = [f"floor:{room.floor_zone.name}" for room in file.rooms if room.floor_zone is not None]
    places = [piece.name for piece in file.surfaces()] + zones
    for number, thing in enumerate(file.things):
        x, y, _ = thing.kind(file.colours).size
        if min(x, y) > dim.STROKE - GRIP_ROOM:
            yield (
                ("things", number, "size" if thing.size is not None else "name"),
                f"the gripper cannot hold '{thing.name}': it is {min(x, y):.3f} m wide where it is narrowest; valid up "
                f"to {dim.STROKE - GRIP_ROOM:.2f} m",
            )
        if thing.name.startswith(f"{PARCEL} "):
            yield ("things", number, "name"), f"'{thing.name}' is a parcel's name; name it otherwise"
        for index, place in enumerate(thing.places):
            if place not in places:
                yield (
                    ("things", number, "places", index),
                    f"'{place}' is neither a surface nor a floor zone; valid: {', '.join(places) or 'none'}",
                )
    names = {thing.name for thing in file.things}
    for seed, layout in file.layouts.items():
        for name, place in layout.items():
            if name not in names:
                yield ("layouts", str(seed), name), f"there is no thing '{name}'; valid: {', '.join(sorted(names))}"
            elif place not in places:
                yield ("layouts", str(seed), name), f"'{place}' is no place; valid: {', '.join(places)}"


def _names(file: WorldFile) -> Iterator[Fault]:
    rooms = [room.name for room in file.rooms]
    for number, name in enumerate(file.start_rooms):
        if name not in rooms:
            yield ("start_rooms", number), f"there is no room '{name}'; valid: {', '.join(rooms)}"
    surfaces = [piece.name for piece in file.surfaces()]
    if file.far_spot is not None and file.far_spot.surface not in surfaces:
        yield ("far_spot", "surface"), f"there is no surface '{file.far_spot.surface}'; valid: {', '.join(surfaces)}"
