"""What a model is shown of a tool, and that it can still be called as shown."""

from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from quartet_agent_runtime._report import skill_report
from quartet_agent_runtime._shown_tool import shown_tool
from quartet_agent_runtime._tools import ToolSpec
from quartet_contracts import ARGUMENTS, Skill


class Target(BaseModel):
    """Made for programmers."""

    state_name: str | None = Field(None, description="a named state", max_length=64, pattern="^[a-z]+$")
    joints: list[float] | None = Field(None, min_length=2, max_length=2)


class Move(BaseModel):
    """Arguments of a motion."""

    target: Target = Field(description="where to")
    names: list[str] | None = Field(None, max_length=50)
    title: str | None = None
    speed: float = Field(0.5, gt=0, le=1)


SPEC = ToolSpec("arm__move", "Move the arm\nto a target.\n\nFailures: BUSY.", Move.model_json_schema())


def shown(prompt):
    function = shown_tool(SPEC, prompt)["function"]
    return function["description"], function["parameters"]


def test_of_a_tool_that_the_prompt_names_it_shows_the_first_paragraph_and_the_arguments_that_are_named():
    description, parameters = shown("Call `arm__move` with `target` and its `state_name`.")
    assert description == "Move the arm to a target."
    assert parameters == {
        "type": "object",
        "properties": {
            "target": {
                "type": "object",
                "properties": {"state_name": {"type": "string"}},
            }
        },
        "required": ["target"],
    }


def test_an_argument_that_the_prompt_does_not_speak_of_keeps_its_description():
    parameters = shown("Call arm__move.")[1]
    assert parameters["properties"] == {"target": {"type": "object", "properties": {}, "description": "where to"}}


def test_a_tool_that_the_prompt_does_not_name_is_shown_whole():
    for prompt in ("Do your work.", "Call arm__move_slowly with state_name."):
        assert shown(prompt) == (SPEC.description, SPEC.schema)


def test_arguments_are_shown_without_null_and_bounds():
    parameters = shown("arm__move: target, joints, names, speed")[1]
    assert parameters["properties"] == {
        "speed": {"type": "number", "default": 0.5},
        "target": {"type": "object", "properties": {"joints": {"type": "array", "items": {"type": "number"}}}},
        "names": {"type": "array", "items": {"type": "string"}},
    }


def test_the_type_of_values_by_name_is_shown():
    schema = {
        "type": "object",
        "properties": {"joints": {"type": "object", "additionalProperties": {"type": "number"}}},
    }
    shown = shown_tool(ToolSpec("move", "", {**schema, "additionalProperties": False}), "move: joints")
    assert shown["function"]["parameters"] == schema


def test_a_property_called_title_is_no_noise():
    assert "title" in shown("Call arm__move with target and title.")[1]["properties"]


def test_the_schema_of_the_tool_itself_stays_as_it_is():
    before = Move.model_json_schema()
    shown("arm__move: target")
    assert SPEC.schema == before


def test_a_definition_that_contains_itself_is_shown_with_its_reference():
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    spec = ToolSpec(
        "x", "x", {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    )
    parameters = shown_tool(spec, "x: node, next")["function"]["parameters"]
    assert parameters["properties"]["node"]["properties"]["next"] == {"$ref": "#/$defs/Node"}
    assert parameters["$defs"] == {"Node": node}


def test_what_is_shown_of_every_skill_and_report_is_a_schema_that_takes_the_same_calls():
    calls = {
        Skill.APPROACH: {"target_area": "kitchen", "object_name": "red cup", "next_action": "pick"},
        Skill.PICK: {"object_name": "red cup"},
        Skill.PLACE: {"target_location": "desk", "object_name": "red cup", "object_height_m": 0.1},
    }
    for skill, arguments in calls.items():
        spec = ToolSpec(skill, "", ARGUMENTS[skill].model_json_schema())
        report = skill_report(skill).spec
        said = {"success": True, "error_code": "NONE", "reason": "done"}
        for one, value in ((spec, arguments), (report, said)):
            validator = Draft202012Validator(shown_tool(one, one.name)["function"]["parameters"])
            assert validator.is_valid(value)
            assert not validator.is_valid({})


def test_definitions_that_name_each_other_are_shown_as_they_are():
    """Each in the place of its name would be more schemas than there is memory for."""
    names = [f"d{n}" for n in range(20)]
    each = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
    schema = {
        "type": "object",
        "properties": {"a": each},
        "$defs": {name: dict(each) for name in names},
        "required": ["a"],
    }
    function = shown_tool(ToolSpec("arm__move", "Moves.", schema), "Call arm__move.")["function"]
    assert function["parameters"] == schema


def test_a_schema_that_is_none_is_shown_as_it_is():
    for odd in (
        {"properties": {"a": "b"}, "required": ["a"]},
        {"anyOf": [1]},
        {"items": {"$ref": "#/$defs/x"}, "$defs": []},
    ):
        function = shown_tool(ToolSpec("arm__move", "Moves.", odd), "Call arm__move.")["function"]
        assert function["parameters"] == odd
