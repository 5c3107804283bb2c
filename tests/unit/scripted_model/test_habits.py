"""Habits of real models: each changes how the job is done and said, not the job."""

import pytest

from quartet_scripted_model import Call, Text
from quartet_scripted_model.misbehaviour import HABITS, Draws, Kind
from quartet_scripted_model.turn import calls_of

SENTENCE = "put the blue mug on the desk"
GOOD = {"ok": True, "success": True, "error_code": "NONE", "held_object_height_m": 0.1, "object_id": "obj_0123456789ab"}
NOT_ALONE = {"ok": False, "error_code": "REPORT_NOT_ALONE"}


def play(talk, reply=lambda name, _arguments: GOOD, limit=30):
    """Play until a report is taken as a loop does; return the turns, of words or of calls."""
    turns = []
    while len(turns) < limit:
        turn = talk.next()
        turns.append(turn)
        if isinstance(turn, Text):
            talk.messages += [{"role": "assistant", "content": turn.say}, {"role": "user", "content": "Call a tool."}]
            continue
        failed = False
        for call in calls_of(turn):
            is_report = call.name.startswith("report_")
            result = NOT_ALONE if is_report and len(calls_of(turn)) > 1 else reply(call.name, call.arguments)
            if is_report and result is GOOD:
                return turns
            talk.add(call, {"ok": False, "error_code": "NOT_RUN"} if failed else result)
            failed = failed or not result["ok"]
    raise AssertionError(f"no report was taken: {turns}")


def names(turns):
    return [[call.name for call in calls_of(turn)] for turn in turns]


def plans(turns):
    return [call.say for turn in turns for call in calls_of(turn) if "|---|" in call.say]


STEPS = [["approach"], ["pick"], ["approach"], ["place"], ["report_task_result"]]


def test_without_a_habit_each_step_is_a_turn(orchestrator):
    assert names(play(orchestrator(SENTENCE))) == STEPS


@pytest.mark.parametrize("kind", sorted(HABITS - {Kind.CLAIMS_EARLY, Kind.PROSE_ONLY}))
def test_a_habit_leaves_the_job_as_it_is(orchestrator, kind):
    turns = play(orchestrator(SENTENCE, kind=kind))
    made = [call for turn in turns for call in calls_of(turn)]
    assert [call.name for call in made if [call.name] in STEPS[:4]] == ["approach", "pick", "approach", "place"]
    assert next(call for call in made if call.name == "place").arguments["target_location"] == "desk"
    report = made[-1].arguments
    assert report["success"] is True
    assert [row["target"].split(",")[0] for row in report["objects"]] == ["desk"]


def test_looks_first(orchestrator, agent):
    assert names(play(orchestrator(SENTENCE, kind=Kind.LOOKS_FIRST))) == [["look"], *STEPS]
    talk = agent("pick", {"object_name": "blue mug"}, {"arm": {"transit_state": "folded"}})
    talk.kind = Kind.LOOKS_FIRST
    assert names([talk.next()]) == [["moveit__get_grasp_state"]]
    talk.add(talk.next()[0], {"ok": True, "state": "EMPTY"})
    assert names([talk.next()]) == [["moveit__get_grasp_state", "perception__get_topdown_grasp_pose"]]


def test_own_words_differ_in_plan_calls_and_report_and_mean_the_same_object(orchestrator):
    turns = play(orchestrator("put the yellow rubber duck on the desk", kind=Kind.OWN_WORDS))
    made = [call for turn in turns for call in calls_of(turn)]
    assert plans(turns)[0].splitlines()[3].startswith("| rubber duck |")
    assert {call.arguments["object_name"] for call in (made[0], made[1], made[3])} == {"duck"}
    assert made[-1].arguments["objects"][0]["object_name"] == "the duck"


def test_own_words_that_a_report_may_not_have_are_those_of_facts_the_next_time(orchestrator):
    def reply(name, arguments):
        if name.startswith("report_") and arguments["objects"][0]["object_name"] != "yellow rubber duck":
            return {"ok": False, "error_code": "INVALID_REPORT"}
        return GOOD

    turns = play(orchestrator("put the yellow rubber duck on the desk", kind=Kind.OWN_WORDS), reply)
    assert names(turns)[-2:] == [["report_task_result"]] * 2
    assert turns[-1][0].arguments["success"] is True


def test_a_name_that_several_objects_share_is_no_own_word(orchestrator):
    """Of a green apple and a red one neither is "the apple"."""
    turns = play(orchestrator("put the green apple on the desk", kind=Kind.OWN_WORDS))
    assert turns[0][0].arguments["object_name"] == "green apple"


