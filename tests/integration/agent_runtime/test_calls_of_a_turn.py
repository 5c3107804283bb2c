"""The calls of one turn run in order until one fails, and pictures are shown until the robot may have moved."""

import base64
import json
from dataclasses import replace

import pytest

from quartet_agent_runtime import (
    Cause,
    Image,
    LocalTool,
    LocalTools,
    ToolOutcome,
    ToolSpec,
    failure,
    read_turns,
)
from quartet_contracts import Budget

SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
LOOK, MOVE = "camera__look", "arm__move"
GOOD = {"success": True, "error_code": "NONE", "reason": "done"}


class Machine:
    """A camera that returns a picture of its `x`, and an arm that fails to move to each `x` in `barred`."""

    def __init__(self, *barred):
        self.barred = set(barred)
        self.moves = []

    @property
    def tools(self):
        async def look(arguments, _progress):
            return ToolOutcome({"ok": True, "seen": arguments["x"]}, [Image(f"picture {arguments['x']}".encode())])

        async def move(arguments, _progress):
            self.moves.append(arguments["x"])
            if arguments["x"] in self.barred:
                return failure("PLANNING_FAILED", "no way")
            return ToolOutcome({"ok": True, "at": arguments["x"]})

        return LocalTools(
            [
                LocalTool(ToolSpec(LOOK, "Looks.", SCHEMA, reads=True), look),
                LocalTool(ToolSpec(MOVE, "Moves.", SCHEMA), move),
            ]
        )


def move(*positions):
    return [(MOVE, {"x": x}) for x in positions]


def look(*numbers):
    return [(LOOK, {"x": x}) for x in numbers]


def codes(messages):
    """Return the code of each tool result, in the order in which the model reads them."""
    results = [json.loads(message["content"]) for message in messages if message["role"] == "tool"]
    return [result.get("error_code", "NONE") for result in results]


# The order of calls


async def test_calls_after_a_failed_one_are_not_run(model, memory, make_loop, talk):
    machine = Machine(2)
    model.script = [talk.calls(*move(1, 2, 3), *look(4), *move(5)), talk.report()]
    ending = await make_loop(machine.tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert machine.moves == [1, 2]
    assert codes(model.last()) == ["NONE", "PLANNING_FAILED", "NOT_RUN", "NOT_RUN", "NOT_RUN"]
    results = [message for message in model.last() if message["role"] == "tool"]
    assert [result["tool_call_id"] for result in results] == [f"c{index}" for index in range(5)]
    assert json.loads(results[-1]["content"])["message"] == f"not run, because {MOVE} before it failed"


async def test_calls_that_were_not_run_are_neither_journaled_nor_counted(model, memory, make_loop, talk):
    model.script = [talk.calls(*move(1, 2, 3, 4)), talk.calls(*move(3)), talk.report()]
    ending = await make_loop(Machine(2).tools, budget=Budget(tool_calls=3)).run("system", "user")
    assert (ending.cause, ending.usage.tool_calls) == (Cause.REPORTED, 3)
    assert memory.order.count("tool_call") == memory.order.count("tool_result") == 3


async def test_calls_that_were_not_run_are_no_repetition(model, memory, make_loop, talk):
    """Each turn fails with another call before the same one, which never ran."""
    model.script = [*(talk.calls(*move(x, 9)) for x in range(5)), talk.calls(*move(9)), talk.report()]
    machine = Machine(*range(5))
    ending = await make_loop(machine.tools).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert machine.moves == [0, 1, 2, 3, 4, 9]
    assert "REPEATED_CALL" not in codes(model.last())


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ((MOVE, {"x": "far"}), "INVALID_ARGUMENTS"),
        ((MOVE, '{"x": 1'), "INVALID_ARGUMENTS"),
        (("arm__fly", {"x": 1}), "UNKNOWN_TOOL"),
    ],
)
async def test_call_that_is_rejected_also_ends_the_turn(model, memory, make_loop, talk, first, code):
    machine = Machine()
    model.script = [talk.calls(first, *move(2)), talk.report()]
    await make_loop(machine.tools).run("system", "user")
    assert machine.moves == []
    assert codes(model.last()) == [code, "NOT_RUN"]


async def test_budget_that_is_spent_within_a_turn_ends_the_turn(model, memory, make_loop, talk):
    machine = Machine()
    model.script = [talk.calls(*move(1, 2, 3)), talk.report()]
    ending = await make_loop(machine.tools, budget=Budget(tool_calls=1)).run("system", "user")
    assert ending.cause is Cause.REPORTED
    assert machine.moves == [1]
    assert codes(model.last()) == ["NONE", "BUDGET_SPENT", "NOT_RUN"]


