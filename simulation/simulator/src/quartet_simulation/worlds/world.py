"""A world as the simulation uses it: areas, surfaces, containers, homes of objects, and the geometry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mujoco

from quartet_simulation.worlds.objects import Finish, ObjectKind
from quartet_simulation.worlds.paint import Pattern, Rgb

Pose2 = tuple[float, float, float]
Rect = tuple[float, float, float, float]
"""x from, y from, x to, y to [m]."""


@dataclass(frozen=True)
class AreaInfo:
    """An area by name: its rectangle in map and the pose at its entry."""

    name: str
    entry: Pose2
    outline: tuple[tuple[float, float], ...]
    aliases: tuple[str, ...] = ()
    landmarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class SurfaceInfo:
    """Flat top on which objects can stand. `strips` are its parts within reach of a robot [map]."""

    name: str
    area: str
    rect: Rect
    height: float
    strips: tuple[Rect, ...]
    colours: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    approach: Pose2 | None = None


@dataclass(frozen=True)
class ContainerInfo:
    """Container that is open at the top. `rect` is its outside, `rim` the height of its rim."""

    name: str
    area: str
    rect: Rect
    rim: float
    colours: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    approach: Pose2 | None = None


@dataclass(frozen=True)
class Light:
    """A light of the world: parallel along `direction`, or at a point."""

    direction: tuple[float, float, float]
    at: tuple[float, float, float] | None
    strength: float


@dataclass(frozen=True)
class PersonInfo:
    """Somebody in the world.

    The door in which they stand at the start, and how long they stay [s], or the points between which they walk, one
    after the other and from the first again, and how fast [m/s].
    """

    name: str
    door: str | None
    leaves_after: float
    walks: tuple[tuple[float, float], ...] = ()
    speed: float | None = None


@dataclass(frozen=True)
class World:
    """A world as the simulation uses it.

    `build` adds its furniture to a spec; `homes` says where each object may be: names of surfaces, or floor zones as
    "floor:<key>".
    """

    name: str
    description: str
    bounds: Rect
    build: Callable[[mujoco.MjSpec], object]
    areas: tuple[AreaInfo, ...]
    surfaces: tuple[SurfaceInfo, ...]
    containers: tuple[ContainerInfo, ...]
    floor_zones: dict[str, tuple[str, Rect]]
    homes: dict[str, tuple[str, ...]]
    kinds: dict[str, ObjectKind]
    """What each object of `homes` is."""
    start_areas: tuple[str, ...]
    fixed: dict[int, dict[str, str]] = field(default_factory=dict)
    """Per seed: object -> home, for worlds that promise a layout."""
    far_spot: tuple[str, tuple[float, float]] = ("", (0.0, 0.0))
    """Surface and point beyond the arm's reach, for scenarios that ask for it."""
    overhead: tuple[float, float, float] = (0, 0, 8)
    """Centre of the overhead view on the floor and the height of its camera."""
    materials: dict[str, tuple[Rgb, Pattern]] = field(default_factory=dict)
    """Materials of this world alone: mean colour and pattern."""
    ambient: float = 0.38
    camera_light: float = 0.30
    lights: tuple[Light, ...] = ()
    parking: tuple[Pose2, ...] = ()
    """Where a robot stands aside for another one."""
    doors: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Middle of each doorway that is no closed door [map]."""
    leaves: dict[str, float] = field(default_factory=dict)
    """By how much the leaf of a door turns until it is closed, for each with an open leaf [rad]."""
    people: tuple[PersonInfo, ...] = ()
    parcels: tuple[str, ...] = ()
    """What people fill places with, where a scenario says so; otherwise they are away."""
    model_files: tuple[Path, ...] = ()
    """Files that its scene and furniture are made of."""

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of all that can be moved: the objects of `homes`, then the parcels."""
        return (*self.homes, *self.parcels)

    @property
    def finishes(self) -> dict[str, Finish]:
        """What the surfaces of its things do to depth cameras, by name."""
        return {name: kind.finish for name, kind in self.kinds.items()}

    def surface(self, name: str) -> SurfaceInfo | None:
        """Return the surface of a name, None where there is none."""
        return next((s for s in self.surfaces if s.name == name), None)

    def area(self, name: str) -> AreaInfo | None:
        """Return the area of a name, None where there is none."""
        return next((a for a in self.areas if a.name == name), None)


def area_at(world: World, x: float, y: float) -> str | None:
    """Return the name of the area that contains the point, None outside of all."""
    for area in world.areas:
        inside, points = False, area.outline
        for (ax, ay), (bx, by) in zip(points, points[1:] + points[:1], strict=True):
            if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
                inside = not inside
        if inside:
            return area.name
    return None
