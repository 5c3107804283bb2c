"""A report is compared with the plan that was stated at the start, not with what it says of itself."""

import pytest

from quartet_contracts import DeliveryOutcome, JournalEvent, TaskReport
from quartet_contracts.journal import Answered, Asked, ModelTurn, SkillRequested
from quartet_orchestrator.tasks.facts import GripperContent, ObjectRecord, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.plan import PlanRow, StatedPlan, find_mismatch, read_table
from quartet_orchestrator.tasks.report_check import verify_report
from quartet_site import SiteFile

SENTENCE = "put the red coke can and the blue mug on the wooden coffee table"
TABLE, BIN = "wooden coffee table", "bin"
PLAN = [PlanRow("red coke can", TABLE), PlanRow("blue mug", BIN)]
TEXT = """Plan:
| object | pick up at | put down at |
|---|---|---|
| red coke can | kitchen counter | wooden coffee table |
| `blue mug` | **kitchen** | bin |

I begin with the can.
"""


@pytest.fixture
def facts() -> TaskFacts:
    look = {"colours": ["red"], "shape": "cylinder", "size_m": (0.1, 0.1, 0.1)}
    site = SiteFile.model_validate(
        {
            "name": "lab",
            "areas": [{"name": "kitchen", "entry": {"x": 0, "y": 0}, "outline": [(0, 0), (1, 0), (1, 1)]}],
            "surfaces": [{"name": TABLE, "area": "kitchen", "appearance": look}],
            "containers": [{"name": BIN, "area": "kitchen", "appearance": look}],
            "objects": [
                {"name": "red coke can", "aliases": ["coke can"], "appearance": look},
                {"name": "blue mug", "aliases": ["mug"], "appearance": look},
                {"name": "green bottle", "appearance": look},
            ],
        }
    )
    return TaskFacts(SiteNames(site), gripper=GripperContent.EMPTY)


def put(facts, **places):
    for name, at in places.items():
        name = name.replace("_", " ")
        facts.objects[name] = ObjectRecord(
            name, picks=1, last_code="NONE", place_succeeded=True, placed_at=at, delivered={"1": at}
        )


def claim(*rows, success=True):
    objects = [DeliveryOutcome(object_name=n, target=t, completed=True) for n, t in rows]
    return TaskReport(success=success, summary="All done.", objects=objects)


def test_what_was_planned_and_done_is_a_success(facts):
    put(facts, red_coke_can=TABLE, blue_mug=BIN)
    for rows in (
        [("red coke can", TABLE), ("blue mug", BIN)],
        [("the mug from the kitchen", BIN), ("coke can", "")],
    ):
        report = claim(*rows)
        assert verify_report(report, facts, SENTENCE, PLAN) is report


def test_an_object_that_the_report_forgets_is_no_success(facts):
    """A model that delivers one of two and reports one."""
    put(facts, red_coke_can=TABLE)
    report = verify_report(claim(("red coke can", TABLE)), facts, SENTENCE, PLAN)
    assert not report.success
    assert [(o.object_name, o.completed) for o in report.objects] == [("red coke can", True), ("blue mug", False)]
    assert report.objects[1].target == BIN
    assert "blue mug: the plan names it, and the report does not" in report.summary


def test_a_report_without_objects_is_no_success_of_a_plan(facts):
    report = verify_report(claim(), facts, "go to the kitchen", PLAN)
    assert (report.success, len(report.objects)) == (False, 2)


def test_swapped_targets_are_no_success(facts):
    """It tells truly where the things are, and that is not where they were to go."""
    put(facts, red_coke_can=BIN, blue_mug=TABLE)
    report = verify_report(claim(("red coke can", BIN), ("blue mug", TABLE)), facts, SENTENCE, PLAN)
    assert not report.success
    assert [o.completed for o in report.objects] == [False, False]
    assert f"red coke can: the plan puts it at '{TABLE}', and it was put at 'bin'" in report.summary


def test_a_target_that_the_report_leaves_out_is_taken_from_the_record(facts):
    put(facts, red_coke_can=BIN, blue_mug=BIN)
    report = verify_report(claim(("red coke can", ""), ("blue mug", "")), facts, SENTENCE, PLAN)
    assert [o.completed for o in report.objects] == [False, True]


def test_another_object_under_the_planned_one_is_no_success(facts):
    """It fetched the bottle instead, and says so."""
    put(facts, red_coke_can=TABLE, green_bottle=BIN)
    report = verify_report(claim(("red coke can", TABLE), ("green bottle", BIN)), facts, SENTENCE, PLAN)
    assert not report.success
    assert report.objects[-1].object_name == "blue mug"


def test_two_of_one_name_need_two_rows(facts):
    put(facts, red_coke_can=TABLE)
    plan = [PlanRow("red coke can", TABLE), PlanRow("coke can", BIN)]
    report = verify_report(claim(("red coke can", TABLE)), facts, SENTENCE, plan)
    assert not report.success
    assert [(o.target, o.completed) for o in report.objects] == [(TABLE, True), (BIN, False)]


def test_a_thing_that_the_site_does_not_know_is_matched_by_its_words(facts):
    put(facts, small_teddy_bear=TABLE)
    report = claim(("teddy bear", TABLE))
    assert verify_report(report, facts, SENTENCE, [PlanRow("small teddy bear", TABLE)]) is report


