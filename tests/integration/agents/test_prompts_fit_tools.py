"""What a prompt calls by a name is there: tools' arguments and result fields, the request, the report, the facts."""

import re
from pathlib import Path

import pytest

import quartet_approach
import quartet_moveit
import quartet_nav2
import quartet_pick
import quartet_place
from quartet_agent_runtime import load_prompt
from quartet_agent_runtime._untrusted import MARK
from quartet_contracts import ARGUMENTS, MODEL_SKILLS, MODEL_TOOLS, REPORTS, RESULTS, TaskReport
from quartet_orchestrator.tasks.briefs import facts_for, orchestrator_facts
from quartet_perception import server as perception
from quartet_site import load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
AGENTS = [quartet_approach.definition(), quartet_pick.definition(), quartet_place.definition()]
NAME = re.compile(r"`([a-z][a-z0-9_]*)`")


def fields(schema):
    """The names of all properties in a JSON schema, at any depth."""
    if isinstance(schema, list):
        return {name for part in schema for name in fields(part)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema.get("properties", {}))
    return own | {name for part in schema.values() for name in fields(part)}


def keys(facts):
    """The names of all entries in a Facts block, at any depth."""
    if isinstance(facts, list):
        return {key for part in facts for key in keys(part)}
    if not isinstance(facts, dict):
        return set()
    return set(facts) | {key for part in facts.values() for key in keys(part)}


ASKED = {
    # Of things that are not there, so that everything is told.
    "approach": {"target_area": "garage", "object_name": "work bench", "next_action": "pick"},
    "pick": {"object_name": "red cup"},
    "place": {"target_location": "garage", "object_name": "red cup", "object_height_m": 0.1},
}


def facts_of(build, *arguments):
    return build(load_robot(HOME / "robot.yaml"), load_site(HOME / "site.yaml"), *arguments)


@pytest.fixture
async def tools(open_server):
    """Every tool of the servers that agents use, by its full name."""
    found = {}
    for package in (quartet_nav2, quartet_moveit, perception):
        hands = await open_server(package)
        for tool in await hands.server.mcp.list_tools(run_middleware=False):
            found[f"{package.SERVER.name}__{tool.name}"] = tool
    return found


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.skill.value)
async def test_every_name_in_a_prompt_is_there(agent, tools):
    known = {MARK, f"report_{agent.skill.value}_result", *MODEL_TOOLS[agent.skill]}
    for name in MODEL_TOOLS[agent.skill]:
        known |= fields(tools[name].parameters) | fields(tools[name].output_schema)
    known |= set(ARGUMENTS[agent.skill].model_fields) | fields(REPORTS[agent.skill].model_json_schema())
    arguments = ARGUMENTS[agent.skill].model_validate(ASKED[agent.skill])
    known |= keys(facts_of(agent.facts, arguments))
    assert set(NAME.findall(agent.prompt)) - known == set()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.skill.value)
async def test_a_prompt_tells_what_each_tool_needs(agent, tools):
    words = set(re.findall(r"\w+", agent.prompt))
    for name in MODEL_TOOLS[agent.skill]:
        assert set(tools[name].parameters.get("required", [])) - words == set(), name


def test_the_orchestrators_prompt_tells_each_tool_with_its_arguments():
    told = {name: set(re.findall(r"\w+", given)) for name, given in re.findall(r"`(\w+)\((.*?)\)`", PROMPT)}
    filled_in = {"object_id", "target_id", "held_id", "object_height_m"}
    assert told == {
        **{skill.value: set(ARGUMENTS[skill].model_fields) - filled_in for skill in MODEL_SKILLS},
        "look": set(),
        "ask_person": {"question", "choices"},
        "report_task_result": set(TaskReport.model_fields),
    }


def test_every_name_in_the_orchestrators_prompt_is_there():
    known = {MARK, "ok", "message", *(skill.value for skill in MODEL_SKILLS), *fields(TaskReport.model_json_schema())}
    for skill in MODEL_SKILLS:
        known |= set(ARGUMENTS[skill].model_fields) | set(RESULTS[skill].model_fields)
    known |= keys(facts_for("", facts_of(orchestrator_facts))) | {"look", "ask_person", "choices", "report_task_result"}
    assert set(NAME.findall(PROMPT)) - known == set()


PROMPT = load_prompt("quartet_orchestrator")
