"""A claim of success stands only if the record of the task bears it out."""

import pytest

from quartet_contracts import DeliveryOutcome, TaskReport
from quartet_orchestrator.ledger import Hold, Ledger, ObjectRecord
from quartet_orchestrator.names import Names
from quartet_orchestrator.report_check import broken_off, settle_report
from quartet_site import SiteFile

SENTENCE = "put the red coke can on the wooden coffee table"


@pytest.fixture
def ledger() -> Ledger:
    look = {"colours": ["red"], "shape": "cylinder", "size_m": (0.1, 0.1, 0.1)}
    site = SiteFile.model_validate(
        {
            "name": "lab",
            "areas": [{"name": "kitchen", "entry": {"x": 0, "y": 0}, "outline": [(0, 0), (1, 0), (1, 1)]}],
            "surfaces": [{"name": "wooden coffee table", "area": "kitchen", "appearance": look}],
            "containers": [{"name": "bin", "area": "kitchen", "appearance": look}],
            "objects": [
                {"name": "red coke can", "appearance": look},
                {"name": "blue mug", "aliases": ["mug"], "appearance": look},
            ],
        }
    )
    return Ledger(Names(site), hold=Hold.EMPTY)


def placed(ledger: Ledger, name="red coke can", at="wooden coffee table", **fields) -> None:
    ledger.objects[name] = ObjectRecord(name, picks=1, last_code="NONE", place_succeeded=True, placed_at=at, **fields)


def missed(ledger: Ledger, name="red coke can", stage="pick", code="PICK_SEG_MISSED") -> None:
    ledger.objects[name] = ObjectRecord(name, last_stage=stage, last_code=code, last_reason="not seen")


def claim(*rows: tuple[str, str], success=True) -> TaskReport:
    objects = [DeliveryOutcome(object_name=n, target=t, completed=True) for n, t in rows]
    return TaskReport(success=success, summary="All done.", objects=objects)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("red coke can", "wooden coffee table"),
        ("the red coke can from the kitchen", "wooden coffee table, living room"),
        ("coke can", ""),
        ("red coke can", "somewhere"),
    ],
)
def test_a_true_claim_stands(ledger, name, target):
    placed(ledger)
    report = claim((name, target))
    assert settle_report(report, ledger, SENTENCE) is report


def test_a_thing_that_was_in_hand_is_found_by_its_target(ledger):
    placed(ledger, "held object", "bin")
    report = claim(("what the gripper holds", "bin, kitchen"))
    assert settle_report(report, ledger, "put what you hold into the bin") is report


@pytest.mark.parametrize("rows", [[("red coke can", "bin")], []])
def test_a_claim_without_any_deed_falls(ledger, rows):
    settled = settle_report(claim(*rows), ledger, SENTENCE)
    assert not settled.success
    assert "does not bear this out" in settled.summary


def test_a_failed_object_is_reported_with_its_code(ledger):
    missed(ledger)
    settled = settle_report(claim(("red coke can", "bin")), ledger, SENTENCE)
    assert (settled.objects[0].completed, settled.objects[0].error_code) == (False, "PICK_SEG_MISSED")


def test_one_of_two_is_not_all(ledger):
    placed(ledger)
    missed(ledger, "blue mug")
    settled = settle_report(claim(("red coke can", "wooden coffee table"), ("mug", "bin")), ledger, SENTENCE)
    assert [o.completed for o in settled.objects] == [True, False]
    assert not settled.success


def test_the_wrong_place_is_not_the_right_one(ledger):
    placed(ledger, at="floor")
    settled = settle_report(claim(("red coke can", "wooden coffee table")), ledger, SENTENCE)
    assert not settled.success
    assert "placed at 'floor'" in settled.objects[0].reason


def test_an_object_left_out_of_the_report_counts(ledger):
    placed(ledger)
    ledger.objects["blue mug"] = ObjectRecord("blue mug", picks=1, last_code="NONE", last_reason="held")
    settled = settle_report(claim(("red coke can", "wooden coffee table")), ledger, SENTENCE)
    assert not settled.success
    assert "blue mug was picked up and not put down" in settled.summary


@pytest.mark.parametrize(("sentence", "stands"), [("pick up the red coke can", True), (SENTENCE, False)])
def test_holding_is_enough_only_if_nobody_asked_for_more(ledger, sentence, stands):
    ledger.objects["red coke can"] = ObjectRecord("red coke can", picks=1, last_code="NONE")
    ledger.hold, ledger.held = Hold.OBJECT, "red coke can"
    assert settle_report(claim(("red coke can", "keep holding")), ledger, sentence).success is stands


def test_a_drive_alone_may_succeed(ledger):
    ledger.reached = True
    assert settle_report(claim(), ledger, "go to the kitchen").success


@pytest.mark.parametrize(("sentence", "stands"), [("what stands on the table?", True), (SENTENCE, False)])
def test_to_have_looked_is_not_to_have_carried(ledger, sentence, stands):
    ledger.looked = ledger.reached = True
    settled = settle_report(claim(), ledger, sentence)
    assert settled.success is stands
    assert stands or "no object was picked up or put down" in settled.summary


def test_an_honest_failure_keeps_its_words_and_loses_false_rows(ledger):
    settled = settle_report(claim(("red coke can", "bin"), success=False), ledger, SENTENCE)
    assert settled.summary == "All done."
    assert not settled.objects[0].completed


def test_a_task_that_is_broken_off_tells_what_was_done_and_what_is_held(ledger):
    placed(ledger)
    missed(ledger, "blue mug")
    ledger.hold, ledger.held = Hold.OBJECT, "blue mug"
    report = broken_off(ledger, "canceled by a person.")
    assert report.summary == "canceled by a person. Done before: red coke can. The robot keeps holding the blue mug."
    assert [(o.completed, o.error_code) for o in report.objects] == [(True, "NONE"), (False, "PICK_SEG_MISSED")]
