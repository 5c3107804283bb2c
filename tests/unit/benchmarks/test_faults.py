"""The faults suite's account of what a model asked for, and its judgement of how tasks end."""

import json

import pytest

from quartet_benchmarks.faults import FAULTS, HABITS, MISREADINGS, Case, Plan
from quartet_benchmarks.faults.endpoint import key_of
from quartet_benchmarks.faults.kinds import EVERY
from quartet_benchmarks.faults.trial import Outcome, _unasked, lasting_cases
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import ToolCalled, ToolReturned
from quartet_scripted_model.answer import answer
from quartet_scripted_model.turn import calls_of

OPEN, ABOVE = "moveit__open_gripper", "moveit__plan_and_execute"
DOWN, CLOSE = "moveit__plan_cartesian_path", "moveit__close_gripper"
STATE, POSE = "moveit__get_grasp_state", "perception__get_topdown_grasp_pose"
TOOLS = [OPEN, ABOVE, DOWN, CLOSE, STATE, POSE, "moveit__clear_planning_scene", "report_pick_result"]
AT = {"frame_id": "base_footprint", "position": [0.6, 0.0, 0.4], "orientation": [1.0, 0.0, 0.0, 0.0]}
POSES = {"grasp_pose": AT, "pre_grasp_pose": AT, "lift_pose": AT, "reachable": True}
OK = {"ok": True, "error_code": "NONE"}
NOT_RUN = {"ok": False, "error_code": "NOT_RUN"}