def test_a_failure_has_every_row_too(facts):
    put(facts, red_coke_can=TABLE)
    report = verify_report(claim(("red coke can", TABLE), success=False), facts, SENTENCE, PLAN)
    assert [o.object_name for o in report.objects] == ["red coke can", "blue mug"]
    assert report.summary == "All done."


def test_without_a_plan_the_record_decides(facts):
    put(facts, red_coke_can=TABLE)
    report = claim(("red coke can", TABLE))
    assert verify_report(report, facts, SENTENCE) is report


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (TEXT, PLAN),
        ("| # | Object | Pickup place | Drop place |\n|--|:--|--|--|\n| 1 | blue mug | kitchen | bin |", PLAN[1:]),
        ("| object | target |\n|---|---|\n| blue mug | - |", [PlanRow("blue mug", "")]),
        ("| object | target |\n|---|---|\n| blue mug | keep holding |", [PlanRow("blue mug", "")]),
        ("| object | target |\n|---|---|\n| blue mug | stays in the gripper |", [PlanRow("blue mug", "")]),
        ("| object | target |\n|---|---|\n| blue mug | gripper shelf |", [PlanRow("blue mug", "gripper shelf")]),
        ("| object | pickup place |\n|---|---|\n| blue mug | kitchen |", [PlanRow("blue mug", "")]),
        ("| object | drop place |\n|---|---|\n| — | kitchen |", []),
        ("| step | action |\n|---|---|\n| 1 | drive |", []),
        ("| object | target |\n|---|---|", []),
        ("| object", []),
        ("I fetch the object.", []),
        ("", []),
    ],
)
def test_the_plan_is_read_from_a_table(text, rows):
    assert read_table(text) == rows


def test_a_place_in_the_header_of_the_pickup_is_no_target():
    text = "| object | drop place | pickup place |\n|---|---|---|\n| blue mug | bin | kitchen |"
    assert read_table(text) == PLAN[1:]


def turn(text):
    return ModelTurn(turn=1, text=text)


def plan_of(*happenings, request_id=None):
    events = (
        JournalEvent(task_id="t", actor="orchestrator", at=1.0, event=event, request_id=request_id)
        for event in happenings
    )
    return StatedPlan(events).rows


def asked_for(skill):
    return SkillRequested(request_id="r", skill=skill, attempt=1, fence=1, arguments={})


SHORTER = "| object | target |\n|---|---|\n| blue mug | bin |"
ASKED = Asked(question_id="q", text="Without the can?", expires_at=9.0)
ANSWERED = Answered(question_id="q", text="yes")


@pytest.mark.parametrize("skill", ["pick", "place"])
def test_the_plan_binds_from_the_first_pick_or_place(skill):
    """A model that looks first may state what it has seen; it cannot drop a row once it has begun."""
    before = [turn("Let me see."), turn(SHORTER), asked_for("approach"), turn("I see both."), turn(TEXT)]
    assert plan_of(*before) == PLAN
    assert plan_of(*before, asked_for(skill), turn(SHORTER)) == PLAN
    assert plan_of(asked_for(skill), turn(TEXT), turn(SHORTER)) == PLAN, "the first one that is stated after it"


def test_a_persons_answer_may_change_it():
    begun = [turn(TEXT), asked_for("pick"), ASKED]
    assert plan_of(*begun, ANSWERED, turn("I see."), turn(SHORTER), turn(TEXT)) == PLAN[1:]
    assert plan_of(*begun, ANSWERED, turn("I see.")) == PLAN
    assert plan_of(*begun, turn(SHORTER)) == PLAN, "nobody answered"


DRINK = [PlanRow("something to drink", TABLE)]


def test_a_report_in_other_words_than_the_plan_is_told_the_rows(facts):
    fault = find_mismatch(claim(("green bottle", TABLE)).objects, DRINK, facts)
    assert fault is not None
    assert "object_name 'something to drink', target 'wooden coffee table'" in fault
    assert "'green bottle'" in fault
    assert find_mismatch(claim(("something to drink", TABLE)).objects, DRINK, facts) is None


def test_what_was_brought_counts_under_the_words_of_the_plan(facts):
    put(facts, green_bottle=TABLE)
    report = claim(("something to drink", TABLE))
    assert verify_report(report, facts, "bring something to drink to the coffee table", DRINK) is report
    elsewhere = verify_report(claim(("something to drink", TABLE)), facts, SENTENCE, [PlanRow("a drink", BIN)])
    assert not elsewhere.success


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("red coke can", TABLE)], "'blue mug'"),
        ([("red coke can", TABLE), ("blue mug", TABLE)], "'blue mug'"),
        ([("red coke can", TABLE), ("blue mug", BIN), ("green bottle", BIN)], "'green bottle'"),
        ([], "'red coke can', 'blue mug'"),
    ],
)
def test_a_missing_moved_or_further_entry_does_not_fit_the_plan(facts, rows, said):
    fault = find_mismatch(claim(*rows).objects, PLAN, facts)
    assert fault is not None
    assert f"({said})" in fault


def test_entries_in_the_words_of_the_site_fit_the_plan(facts):
    assert find_mismatch(claim(("coke can", "the table over there"), ("mug", "")).objects, PLAN, facts) is None


def test_the_plan_of_a_sub_agent_is_none():
    assert plan_of(turn(TEXT), request_id="r1") == []
