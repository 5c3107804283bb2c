"""What the orchestrator's model is told about one robot and its site."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import area_facts, arm_facts, load_prompt, place_facts, render_prompt, site_names
from quartet_contracts import Architecture, ResultForm
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.rules import MAX_CYCLES
from quartet_procedures import prompt_parts
from quartet_site import CatalogueObject, RobotFile, RobotSetup, SiteFile

PLACES = ("surface", "container")
"""Kinds of places."""


@dataclass(frozen=True)
class RobotBrief:
    """System prompt for one robot, and the names that its site knows."""

    names: SiteNames
    areas: int
    """Number of areas of the site."""
    site_names: tuple[str, ...]
    """Names and aliases of everything in the site."""
    system_prompt: str
    facts: dict[str, Any]
    """Facts block of the prompts: the names of the site."""
    setup: RobotSetup
    """The files that all of it comes from."""

    @property
    def site(self) -> SiteFile:
        """The site file."""
        return self.setup.site


def make_briefs(
    robots: Mapping[str, RobotSetup],
    architecture: Architecture = Architecture.MULTI,
    results: ResultForm = ResultForm.TYPED,
) -> dict[str, RobotBrief]:
    """Return the brief of each robot, by robot name; in `single` with what its model needs to do the work itself.

    results: how the model will read those of approach, pick and place.
    """
    prompt = load_prompt("quartet_orchestrator")
    single = architecture is Architecture.SINGLE
    steps = load_prompt("quartet_orchestrator", "steps.md", **prompt_parts()) if single else ""
    briefs: dict[str, RobotBrief] = {}
    for name, known in robots.items():
        facts = {**orchestrator_facts(known.robot, known.site), "robot": name}
        briefs[name] = RobotBrief(
            SiteNames(known.site),
            len(known.site.areas),
            tuple(site_names(known.site)),
            render_prompt(
                prompt,
                {**facts, **work_facts(known.robot, known.site)} if single else facts,
                max_cycles=MAX_CYCLES,
                steps=steps,
                prose=results is ResultForm.PROSE,
            ),
            facts,
            known,
        )
    return briefs


def orchestrator_facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """Return the Facts block of the prompt: names and aliases of areas, places and objects.

    It has no poses: only sub-agents need them.
    """
    return {
        "robot": robot.name,
        "areas": [
            {"name": area.name, "aliases": list(area.aliases), "landmarks": list(area.landmarks)} for area in site.areas
        ],
        "surfaces": [{"name": s.name, "aliases": list(s.aliases), "area": s.area} for s in site.surfaces],
        "containers": [{"name": c.name, "aliases": list(c.aliases), "area": c.area} for c in site.containers],
        "objects": [{"name": thing.name, "aliases": list(thing.aliases), **_height(thing)} for thing in site.objects],
    }


def _height(thing: CatalogueObject) -> dict[str, float]:
    """Return the height of an object as it usually stands [m]; nothing where nobody has measured it."""
    size = thing.appearance.size_m
    return {} if size is None else {"height_m": size[2]}


def work_facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """Return what a model has in its Facts besides that does the work itself: the poses of areas and places, the arm.

    What takes the place of an entry of `orchestrator_facts` has all of its fields.
    """
    places = place_facts(site)
    return {
        "areas": area_facts(site),
        **{f"{kind}s": [_without_kind(one) for one in places if one["kind"] == kind] for kind in PLACES},
        "arm": arm_facts(robot),
    }


def _without_kind(place: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in place.items() if name != "kind"}