class Pick:
    """The pick agent's requests to an endpoint with a plan, and the results that it sends."""

    def __init__(self, plan):
        facts = json.dumps({"arm": {"transit_state": "folded"}})
        self.plan = plan
        self.messages = [
            {"role": "system", "content": f"## Facts\n\n```json\n{facts}\n```"},
            {"role": "user", "content": '```json\n{"object_name": "red coke can"}\n```'},
        ]
        self.tools = [{"type": "function", "function": {"name": name}} for name in TOOLS]

    def ask(self):
        """Return the calls of the next answer."""
        body = {"messages": self.messages, "tools": self.tools}
        kind = self.plan.draw(body)
        return calls_of(answer(self.messages, self.tools, kind))

    def add(self, calls, results):
        """Add an answer with its results."""
        tool_calls = [
            {"id": f"{len(self.messages)}_{at}", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
            for at, c in enumerate(calls)
        ]
        self.messages.append({"role": "assistant", "content": None, "tool_calls": tool_calls})
        self.messages += [
            {"role": "tool", "tool_call_id": one["id"], "content": json.dumps(result)}
            for one, result in zip(tool_calls, results, strict=True)
        ]


def asked(plan):
    """Return how often each tool was asked for."""
    counts = {}
    for (name, _), count in plan.given.items():
        counts[name] = counts.get(name, 0) + count
    return counts


@pytest.mark.parametrize("times_sent", [1, 2])
def test_every_call_of_a_turn_counts_but_those_that_were_not_run(times_sent):
    """The descent and the close after a failed motion were not made; they count when they are asked for again."""
    plan = Plan("pick", HABITS["looks first"], turn=99)
    pick = Pick(plan)
    pick.add(pick.ask(), [{**OK, "state": "EMPTY"}, {**OK, **POSES}])
    calls = pick.ask()
    assert [call.name for call in calls] == [OPEN, ABOVE, DOWN, CLOSE]
    assert asked(plan) == {STATE: 1, POSE: 1, OPEN: 1, ABOVE: 1, DOWN: 1, CLOSE: 1}
    pick.add(calls, [OK, {"ok": False, "error_code": "PLANNING_FAILED"}, NOT_RUN, NOT_RUN])
    for _ in range(times_sent):
        calls = pick.ask()
        assert [call.name for call in calls] == [ABOVE, DOWN, CLOSE]
    assert (asked(plan)[DOWN], asked(plan)[CLOSE]) == (1, 1)
    pick.add(calls, [OK, OK, {**OK, "state": "HOLDING"}])
    assert [call.name for call in pick.ask()][:1] == [DOWN], "the lift"
    assert asked(plan)[CLOSE] == 1


def test_of_calls_that_are_sent_twice_the_first_were_made():
    plan = Plan("pick", FAULTS["one id twice"])
    pick = Pick(plan)
    # The agent gives the copies ids of their own.
    pick.add(pick.ask() * 2, [{**OK, "state": "EMPTY"}, {**OK, **POSES}, {**NOT_RUN, "error_code": "BROKEN"}, NOT_RUN])
    assert [call.name for call in pick.ask()] == [OPEN, ABOVE, DOWN, CLOSE]
    assert asked(plan)[POSE] == 1


def event(actor, what):
    return JournalEvent(task_id="t", actor=actor, at=1.0, event=what)


def made(actor, call_id, tool, code="NONE", **arguments):
    """Return the events of a call and of its result."""
    return [
        event(actor, ToolCalled(call_id=call_id, tool=tool, arguments=arguments)),
        event(actor, ToolReturned(call_id=call_id, tool=tool, ok=code == "NONE", error_code=code)),
    ]


def plan_with(*calls):
    plan = Plan()
    for name, arguments in calls:
        plan.given[name, json.dumps(arguments, sort_keys=True)] += 1
    return plan


def test_a_motion_counts_that_no_answer_asked_for():
    events = [*made("pick", "call_1", OPEN), *made("pick", "call_2", OPEN), *made("pick", "call_3", STATE)]
    assert _unasked(events, "pick", plan_with((OPEN, {}), (OPEN, {}))) == []
    assert _unasked(events, "pick", plan_with((OPEN, {}))) == [OPEN]
    assert _unasked(events, "place", plan_with()) == [], "of another agent"
    assert _unasked(made("pick", "call_1", OPEN, "INVALID_ARGUMENTS"), "pick", plan_with()) == []


def test_an_argument_that_the_agent_left_out_was_asked_for():
    plan = Plan()
    plan.given[key_of("place", {"object_name": "can", "target_id": "", "object_height_m": None})] += 1
    assert _unasked(made("orchestrator", "call_1", "place", object_name="can"), "orchestrator", plan) == []


def test_every_seat_has_its_own_calls_within_those_of_the_orchestrator():
    call, result = made("orchestrator", "call_1", "pick", object_name="can")
    events = [call, *made("pick", "call_1", OPEN), *made("pick", "verify_1", CLOSE), result]
    plan = plan_with(("pick", {"object_name": "can"}), (OPEN, {}))
    assert _unasked(events, EVERY, plan) == [CLOSE], "its own code acts only after a report"
    plan.given["report_pick_result", "{}"] += 1
    assert _unasked(events, EVERY, plan) == []
    assert _unasked(events, EVERY, plan_with(("report_pick_result", {}), (OPEN, {}))) == ["pick"]


def test_what_the_agents_own_code_repeats_after_a_report_is_no_call_of_the_model():
    """An approach may drive again with the tool that its model has."""
    drive = "nav2__navigate_to_pose"
    plan = plan_with((drive, {"x": 1}), ("report_approach_result", {}))
    assert _unasked(made("approach", "verify_10", drive, x=2), "approach", plan) == []
    assert _unasked(made("approach", "call_10", drive, x=2), "approach", plan) == [drive]


def outcome(name, state, words="", *, false=False, seat=EVERY):
    case = Case(name, seat, 0, None, seed=1, timeout_s=180, job=True)
    return Outcome(case, hits=1, state=state, codes=[], words=words, false_success=false)


@pytest.mark.parametrize("name", HABITS)
def test_only_a_success_that_is_true_is_right_with_a_habit(name):
    assert outcome(name, State.SUCCEEDED).right
    assert not outcome(name, State.SUCCEEDED, false=True).right
    assert not outcome(name, State.FAILED, "the object was not found").right
    assert not outcome(name, None).right
    assert not outcome(name, State.CANCELED).right


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("prose only", "the model answered without a tool call: 'Sure!'"),
        ("early claim", "But the record of the task does not confirm this"),
        ("early claim", "pick ended with PICK_ATTACH_TIMEOUT: the gripper is EMPTY at a width of 0.140 m"),
        ("early claim", "place ended with PLACE_DROP_VERIFY_FAILED: 'red coke can' was not let go"),
    ],
)
def test_a_habit_that_allows_no_success_ends_for_its_reason(name, words):
    assert outcome(name, State.FAILED, words).right
    assert not outcome("own words", State.FAILED, words).right


def test_every_habit_is_played_in_every_seat_that_has_it():
    cases = lasting_cases(0, HABITS)
    played = {(case.name, case.seat, case.job) for case, _ in zip(cases, range(4 * len(HABITS)), strict=False)}
    assert {(name, seat) for name, seat, _ in played} == {
        (name, seat) for name, habit in HABITS.items() for seat in habit.seats
    }
    assert {seat for _, seat, job in played if job} == {EVERY, "orchestrator"}
    assert {case.seat for case, _ in zip(lasting_cases(0, MISREADINGS), range(8), strict=False)} == {"orchestrator"}
    assert len({*FAULTS, *MISREADINGS, *HABITS}) == len(FAULTS) + len(MISREADINGS) + len(HABITS)
