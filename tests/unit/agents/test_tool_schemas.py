"""No tool that an agent shows its model, or a server lists, breaks a provider's rules."""

import asyncio
import json
from typing import Any

import pytest

from quartet_contracts import MODEL_SKILLS
from support.fake_provider import families
from support.schema_rules import CHECKS, OWN_RULES, RULES, broken_rule, broken_schema_rules
from support.shown_tools import FILE, as_file, list_orchestrator, list_servers, shown_tools

Tools = dict[str, list[dict[str, Any]]]
GOOD = {
    "name": "look",
    "description": "Looks.",
    "parameters": {
        "type": "object",
        "properties": {
            "camera": {"type": "string", "enum": ["front", "wrist"]},
            "object_id": {"type": "string", "pattern": "^obj_[0-9a-f]{12}$"},
            "size_m": {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        },
        "required": ["camera"],
    },
    "strict": False,
}
EVERY_RULE = [
    pytest.param(rule, id=f"{family}-{rule['rule']}")
    for family, rules in OWN_RULES.items()
    for rule in rules
    if "rule" in rule
]


@pytest.fixture(scope="module")
def shown() -> Tools:
    return asyncio.run(shown_tools())


def breaking(breaks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return functions with what a rule's `breaks` says; the rest of them is good."""
    function, given = json.loads(json.dumps(GOOD)), dict(breaks)
    copies = given.pop("copies", 1)
    if "description_length" in given:
        function["description"] = "x" * given.pop("description_length")
    if "property" in given:
        function["parameters"]["properties"]["camera"] = given.pop("property")
    if "argument" in given:
        function["parameters"]["properties"][given.pop("argument")] = {"type": "string"}
    return [{**function, **given}] * copies


def test_every_family_has_schema_rules():
    assert set(RULES) == {family.name for family in families()} | {"llama_cpp"}
    assert {rule["rule"] for rules in RULES.values() for rule in rules} == {*CHECKS, "most_tools"}
    assert all(rule["page"].startswith("https://") for rules in RULES.values() for rule in rules)


@pytest.mark.parametrize("rule", EVERY_RULE)
def test_a_rule_finds_the_tool_that_breaks_it(rule):
    assert list(broken_rule(breaking(rule["breaks"]), rule)) != []
    assert list(broken_rule([GOOD], rule)) == []


@pytest.mark.parametrize("family", RULES)
def test_no_tool_that_an_agent_shows_breaks_a_rule(shown, family):
    assert {agent.split()[0] for agent in shown} == {"orchestrator", *map(str, MODEL_SKILLS)}
    for agent, tools in shown.items():
        functions = [tool["function"] for tool in tools]
        assert broken_schema_rules(functions, family) == [], agent


def test_the_doctor_sends_the_tools_that_agents_show(shown):
    if FILE.read_text() != as_file(shown):
        pytest.fail(f"{FILE.name} is out of date; run: python tests/support/shown_tools.py")


@pytest.mark.parametrize("rule", ["arrays_have_items", "root_is_object", "root_without", "name", "valid_schema"])
async def test_no_tool_that_a_server_lists_breaks_what_every_client_relies_on(rule):
    """Clients of third parties show a model the whole schemas."""
    listed = [*(await list_servers()).values(), *list_orchestrator()]
    assert len(listed) > 70
    functions = [{"name": one.name, "description": one.description, "parameters": one.schema} for one in listed]
    for family in ("openai", "anthropic"):
        for one in RULES[family]:
            if one["rule"] == rule:
                assert list(broken_rule(functions, one)) == []
