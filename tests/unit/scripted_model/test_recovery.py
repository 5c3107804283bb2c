"""The recovery table of the four-agent system, row by row, as conversations of the orchestrator."""

from collections import defaultdict

import pytest

SENTENCE = "bring the blue mug from the kitchen to the wooden coffee table"
TWO = "bring the blue mug from the kitchen to the desk and the tennis ball from the hallway to the toy basket"
DONE = {"ok": True, "success": True, "error_code": "NONE", "reason": "done", "tool_calls_used": 7}


class Agents:
    """Sub-agents that succeed, unless told otherwise: `fail("pick", "PICK_SEG_MISSED", ...)` in order of the calls."""

    def __init__(self):
        self.queue = defaultdict(list)
        self.answers = []

    def fail(self, agent, *codes, reason="it did not work", **extra):
        self.queue[agent] += [{"success": False, "error_code": c, "reason": reason, **extra} for c in codes]
        return self

    def succeed(self, agent, times=1):
        self.queue[agent] += [None] * times
        return self

    def tell(self, agent, **extra):
        self.queue[agent].append({**DONE, **extra})
        return self

    def __call__(self, name, arguments):
        if name == "ask_person":
            if self.answers:
                return {"ok": True, "answer": self.answers.pop(0)}
            return {"ok": False, "error_code": "NO_ANSWER", "message": "nobody answered in time"}
        queued = self.queue[name].pop(0) if self.queue[name] else None
        if queued is not None:
            return {"ok": queued["success"], **queued}
        return {**DONE, "held_object_height_m": 0.12} if name == "pick" else DONE


@pytest.fixture
def agents():
    return Agents()


@pytest.fixture
def carry(orchestrator, agents):
    def run(sentence=SENTENCE):
        talk = orchestrator(sentence)
        report = talk.run(agents)
        return [brief(c) for c in talk.calls[:-1]], report.arguments

    return run


def brief(call):
    a = call.arguments
    match call.name:
        case "approach":
            stand = f" {a['stand']}" if "stand" in a else ""
            return f"approach {a['object_name']} @ {a['target_area']} [{a['next_action']}]{stand}"
        case "pick":
            return f"pick {a['object_name']}"
        case "place":
            return f"place {a['object_name']} -> {a['target_location']}"
        case _:
            return call.name


TO_MUG = "approach blue mug @ kitchen [pick]"
PICK = "pick blue mug"
TO_TABLE = "approach wooden coffee table @ living room [surface_place]"
PLACE = "place blue mug -> wooden coffee table"
PLAIN = [TO_MUG, PICK, TO_TABLE, PLACE]


def test_nothing_goes_wrong(carry):
    calls, report = carry()
    assert calls == PLAIN
    assert report["success"] is True
    assert report["objects"][0]["error_code"] == "NONE"


def test_a_plan_comes_first_with_one_row_for_each_object(orchestrator, agents):
    talk = orchestrator(TWO)
    talk.run(agents)
    plan = talk.calls[0].say
    rows = [line for line in plan.splitlines() if line.startswith("| ") and "object" not in line]
    assert len(rows) == 2
    assert "blue mug" in rows[0]
    assert "kitchen" in rows[0]
    assert "desk" in rows[0]
    assert "tennis ball" in rows[1]
    assert all(not c.say for c in talk.calls[1:])


# approach


def test_area_wrong_is_tried_with_another_area(carry, agents):
    agents.succeed("approach").fail("approach", "NAV_AREA_WRONG")
    calls, report = carry()
    assert calls[2] == TO_TABLE
    assert calls[3] == "approach wooden coffee table @ lounge [surface_place]"
    assert report["success"] is True


def test_area_wrong_is_not_tried_with_the_same_arguments(carry, agents):
    agents.fail("approach", "NAV_AREA_WRONG")
    calls, report = carry()
    assert calls == [TO_MUG], "the kitchen has no other name, so there is nothing more specific to try"
    assert report["objects"][0]["error_code"] == "NAV_AREA_WRONG"


