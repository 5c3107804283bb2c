"""Several calls in one answer: how they are written, replayed from a history, and spoiled."""

import json

import pytest

from quartet_procedures import approach, pick, place
from quartet_scripted_model import Call, Text
from quartet_scripted_model.app import completion
from quartet_scripted_model.misbehaviour import FOREIGN, HALLUCINATION, WHOLE, Kind, spoil
from quartet_scripted_model.turn import calls_of
from support.played_robot import FACTS, Robot, play

REQUESTS = {
    "approach": {"target_area": "kitchen", "object_name": "red can", "next_action": "pick", "object_id": "obj_1"},
    "pick": {"object_name": "red can", "object_id": "obj_1"},
    "place": {
        "target_location": "kitchen counter", "object_name": "red can", "target_id": "obj_2", "held_id": "obj_1",
    },
}  # fmt: skip
PROCEDURES = {"approach": approach, "pick": pick, "place": place}
NOT_RUN = {"ok": False, "error_code": "NOT_RUN"}
OK = {"ok": True, "error_code": "NONE"}


def names(turn):
    return [call.name for call in calls_of(turn)]


def answer_all(talk, robot, calls, *, within_one_message=True):
    """Append calls to the messages with what the robot and the agent loop answer."""
    results = [dict(result.data) for result in robot.turn(calls)]
    if within_one_message:
        ids = [f"call_{len(talk.messages)}_{number}" for number in range(len(calls))]
        wanted = [
            {"id": one, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
            for one, call in zip(ids, calls, strict=True)
        ]
        talk.messages.append({"role": "assistant", "content": None, "tool_calls": wanted})
        for one, result in zip(ids, results, strict=True):
            talk.messages.append({"role": "tool", "tool_call_id": one, "content": json.dumps(result)})
    else:
        for call, result in zip(calls, results, strict=True):
            talk.add(call, result)


def run(talk, robot, *, within_one_message=True, limit=60):
    """Answer the model until it reports; return its turns and the report."""
    turns = []
    while len(turns) < limit:
        turn = talk.next()
        assert not isinstance(turn, Text), turn
        if names(turn)[0].startswith("report_"):
            assert isinstance(turn, Call)
            return turns, turn
        turns.append([name.rpartition("__")[2] for name in names(turn)])
        answer_all(talk, robot, calls_of(turn), within_one_message=within_one_message)
    raise AssertionError(f"no report after {limit} turns: {turns}")


@pytest.mark.parametrize("within_one_message", [True, False])
@pytest.mark.parametrize("failing", ["", "plan_and_execute", "plan_cartesian_path", "detect_objects", "look"])
@pytest.mark.parametrize("skill", REQUESTS)
def test_model_makes_the_turns_of_the_procedure_and_reports_alone(agent, skill, failing, within_one_message):
    """Whether a history has the calls of a turn in one message or, as that of another model, in several."""
    here, there = (Robot(held=skill == "place").fail(failing, "PLANNING_FAILED") for _ in range(2))
    turns, report = run(agent(skill, REQUESTS[skill], FACTS), here, within_one_message=within_one_message)
    played = play(PROCEDURES[skill](REQUESTS[skill], FACTS), there)
    assert turns == played.turns
    assert here.calls == there.calls
    assert report.name == f"report_{skill}_result"
    assert report.arguments.items() <= played.report.items()


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_turn_that_was_answered_in_part_goes_on_with_the_first_call_without_a_result(agent, answered):
    talk = agent("pick", REQUESTS["pick"], FACTS)
    robot = Robot()
    answer_all(talk, robot, calls_of(talk.next()))
    calls = calls_of(talk.next())
    if answered:
        answer_all(talk, robot, calls[:answered])
    talk.add(calls[answered], None)
    assert calls_of(talk.next()) == calls[answered:]
    talk.messages.pop()
    assert calls_of(talk.next()) == calls[answered:]
    answer_all(talk, robot, calls[answered:])
    assert run(talk, robot)[1].arguments["success"]


def test_calls_that_were_not_run_are_made_after_the_repetition(agent):
    talk = agent("pick", REQUESTS["pick"], FACTS)
    robot = Robot().fail("plan_cartesian_path", "PLANNING_FAILED")
    answer_all(talk, robot, calls_of(talk.next()))
    calls = calls_of(talk.next())
    answer_all(talk, robot, calls)
    assert json.loads(talk.messages[-1]["content"]) == NOT_RUN
    assert calls_of(talk.next()) == calls[2:]


def test_call_that_was_not_run_is_no_result_of_a_call_that_is_made(agent):
    """As after a report that came twice in one answer."""
    talk = agent("place", REQUESTS["place"], FACTS)
    _, report = run(talk, Robot(held=True))
    talk.add(report, {"ok": False, "error_code": "REPORT_NOT_ALONE", "message": "call it alone"})
    talk.add(report, NOT_RUN)
    assert talk.next() == report


def test_rejected_report_is_made_again_in_its_shortest_form(agent):
    talk = agent("approach", REQUESTS["approach"], FACTS)
    _, report = run(talk, Robot())
    assert len(report.arguments["checks"]) == 2
    talk.add(report, {"ok": False, "error_code": "INVALID_REPORT", "message": "checks: too many"})
    again = talk.next()
    assert again.name == "report_approach_result"
    assert again.arguments == {key: report.arguments[key] for key in ("success", "error_code", "reason")}
    talk.add(again, OK)
    assert isinstance(talk.next(), Text)


def test_calls_that_the_procedure_never_made_are_skipped(agent):
    """A history may show malformed arguments and unknown tools after a misbehaving answer."""
    talk, robot = agent("pick", REQUESTS["pick"], FACTS), Robot()
    first = calls_of(talk.next())
    talk.add(Call("moveit__open_gripper_v2"), {"ok": False, "error_code": "UNKNOWN_TOOL", "message": "no such tool"})
    talk.add(Call(first[1].name, {"malformed": '{"prom'}), {"ok": False, "error_code": "INVALID_ARGUMENTS"})
    talk.messages.append({"role": "user", "content": "You answered without calling a tool."})
    assert calls_of(talk.next()) == first
    assert run(talk, robot)[1].arguments["success"]


# The answer


def two() -> tuple[Call, ...]:
    return Call("moveit__open_gripper", {}, "Open."), Call("moveit__get_grasp_state"), Call("a__b", {"x": 1}, "And b.")


def test_answer_has_all_calls_of_a_turn_with_their_own_ids_and_all_words():
    body = {"messages": [{"role": "user", "content": "x"}]}
    choice = completion(body, two())["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", "Open. And b.")
    calls = choice["message"]["tool_calls"]
    assert [call["function"]["name"] for call in calls] == [call.name for call in two()]
    assert json.loads(calls[2]["function"]["arguments"]) == {"x": 1}
    assert len({call["id"] for call in calls}) == 3
    assert completion(body, two())["choices"] == [choice], "the same request gives the same ids"


def test_equal_calls_of_a_turn_have_different_ids():
    choice = completion({"messages": []}, (Call("a__b"), Call("a__b")))["choices"][0]
    assert len({call["id"] for call in choice["message"]["tool_calls"]}) == 2


# Misbehaviour


NAMED = (Call("moveit__get_grasp_state", {}, "Look."), Call("perception__get_pose", {"object_name": "can", "x": 1}))
LAST = Call("moveit__close_gripper", {"x": 1})


@pytest.mark.parametrize(
    ("kind", "spoiled"),
    [
        (Kind.REFUSAL, Text),
        (Kind.EMPTY, Text),
        (Kind.REPETITION, LAST),
        (Kind.OTHER_TOOL, FOREIGN),
        (
            Kind.UNKNOWN_TOOL,
            (
                Call("moveit__get_grasp_state_v2", {}, "Look."),
                Call("perception__get_pose_v2", {"object_name": "can", "x": 1}),
            ),
        ),
        (Kind.HALLUCINATED_OBJECT, (NAMED[0], Call(NAMED[1].name, {"object_name": HALLUCINATION, "x": 1}))),
    ],
)
def test_fault_of_a_turn_with_several_calls(kind, spoiled):
    turn = spoil(kind, NAMED, LAST)
    assert isinstance(turn, Text) if spoiled is Text else turn == spoiled


def test_bad_arguments_are_those_of_each_call():
    turn = spoil(Kind.BAD_ARGUMENTS, NAMED, LAST)
    assert [call.name for call in turn] == [call.name for call in NAMED]
    assert all("object_name" not in call.arguments and call.arguments["speed"] == "very fast" for call in turn)


def test_repetition_before_any_call_leaves_the_turn():
    assert spoil(Kind.REPETITION, NAMED, None) == NAMED


@pytest.mark.parametrize("kind", sorted({*Kind} - WHOLE - {Kind.UNKNOWN_TOOL, Kind.BAD_ARGUMENTS}))
def test_other_faults_leave_number_and_names_of_the_calls(kind):
    assert names(spoil(kind, NAMED, LAST)) == names(NAMED)
