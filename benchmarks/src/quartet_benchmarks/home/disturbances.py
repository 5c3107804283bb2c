"""The kinds of episodes in which things are not as a robot expects them, or somebody changes them while it works."""

from random import Random

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.templates import Draw, Episode, Template
from quartet_benchmarks.home.world import Goal
from quartet_site import SiteFile, Surface

SMALL_M = 0.10
"""A thing of this width at most has room where one parcel is left out [m]."""


def _changed(draw: Draw, template: str, event: str) -> Episode:
    """Return the episode of a thing that somebody takes before the robot can."""
    change = next(one for one in draw.truth["to_happen"] if one["event"] == event)
    name = _standing(draw)
    # What somebody puts on the drop place itself is no work for the robot.
    target = draw.surface(name, but={change["home"]})
    return _fetched(draw, template, name, target)


def _fetched(draw: Draw, template: str, name: str, target: Surface) -> Episode:
    """Return the episode of one thing that is to be brought to a surface."""
    return Episode(
        template,
        f"Pick up the {draw.spoken_name(name)} in the {draw.area_of(name)} and place it on the {target.name} in the "
        f"{target.area}.",
        [Goal(name, "on", target.name)],
    )


def _taken(draw: Draw) -> Episode:
    return _changed(draw, "object is taken away", "taken")


def _moved(draw: Draw) -> Episode:
    return _changed(draw, "object is put elsewhere", "moved")


def _full(draw: Draw) -> Episode:
    target = _with_parcels(draw)
    return _fetched(draw, "drop place is full", draw.any_object(), target)


def _nearly_full(draw: Draw) -> Episode:
    target = _with_parcels(draw)
    name = draw.any_object()
    if max(next(one.appearance.known_size_m for one in draw.site.objects if one.name == name)[:2]) > SMALL_M:
        raise UnfitPlacementError(
            f"'{name}' is too large for the room that is left on the {target.name}",
            "the object is too large for the room that is left",
        )
    return _fetched(draw, "drop place has room for one", name, target)


def _filled(draw: Draw) -> Episode:
    target = _with_parcels(draw)
    name = draw.any_object()
    if draw.area_of(name) == target.area:
        raise UnfitPlacementError(
            f"'{name}' is so near to the {target.name} that nobody could fill that meanwhile",
            "the object is in the area of the place that is to be filled",
        )
    return _fetched(draw, "drop place fills up", name, target)


def _with_parcels(draw: Draw) -> Surface:
    return next(place for place in draw.site.surfaces if place.name == draw.subject)


def _at_edge(draw: Draw) -> Episode:
    name = _standing(draw)
    return _fetched(draw, "object at an edge", name, draw.surface(name))


def _under(draw: Draw) -> Episode:
    name = _standing(draw)
    return _fetched(draw, "object under a top", name, draw.surface(name, but={draw.place}))


def _standing(draw: Draw) -> str:
    """Return the object that the scenario is about. Raises UnfitPlacementError where it is held."""
    thing = draw.truth["objects"][draw.subject]
    if thing["held"] or thing["area"] is None:
        raise UnfitPlacementError(
            f"'{draw.subject}' is held, or in no area", "the object that the kind is about is held, or in no area"
        )
    return draw.take(draw.subject)


def _under_one(rng: Random, site: SiteFile) -> str:
    return f"under:{rng.choice(site.objects).name}@{rng.choice(site.surfaces).name}"


def _of_place(verb: str, rng: Random, site: SiteFile) -> str:
    return f"{verb}:{rng.choice(site.surfaces).name}"


def _of_one(verb: str, rng: Random, site: SiteFile) -> str:
    return f"{verb}:{rng.choice(site.objects).name}"


DISTURBANCES = (
    Template("object is taken away", _taken, lambda rng, site: _of_one("taken", rng, site)),
    Template("object is put elsewhere", _moved, lambda rng, site: _of_one("moved", rng, site)),
    Template("object at an edge", _at_edge, lambda rng, site: _of_one("edge", rng, site)),
    Template("object under a top", _under, _under_one),
    Template("drop place is full", _full, lambda rng, site: _of_place("full", rng, site)),
    Template("drop place fills up", _filled, lambda rng, site: _of_place("filled", rng, site)),
    Template("drop place has room for one", _nearly_full, lambda rng, site: _of_place("nearly_full", rng, site)),
)