@pytest.mark.parametrize("code", ["NAV_TARGET_NOT_VISIBLE", "NAV_DRIVE_FAILED", "NAV_PLAN_FAILED"])
def test_approach_once_more_with_the_same_arguments(carry, agents, code):
    agents.fail("approach", code)
    calls, report = carry()
    assert calls == [TO_MUG, *PLAIN]
    assert report["success"] is True


@pytest.mark.parametrize("code", ["NAV_TARGET_NOT_VISIBLE", "NAV_DRIVE_FAILED", "NAV_PLAN_FAILED"])
def test_approach_fails_twice_and_the_object_is_given_up(carry, agents, code):
    agents.fail("approach", code, code)
    calls, report = carry()
    assert calls == [TO_MUG, TO_MUG]
    assert report["success"] is False
    assert report["objects"][0]["error_code"] == code


def test_verify_override_is_tried_with_another_name(carry, agents):
    agents.fail("approach", "NAV_VERIFY_OVERRIDE")
    calls, report = carry()
    assert calls[1] == "approach coffee mug @ kitchen [pick]"
    assert report["success"] is True


def test_an_object_that_was_seen_in_another_area_is_looked_for_there_next(carry, agents):
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", seen_in="kids' room")
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", seen_in="kids' room").fail("approach", "NAV_TARGET_NOT_VISIBLE")
    calls, _ = carry("bring the blue mug to the desk in the kids' room")
    areas = [call.split("@ ")[1].split(" [")[0] for call in calls[:4]]
    assert areas == ["living room", "dining area", "kitchen", "hallway"], "one at the target may be there already"
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE").fail("approach", "NAV_TARGET_NOT_VISIBLE", seen_in="hallway")
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", seen_in="living room")
    calls, report = carry("bring the blue mug to the wooden coffee table")
    areas = ("living room", "dining area", "hallway", "kitchen")
    assert calls[:4] == [f"approach blue mug @ {area} [pick]" for area in areas]
    assert report["success"] is True


def test_an_object_that_was_seen_in_an_area_that_was_searched_is_looked_for_there_again(carry, agents):
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE").fail("approach", "NAV_TARGET_NOT_VISIBLE", seen_in="living room")
    calls, _ = carry("bring the blue mug to the desk")
    assert calls[:4] == [
        *(f"approach blue mug @ {area} [pick]" for area in ("living room", "dining area", "living room")), PICK,
    ]  # fmt: skip


def test_an_area_in_which_an_object_was_seen_and_not_found_is_driven_to_no_more(carry, agents):
    agents.fail("approach", *["NAV_TARGET_NOT_VISIBLE"] * 12, seen_in="living room")
    calls, report = carry("bring the blue mug to the desk")
    assert calls.count("approach blue mug @ living room [pick]") == 2
    assert len(calls) == len(set(calls)) + 1
    assert report["success"] is False


def test_another_area_than_the_person_named_is_not_driven_to_without_asking(carry, agents):
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", "NAV_TARGET_NOT_VISIBLE", seen_in="hallway")
    calls, report = carry()
    assert calls == [TO_MUG, TO_MUG]
    assert report["success"] is False


# pick


