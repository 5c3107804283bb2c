"""The prompt of one model for all: the orchestrator's, with the steps of each sub-agent as its own prompt has them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from quartet_contracts import MODEL_SKILLS, MODEL_TOOLS, Architecture, Skill
from quartet_orchestrator.tasks import make_briefs
from quartet_site import RobotSetup, load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"


def prompt_of(architecture: Architecture) -> str:
    setup = RobotSetup(load_robot(HOME / "robot.yaml"), load_site(HOME / "site.yaml"))
    return make_briefs({"summit": setup}, architecture)["summit"].system_prompt("go to the kitchen")


def items(prompt: str) -> list[str]:
    """Return the list items of a prompt, each in one line."""
    return [line.strip() for line in prompt.splitlines() if re.match(r"\s*(- |\d+\. )", line)]


@pytest.mark.parametrize("skill", MODEL_SKILLS)
def test_one_model_reads_the_steps_of_a_skill_as_its_agent_does(skill: Skill) -> None:
    agent = import_module(f"quartet_{skill}").definition()
    # Only the sub-agent has this one rule, which names its own steps.
    wanted = [one for one in items(agent.prompt) if not one.startswith("- Open the gripper only")]
    assert len(wanted) >= 10
    assert [one for one in wanted if one not in prompt_of(Architecture.SINGLE)] == []


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
