"""What prompts name is there: tools, their arguments, fields of results, requests, reports and facts, and codes."""

import inspect
import re
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import quartet_approach
import quartet_pick
import quartet_place
from quartet_agent_runtime._shown_result import UNREAD
from quartet_contracts import (
    ARGUMENTS,
    MODEL_SKILLS,
    MODEL_TOOLS,
    NOT_RUN,
    REPORTS,
    RESULTS,
    ApproachCode,
    NextAction,
    PickCode,
    PlaceCode,
    Skill,
    TaskReport,
)
from quartet_contracts.skills import Withdrawn
from quartet_contracts.tools import moveit, nav2, perception, results
from quartet_orchestrator.tasks.briefs import KINDS, facts_for, orchestrator_facts
from quartet_orchestrator.tasks.tools import UNREAD as HIDDEN
from quartet_site import RobotFile, SiteFile, load_robot, load_site

ROOT = Path(__file__).parents[3]
SITE = ROOT / "deploy" / "sites" / "home"
AGENTS = {agent.skill: agent for agent in (one.definition() for one in (quartet_approach, quartet_pick, quartet_place))}
CODES = {Skill.APPROACH: ApproachCode, Skill.PICK: PickCode, Skill.PLACE: PlaceCode}
EVERYWHERE = {"ok", "error_code", "message", "text_is"}
"""Fields of every tool result; the last marks texts of others."""


ASKED = {
    # Of things that are not there, so that everything is told.
    Skill.APPROACH: {"target_area": "garage", "object_name": "work bench", "next_action": "pick"},
    Skill.PICK: {"object_name": "red cup"},
    Skill.PLACE: {"target_location": "garage", "object_name": "red cup", "object_height_m": 0.1},
}


def fields(value: Any) -> set[str]:
    """Return the names of all fields in a JSON value, at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(fields, value.values()))
    return set().union(*map(fields, value)) if isinstance(value, list) else set()


def fields_of(*models: type[BaseModel]) -> set[str]:
    """Return the names of all fields of these models and of those in them."""
    schemas = [model.model_json_schema() for model in models]
    defined = [one for schema in schemas for one in (schema, *schema.get("$defs", {}).values())]
    return {name for one in defined for name in one.get("properties", {})}


def words(prompt: str) -> set[str]:
    """Return the names in code style: `one`, and the arguments in `tool(one, two)`."""
    code = re.findall(r"`([^`\n]+)`", prompt)
    return {word for one in code for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", one.split('"')[0])}


def all_codes() -> set[str]:
    """Return every code of the tools' results."""
    modules = (moveit, nav2, perception, results)
    enums = [one for module in modules for one in vars(module).values() if inspect.isclass(one)]
    return {str(code) for enum in enums if issubclass(enum, StrEnum) for code in enum}


@pytest.mark.parametrize("skill", MODEL_SKILLS)
def test_a_prompt_names_what_there_is(skill: Skill, tools: dict[str, Any]) -> None:
    robot: RobotFile = load_robot(SITE / "robot.yaml")
    site: SiteFile = load_site(SITE / "site.yaml")
    named = words(AGENTS[skill].prompt)
    offered = {name: tools[name] for name in MODEL_TOOLS[skill]}
    assert {name for name in named if "__" in name} <= set(offered)
    arguments = {name for one in offered.values() for name in inspect.signature(one).parameters}
    known = {
        *offered,
        *arguments,
        *fields_of(*(one.result for one in offered.values()), ARGUMENTS[skill], REPORTS[skill]),
        *fields(AGENTS[skill].facts(robot, site, ARGUMENTS[skill].model_validate(ASKED[skill]))),
        *map(str, CODES[skill]),
        *all_codes(),
        *EVERYWHERE,
        f"report_{skill}_result",
        "state_name",
        NOT_RUN,
    }
    assert named - known == set()