@pytest.mark.parametrize(
    ("position", "expected", "moved"),
    [
        (0, ["REPORT_NOT_ALONE", "NOT_RUN", "NOT_RUN"], []),
        (1, ["NONE", "REPORT_NOT_ALONE", "NOT_RUN"], [1]),
        (2, ["NONE", "NONE", "REPORT_NOT_ALONE"], [1, 2]),
    ],
)
async def test_report_in_a_turn_with_other_calls_is_sent_back(
    model, memory, make_loop, talk, position, expected, moved
):
    machine, turn = Machine(), move(1, 2)
    turn.insert(position, ("report_pick_result", GOOD))
    model.script = [talk.calls(*turn), talk.report(reason="the second one")]
    ending = await make_loop(machine.tools).run("system", "user")
    assert ending.report.reason == "the second one"
    assert codes(model.last()) == expected
    assert machine.moves == moved


async def test_report_after_a_failed_call_is_not_run(model, memory, make_loop, talk):
    model.script = [talk.calls(*move(2), ("report_pick_result", GOOD)), talk.report(False, "UNKNOWN")]
    ending = await make_loop(Machine(2).tools).run("system", "user")
    assert ending.report.error_code == "UNKNOWN"
    assert codes(model.last()) == ["PLANNING_FAILED", "NOT_RUN"]


async def test_motion_of_unknown_outcome_stays_uncertain_after_calls_that_were_not_run(model, make_loop, talk):
    async def times_out(_arguments, _progress):
        return failure("TIMEOUT", "no answer")

    tools = LocalTools([LocalTool(ToolSpec(MOVE, "Moves.", SCHEMA), times_out)])
    model.script = [talk.calls(*move(1, 2)), talk.report(False, "UNKNOWN")]
    ending = await make_loop(tools).run("system", "user")
    assert codes(model.last()) == ["TIMEOUT", "NOT_RUN"]
    assert ending.uncertain


async def no_image(_reference):
    return None


async def test_turn_that_a_crash_interrupted_is_answered_the_same(model, memory, make_loop, talk):
    """Wherever the journal of a turn with a failed call ends, the turn goes on and no call runs twice."""
    turns = [talk.calls(*move(1, 2, 3), *look(4)), talk.calls(*move(3)), talk.report()]
    model.script = [lambda body: turns[sum(message["role"] == "assistant" for message in body["messages"])]]
    whole = await make_loop(Machine(2).tools).run("system", "user")
    events, messages = list(memory.events), model.last()
    assert codes(messages) == ["NONE", "PLANNING_FAILED", "NOT_RUN", "NOT_RUN", "NONE"]
    for end in range(1, len(events)):
        kept = events[:end]
        memory.events, model.requests, machine = list(kept), [], Machine(2)
        ending = await make_loop(machine.tools).run("system", "user", await read_turns(kept, no_image))
        returned = sum(event.event.kind == "tool_result" for event in kept)
        assert machine.moves == [1, 2, 3][returned:], end
        assert (ending.report, ending.usage.tool_calls) == (whole.report, whole.usage.tool_calls), end
        assert memory.kinds() == [event.event.kind for event in events], end
        if model.requests:
            assert model.last() == messages, end


# Pictures


def pictures(body):
    """Return what the pictures of a request show."""
    parts = [
        part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.rpartition(",")[2]).decode().removeprefix("picture ") for url in urls]


def think(x):
    """A call that has nothing to do with pictures: it is rejected."""
    return [(MOVE, {"x": f"near {x}"})]


@pytest.mark.parametrize(
    ("turns", "shown"),
    [
        ([look(1)], ["1"]),
        ([look(1, 2)], ["1", "2"]),
        ([look(1), look(2)], ["2"]),
        ([look(1), look(1)], ["1"]),
        ([look(1), think(1), think(2)], ["1"]),
        ([look(1), [("arm__fly", {})]], ["1"]),
        ([look(1), move(1)], []),
        ([look(1), move(1), think(1)], []),
        ([look(1), move(2)], []),
        ([look(1) + move(1)], ["1"]),
        ([look(1) + move(2)], ["1"]),
        ([look(1) + move(1), think(1)], ["1"]),
        ([look(1) + move(1), move(1)], []),
        ([look(1) + think(1) + move(1)], ["1"]),
        ([move(1) + look(1)], ["1"]),
        ([move(2) + look(1)], []),
        ([look(1) + move(1) + look(2)], ["1", "2"]),
        ([look(1), move(1) + look(2)], ["2"]),
        ([look(1), move(1), look(2)], ["2"]),
    ],
)
async def test_picture_is_shown_once_and_until_the_robot_may_have_moved(model, memory, make_loop, talk, turns, shown):
    """The motion to 2 fails, and may have moved the robot all the same."""
    model.takes_images = True
    model.script = [*(talk.calls(*turn) for turn in turns), talk.report()]
    await make_loop(Machine(2).tools).run("system", "user")
    assert pictures(model.requests[-1]) == shown
    looks = sum(name == LOOK for turn in turns for name, _ in turn if (MOVE, {"x": 2}) not in turn[:1])
    kept = [message["images"] for message in memory.transcripts["r1"]["messages"] if "images" in message]
    assert len(kept) == looks, "the transcript keeps all"


