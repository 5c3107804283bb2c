"""Calls as local models write them, through the gateway client, the loop, its journal and its replay."""

import json

import pytest

from quartet_agent_runtime import Cause, LocalTool, LocalTools, ToolOutcome, ToolSpec, read_turns
from quartet_process import REGISTRY

CAN = {"object_name": "red can"}
PICK = {
    "type": "object",
    "properties": {
        "object_name": {"type": "string", "minLength": 1},
        "standoff_m": {"type": "number", "default": 0.5, "maximum": 1.0},
        "object_id": {"anyOf": [{"type": "string", "pattern": "^obj_"}, {"type": "null"}], "default": None},
        "slowly": {"type": "boolean", "default": False},
        "names": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
        "size_m": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}], "default": None},
    },
    "required": ["object_name"],
    "additionalProperties": False,
}


class Hand:
    """Two tools that note what they were called with."""

    def __init__(self):
        self.picked = []

    @property
    def tools(self):
        async def pick(arguments, _progress):
            self.picked.append(arguments)
            return ToolOutcome({"ok": True, "error_code": "NONE"})

        arm = ToolSpec("moveit__pick_up", "Lifts.", PICK)
        return LocalTools([LocalTool(ToolSpec("pick", "Picks.", PICK), pick), LocalTool(arm, pick)])


@pytest.fixture
def hand():
    return Hand()


async def no_image(_reference):
    return None


def counted(kind):
    return REGISTRY.get_sample_value("quartet_repaired_calls_total", {"agent": "pick", "kind": kind}) or 0.0


