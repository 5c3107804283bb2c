"""What the orchestrator's model is told about one robot and its site."""

from collections.abc import Mapping
from dataclasses import dataclass

from quartet_agent_runtime import load_prompt, render_prompt, site_names
from quartet_orchestrator.facts import orchestrator_facts
from quartet_orchestrator.names import Names
from quartet_orchestrator.rules import MAX_CYCLES
from quartet_site import Known


@dataclass(frozen=True)
class Brief:
    names: Names
    areas: int
    """How many areas the site has."""
    site_names: tuple[str, ...]
    """Everything that the site calls by a name."""
    system_prompt: str


def make_briefs(robots: Mapping[str, Known]) -> dict[str, Brief]:
    """By robot."""
    prompt = load_prompt("quartet_orchestrator")
    briefs: dict[str, Brief] = {}
    for name, known in robots.items():
        facts = {**orchestrator_facts(known.robot, known.site), "robot": name}
        briefs[name] = Brief(
            Names(known.site),
            len(known.site.areas),
            tuple(site_names(known.site)),
            render_prompt(prompt, facts, max_cycles=MAX_CYCLES),
        )
    return briefs