def test_empty_arguments_are_those_that_may_be_left_out(orchestrator):
    talk = orchestrator(SENTENCE, kind=Kind.EMPTY_ARGUMENTS)
    talk.tools[0]["function"]["parameters"] = {
        "type": "object",
        "properties": {
            "target_area": {"type": "string"},
            "object_name": {"type": "string"},
            "next_action": {"type": "string"},
            "stand": {"type": "string"},
            "object_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "speed": {"type": "number"},
        },
        "required": ["target_area", "object_name", "next_action"],
    }
    arguments = talk.next()[0].arguments
    assert {key: arguments[key] for key in ("stand", "object_id", "speed")} == {
        "stand": "",
        "object_id": "",
        "speed": None,
    }
    assert (arguments["object_name"], arguments["next_action"]) == ("blue mug", "pick")


def test_empty_arguments_that_the_messages_leave_out_are_not_sent_again(orchestrator):
    """An agent keeps a call as it has repaired it."""
    talk = orchestrator(SENTENCE, kind=Kind.EMPTY_ARGUMENTS)
    (approach,) = talk.next()
    assert approach.arguments["stand"] is None
    talk.add(Call("approach", {k: v for k, v in approach.arguments.items() if v not in (None, "")}), GOOD)
    assert names([talk.next()]) == [["pick"]]


def test_several_calls_are_one_turn(orchestrator):
    turns = play(orchestrator(SENTENCE, kind=Kind.SEVERAL_CALLS))
    assert names(turns) == [["approach", "pick"], ["approach", "look"], ["place", "look"], ["report_task_result"]]


def test_a_pick_that_was_not_run_is_made_later(orchestrator):
    approached = []

    def reply(name, _arguments):
        approached.append(name == "approach")
        return {"ok": False, "error_code": "NAV_DRIVE_FAILED"} if approached.count(True) == 1 else GOOD

    turns = play(orchestrator("put the blue mug from the kitchen on the desk", kind=Kind.SEVERAL_CALLS), reply)
    assert names(turns)[:2] == [["approach", "pick"]] * 2
    assert names(turns)[2:] == [["approach", "look"], ["place", "look"], ["report_task_result"]]


@pytest.mark.parametrize(
    ("kind", "first"), [(Kind.REPORTS_BESIDE, ["approach", "report_task_result"]), (Kind.CLAIMS_EARLY, STEPS[-1])]
)
def test_a_report_that_comes_early_claims_the_whole_job(orchestrator, kind, first):
    turn = orchestrator(SENTENCE, kind=kind).next()
    assert names([turn]) == [first]
    claim = calls_of(turn)[-1].arguments
    assert claim["success"] is True
    assert [(row["object_name"], row["completed"]) for row in claim["objects"]] == [("blue mug", True)]


@pytest.mark.parametrize("skill", ["approach", "pick", "place"])
def test_an_early_report_of_a_skill_claims_success(agent, home, skill):
    request = {"object_name": "blue mug", "target_location": "desk", "target_area": "kitchen", "next_action": "pick"}
    areas = [{**area, "entry": {"x": 0, "y": 0, "yaw": 0}} for area in home["areas"]]
    talk = agent(skill, request, {"arm": {"transit_state": "folded"}, "areas": areas, "places": []})
    talk.kind = Kind.CLAIMS_EARLY
    report = talk.next()
    assert (report.name, report.arguments["success"]) == (f"report_{skill}_result", True)
    assert report.arguments["error_code"] == "NONE"


def test_plans_twice(orchestrator):
    first, *later = plans(play(orchestrator("put the blue mug on the desk", kind=Kind.PLANS_TWICE)))
    assert "| blue mug |" in first
    assert len(later) == 2, "before the pick and after it"
    for plan in later:
        assert "| object to move | from | destination |" in plan
        assert "| coffee mug |" in plan


def test_prose_once_and_for_good(orchestrator):
    turns = play(orchestrator(SENTENCE, kind=Kind.PROSE_FIRST))
    assert isinstance(turns[0], Text)
    assert names(turns[1:]) == STEPS
    with pytest.raises(AssertionError, match="no report"):
        play(orchestrator(SENTENCE, kind=Kind.PROSE_ONLY))


def body(conversation, turns=0):
    first = [{"role": "system", "content": "facts"}, {"role": "user", "content": f"sentence {conversation}"}]
    return {"messages": first + [{"role": "assistant", "content": f"turn {turn}"} for turn in range(turns)]}


@pytest.mark.parametrize("kind", [Kind.OWN_WORDS, Kind.SWAPPED_TARGETS])
def test_a_habit_lasts_for_the_conversation(kind):
    draws = Draws({kind: 0.4, Kind.REFUSAL: 0.2}, seed=1)
    drawn = [[draws.draw(body(number, turns)) for turns in range(6)] for number in range(500)]
    lasting = [kinds for kinds in drawn if kind in kinds]
    assert all(kinds == [kind] * 6 for kinds in lasting)
    assert 0.33 < len(lasting) / 500 < 0.47
    others = [one for kinds in drawn if kind not in kinds for one in kinds]
    assert 0.16 < others.count(Kind.REFUSAL) / len(others) < 0.24
    again = Draws({kind: 0.4, Kind.REFUSAL: 0.2}, seed=1)
    assert drawn == [[again.draw(body(number, turns)) for turns in range(6)] for number in range(500)]