REPAIRED = {
    "encoded twice": ("pick", json.dumps(json.dumps(CAN)), CAN, "text"),
    "encoded three times": ("pick", json.dumps(json.dumps(json.dumps(CAN))), CAN, "text"),
    "fenced": ("pick", f"```json\n{json.dumps(CAN)}\n```", CAN, "text"),
    "bracket": ("pick", json.dumps(CAN) + "]", CAN, "text"),
    "brace and tag": ("pick", json.dumps(CAN) + "}\n</tool_call>", CAN, "text"),
    "end of turn": ("pick", json.dumps(CAN) + "<|im_end|>", CAN, "text"),
    "number": ("pick", {**CAN, "standoff_m": "0.85"}, {**CAN, "standoff_m": 0.85}, "type"),
    "boolean": ("pick", {**CAN, "slowly": "True"}, {**CAN, "slowly": True}, "type"),
    "list": ("pick", {**CAN, "size_m": "[0.1, 0.2]"}, {**CAN, "size_m": [0.1, 0.2]}, "type"),
    "numbers in a list": ("pick", {**CAN, "size_m": ["0.1", 0.2]}, {**CAN, "size_m": [0.1, 0.2]}, "type"),
    "lone text": ("pick", {**CAN, "names": "green apple"}, {**CAN, "names": ["green apple"]}, "type"),
    "null": ("pick", {**CAN, "standoff_m": None}, CAN, "empty"),
    "blank": ("pick", {**CAN, "standoff_m": "", "object_id": "", "slowly": ""}, CAN, "empty"),
    "null as text": ("pick", {**CAN, "slowly": "null"}, CAN, "empty"),
    "functions.": ("functions.pick", CAN, CAN, "name"),
    "default_api:": ("default_api:pick", CAN, CAN, "name"),
    "mcp__": ("mcp__quartet__pick", CAN, CAN, "name"),
    "channel": ("pick<|channel|>commentary", CAN, CAN, "name"),
    "server with a dot": ("moveit.pick_up", CAN, CAN, "name"),
    "without its server": ("pick_up", CAN, CAN, "name"),
    "all at once": (
        "functions.pick",
        json.dumps(json.dumps({**CAN, "standoff_m": "0.85", "object_id": ""})),
        {**CAN, "standoff_m": 0.85},
        "type",
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
async def test_a_call_with_one_meaning_is_made_and_mentioned(model, memory, make_loop, talk, hand, name):
    tool, arguments, meant, kind = REPAIRED[name]
    before = counted(kind)
    model.script = [talk.calls((tool, arguments)), talk.report()]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert hand.picked == [meant]
    assert counted(kind) == before + 1
    assert model.result()["repaired"]
    shown = model.last()[2]["tool_calls"][0]["function"]
    assert json.loads(shown["arguments"]) == meant, "the model sees the call as it should be written"
    (made,) = [event.event for event in memory.events if event.event.kind == "tool_call"]
    assert (made.tool, made.arguments) == (shown["name"], meant), "the journal has what was done"


async def test_a_sound_call_is_left_as_it_is(model, make_loop, talk, hand):
    arguments = '{ "object_name":"0.85", "object_id": null, "standoff_m": 1 }'
    model.script = [talk.calls(("pick", arguments)), talk.report()]
    await make_loop(hand.tools).run("system", "user")
    assert hand.picked == [{"object_name": "0.85", "object_id": None, "standoff_m": 1}], "a string stays a string"
    assert "repaired" not in model.result()
    assert model.last()[2]["tool_calls"][0]["function"]["arguments"] == arguments


REJECTED = {
    "two calls in one": (json.dumps(CAN) * 2, "something follows the JSON value"),
    "words behind": (json.dumps(CAN) + " and then stop", "something follows the JSON value"),
    "two values": ('{"object_name": "red can", "object_name": "blue can"}', "'object_name' has two values"),
    "comma for a point": ({**CAN, "standoff_m": "0,85"}, "'0,85' is not of type 'number'"),
    "two texts": ({**CAN, "names": "green apple, red apple"}, "'green apple, red apple' is not valid"),
    "two numbers": ({**CAN, "standoff_m": "0.85, 0.9"}, "is not of type 'number'"),
    "unit": ({**CAN, "standoff_m": "85 cm"}, "is not of type 'number'"),
    "not finite": ({**CAN, "standoff_m": "1e999"}, "is not of type 'number'"),
    "out of range": ({**CAN, "standoff_m": "8.5"}, "8.5 is greater than the maximum of 1.0"),
    "number for a boolean": ({**CAN, "slowly": "1"}, "is not of type 'boolean'"),
    "blank where it is required": ({"object_name": ""}, "object_name: ''"),
    "null where it is required": ({"object_name": None}, "object_name: None is not of type 'string'"),
    "a field of its own": ({**CAN, "speed": 3}, "'speed' was unexpected"),
    "a list around it": ([CAN], "must be one JSON object, got list"),
}


@pytest.mark.parametrize("name", REJECTED)
async def test_a_call_with_two_meanings_or_none_is_rejected(model, make_loop, talk, hand, name):
    arguments, words = REJECTED[name]
    model.script = [talk.calls(("pick", arguments)), talk.report(False, "UNKNOWN")]
    await make_loop(hand.tools).run("system", "user")
    assert hand.picked == []
    assert model.result()["error_code"] == "INVALID_ARGUMENTS"
    assert words in model.result()["message"]


@pytest.mark.parametrize("tool", ["functions.drop", "unpick", "pick_", "functions.", "", "pick.up"])
async def test_a_name_that_means_no_offered_tool_is_rejected(model, make_loop, talk, hand, tool):
    model.script = [talk.calls((tool, CAN)), talk.report(False, "UNKNOWN")]
    await make_loop(hand.tools).run("system", "user")
    assert hand.picked == []
    assert model.result()["error_code"] == "UNKNOWN_TOOL"


async def test_a_name_that_means_two_tools_is_rejected(model, make_loop, talk, hand):
    spec = ToolSpec("nav2__stop", "Halts.", {"type": "object", "properties": {}})
    other = ToolSpec("moveit__stop", "Halts.", {"type": "object", "properties": {}})

    async def stop(_arguments, _progress):
        raise AssertionError

    model.script = [talk.calls(("functions.stop", {})), talk.calls(("stop", {})), talk.report(False, "UNKNOWN")]
    await make_loop(LocalTools([LocalTool(spec, stop), LocalTool(other, stop)])).run("system", "user")
    codes = [json.loads(m["content"])["error_code"] for m in model.last() if m["role"] == "tool"]
    assert codes == ["UNKNOWN_TOOL", "UNKNOWN_TOOL"]


@pytest.mark.parametrize(
    ("name", "success"), [("report_pick_result", "true"), ("functions.report_pick_result", True)], ids=["text", "name"]
)
async def test_a_report_is_repaired_too(model, make_loop, talk, hand, name, success):
    report = {"success": success, "error_code": "NONE", "reason": "done", "held_object_height_m": ""}
    model.script = [talk.calls((name, json.dumps(json.dumps(report))))]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert ending.report.success is True


async def test_equal_calls_in_several_spellings_are_a_repetition(model, make_loop, talk, hand):
    spellings = [CAN, {**CAN, "object_id": ""}, json.dumps(json.dumps(CAN)), {**CAN, "slowly": None}]
    model.script = [talk.calls(("pick", arguments)) for arguments in spellings]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.REPETITION
    assert hand.picked == [CAN] * 3


async def test_a_loop_that_is_taken_over_makes_the_repaired_call(model, memory, make_loop, talk, hand):
    script = [talk.calls(("functions.pick", {**CAN, "standoff_m": "0.85"})), talk.report()]
    model.script = [lambda body: script[sum(m["role"] == "assistant" for m in body["messages"])]]
    await make_loop(hand.tools).run("system", "user")
    events, messages = list(memory.events), model.last()
    for end in range(1, len(events)):
        kept = [type(event).model_validate_json(event.model_dump_json()) for event in events[:end]]
        again, count = Hand(), counted("type")
        await make_loop(again.tools).run("system", "user", await read_turns(kept, no_image))
        assert model.last() == messages, end
        assert again.picked == ([] if "tool_result" in [e.event.kind for e in kept] else hand.picked)
        assert counted("type") == count, "a repair is counted where it was made"


WRITTEN = {
    "hermes": '<tool_call>\n{"name": "pick", "arguments": {"object_name": "red can"}}\n</tool_call>',
    "llama": '{"name": "pick", "parameters": {"object_name": "red can"}}',
    "llama tag": "<|python_tag|>pick.call()",
    "function tag": '<function=pick>{"object_name": "red can"}</function>',
    "mistral": '[TOOL_CALLS][{"name": "pick", "arguments": {}}]',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>pick",
    "gpt-oss": "<|channel|>commentary to=functions.pick <|message|>{}",
    "code": '```python\npick(object_name="red can")\n```',
    "prefixed": '{"tool": "functions.pick"}',
    "report": '{"name": "report_pick_result", "arguments": {"success": true}}',
}


@pytest.mark.parametrize("name", WRITTEN)
async def test_a_call_that_is_written_as_text_ends_with_the_servers_option(model, make_loop, talk, hand, name):
    model.script = [talk.says(WRITTEN[name])]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.NO_TOOL_CALL
    assert hand.picked == []
    for words in ("wrote its tool call as text", "--tool-call-parser", "quartet doctor --models"):
        assert words in ending.reason


@pytest.mark.parametrize("text", ["I pick up the can.", "", "The function (pick) is not for me.", '{"name": "Anna"}'])
async def test_prose_is_no_call(model, make_loop, talk, hand, text):
    model.script = [talk.says(text)]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.reason.startswith("the model answered without a tool call: ")