async def test_picture_that_is_outdated_says_so(model, memory, make_loop, talk):
    model.takes_images = True
    model.script = [talk.calls(*look(1), *move(1), *move(3), *look(2)), talk.report()]
    await make_loop(Machine().tools).run("system", "user")
    captions = [message["content"][0]["text"] for message in model.last() if isinstance(message["content"], list)]
    assert [one.count("The robot has moved since.") for one in captions] == [1, 0]


async def test_picture_follows_all_results_of_its_turn(model, memory, make_loop, talk):
    model.takes_images = True
    model.script = [talk.calls(*look(1), *think(1), *look(2)), talk.report()]
    await make_loop(Machine().tools).run("system", "user")
    roles = ["system", "user", "assistant", "tool", "tool", "tool", "user"]
    assert [message["role"] for message in model.last()] == roles


async def test_loop_that_is_continued_shows_the_same_pictures(model, memory, make_loop, talk):
    model.takes_images = True
    turns = [talk.calls(*look(1)), talk.calls(*move(1), *look(2)), talk.calls(*look(3), *move(3)), talk.report()]
    model.script = [lambda body: turns[sum(message["role"] == "assistant" for message in body["messages"])]]
    await make_loop(Machine().tools).run("system", "user")
    events, before = list(memory.events), [pictures(body) for body in model.requests]
    assert before == [[], ["1"], ["2"], ["3"]]

    async def load(reference):
        return memory.pictures[reference], "image/jpeg"

    for end in range(1, len(events)):
        model.requests = []
        await make_loop(Machine().tools).run("system", "user", await read_turns(events[:end], load))
        assert [pictures(body) for body in model.requests] == before[len(before) - len(model.requests) :], end


async def test_read_does_not_settle_a_motion_that_timed_out(model, memory, make_loop, talk):
    """The model follows the tool's advice to look, and then reports that it does not know."""

    async def time_out(_arguments, _progress):
        return failure("TIMEOUT", "no answer in time")

    async def see(_arguments, _progress):
        return ToolOutcome({"ok": True})

    tools = LocalTools(
        [
            LocalTool(ToolSpec(LOOK, "Looks.", SCHEMA, reads=True), see),
            LocalTool(ToolSpec(MOVE, "Moves.", SCHEMA), time_out),
        ]
    )
    unknown = {"success": False, "error_code": "UNKNOWN", "reason": "lost"}
    for turns, uncertain in (([move(1), look(1)], True), ([look(1)], False)):
        model.script = [*(talk.calls(*turn) for turn in turns), talk.calls(("report_pick_result", unknown))]
        ending = await make_loop(tools).run("system", "user")
        assert (ending.cause, ending.uncertain) == (Cause.REPORTED, uncertain)


async def test_report_after_a_lost_bridge_is_uncertain(model, make_loop, talk):
    """The model stops as it is asked to; only a look can tell what the robot did last."""

    async def lose(_arguments, _progress):
        return failure("BRIDGE_UNAVAILABLE", "the connection was lost")

    tools = LocalTools([LocalTool(ToolSpec(MOVE, "Moves.", SCHEMA), lose)])
    unknown = {"success": False, "error_code": "UNKNOWN", "reason": "lost"}
    model.script = [talk.calls(*move(1)), talk.calls(("report_pick_result", unknown))]
    ending = await make_loop(tools).run("system", "user")
    assert (ending.cause, ending.uncertain) == (Cause.REPORTED, True)


async def test_report_that_was_rejected_is_not_taken_in_a_replay(model, memory, make_loop, talk):
    """Its check may say something else by then: the plan that it is compared with has changed."""
    machine = Machine()
    bad = {**GOOD, "error_code": "UNKNOWN"}
    model.script = [talk.calls(("report_pick_result", bad)), talk.calls(*move(1)), talk.report(reason="at last")]
    await make_loop(machine.tools).run("system", "user")
    turns = await read_turns(memory.events, no_image)
    taken = replace(turns[0].answer.calls[0], arguments=json.dumps(GOOD))
    turns[0] = replace(turns[0], answer=replace(turns[0].answer, calls=[taken]))
    ending = await make_loop(machine.tools).run("system", "user", turns)
    assert ending.report.reason == "at last"
