"""A loop that another process began goes on where its journal ends, wherever that is."""

import json

import pytest

from quartet_agent_runtime import Cause, Image, LocalTool, LocalTools, ToolOutcome, ToolSpec, read_turns
from quartet_contracts import Budget

SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


@pytest.fixture
def script(talk):
    """By how often the model has spoken: two calls at once, words without a call, a wrong call, a report."""
    turns = [
        talk.calls(("arm__move", {"x": 1}), ("arm__move", {"x": 2}), text="Two moves."),
        {"message": {"role": "assistant", "content": "I think."}},
        talk.calls(("arm__move", '{"x": "far"}')),
        talk.calls(("arm__move", {"x": 3})),
        talk.report(held_object_height_m=0.12),
    ]
    return lambda body: turns[sum(m["role"] == "assistant" for m in body["messages"])]


class Arm:
    """A tool that counts what it did, with a picture for each move."""

    def __init__(self):
        self.moves = []

    @property
    def tools(self):
        async def move(arguments, _progress):
            self.moves.append(arguments["x"])
            return ToolOutcome({"ok": True, "at": arguments["x"]}, [Image(f"jpeg {arguments['x']}".encode())])

        return LocalTools([LocalTool(ToolSpec("arm__move", "Moves.", SCHEMA), move)])


async def pictures_of(memory):
    async def load(reference):
        return memory.pictures[reference], "image/jpeg"

    return load


async def test_wherever_a_journal_ends_the_loop_goes_on_as_if_nothing_had_happened(model, memory, make_loop, script):
    model.script, model.takes_images = [script], True
    arm = Arm()
    whole = await make_loop(arm.tools).run("system", "user")
    assert whole.cause is Cause.REPORTED
    assert arm.moves == [1, 2, 3]
    events, messages = list(memory.events), model.last()
    for end in range(len(events) + 1):
        kept = events[:end]
        memory.events, model.requests, arm = list(kept), [], Arm()
        past = await read_turns(kept, await pictures_of(memory))
        ending = await make_loop(arm.tools).run("system", "user", past)
        assert ending.report == whole.report, end
        done_before = [e.event for e in kept if e.event.kind == "tool_result" and e.event.ok]
        assert arm.moves == [1, 2, 3][len(done_before) :], "what is known is not done again, what is not is done once"
        assert (ending.usage.turns, ending.usage.tool_calls) == (whole.usage.turns, whole.usage.tool_calls)
        assert ending.usage.prompt_tokens == whole.usage.prompt_tokens
        kinds = [(e.event.kind, getattr(e.event, "tool", "")) for e in memory.events]
        assert kinds == [(e.event.kind, getattr(e.event, "tool", "")) for e in events], "nothing is journaled twice"
        if model.requests:
            assert model.last() == messages, "the model reads the same conversation, images included"


async def test_a_report_that_was_made_ends_the_loop_without_asking_again(model, memory, make_loop, script):
    model.script = [script]
    await make_loop(Arm().tools).run("system", "user")
    model.requests.clear()
    ending = await make_loop(Arm().tools).run(
        "system", "user", await read_turns(memory.events, await pictures_of(memory))
    )
    assert ending.cause is Cause.REPORTED
    assert model.requests == []


async def test_a_budget_that_was_spent_before_stays_spent(model, memory, make_loop, script):
    model.script = [script]
    await make_loop(Arm().tools).run("system", "user")
    turns = [e for e in memory.events if e.event.kind == "model_turn"]
    past = await read_turns(turns[:1], await pictures_of(memory))
    ending = await make_loop(Arm().tools, budget=Budget(turns=1)).run("system", "user", past)
    assert ending.cause is Cause.BUDGET
    assert "1 of 1 model turns" in ending.reason


async def test_a_refusal_stays_a_refusal(model, memory, make_loop):
    model.script = [{"message": {"role": "assistant", "content": None, "refusal": "I must not."}}]
    first = await make_loop(Arm().tools).run("system", "user")
    past = await read_turns(memory.events, await pictures_of(memory))
    again = await make_loop(Arm().tools).run("system", "user", past)
    assert (
        (again.cause, again.reason) == (first.cause, first.reason) == (Cause.REFUSED, "the model refused: I must not.")
    )


async def test_a_result_too_long_for_the_journal_says_so(memory, make_loop, model, talk):
    model.script = [talk.calls(("arm__move", {"x": 1})), talk.report()]

    async def talkative(_arguments, _progress):
        return ToolOutcome({"ok": True, "words": "x" * 20_000})

    tools = LocalTools([LocalTool(ToolSpec("arm__move", "Moves.", SCHEMA), talkative)])
    await make_loop(tools).run("system", "user")
    (turn, _) = await read_turns(memory.events, await pictures_of(memory))
    content = turn.results[0].outcome.content
    assert content["ok"]
    assert "[cut: " in content["text"]
    assert json.dumps(content)