@pytest.mark.parametrize("tool", UNREAD)
def test_no_prompt_speaks_of_a_field_that_its_model_is_not_shown(tool: str, tools: dict[str, Any]) -> None:
    """An argument may have the name of such a field."""
    if tool in MODEL_SKILLS:
        assert UNREAD[tool] <= fields_of(*RESULTS.values()) | EVERYWHERE, "a field that no result has"
        prompt = (ROOT / "services/orchestrator/src/quartet_orchestrator/prompt.md").read_text()
        assert UNREAD[tool] & words(prompt) - EVERYWHERE == set()
        return
    assert UNREAD[tool] <= fields_of(tools[tool].result), "a field that the result does not have"
    agents = [skill for skill in MODEL_SKILLS if tool in MODEL_TOOLS[skill]]
    assert agents, "a tool that no model has"
    for skill in agents:
        given = {*ARGUMENTS[skill].model_fields}.union(
            *(inspect.signature(tools[name]).parameters for name in MODEL_TOOLS[skill])
        )
        assert UNREAD[tool] & words(AGENTS[skill].prompt) - given == set()


@pytest.mark.parametrize("skill", MODEL_SKILLS)
def test_a_prompt_says_when_to_use_each_code(skill: Skill) -> None:
    of_code_alone = {"NONE", "NAV_VERIFY_OVERRIDE", "PICK_WRONG_OBJECT"}
    assert {str(code) for code in CODES[skill]} - words(AGENTS[skill].prompt) - of_code_alone == set()


def test_facts_have_aliases_of_what_a_sentence_names_and_the_names_of_all_else() -> None:
    site = load_site(SITE / "site.yaml")
    facts = orchestrator_facts(load_robot(SITE / "robot.yaml"), site)
    shown = facts_for("bring the COKE can from the bin in the hall to the kids’ desk", facts)
    named = {kind: [one["name"] for one in shown[kind]] for kind in KINDS}
    assert named == {
        "areas": ["kitchen", "hallway", "kids' room"],
        # The desk is named, and so are the areas of the others.
        "surfaces": ["console table", "desk", "toy shelf", "kids' nightstand"],
        "containers": ["kitchen bin", "toy basket"],
        "objects": ["red coke can"],
    }
    assert shown["objects"] == [one for one in facts["objects"] if one["name"] == "red coke can"]
    others = shown["others"]
    assert others["surfaces"]["living room"] == ["wooden coffee table", "tv stand", "bookshelf"]
    told = [*others["areas"], *others["objects"]]
    told += [name for kind in ("surfaces", "containers") for names in others[kind].values() for name in names]
    told += [name for names in named.values() for name in names]
    assert sorted(told) == sorted(one["name"] for kind in KINDS for one in facts[kind])


@pytest.mark.parametrize("sentence", ["somebody left a mess", "Bring mir etwas zu trinken", "tidy up the dining room"])
def test_facts_name_everything_for_a_sentence_that_names_little(sentence: str) -> None:
    facts = orchestrator_facts(load_robot(SITE / "robot.yaml"), load_site(SITE / "site.yaml"))
    shown = facts_for(sentence, facts)
    assert len(shown["others"]["objects"]) == len(facts["objects"])
    assert len(shown["areas"]) + len(shown["others"]["areas"]) == len(facts["areas"])


FILLED_IN = {"object_id", "target_id", "held_id", "object_height_m"}
"""Arguments that code adds to those of the orchestrator's model."""


def test_the_orchestrators_prompt_names_what_there_is() -> None:
    prompt = (ROOT / "services/orchestrator/src/quartet_orchestrator/prompt.md").read_text()
    signatures = dict(re.findall(r"`(\w+)\(([^)]*)\)`", prompt))
    for skill in MODEL_SKILLS:
        assert set(signatures[skill].split(", ")) == set(ARGUMENTS[skill].model_fields) - FILLED_IN, skill
    assert set(signatures["report_task_result"].split(", ")) == set(TaskReport.model_fields)
    known = {
        *signatures,
        *fields_of(*ARGUMENTS.values(), *RESULTS.values(), TaskReport),
        *(str(code) for codes in CODES.values() for code in codes),
        *EVERYWHERE,
        "question",
        "choices",
        "sentence",
        "others",
    }
    assert words(prompt) - known == set()
    assert words(prompt) & {*FILLED_IN, *HIDDEN} == set()
    table = set(re.findall(r"\b(?:NAV|PICK|PLACE)_[A-Z_]+\b", prompt))
    assert table == {str(code) for codes in CODES.values() for code in codes} - {"NONE", "UNKNOWN", "UNKNOWN_NAME"}
    assert all(code in prompt for code in Withdrawn.__args__)
    assert "UNKNOWN_NAME" in prompt
    assert all(f'"{action}"' in prompt for action in NextAction)
