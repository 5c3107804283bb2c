"""The scenario of an episode: what its text asks for beside the seed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from quartet_simulation.errors import UnknownNameError
from quartet_simulation.worlds import placement
from quartet_simulation.worlds.world import World

LIGHTS: dict[str, tuple[float, tuple[float, float, float]]] = {
    "normal": (1.0, (1.0, 1.0, 1.0)),
    "dim": (0.55, (1.0, 1.0, 1.0)),
    "warm": (0.95, (1.08, 0.97, 0.80)),
    "cool": (0.95, (0.90, 0.98, 1.08)),
}
ANYWHERE = "anywhere"
SCENARIOS = (
    *LIGHTS,
    *placement.SPACINGS,
    ANYWHERE,
    "absent:<object>",
    "out_of_reach:<object>",
    "in_gripper:<object>",
    "at:<object>@<home>",
    "behind:<object>@<object>",
    "edge:<object>",
    "under:<object>@<surface>",
    "person:<person>",
    "person:<person>@<door>",
    "walks:<person>",
    "closed",
    "closed:<door>",
    "taken:<object>",
    "moved:<object>",
    "moved:<object>@<home>",
    "full:<surface>",
    "nearly_full:<surface>",
    "filled:<surface>",
)


@dataclass
class Scenario:
    """What an episode's scenario asks for."""

    light: str = "normal"
    spacing: str = "roomy"
    anywhere: bool = False
    """Whether things stand all over the tops, also where no robot sees or reaches them."""
    absent: set[str] = field(default_factory=set[str])
    """Objects that are not in the episode."""
    out_of_reach: list[str] = field(default_factory=list[str])
    """Objects at the back of the deepest surface."""
    in_gripper: list[str] = field(default_factory=list[str])
    at: dict[str, str] = field(default_factory=dict[str, str])
    """Home of single objects."""
    behind: dict[str, str] = field(default_factory=dict[str, str])
    """Objects that are hidden from the entry of their area, and by which other one."""
    edge: list[str] = field(default_factory=list[str])
    """Objects that stand at the edge of what they stand on."""
    under: dict[str, str] = field(default_factory=dict[str, str])
    """Objects that stand under the top of a surface, on the board or the floor below it."""
    person: dict[str, str] = field(default_factory=dict[str, str])
    """Who stands in which door at the start; "" for a door that the seed draws."""
    walks: set[str] = field(default_factory=set[str])
    """Who walks about."""
    closed: set[str] = field(default_factory=set[str])
    """Closed doors; "" for one that the seed draws."""
    taken: list[str] = field(default_factory=list[str])
    """Objects that somebody takes away while the robot is about to fetch them."""
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """Objects that somebody puts elsewhere meanwhile, and at which home; "" for one that the seed draws."""
    full: list[str] = field(default_factory=list[str])
    """Surfaces that are full of parcels from the start."""
    nearly_full: list[str] = field(default_factory=list[str])
    """The same with room for one thing."""
    filled: list[str] = field(default_factory=list[str])
    """Surfaces that somebody fills with parcels while the robot is under way with something."""

    @property
    def kept_free(self) -> set[str]:
        """Surfaces on which no things stand at the start, since parcels will."""
        return {*self.full, *self.nearly_full, *self.filled}


def parse_scenario(text: str | None, world: World) -> Scenario:
    """Return what a comma-separated list of SCENARIOS asks for in a world. Raises UnknownNameError for all else."""
    wanted = Scenario()
    readers: dict[str, Callable[[Scenario, str, World], None]] = {
        "absent": lambda to, value, _: to.absent.add(_object(value, world)),
        "out_of_reach": lambda to, value, _: to.out_of_reach.append(_object(value, world)),
        "in_gripper": lambda to, value, _: to.in_gripper.append(_object(value, world)),
        "at": lambda to, value, _: to.at.update([_object_at(value, world)]),
        "behind": _read_behind,
        "edge": lambda to, value, _: to.edge.append(_object(value, world)),
        "under": _read_under,
        "person": _read_person,
        "walks": _read_walks,
        "closed": _read_closed,
        "taken": lambda to, value, _: to.taken.append(_object(value, world)),
        "moved": _read_moved,
        "full": lambda to, value, _: to.full.append(_surface(value, world)),
        "nearly_full": lambda to, value, _: to.nearly_full.append(_surface(value, world)),
        "filled": lambda to, value, _: to.filled.append(_surface(value, world)),
    }
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        verb, _, value = part.partition(":")
        if part in LIGHTS:
            wanted.light = part
        elif part in placement.SPACINGS:
            wanted.spacing = part
        elif part == ANYWHERE:
            wanted.anywhere = True
        elif verb in readers:
            readers[verb](wanted, value, world)
        else:
            raise UnknownNameError("scenario", part, SCENARIOS)
    return wanted


def _read_behind(to: Scenario, value: str, world: World) -> None:
    name, _, cover = value.partition("@")
    to.behind[_object(name, world)] = _object(cover, world)


def _read_under(to: Scenario, value: str, world: World) -> None:
    name, _, surface = value.partition("@")
    to.under[_object(name, world)] = _surface(surface, world)


def _read_person(to: Scenario, value: str, world: World) -> None:
    name, _, door = value.partition("@")
    _check_name("person", name, [one.name for one in world.people])
    if door:
        _check_name("door", door, world.doors)
    to.person[name] = door


def _read_walks(to: Scenario, value: str, world: World) -> None:
    _check_name("person", value, [one.name for one in world.people])
    to.walks.add(value)


def _read_closed(to: Scenario, value: str, world: World) -> None:
    if value:
        _check_name("door with an open leaf", value, world.leaves)
    to.closed.add(value)


def _read_moved(to: Scenario, value: str, world: World) -> None:
    name, home = _object_at(value, world) if "@" in value else (_object(value, world), "")
    to.moved[name] = home


def _object_at(value: str, world: World) -> tuple[str, str]:
    name, _, home = value.partition("@")
    _check_name("home", home, placement.homes_of(world))
    return _object(name, world), home


def _object(name: str, world: World) -> str:
    _check_name("object", name, world.homes)
    return name


def _surface(name: str, world: World) -> str:
    _check_name("surface", name, [surface.name for surface in world.surfaces])
    return name


def _check_name(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise UnknownNameError(what, name, known)
