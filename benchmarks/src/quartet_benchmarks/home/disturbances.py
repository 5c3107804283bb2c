"""The kinds of episodes in which somebody changes the world while the robot works."""

from dataclasses import replace
from random import Random

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.templates import Draw, Episode, Template
from quartet_benchmarks.home.world import Goal, Truth
from quartet_site import SiteFile, Surface

NOT_FOUND = frozenset({"NAV_TARGET_NOT_VISIBLE", "PICK_SEG_MISSED"})
"""Codes of a thing that is not where it was."""
NO_ROOM = frozenset({"PLACE_SEG_MISSED", "PLACE_PLAN_FAILED", "PLACE_REACH_EXCEEDED"})
"""Codes of a place on which there is no room."""
SMALL_M = 0.10
"""A thing of this width at most has room where one parcel is left out [m]."""


def as_it_happened(episode: Episode, after: Truth) -> Episode:
    """Return the episode as one that can be done when nobody did what would have made it impossible."""
    if not episode.undone_by or any(one["event"] == episode.undone_by for one in after["happened"]):
        return episode
    return replace(episode, feasible=True, right_codes=frozenset())


def _changed(draw: Draw, template: str, event: str) -> Episode:
    """Return the episode of a thing that somebody takes before the robot can."""
    change = next(one for one in draw.truth["to_happen"] if one["event"] == event)
    thing = draw.truth["objects"].get(change["object"])
    if thing is None or thing["held"] or thing["area"] is None:
        raise UnfitPlacementError(f"'{change['object']}' is not where somebody could take it")
    name = draw.take(change["object"])
    # What somebody puts on the drop place itself is no work for the robot.
    target = draw.surface(name, but={change["home"]})
    return _fetched(draw, template, name, target, NOT_FOUND, event)


def _fetched(
    draw: Draw, template: str, name: str, target: Surface, right_codes: frozenset[str], undone_by: str = ""
) -> Episode:
    """Return the episode of one thing that is to be brought to a surface."""
    return Episode(
        template,
        f"Pick up the {draw.spoken_name(name)} in the {draw.area_of(name)} and place it on the {target.name} in the "
        f"{target.area}.",
        [Goal(name, "on", target.name)],
        feasible=not right_codes,
        right_codes=right_codes,
        undone_by=undone_by,
    )


def _taken(draw: Draw) -> Episode:
    return _changed(draw, "object is taken away", "taken")


def _moved(draw: Draw) -> Episode:
    return _changed(draw, "object is put elsewhere", "moved")


def _full(draw: Draw) -> Episode:
    target = _with_parcels(draw)
    return _fetched(draw, "drop place is full", draw.any_object(), target, NO_ROOM)


def _nearly_full(draw: Draw) -> Episode:
    target = _with_parcels(draw)
    name = draw.any_object()
    if max(next(one.appearance.size_m for one in draw.site.objects if one.name == name)[:2]) > SMALL_M:
        raise UnfitPlacementError(f"'{name}' is too large for the room that is left on the {target.name}")
    return _fetched(draw, "drop place has room for one", name, target, frozenset())


def _filled(draw: Draw) -> Episode:
    filled = next(one["home"] for one in draw.truth["to_happen"] if one["event"] == "filled")
    target = next(place for place in draw.site.surfaces if place.name == filled)
    name = draw.any_object()
    if draw.area_of(name) == target.area:
        raise UnfitPlacementError(f"'{name}' is so near to the {target.name} that nobody could fill that meanwhile")
    return _fetched(draw, "drop place fills up", name, target, NO_ROOM, "filled")


def _with_parcels(draw: Draw) -> Surface:
    on = {thing["on"] for name, thing in draw.truth["parcels"].items()}
    return next(place for place in draw.site.surfaces if place.name in on)


def _of_place(verb: str, rng: Random, site: SiteFile) -> str:
    return f"{verb}:{rng.choice(site.surfaces).name}"


def _of_one(verb: str, rng: Random, site: SiteFile) -> str:
    return f"{verb}:{rng.choice(site.objects).name}"


DISTURBANCES = (
    Template("object is taken away", _taken, lambda rng, site: _of_one("taken", rng, site)),
    Template("object is put elsewhere", _moved, lambda rng, site: _of_one("moved", rng, site)),
    Template("drop place is full", _full, lambda rng, site: _of_place("full", rng, site)),
    Template("drop place fills up", _filled, lambda rng, site: _of_place("filled", rng, site)),
    Template("drop place has room for one", _nearly_full, lambda rng, site: _of_place("nearly_full", rng, site)),
)
