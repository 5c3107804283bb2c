"""An error about arguments lists those that the model is shown: it can use no other, and never asked for one."""

import json

import pytest

from quartet_agent_runtime import LocalTool, LocalTools, ToolOutcome, ToolSpec

SCHEMA = {
    "type": "object",
    "properties": {
        "pose": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "frame": {"type": "string"}},
            "required": ["x"],
        },
        "speed": {"type": "number", "maximum": 1},
        "camera": {"type": "string"},
    },
    "required": ["pose"],
}
PROMPT = "Call arm__move with `pose`, its `x` and `speed`. End with report_pick_result: success, error_code, reason."


@pytest.fixture
def tools():
    async def move(_arguments, _progress):
        return ToolOutcome({"ok": True})

    return LocalTools([LocalTool(ToolSpec("arm__move", "Moves.", SCHEMA), move)])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"pose": {"x": 1}, "velocity": 1}, "Valid: pose, speed; required: pose"),
        ({"pose": 3}, '"properties": {"x": {"type": "number"}}'),
        ({"pose": {"x": 1}, "speed": 3}, "speed: 3 is greater than the maximum of 1"),
    ],
)
async def test_an_error_lists_the_arguments_that_the_model_is_shown(model, make_loop, talk, tools, arguments, says):
    model.script = [talk.calls(("arm__move", arguments)), talk.report()]
    await make_loop(tools).run(PROMPT, "user")
    result = json.loads(next(message for message in model.last() if message["role"] == "tool")["content"])
    assert result["error_code"] == "INVALID_ARGUMENTS"
    assert says in result["message"]
    assert "camera" not in result["message"]
    assert "frame" not in result["message"]


async def test_a_tool_that_is_shown_whole_is_listed_whole(model, make_loop, talk, tools):
    model.script = [talk.calls(("arm__move", {"velocity": 1})), talk.report()]
    await make_loop(tools).run("Do your work.", "user")
    result = json.loads(next(message for message in model.last() if message["role"] == "tool")["content"])
    assert "Valid: pose, speed, camera; required: pose" in result["message"]


async def test_an_error_of_a_report_lists_what_the_model_is_shown(model, make_loop, talk, tools):
    model.script = [talk.report(reason=4), talk.report()]
    await make_loop(tools).run(PROMPT, "user")
    told = [json.loads(message["content"]) for message in model.last() if message["role"] == "tool"]
    assert "Valid: success, error_code, reason; required" in told[-1]["message"]
    assert "held_object" not in told[-1]["message"]


async def test_what_the_model_is_not_shown_still_works(model, make_loop, talk, tools):
    model.script = [talk.calls(("arm__move", {"pose": {"x": 1, "frame": "map"}, "camera": "front"})), talk.report()]
    await make_loop(tools).run(PROMPT, "user")
    result = json.loads(next(message for message in model.last() if message["role"] == "tool")["content"])
    assert result["ok"]
