"""What the orchestrator's model is told about one robot and its site."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime import area_facts, arm_facts, load_prompt, place_facts, render_prompt, site_names
from quartet_contracts import Architecture, ResultForm
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.rules import MAX_CYCLES
from quartet_procedures import prompt_parts
from quartet_site import RobotFile, RobotSetup, SiteFile

PLACES = ("surface", "container")
"""Kinds of places."""
KINDS = ("areas", "surfaces", "containers", "objects")
"""Entries of the Facts block."""


@dataclass(frozen=True)
class RobotBrief:
    """Content of the model's prompt for one robot, and the names that its site knows."""

    names: SiteNames
    areas: int
    """Number of areas of the site."""
    site_names: tuple[str, ...]
    """Names and aliases of everything in the site."""
    system_prompt: Callable[[str], str]
    """Returns the system prompt for a sentence."""
    facts: dict[str, Any]
    """All names of the site, as in a Facts block."""
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
        whole = {**facts, **work_facts(known.robot, known.site)} if single else None

        def render(sentence: str, facts: dict[str, Any] = facts, whole: dict[str, Any] | None = whole) -> str:
            shown = whole or facts_for(sentence, facts)
            return render_prompt(prompt, shown, max_cycles=MAX_CYCLES, steps=steps, prose=results is ResultForm.PROSE)

        briefs[name] = RobotBrief(
            SiteNames(known.site), len(known.site.areas), tuple(site_names(known.site)), render, facts, known
        )
    return briefs


def facts_for(sentence: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of `facts` that a sentence names, and the bare names of others.

    The areas of its places and the places of its areas are named with them.

    An entry is named if the sentence has all words of its name, of an alias or of a landmark.
    """
    said = _words(sentence)
    named = {kind: [one for one in facts[kind] if _is_named(one, said)] for kind in KINDS}
    needed = {place["area"] for place in (*named["surfaces"], *named["containers"])}
    wanted = {area["name"] for area in named["areas"]}
    for kind in ("surfaces", "containers"):
        named[kind] = [one for one in facts[kind] if one in named[kind] or one["area"] in wanted]
    named["areas"] = [one for one in facts["areas"] if one in named["areas"] or one["name"] in needed]
    rest = {kind: [one for one in facts[kind] if one not in named[kind]] for kind in KINDS}
    others: dict[str, Any] = {kind: [one["name"] for one in rest[kind]] for kind in ("areas", "objects")}
    for kind in ("surfaces", "containers"):
        others[kind] = by_area = dict[str, list[str]]()
        for one in rest[kind]:
            by_area.setdefault(one["area"], []).append(one["name"])
    return {**named, "others": others}


def _is_named(entry: Mapping[str, Any], said: set[str]) -> bool:
    return any(_words(name) <= said for name in (entry["name"], *entry["aliases"], *entry.get("landmarks", [])))


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case, without a plural's s."""
    return {word.rstrip("s") for word in re.findall(r"[\w']+", text.replace("’", "'").lower())}


def orchestrator_facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """Return names and aliases of all areas, places and objects.

    It has no poses: only sub-agents need them.
    """
    return {
        "robot": robot.name,
        "areas": [
            {"name": area.name, "aliases": list(area.aliases), "landmarks": list(area.landmarks)} for area in site.areas
        ],
        "surfaces": [{"name": s.name, "aliases": list(s.aliases), "area": s.area} for s in site.surfaces],
        "containers": [{"name": c.name, "aliases": list(c.aliases), "area": c.area} for c in site.containers],
        "objects": [{"name": thing.name, "aliases": list(thing.aliases)} for thing in site.objects],
    }


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
