"""What a model thought goes back with its answer in every later request, also when another process goes on."""

import pytest

from quartet_agent_runtime import LocalTool, LocalTools, ToolOutcome, ToolSpec, read_turns
from quartet_agent_runtime._recorder import MAX_TURN_BYTES
from quartet_contracts import JournalEvent

SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
THOUGHT = {"model": "anthropic/claude", "thinking_blocks": [{"thinking": "left of it", "signature": "c2lnbmVk=="}]}


@pytest.fixture
def tools():
    async def move(arguments, _progress):
        return ToolOutcome({"ok": True, **arguments})

    return LocalTools([LocalTool(ToolSpec("arm__move", "Moves.", SCHEMA), move)])


def thinks(answer, reasoning):
    return {**answer, "message": {**answer["message"], "reasoning": reasoning}}


def sent(model):
    """The reasoning of each assistant message of the last request."""
    return [message.get("reasoning") for message in model.last() if message["role"] == "assistant"]


async def no_image(_reference):
    return None


async def stored(events):
    """The turns of a journal that has been written and read."""
    return await read_turns([JournalEvent.model_validate_json(e.model_dump_json()) for e in events], no_image)


async def test_reasoning_goes_back_with_its_answer(model, memory, make_loop, talk, tools):
    model.script = [
        thinks(talk.calls(("arm__move", {"x": 1})), THOUGHT),
        talk.calls(("arm__move", {"x": 2})),
        talk.report(),
    ]
    await make_loop(tools).run("system", "user")
    assert sent(model) == [THOUGHT, None]


async def test_who_takes_the_loop_over_sends_it_too(model, memory, make_loop, talk, tools):
    model.script = [thinks(talk.calls(("arm__move", {"x": 1})), THOUGHT), talk.report()]
    await make_loop(tools).run("system", "user")
    past = await stored([event for event in memory.events if event.event.kind != "model_turn" or event.event.turn == 1])
    model.script = [talk.report()]
    await make_loop(tools).run("system", "user", past)
    assert sent(model) == [THOUGHT]


async def test_what_is_too_long_for_the_journal_is_left_out_whole(model, memory, make_loop, talk, tools):
    long = {"model": "m", "thinking": "x" * MAX_TURN_BYTES}
    model.script = [thinks(talk.calls(("arm__move", {"x": 1})), long), talk.report()]
    await make_loop(tools).run("system", "user")
    assert sent(model) == [long]
    assert [event.event.reasoning for event in memory.events if event.event.kind == "model_turn"] == [{}, {}]


@pytest.mark.parametrize(
    ("reasoning", "kept"),
    [
        ("some words", None),
        ([1], None),
        ({}, None),
        ({"thinking": "half \ud800 a pair"}, {"thinking": "half ? a pair"}),
    ],
)
async def test_what_cannot_be_sent_back_breaks_nothing(model, memory, make_loop, talk, tools, reasoning, kept):
    model.script = [thinks(talk.calls(("arm__move", {"x": 1})), reasoning), talk.report()]
    ending = await make_loop(tools).run("system", "user")
    assert ending.report.success
    assert sent(model) == [kept]
    for event in memory.events:
        assert event.model_dump_json().encode()
