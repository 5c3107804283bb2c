"""From world.yaml to a World: what the file leaves out is worked out from the geometry."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from quartet_simulation.errors import WorldFileError
from quartet_simulation.worlds.faults import faults_of
from quartet_simulation.worlds.file import Door, Room, Wall, WorldFile
from quartet_simulation.worlds.fixed_model import FixedModels
from quartet_simulation.worlds.free_floor import FreeFloor
from quartet_simulation.worlds.objects import PARCEL, parcel_kind
from quartet_simulation.worlds.paint import WOODS, hex_of, rgb_of
from quartet_simulation.worlds.piece import PaintName, Piece, Pose, Top
from quartet_simulation.worlds.pieces import Bin, Model, RoundTable
from quartet_simulation.worlds.scene import build_scene, closing_of
from quartet_simulation.worlds.shelves import SceneTop
from quartet_simulation.worlds.world import AreaInfo, ContainerInfo, Light, PersonInfo, Pose2, Rect, SurfaceInfo, World
from quartet_site import Fault, SiteFileError, load_file

WORLD_FILE = "world.yaml"
FROM_EDGE = (0.08, 0.17)
"""Things stand this far from the edge where the robot stands [m]."""
FROM_END = 0.20
WIDEST_STRIP = 1.2
SEEN = 0.985
"""How much of a paint's brightness the cameras see in full light."""
SHADE = (0.66, 0.80)
"""The same inside a container."""
OVERHEAD_ROOM = 1.2
CONTAINER_STANDOFF = 0.70
ABOVE_TOP, TOP_ERROR = 0.05, 0.01
"""Up to where above a top its height is looked for, and by how much it may differ from what the file says [m]."""


def load_world(path: Path) -> World:
    """Return the world of a file, or of the world.yaml in a folder. Raises WorldFileError with all of its faults."""
    file = path / WORLD_FILE if path.is_dir() else path
    # By the times of what is beside it too: a file that was edited is read again.
    beside = sorted(file.parent.iterdir()) if file.is_file() else []
    return _loaded(file, tuple(one.stat().st_mtime_ns for one in beside if one.is_file()))


@lru_cache(maxsize=8)
def _loaded(path: Path, _changed: tuple[int, ...]) -> World:
    made: list[World] = []

    def check(file: WorldFile) -> list[Fault]:
        faults = faults_of(file)
        if not faults:
            world, faults = make_world(file)
            made.append(world)
        return faults

    try:
        load_file(
            path,
            WorldFile,
            "world file",
            context=FixedModels(path.parent),
            check=check,
            separate=("doors", "furniture", "things"),
        )
    except SiteFileError as error:
        raise WorldFileError(str(error), error.count) from error
    return made[-1]


