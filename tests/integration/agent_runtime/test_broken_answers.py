"""No call is made of an answer that did not arrive whole, and none that is ambiguous."""

import json

import pytest

from quartet_agent_runtime import Cause, LocalTool, LocalTools, ToolOutcome, ToolSpec, read_turns
from quartet_agent_runtime.gateway import MAX_ANSWER_BYTES

NO_ARGUMENTS = {"type": "object", "properties": {}}
POSITION = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


class Hand:
    """Two tools that move: one with an argument, one without."""

    def __init__(self):
        self.moves = []

    @property
    def tools(self):
        async def move(arguments, _progress):
            self.moves.append(arguments["x"])
            return ToolOutcome({"ok": True, "at": arguments["x"]})

        async def let_go(_arguments, _progress):
            self.moves.append("open")
            return ToolOutcome({"ok": True})

        return LocalTools(
            [
                LocalTool(ToolSpec("arm__move", "Moves.", POSITION), move),
                LocalTool(ToolSpec("arm__open_gripper", "Opens.", NO_ARGUMENTS), let_go),
            ]
        )


@pytest.fixture
def hand():
    return Hand()


def cut_off(answer):
    return {**answer, "finish_reason": "length"}


@pytest.mark.parametrize("arguments", ["", "{}", '{"x": 1}'])
async def test_an_answer_at_the_token_limit_moves_nothing(model, memory, make_loop, talk, hand, arguments):
    """Without its arguments a call looks like one that needs none; what else is missing cannot be told either."""
    tool = "arm__move" if "x" in arguments else "arm__open_gripper"
    model.script = [cut_off(talk.calls((tool, arguments))), talk.report(False, "UNKNOWN")]
    await make_loop(hand.tools).run("system", "user")
    assert hand.moves == []
    assert model.result()["error_code"] == "BROKEN_ANSWER"
    assert "token limit" in model.result()["message"]


@pytest.mark.parametrize("tool", ["arm__move", "report_result"])
async def test_an_answer_with_thousands_of_calls_is_refused_in_words(model, memory, make_loop, talk, hand, tool):
    model.script = [talk.calls(*[(tool, {"x": 1})] * 9000), talk.report()]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause == Cause.REPORTED
    assert hand.moves == []
    assert model.result()["error_code"] == "BROKEN_ANSWER"
    assert "has 9000 calls, of which none was made; at most 32" in model.result()["message"]
    assert len(json.dumps(model.last())) < 10_000


@pytest.mark.parametrize("text", ["€", "\u0001", '"'])
async def test_a_turn_with_much_text_in_its_calls_fits_the_journal(model, memory, make_loop, talk, hand, text):
    model.script = [talk.calls(*[("arm__move", {"x": text * 15_000})] * 8), talk.report()]
    assert (await make_loop(hand.tools).run("system", "user")).cause == Cause.REPORTED


async def test_a_report_at_the_token_limit_is_no_report(model, memory, make_loop, talk, hand):
    model.script = [cut_off(talk.report()), talk.report(False, "UNKNOWN", "the second one")]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.report.reason == "the second one"


async def test_of_two_calls_with_one_id_the_first_is_made(model, memory, make_loop, talk, hand):
    twice = talk.calls(("arm__move", {"x": 1}), ("arm__move", {"x": 1}), ("arm__open_gripper", {}))
    for call in twice["message"]["tool_calls"]:
        call["id"] = "same"
    model.script = [twice, talk.report()]
    await make_loop(hand.tools).run("system", "user")
    assert hand.moves == [1]
    history = model.last()
    ids = [call["id"] for call in history[2]["tool_calls"]]
    assert ids == ["same", "same_1", "same_2"], "providers refuse a history with one id twice"
    results = [json.loads(m["content"]) for m in history if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in history if m["role"] == "tool"] == ids
    assert [r.get("error_code", "NONE") for r in results] == ["NONE", "BROKEN_ANSWER", "NOT_RUN"]
    assert "its id 'same'" in results[1]["message"]


async def test_who_takes_a_loop_over_makes_no_such_call_either(model, memory, make_loop, talk, hand):
    model.script = [cut_off(talk.calls(("arm__open_gripper", ""))), talk.report(False, "UNKNOWN")]
    await make_loop(hand.tools).run("system", "user")
    kept = [e for e in memory.events if e.event.kind == "model_turn"][:1]

    async def none(_reference):
        return None

    past = await read_turns([type(e).model_validate_json(e.model_dump_json()) for e in kept], none)
    model.script = [talk.report(False, "UNKNOWN")]
    await make_loop(hand.tools).run("system", "user", past)
    assert hand.moves == []
    assert model.result()["error_code"] == "BROKEN_ANSWER"


async def test_an_answer_that_does_not_end_is_not_read_to_its_end(model, memory, make_loop, talk, hand):
    model.script = [talk.calls(("arm__move", {"x": 1}), text="and on " * (MAX_ANSWER_BYTES // 7 + 1))]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "max_tokens" in ending.reason
    assert hand.moves == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("[" * 15_000, "nested"),
        ('{"x": NaN}', "NaN"),
        ('{"x": -Infinity}', "Infinity"),
        ('{"x": "\\ud800"}', "surrogate"),
        ("\ud800", "not JSON"),
    ],
    ids=["deep", "nan", "infinity", "surrogate", "raw surrogate"],
)
async def test_arguments_that_no_server_could_be_sent(model, memory, make_loop, talk, hand, arguments, said):
    model.script = [talk.calls(("arm__move", arguments), text="half \ud800 a pair"), talk.report(False, "UNKNOWN")]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert hand.moves == []
    results = [json.loads(m["content"]) for m in model.last() if m["role"] == "tool"]
    assert results[0]["error_code"] == "INVALID_ARGUMENTS"
    assert said in results[0]["message"]
    for event in memory.events:
        assert event.model_dump_json().encode(), "the journal can keep it"


@pytest.mark.parametrize("body", ["[" * 100_000, '{"choices": [{"message": {"tool_calls": [1]}}]}'])
async def test_an_answer_that_breaks_the_reader(model, memory, make_loop, talk, hand, body):
    model.script = [{"body": body}]
    ending = await make_loop(hand.tools).run("system", "user")
    assert ending.cause is Cause.MODEL_UNAVAILABLE
    assert "not a chat completion" in ending.reason
