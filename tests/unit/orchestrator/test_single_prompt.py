"""The prompt of one model for all: the orchestrator's, with the steps of each sub-agent as its own prompt has them."""

import re
from pathlib import Path

import pytest

from quartet_agent_runtime import load_prompt
from quartet_contracts import MODEL_SKILLS, MODEL_TOOLS, Architecture, Skill
from quartet_orchestrator.tasks import make_briefs
from quartet_site import RobotSetup, load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


def prompt_of(architecture: Architecture) -> str:
    setup = RobotSetup(load_robot(HOME / "robot.yaml"), load_site(HOME / "site.yaml"))
    return make_briefs({"summit": setup}, architecture)["summit"].system_prompt("go to the kitchen")


def items(prompt: str, section: str) -> list[str]:
    """Return the list items of a section, each in one line."""
    parts = SECTION.split(prompt)
    text = parts[parts.index(section) + 1]
    return [line.strip() for line in text.splitlines() if re.match(r"\s*(- |\d+\. )", line)]


@pytest.mark.parametrize("skill", MODEL_SKILLS)
@pytest.mark.parametrize("section", ["Steps", "Report"])
def test_one_model_is_told_of_a_step_what_its_agent_is_told(skill: Skill, section: str) -> None:
    told = prompt_of(Architecture.SINGLE)
    wanted = items(load_prompt(f"quartet_{skill}"), section)
    assert len(wanted) >= 3
    assert [one for one in wanted if one not in told] == []


def test_one_model_is_told_all_tools_and_poses() -> None:
    told = prompt_of(Architecture.SINGLE)
    tools = {tool for skill in MODEL_SKILLS for tool in MODEL_TOOLS[skill]}
    assert [tool for tool in tools if tool not in told] == []
    assert '"transit_state"' in told
    assert '"entry":{"x":' in told
    assert "sub-agents" not in told


def test_the_orchestrator_of_sub_agents_is_told_nothing_of_their_work() -> None:
    told = prompt_of(Architecture.MULTI)
    assert "How to do a step" not in told
    assert "__" not in told
    assert "three sub-agents" in told
    assert "kitchen counter" in told
    assert "{%" not in told
