"""The kinds of episodes: their set-up and the sentence of the task."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.world import Goal, Truth
from quartet_site import CatalogueObject, Container, SiteFile, Surface

COUNTERS = frozenset({"kitchen counter", "sink counter", "counter"})


@dataclass(frozen=True)
class Episode:
    """Task, and what its result is measured by."""

    template: str
    sentence: str
    goals: list[Goal]
    feasible: bool = True
    right_codes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Codes one of which must end the work on an object, by each object that cannot be delivered."""
    also_moved: frozenset[str] = frozenset()
    """Objects without a goal that may end elsewhere, such as what was in the gripper."""
    impossible: tuple[str, ...] = ()
    """Why it is infeasible, one phrase for each goal that no robot of this body can reach."""


class Draw:
    """Draws objects and places of one placement at random."""

    def __init__(
        self, rng: Random, site: SiteFile, truth: Truth, wanted: str | None = None, scenario: str = ""
    ) -> None:
        """`wanted` is the object that is drawn where it fits, such as one that is hidden; `scenario` the template's."""
        self.rng = rng
        self._wanted = wanted
        self.subject, _, self.place = scenario.partition(":")[2].partition("@")
        """What the template's scenario is about, and its place where it names one."""
        self.site = site
        self.truth = truth
        self._taken: set[str] = set()

    def object_on(self, support: str) -> str:
        """Return an object on the "floor", a "counter" or a "table" (any other surface). Raises UnfitPlacementError."""
        found = [
            name
            for name, thing in self.truth["objects"].items()
            if name not in self._taken and not thing["held"] and thing["area"] and _kind(thing["on"]) == support
        ]
        if not found:
            raise UnfitPlacementError(f"no free object on a {support}")
        if self._wanted is not None and self._wanted in found:
            return self.take(self._wanted)
        return self.take(self.rng.choice(sorted(found)))

    def any_object(self) -> str:
        """Return an object on a table or a counter. Raises UnfitPlacementError."""
        return self.object_on(self.rng.choice(["table", "counter"]))

    def take(self, name: str) -> str:
        """Mark an object as taken and return its name."""
        self._taken.add(name)
        return name

    def area_of(self, name: str) -> str:
        """Return the area that an object is in."""
        return str(self.truth["objects"][name]["area"])

    def support_of(self, name: str) -> str:
        """Return the surface that an object is on, or "floor"."""
        return str(self.truth["objects"][name]["on"])

    def surface(self, *names: str, but: Collection[str | None] = ()) -> Surface:
        """Return a surface without any of the named objects that is none of `but`. Raises UnfitPlacementError."""
        supports = {self.support_of(name) for name in names if name in self.truth["objects"]} | set(but)
        others = [s for s in self.site.surfaces if s.name not in supports]
        if not others:
            raise UnfitPlacementError("the site has no other surface")
        return self.rng.choice(others)

    def container(self) -> Container:
        """Return a container. Raises UnfitPlacementError."""
        if not self.site.containers:
            raise UnfitPlacementError("the site has no container")
        return self.rng.choice(self.site.containers)

    def area(self, *names: str) -> str:
        """Return an area without any of the named objects, if there is one."""
        areas = {self.area_of(name) for name in names if name in self.truth["objects"]}
        return self.rng.choice([a.name for a in self.site.areas if a.name not in areas] or [self.site.areas[0].name])

    def spoken_name(self, name: str) -> str:
        """Return how a person may call the object: its name, or an alias that means nothing else here."""
        thing = next(o for o in self.site.objects if o.name == name)
        clear = [alias for alias in thing.aliases if _means_only(alias, thing, self.site)]
        return self.rng.choice([name, name, *clear[:2]])


def _kind(support: str | None) -> str | None:
    if support is None or support == "floor":
        return support
    return "counter" if support in COUNTERS else "table"


def _means_only(alias: str, thing: CatalogueObject, site: SiteFile) -> bool:
    words = set(alias.split())
    others = (name for o in site.objects if o is not thing for name in (o.name, *o.aliases))
    return not any(words <= set(other.split()) for other in others)


@dataclass(frozen=True)
class Template:
    """Kind of episode."""

    name: str
    make: Callable[[Draw], Episode]
    scenario: Callable[[Random, SiteFile], str] = lambda rng, site: ""
    """Returns the scenario for the reset of the simulation."""


def _to_surface(support: str, words: str) -> Callable[[Draw], Episode]:
    return _to_place(f"{support} to surface", support, words, "on", Draw.surface)


def _to_container(support: str, words: str) -> Callable[[Draw], Episode]:
    return _to_place(f"{support} to container", support, words, "in", lambda draw, _: draw.container())


def _to_place(
    template: str,
    support: str,
    words: str,
    relation: Literal["on", "in"],
    choose: Callable[[Draw, str], Surface | Container],
) -> Callable[[Draw], Episode]:
    def make(draw: Draw) -> Episode:
        name = draw.object_on(support)
        target = choose(draw, name)
        return Episode(
            template,
            words.format(
                o=draw.spoken_name(name),
                area=draw.area_of(name),
                support=draw.support_of(name),
                target=target.name,
                target_area=target.area,
            ),
            [Goal(name, relation, target.name)],
        )

    return make