@pytest.mark.parametrize(
    ("code", "stand"),
    [
        ("PICK_SEG_MISSED", ""),
        ("PICK_ATTACH_TIMEOUT", ""),
        ("PICK_REACH_EXCEEDED", " nearer"),
        ("PICK_PLAN_FAILED", " other_side"),
    ],
)
def test_pick_again_from_a_new_approach(carry, agents, code, stand):
    """What the arm did not get to from there is not tried again from the same stand."""
    agents.fail("pick", code)
    calls, report = carry()
    assert calls == [TO_MUG, PICK, TO_MUG + stand, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


@pytest.mark.parametrize(
    "code", ["PICK_SEG_MISSED", "PICK_REACH_EXCEEDED", "PICK_ATTACH_TIMEOUT", "PICK_PLAN_FAILED", "UNKNOWN"]
)
def test_a_failed_pick_is_never_followed_by_a_drive_to_the_drop_place(carry, agents, code):
    agents.fail("pick", *[code] * 10)
    calls, report = carry()
    assert TO_TABLE not in calls
    assert calls.count(PICK) == 2
    assert report["success"] is False
    assert report["objects"][0]["error_code"] == code


def test_a_wrong_object_goes_to_the_floor_and_the_right_one_is_approached(carry, agents):
    agents.fail("pick", "PICK_WRONG_OBJECT", held_object_height_m=0.2)
    calls, report = carry()
    assert calls == [TO_MUG, PICK, "place held object -> floor", TO_MUG, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_a_second_wrong_object_is_put_down_and_no_third_is_picked(carry, agents):
    agents.fail("pick", *["PICK_WRONG_OBJECT"] * 3, held_object_height_m=0.2)
    calls, report = carry()
    freed = "place held object -> floor"
    assert calls == [TO_MUG, PICK, freed, TO_MUG, PICK, freed]
    assert report["success"] is False
    assert report["objects"][0]["error_code"] == "PICK_WRONG_OBJECT"


def test_a_wrong_object_that_was_put_back_is_not_put_down(carry, agents):
    agents.fail("pick", "PICK_WRONG_OBJECT", put_back=True)
    calls, report = carry()
    assert calls == [TO_MUG, PICK, TO_MUG, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_a_second_wrong_object_is_put_down_also_after_something_else(carry, agents):
    agents.fail("pick", "PICK_HOLDING_ALREADY", "PICK_WRONG_OBJECT", "PICK_WRONG_OBJECT", held_object_height_m=0.2)
    calls, report = carry()
    assert calls[-2:] == [PICK, "place held object -> floor"]
    assert calls.count(PICK) == 3
    assert report["success"] is False


def test_something_else_in_the_gripper_goes_to_the_floor_first(carry, agents):
    agents.fail("pick", "PICK_HOLDING_ALREADY", reason="The gripper already holds something else.")
    calls, report = carry()
    assert calls == [TO_MUG, PICK, "place held object -> floor", PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_a_gripper_that_is_never_empty_is_freed_twice(carry, agents):
    agents.fail("pick", *["PICK_HOLDING_ALREADY"] * 4, reason="The gripper already holds something else.")
    calls, report = carry()
    freed = "place held object -> floor"
    assert calls == [TO_MUG, PICK, freed, PICK, freed, PICK]
    assert report["objects"][0]["error_code"] == "PICK_HOLDING_ALREADY"


def test_a_thing_that_cannot_be_put_down_here_is_put_down_where_the_floor_is_free(carry, agents):
    agents.fail("pick", "PICK_HOLDING_ALREADY", reason="The gripper already holds something else.")
    agents.fail("place", "PLACE_PLAN_FAILED")
    calls, report = carry()
    free, floor = "place held object -> floor", "approach floor @ dining area [floor_place]"
    assert calls == [TO_MUG, PICK, free, floor, free, TO_MUG, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_the_wanted_object_in_the_gripper_is_placed(carry, agents):
    agents.fail("pick", "PICK_HOLDING_ALREADY", held_object="blue mug", held_object_height_m=0.1)
    calls, report = carry()
    assert calls == PLAIN
    assert report["success"] is True


def test_what_the_gripper_holds_from_before_is_not_searched_for_in_every_room(orchestrator, agents):
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", "PICK_HOLDING_ALREADY", held_object="blue mug")
    agents.fail("pick", "PICK_HOLDING_ALREADY", held_object="blue mug", held_object_height_m=0.1)
    talk = orchestrator("bring the blue mug to the wooden coffee table")
    report = talk.run(agents)
    assert [brief(c) for c in talk.calls[2:-1]] == [PICK, TO_TABLE, PLACE]
    assert report.arguments["success"] is True


def test_a_gripper_that_cannot_be_freed_ends_the_object(carry, agents):
    agents.fail("pick", "PICK_HOLDING_ALREADY").fail("place", "PLACE_PLAN_FAILED", "PLACE_PLAN_FAILED")
    calls, report = carry()
    assert TO_TABLE not in calls
    assert report["objects"][0]["error_code"] == "PLACE_PLAN_FAILED"


# place


@pytest.mark.parametrize(
    ("code", "stand"),
    [
        ("PLACE_SEG_MISSED", " other_side"),
        ("PLACE_REACH_EXCEEDED", " nearer"),
        ("PLACE_PLAN_FAILED", " other_side"),
    ],
)
def test_place_again_from_another_stand(carry, agents, code, stand):
    agents.fail("place", code)
    calls, report = carry()
    assert calls == [*PLAIN, TO_TABLE + stand, PLACE]
    assert report["success"] is True


@pytest.mark.parametrize("code", ["PLACE_SEG_MISSED", "PLACE_REACH_EXCEEDED", "PLACE_PLAN_FAILED"])
def test_place_that_keeps_failing_is_given_up(carry, agents, code):
    agents.fail("place", *[code] * 10)
    calls, report = carry()
    assert calls.count(PLACE) == 2
    assert report["objects"][0]["error_code"] == code


@pytest.mark.parametrize("code", ["PLACE_SEG_MISSED", "PLACE_REACH_EXCEEDED", "PLACE_PLAN_FAILED"])
def test_a_place_that_cannot_be_tried_from_elsewhere_is_why_the_object_is_given_up(carry, agents, code):
    """And not that the robot could not get to another side of it."""
    agents.succeed("approach", 2).fail("approach", *["NAV_DRIVE_FAILED"] * 10).fail("place", code, reason="no room")
    calls, report = carry()
    assert calls.count(PLACE) == 1
    assert (report["objects"][0]["error_code"], report["objects"][0]["reason"]) == (code, "no room")


def test_where_it_is_not_known_how_the_way_to_another_side_ended_that_is_told(carry, agents):
    agents.succeed("approach", 2).fail("approach", *["UNKNOWN"] * 3, state="UNCERTAIN").fail(
        "place", "PLACE_SEG_MISSED"
    )
    _, report = carry()
    assert report["objects"][0]["error_code"] == "UNKNOWN"


def test_a_robot_that_is_taken_away_on_its_way_to_another_side_was_stopped(carry, agents):
    agents.succeed("approach", 2).fail("approach", "UNKNOWN", withdrawn="STOPPED").fail("place", "PLACE_SEG_MISSED")
    _, report = carry()
    assert report["objects"][0]["error_code"] == "UNKNOWN"


def test_a_place_of_unknown_end_is_told_in_its_own_words(carry, agents):
    agents.fail("place", *["UNKNOWN"] * 3, state="UNCERTAIN", reason="whether it is in is not known")
    calls, report = carry()
    assert calls.count(PLACE) == 2
    assert report["objects"][0]["error_code"] == "UNKNOWN"
    assert report["objects"][0]["reason"] == "whether it is in is not known"


def test_holding_nothing_fetches_the_object_again(carry, agents):
    agents.fail("place", "PLACE_HOLDING_NOTHING")
    calls, report = carry()
    assert calls == [*PLAIN, *PLAIN]
    assert report["success"] is True


def test_what_was_lost_on_the_way_is_looked_for_in_the_areas_that_were_passed(carry, agents):
    agents.succeed("approach").tell("approach", passed=["kitchen", "dining area", "living room"])
    agents.fail("place", "PLACE_HOLDING_NOTHING").fail("approach", "NAV_TARGET_NOT_VISIBLE")
    calls, report = carry()
    there = "approach blue mug @ dining area [pick]"
    assert calls == [*PLAIN, TO_MUG, there, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_what_was_lost_and_is_not_found_is_told_with_the_areas_that_were_searched(carry, agents):
    agents.succeed("approach").tell("approach", passed=["kitchen", "dining area", "living room"])
    agents.fail("place", "PLACE_HOLDING_NOTHING")
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", "NAV_DRIVE_FAILED", "NAV_TARGET_NOT_VISIBLE", reason="no mug")
    calls, report = carry()
    assert calls.count(PLACE) == 1
    (row,) = report["objects"]
    assert (row["completed"], row["error_code"]) == (False, "NAV_TARGET_NOT_VISIBLE")
    told = "It was lost on the way, and not found in kitchen, dining area (NAV_DRIVE_FAILED), living room. no mug"
    assert row["reason"] == told


def test_what_was_seen_in_one_area_and_in_no_other_is_told_as_it_was_there(carry, agents):
    out_of_reach = {"area": "PASS", "target": "PASS"}
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE")
    agents.fail("approach", "NAV_DRIVE_FAILED", reason="2.39 m away, not 0.80 m", checks=out_of_reach)
    agents.fail("approach", *["NAV_TARGET_NOT_VISIBLE"] * 9, reason="not seen")
    calls, report = carry("bring the blue mug to the wooden coffee table")
    assert len(calls) > 3, "the other areas are looked at all the same"
    (row,) = report["objects"]
    assert (row["error_code"], row["reason"]) == ("NAV_DRIVE_FAILED", "2.39 m away, not 0.80 m")


def test_a_drop_that_cannot_be_verified_is_looked_for_near_the_target(carry, agents):
    agents.fail("place", "PLACE_DROP_VERIFY_FAILED")
    calls, report = carry()
    near = "approach blue mug @ living room [pick]"
    assert calls == [*PLAIN, "look", near, PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_what_is_still_in_the_gripper_is_placed_again_where_the_robot_stands(carry, agents):
    agents.fail("place", "PLACE_DROP_VERIFY_FAILED", still_held=True)
    calls, report = carry()
    assert calls == [*PLAIN, PLACE]
    assert report["success"] is True


def test_what_stays_in_the_gripper_is_not_searched_for(carry, agents):
    agents.fail("place", *["PLACE_DROP_VERIFY_FAILED"] * 5, still_held=True)
    calls, report = carry()
    assert calls == [*PLAIN, PLACE]
    assert report["objects"][0]["error_code"] == "PLACE_DROP_VERIFY_FAILED"


def test_two_drops_in_a_row_that_cannot_be_verified(carry, agents):
    agents.fail("place", *["PLACE_DROP_VERIFY_FAILED"] * 5)
    calls, report = carry()
    assert calls.count(PLACE) == 2
    assert report["objects"][0]["error_code"] == "PLACE_DROP_VERIFY_FAILED"
    assert report["success"] is False


def test_out_of_scope_is_reported_at_once(carry, agents):
    agents.fail("place", "PLACE_OUT_OF_SCOPE")
    calls, report = carry()
    assert calls == PLAIN
    assert report["objects"][0]["error_code"] == "PLACE_OUT_OF_SCOPE"


# what is not known


@pytest.mark.parametrize("agent", ["approach", "pick", "place"])
def test_after_an_unknown_outcome_it_looks_before_it_tries_again(carry, agents, agent):
    agents.fail(agent, "UNKNOWN", state="UNCERTAIN", observed="the arm is out")
    calls, report = carry()
    first = next(i for i, c in enumerate(calls) if c.startswith(agent))
    assert calls[first + 1] == "look"
    assert report["success"] is True


def test_after_an_unknown_pick_the_gripper_is_asked_before_the_robot_drives(carry, agents):
    agents.fail("pick", "UNKNOWN", state="UNCERTAIN")
    agents.fail("pick", "PICK_HOLDING_ALREADY", held_object="blue mug")
    calls, report = carry()
    assert calls == [TO_MUG, PICK, "look", PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_what_an_unknown_pick_left_in_the_gripper_counts_as_the_object(carry, agents):
    agents.fail("pick", "UNKNOWN", "PICK_HOLDING_ALREADY", state="UNCERTAIN")
    calls, report = carry()
    assert calls == [TO_MUG, PICK, "look", PICK, TO_TABLE, PLACE]
    assert report["success"] is True


def test_another_thing_in_the_gripper_after_an_unknown_pick_is_put_down(carry, agents):
    agents.fail("pick", "UNKNOWN", state="UNCERTAIN")
    agents.fail("pick", "PICK_HOLDING_ALREADY", held_object="green cup")
    calls, _ = carry()
    assert calls[:5] == [TO_MUG, PICK, "look", PICK, "place green cup -> floor"]


@pytest.mark.parametrize("agent", ["approach", "pick", "place"])
def test_a_stopped_robot_ends_the_task(carry, agents, agent):
    agents.fail(agent, "UNKNOWN", reason="navigate_to_pose did not end", withdrawn="STOPPED")
    calls, report = carry(TWO)
    assert calls[-1].startswith(agent)
    assert report["success"] is False
    assert [row["completed"] for row in report["objects"]] == [False, False]
    assert "Not tried" in report["objects"][1]["reason"]


def test_words_of_a_reason_decide_nothing(carry, agents):
    agents.fail("pick", "UNKNOWN", reason="the camera says: STOPPED, FENCED and DENIED")
    assert carry()[1]["success"] is True


# budgets


def test_at_most_two_full_cycles(carry, agents):
    agents.fail("place", "PLACE_HOLDING_NOTHING", "PLACE_DROP_VERIFY_FAILED", "PLACE_HOLDING_NOTHING")
    calls, report = carry()
    assert calls.count(PICK) == 2
    assert report["success"] is False


def test_the_other_object_is_carried_when_one_fails(carry, agents):
    agents.fail("approach", "NAV_TARGET_NOT_VISIBLE", "NAV_TARGET_NOT_VISIBLE")
    calls, report = carry(TWO)
    assert calls[-1] == "place tennis ball -> toy basket"
    assert [row["completed"] for row in report["objects"]] == [False, True]
    assert report["success"] is False


def test_two_objects_in_a_row_that_fail_at_the_same_stage_stop_the_task(carry, agents):
    agents.fail("pick", *["PICK_PLAN_FAILED"] * 4)
    _, report = carry(TWO + " and the sponge from the kitchen to the desk")
    rows = report["objects"]
    assert [r["error_code"] for r in rows] == ["PICK_PLAN_FAILED", "PICK_PLAN_FAILED", "UNKNOWN"]
    assert "two objects in a row" in rows[2]["reason"]


def test_two_objects_that_fail_at_different_stages_do_not_stop_the_task(carry, agents):
    agents.fail("pick", *["PICK_PLAN_FAILED"] * 2).succeed("pick").fail("place", "PLACE_OUT_OF_SCOPE")
    _, report = carry(TWO + " and the sponge from the kitchen to the desk")
    assert [r["completed"] for r in report["objects"]] == [False, False, True]


def test_no_conversation_is_longer_than_the_turns_that_there_are(orchestrator, agents):
    for agent, code in (("approach", "UNKNOWN"), ("pick", "UNKNOWN"), ("place", "UNKNOWN")):
        agents.fail(agent, *[code] * 60)
    talk = orchestrator(TWO)
    talk.run(agents, limit=50)


# refusals of the orchestrator's own code


def test_a_refused_call_is_not_repeated_and_the_code_before_it_is_reported(carry, agents):
    agents.fail("pick", "PICK_SEG_MISSED")
    agents.succeed("approach").queue["approach"].append(
        {"success": False, "error_code": "REFUSED", "message": "'blue mug' is given up: call report_task_result"}
    )
    calls, report = carry()
    assert calls == [TO_MUG, PICK, TO_MUG]
    assert report["objects"][0]["error_code"] == "PICK_SEG_MISSED"


def test_a_rejected_report_of_success_is_made_again_without_the_claim(orchestrator, agents):
    talk = orchestrator(SENTENCE)
    report = talk.run(agents)
    assert report.arguments["success"] is True
    talk.add(report, {"ok": False, "error_code": "INVALID_REPORT", "message": "blue mug was never placed"})
    again = talk.next()
    assert again.name == "report_task_result"
    assert again.arguments["success"] is False
    assert "never placed" in again.arguments["summary"]