def make_world(file: WorldFile) -> tuple[World, list[Fault]]:
    """Return the world of a file without faults of its own, and where the robot finds no room in it."""
    floor, faults = FreeFloor(file), []
    surfaces: list[SurfaceInfo] = []
    containers: list[ContainerInfo] = []
    for number, piece in enumerate(file.furniture):
        for one in piece.places():
            place = _place(file, floor, one)
            if isinstance(place, SurfaceInfo):
                surfaces.append(place)
            elif isinstance(place, ContainerInfo):
                containers.append(place)
            else:
                faults.append((("furniture", number), place))
            if isinstance(place, SurfaceInfo) and isinstance(one, Model | SceneTop):
                faults += [(("furniture", number), text) for text in _nothing_below(floor, place)][:1]
    faults += _too_low(file, floor, surfaces)
    areas: list[AreaInfo] = []
    for number, room in enumerate(file.rooms):
        targets = [_middle(place.strips[0]) for place in surfaces if place.area == room.name]
        targets += [_middle(place.rect) for place in containers if place.area == room.name]
        entry = room.entry or floor.entry(room, targets)
        if entry is None:
            faults.append((("rooms", number), f"the robot finds no room to turn in '{room.name}': 1.3 m are needed"))
            continue
        landmarks = room.landmarks or [piece.name for piece in file.furniture if _room(file, piece) is room][:3]
        areas.append(AreaInfo(room.name, _pose(entry), tuple(room.outline), tuple(room.aliases), tuple(landmarks)))
    boxes = [room.bounds() for room in file.rooms]
    bounds = min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)
    poses = [area.entry for area in areas] + [place.approach for place in (*surfaces, *containers) if place.approach]
    parcels = tuple(f"{PARCEL} {number + 1}" for number in range(file.parcels))
    parking = file.parking or floor.aside([pose[:2] for pose in poses])
    world = World(
        name=file.name,
        description=file.description,
        bounds=bounds,
        build=lambda spec: build_scene(file, spec),
        areas=tuple(areas),
        surfaces=tuple(surfaces),
        containers=tuple(containers),
        floor_zones={
            room.floor_zone.name: (room.name, room.floor_zone.rect)
            for room in file.rooms
            if room.floor_zone is not None
        },
        homes={thing.name: tuple(thing.places) for thing in file.things},
        kinds={thing.name: thing.kind(file.colours) for thing in file.things}
        | {name: parcel_kind(name) for name in parcels},
        start_areas=tuple(file.start_rooms) or tuple(area.name for area in areas),
        fixed=file.layouts,
        far_spot=_far_spot(file, surfaces),
        overhead=_overhead(file, bounds),
        materials={name: (file.colours[name], material.pattern) for name, material in file.materials.items()},
        ambient=file.lights.ambient,
        camera_light=file.lights.camera,
        lights=tuple(Light(lamp.direction, lamp.at, lamp.strength) for lamp in file.lights.lamps),
        parking=tuple(_pose(pose) for pose in parking),
        doors={door.name: _doorway(file, door) for door in file.doors if door.leaf != "closed"},
        leaves={door.name: closing_of(door, _wall(file, door)) for door in file.doors if door.leaf == "open"},
        parcels=parcels,
        model_files=tuple(file.model_files),
        people=tuple(
            PersonInfo(one.name, one.door, one.leaves_after, tuple(one.walks), one.speed) for one in file.people
        ),
    )
    return world, faults


def _place(file: WorldFile, floor: FreeFloor, piece: Piece) -> SurfaceInfo | ContainerInfo | str:
    """Return the surface or container that a piece is, a text where no robot can get to it."""
    room = _room(file, piece)
    rgb = rgb_of(piece.top_paint(), file.colours) or (0.5, 0.5, 0.5)
    if isinstance(piece, Bin):
        pose = piece.approach or floor.around(piece.centre, CONTAINER_STANDOFF)
        if pose is None:
            return _no_room(piece)
        shades = tuple(_seen(rgb, share) for share in (*SHADE, SEEN))
        return ContainerInfo(
            piece.name, room.name, piece.outline(), piece.height, shades, tuple(piece.aliases), _pose(pose)
        )
    height = piece.top_height()
    top: Top | None = getattr(piece, "surface", None)
    assert height is not None, piece.name
    assert top is not None, piece.name
    pose, strips = top.approach, tuple(top.strips)
    if pose is None or not strips:
        found = floor.before(piece.outline(), piece.front if isinstance(piece, SceneTop) else None)
        if found is None:
            return _no_room(piece)
        pose, strips = pose or found[0], strips or _strips(piece, *found)
    colours = _colours(piece.top_paint(), rgb)
    return SurfaceInfo(
        piece.name, room.name, piece.top_rect(), height, strips, colours, tuple(top.aliases), _pose(pose)
    )


def _too_low(file: WorldFile, floor: FreeFloor, surfaces: list[SurfaceInfo]) -> Iterator[Fault]:
    """Yield the things that are higher than the free height over one of their places."""
    free = {top.name: floor.free_above(*_middle(top.strips[0]), top.height) for top in surfaces}
    for number, thing in enumerate(file.things):
        tall = thing.kind(file.colours).size[2]
        for index, place in enumerate(thing.places):
            if tall > free.get(place, math.inf):
                yield (
                    ("things", number, "places", index),
                    f"'{thing.name}' is {tall:.3f} m high, and only {free[place]:.3f} m is free over '{place}'; name "
                    "another place, or raise what is above it",
                )


def _nothing_below(floor: FreeFloor, top: SurfaceInfo) -> Iterator[str]:
    """Yield why things do not stand on a top that is said to be there, for each point that was looked at."""
    for x0, y0, x1, y1 in top.strips:
        for x, y in (_middle((x0, y0, x1, y1)), (x0, y0), (x1, y0), (x0, y1), (x1, y1)):
            found = floor.top_at(x, y, top.height + ABOVE_TOP)
            if found is None or abs(found - top.height) > TOP_ERROR:
                yield (
                    f"things do not stand {top.height:.3f} m high on '{top.name}' at ({x:.2f}, {y:.2f}): what is there "
                    f"is {max(found or 0.0, 0.0):.3f} m high; give its height, and rect or strips where it is flat"
                )