def _to_floor(support: str, words: str) -> Callable[[Draw], Episode]:
    def make(draw: Draw) -> Episode:
        name = draw.object_on(support)
        area = draw.area(name)
        return Episode(
            f"{support} to floor",
            words.format(
                o=draw.spoken_name(name), area=draw.area_of(name), support=draw.support_of(name), target_area=area
            ),
            [Goal(name, "floor", area)],
        )

    return make


def _two_to_one_surface(draw: Draw) -> Episode:
    first, second = draw.any_object(), draw.any_object()
    target = draw.surface(first, second)
    return Episode(
        "two objects, one surface",
        f"Bring the {draw.spoken_name(first)} from the {draw.support_of(first)} in the {draw.area_of(first)} and the "
        f"{draw.spoken_name(second)} from the {draw.support_of(second)} in the {draw.area_of(second)} "
        f"to the {target.name} in the {target.area}.",
        [Goal(first, "on", target.name), Goal(second, "on", target.name)],
    )


def _two_targets(draw: Draw) -> Episode:
    first, second = draw.any_object(), draw.any_object()
    surface, container = draw.surface(first), draw.container()
    return Episode(
        "two objects, two targets",
        f"Put the {draw.spoken_name(first)} that is in the {draw.area_of(first)} on the {surface.name} in the "
        f"{surface.area}, then throw the {draw.spoken_name(second)} from the {draw.area_of(second)} into the "
        f"{container.name} in the {container.area}.",
        [Goal(first, "on", surface.name), Goal(second, "in", container.name)],
    )


def _absent(draw: Draw) -> Episode:
    name = draw.take(draw.rng.choice(sorted(draw.truth["absent"])))
    area, target = draw.rng.choice(draw.site.areas).name, draw.surface()
    return Episode(
        "object is not there",
        f"Pick up the {name} in the {area} and place it on the {target.name} in the {target.area}.",
        [Goal(name, "on", target.name)],
    )


OUT_OF_REACH = "red coke can"


def _out_of_reach(draw: Draw) -> Episode:
    name = draw.take(OUT_OF_REACH)
    target = draw.surface(name)
    return Episode(
        "object at the back",
        f"Fetch the {name} from the {draw.support_of(name)} in the {draw.area_of(name)} and put it on the "
        f"{target.name} in the {target.area}.",
        [Goal(name, "on", target.name)],
    )


def _held(draw: Draw) -> str:
    held = draw.truth["held"]
    if held is None:
        raise UnfitPlacementError("nothing is in the gripper")
    return draw.take(held)


def _holds_the_wanted(draw: Draw) -> Episode:
    name = _held(draw)
    target = draw.surface()
    return Episode(
        "wanted object is in the gripper",
        f"You are holding the {name}. Put it on the {target.name} in the {target.area}.",
        [Goal(name, "on", target.name)],
    )


def _holds_another(draw: Draw) -> Episode:
    held = _held(draw)
    name = draw.any_object()
    target = draw.surface(name)
    return Episode(
        "another object is in the gripper",
        f"Pick up the {draw.spoken_name(name)} in the {draw.area_of(name)} and place it on the {target.name} "
        f"in the {target.area}.",
        [Goal(name, "on", target.name)],
        also_moved=frozenset({held}),
    )


def _one_absent(rng: Random, site: SiteFile) -> str:
    return f"absent:{rng.choice(site.objects).name}"


def _one_held(rng: Random, site: SiteFile) -> str:
    return f"in_gripper:{rng.choice(slim_objects(site))}"


def slim_objects(site: SiteFile) -> list[str]:
    """Return the names of the objects that fit the gripper."""
    return [o.name for o in site.objects if min(o.appearance.known_size_m[:2]) <= 0.09]


TEMPLATES = (
    Template(
        "counter to surface",
        _to_surface("counter", "Pick up the {o} in the {area} and place it on the {target} in the {target_area}."),
    ),
    Template(
        "table to container",
        _to_container("table", "Throw the {o} from the {support} in the {area} into the {target} in the {target_area}"),
    ),
    Template(
        "floor to surface",
        _to_surface(
            "floor", "The {o} lies on the floor of the {area}. Please put it on the {target} in the {target_area}."
        ),
    ),
    Template("object is not there", _absent, _one_absent),
    Template("two objects, one surface", _two_to_one_surface),
    Template(
        "table to floor",
        _to_floor(
            "table", "Take the {o} from the {support} in the {area} to the {target_area} and put it on the floor there."
        ),
    ),
    Template("wanted object is in the gripper", _holds_the_wanted, _one_held),
    Template(
        "counter to container",
        _to_container("counter", "can you get the {o} in the {area} and drop it in the {target} in the {target_area}?"),
    ),
    Template("object at the back", _out_of_reach, lambda rng, site: f"out_of_reach:{OUT_OF_REACH}"),
    Template(
        "table to surface",
        _to_surface("table", "move the {o} from the {support} in the {area} to the {target} in the {target_area}"),
    ),
    Template(
        "floor to container",
        _to_container(
            "floor",
            "Tidy up: pick the {o} up from the floor in the {area} and put it into the {target} in the {target_area}.",
        ),
    ),
    Template("another object is in the gripper", _holds_another, _one_held),
    Template("two objects, two targets", _two_targets),
    Template(
        "counter to floor",
        _to_floor(
            "counter", "Fetch the {o} from the {support} in the {area} and leave it on the floor of the {target_area}."
        ),
    ),
)
"""Templates in the order of the suite, easy and hard mixed, so that a short run has many kinds."""
