"""The kinds of episodes in which somebody changes the world while the robot works."""

from dataclasses import replace
from random import Random

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.templates import Draw, Episode, Template
from quartet_benchmarks.home.world import Goal, Truth
from quartet_site import SiteFile

NOT_FOUND = frozenset({"NAV_TARGET_NOT_VISIBLE", "PICK_SEG_MISSED"})
"""Codes of a thing that is not where it was."""


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
    return Episode(
        template,
        f"Pick up the {draw.spoken_name(name)} in the {draw.area_of(name)} and place it on the {target.name} in the "
        f"{target.area}.",
        [Goal(name, "on", target.name)],
        feasible=False,
        right_codes=NOT_FOUND,
        undone_by=event,
    )


def _taken(draw: Draw) -> Episode:
    return _changed(draw, "object is taken away", "taken")


def _moved(draw: Draw) -> Episode:
    return _changed(draw, "object is put elsewhere", "moved")


def _of_one(verb: str, rng: Random, site: SiteFile) -> str:
    return f"{verb}:{rng.choice(site.objects).name}"


DISTURBANCES = (
    Template("object is taken away", _taken, lambda rng, site: _of_one("taken", rng, site)),
    Template("object is put elsewhere", _moved, lambda rng, site: _of_one("moved", rng, site)),
)