def _wall(file: WorldFile, door: Door) -> Wall:
    return next(wall for wall in file.walls if wall.name == door.wall)


def _doorway(file: WorldFile, door: Door) -> tuple[float, float]:
    wall = _wall(file, door)
    across = wall.start[1 - wall.along]
    return (door.at, across) if wall.along == 0 else (across, door.at)


def _no_room(piece: Piece) -> str:
    return (
        f"the robot finds no room before '{piece.name}': it needs a circle of 1.3 m to turn in and a free way from "
        "there; move it or what stands before it, or say where the robot stands (approach)"
    )


def _room(file: WorldFile, piece: Piece) -> Room:
    room = file.room_of(*_middle(piece.outline()))
    assert room is not None, piece.name
    return room


def _middle(rect: Rect) -> tuple[float, float]:
    return (rect[0] + rect[2]) / 2, (rect[1] + rect[3]) / 2


def _pose(pose: Pose) -> Pose2:
    return pose.x, pose.y, pose.yaw


def _seen(rgb: tuple[float, ...], share: float) -> str:
    return hex_of(tuple(share * c for c in rgb))


def _colours(paint: PaintName, rgb: tuple[float, ...]) -> tuple[str, ...]:
    seen = _seen(rgb, SEEN)
    return ("wood", seen) if paint in WOODS and paint == "wood" else (seen,)


def _strips(piece: Piece, approach: Pose, side: str) -> tuple[Rect, ...]:
    """Return the part of a top within reach of a robot that stands at its side n, e, s or w."""
    x0, y0, x1, y1 = piece.top_rect()
    near, far = FROM_EDGE
    depth = (x1 - x0) if side in "ew" else (y1 - y0)
    far = min(far, depth - 0.06)
    near = min(near, far)
    long = (y0, y1) if side in "ew" else (x0, x1)
    centre = approach.y if side in "ew" else approach.x
    inset = FROM_END if long[1] - long[0] > 3 * FROM_END else (long[1] - long[0]) / 3
    if isinstance(piece, RoundTable):
        near, far, inset, centre = near + 0.05, far + 0.06, (long[1] - long[0]) * 0.26, sum(long) / 2
    low = max(long[0] + inset, centre - WIDEST_STRIP / 2)
    high = min(long[1] - inset, centre + WIDEST_STRIP / 2)
    if side == "w":
        strip = (x0 + near, low, x0 + far, high)
    elif side == "e":
        strip = (x1 - far, low, x1 - near, high)
    elif side == "s":
        strip = (low, y0 + near, high, y0 + far)
    else:
        strip = (low, y1 - far, high, y1 - near)
    return (tuple(round(value, 3) for value in strip),)  # pyright: ignore[reportReturnType]


def _far_spot(file: WorldFile, surfaces: list[SurfaceInfo]) -> tuple[str, tuple[float, float]]:
    """Return the point of a top that is farthest behind its strip, or what the file says."""
    if file.far_spot is not None:
        return file.far_spot.surface, (file.far_spot.x, file.far_spot.y)
    best, found = 0.0, ("", (0.0, 0.0))
    for place in surfaces:
        (sx, sy), (x0, y0, x1, y1) = _middle(place.strips[0]), place.rect
        for x, y in ((x0 + 0.07, sy), (x1 - 0.07, sy), (sx, y0 + 0.07), (sx, y1 - 0.07)):
            depth = abs(x - sx) + abs(y - sy)
            if depth > best and depth < 0.7:
                best, found = depth, (place.name, (round(x, 3), round(y, 3)))
    return found


def _overhead(file: WorldFile, bounds: Rect) -> tuple[float, float, float]:
    if file.overhead is not None:
        return file.overhead.x, file.overhead.y, file.overhead.height
    x, y = _middle(bounds)
    # The view is 45 degrees high and 4:3.
    tall = max(bounds[3] - bounds[1], (bounds[2] - bounds[0]) * 3 / 4)
    return round(x, 3), round(y, 3), round(tall / 2 / 0.4142 * OVERHEAD_ROOM, 2)
