"""The approach agent: its prompt, the facts in it, and its own code around the model."""

from typing import Any

from quartet_agent_runtime import AgentDefinition, area_facts, arm_facts, load_prompt, place_facts
from quartet_approach.verify import verify
from quartet_contracts import Skill
from quartet_site import RobotFile, SiteFile


def facts(robot: RobotFile, site: SiteFile) -> dict[str, Any]:
    """Return the Facts block: areas, places, the arm's transit state and the standoffs [m]."""
    return {
        "areas": area_facts(site),
        "places": place_facts(site),
        "arm": arm_facts(robot),
        "standoff_m": robot.approach.standoff_m.model_dump(),
    }


def definition() -> AgentDefinition:
    """Return the approach agent, ready to be served."""
    return AgentDefinition(
        skill=Skill.APPROACH, prompt=load_prompt("quartet_approach"), facts=facts, verify=verify, speaks=True
    )
