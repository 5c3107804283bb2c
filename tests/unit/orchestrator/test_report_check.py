"""A claim of success stands only if the record of the task bears it out."""

import pytest

from quartet_contracts import DeliveryOutcome, PickArguments, PickResult, PlaceArguments, PlaceResult, TaskReport
from quartet_orchestrator.tasks.facts import GripperContent, ObjectRecord, TaskFacts
from quartet_orchestrator.tasks.names import SiteNames
from quartet_orchestrator.tasks.plan import PlanRow
from quartet_orchestrator.tasks.report_check import (
    find_missed_drives,
    forgotten_objects,
    report_without_model,
    verify_report,
)
from quartet_site import SiteFile

SENTENCE = "put the red coke can on the wooden coffee table"


@pytest.fixture
def facts() -> TaskFacts:
    look = {"colours": ["red"], "shape": "cylinder", "size_m": (0.1, 0.1, 0.1)}
    site = SiteFile.model_validate(
        {
            "name": "lab",
            "areas": [{"name": "kitchen", "entry": {"x": 0, "y": 0}, "outline": [(0, 0), (1, 0), (1, 1)]}],
            "surfaces": [{"name": "wooden coffee table", "area": "kitchen", "appearance": look}],
            "containers": [{"name": "bin", "aliases": ["trash can"], "area": "kitchen", "appearance": look}],
            "objects": [
                {"name": "red coke can", "appearance": look},
                {"name": "blue mug", "aliases": ["mug"], "appearance": look},
                {"name": "red mug", "appearance": look},
            ],
        }
    )
    return TaskFacts(SiteNames(site), gripper=GripperContent.EMPTY)


@pytest.fixture
def home() -> TaskFacts:
    look = {"colours": ["red"], "shape": "cylinder", "size_m": (0.1, 0.1, 0.1)}
    outline = [(0, 0), (1, 0), (1, 1)]
    named = [("kitchen", [], ["fridge"]), ("hallway", ["hall"], []), ("living room", [], ["desk"])]
    site = SiteFile.model_validate(
        {
            "name": "lab",
            "areas": [
                {"name": name, "aliases": aliases, "landmarks": marks, "entry": {"x": 0, "y": 0}, "outline": outline}
                for name, aliases, marks in named
            ],
            "surfaces": [{"name": "desk", "area": "living room", "appearance": look}],
            "objects": [{"name": "red coke can", "appearance": look}],
        }
    )
    return TaskFacts(SiteNames(site), gripper=GripperContent.EMPTY)


def placed(facts: TaskFacts, name="red coke can", at="wooden coffee table", **fields) -> None:
    facts.objects[name] = ObjectRecord(
        name, picks=1, last_code="NONE", place_succeeded=True, placed_at=at, delivered={"o1": at}, **fields
    )


def missed(facts: TaskFacts, name="red coke can", stage="pick", code="PICK_SEG_MISSED") -> None:
    facts.objects[name] = ObjectRecord(name, last_stage=stage, last_code=code, last_reason="not seen")


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
def test_a_true_claim_stands(facts, name, target):
    placed(facts)
    report = claim((name, target))
    assert verify_report(report, facts, SENTENCE) is report


def test_a_thing_that_was_in_hand_is_found_by_its_target(facts):
    placed(facts, "held object", "bin")
    report = claim(("what the gripper holds", "bin, kitchen"))
    assert verify_report(report, facts, "put what you hold into the bin") is report


@pytest.mark.parametrize("rows", [[("red coke can", "bin")], []])
def test_a_claim_without_any_deed_falls(facts, rows):
    settled = verify_report(claim(*rows), facts, SENTENCE)
    assert not settled.success
    assert "does not confirm this" in settled.summary


@pytest.mark.parametrize("other", ["blue mug", "red mug"])
def test_another_object_of_the_site_is_not_the_one_that_the_report_names(facts, other):
    """It carried the mug and calls it the can: neither the target nor a shared word makes one of them."""
    placed(facts, other)
    settled = verify_report(claim(("red coke can", "wooden coffee table")), facts, SENTENCE)
    assert not settled.success
    assert "nothing in the record of the task says that it was placed" in settled.summary


TWO = "Put the red coke can on the wooden coffee table, and the mug into the bin."


@pytest.mark.parametrize(
    ("sentence", "rows", "summary", "missing"),
    [
        (TWO, ["red coke can"], "All done.", "blue mug"),
        (TWO, [], "All done.", "red coke can, blue mug"),
        (TWO, ["the red coke can from the kitchen", "blue mug"], "All done.", None),
        (TWO, ["red coke can"], "The mug was not to be moved.", None),
        ("Can you throw the mug into the trash can?", ["blue mug"], "All done.", None),
        ("Bring me the bag", [], "All done.", None),
    ],
)
def test_a_success_says_something_of_every_object_that_the_sentence_names(facts, sentence, rows, summary, missing):
    report = claim(*((name, "") for name in rows)).model_copy(update={"summary": summary})
    found = forgotten_objects(report, facts.names, sentence)
    assert (found is None) == (missing is None)
    assert missing is None or f"names {missing}, and the report does not" in str(found)
    assert forgotten_objects(report.model_copy(update={"success": False}), facts.names, sentence) is None


def test_a_failed_object_is_reported_with_its_code(facts):
    missed(facts)
    settled = verify_report(claim(("red coke can", "bin")), facts, SENTENCE)
    assert (settled.objects[0].completed, settled.objects[0].error_code) == (False, "PICK_SEG_MISSED")


def test_one_of_two_is_not_all(facts):
    placed(facts)
    missed(facts, "blue mug")
    settled = verify_report(claim(("red coke can", "wooden coffee table"), ("mug", "bin")), facts, SENTENCE)
    assert [o.completed for o in settled.objects] == [True, False]
    assert not settled.success


def test_the_wrong_place_is_not_the_right_one(facts):
    placed(facts, at="floor")
    settled = verify_report(claim(("red coke can", "wooden coffee table")), facts, SENTENCE)
    assert not settled.success
    assert "placed at 'floor'" in settled.objects[0].reason


def test_an_object_left_out_of_the_report_counts(facts):
    placed(facts)
    facts.objects["blue mug"] = ObjectRecord("blue mug", picks=1, last_code="NONE", last_reason="held")
    settled = verify_report(claim(("red coke can", "wooden coffee table")), facts, SENTENCE)
    assert not settled.success
    assert "blue mug was picked up and not put down" in settled.summary


@pytest.mark.parametrize(("sentence", "stands"), [("pick up the red coke can", True), (SENTENCE, False)])
def test_holding_is_enough_only_if_nobody_asked_for_more(facts, sentence, stands):
    facts.objects["red coke can"] = ObjectRecord("red coke can", picks=1, last_code="NONE")
    facts.gripper, facts.held = GripperContent.OBJECT, "red coke can"
    assert verify_report(claim(("red coke can", "keep holding")), facts, sentence).success is stands


ROUND = "go to the hallway and then to the living room"


def drove(facts, *drives):
    facts.reached = bool(drives)
    facts.drives = [(area, thing or area) for area, _, thing in (one.partition("/") for one in drives)]


@pytest.mark.parametrize(
    ("sentence", "drives"),
    [
        ("go to the kitchen", ["kitchen"]),
        (ROUND, ["hallway", "living room"]),
        (ROUND, ["kitchen", "hall", "kitchen", "living room"]),
        ("drive to the desk in the living room", ["living room/desk"]),
        ("go to the fridge", ["kitchen"]),
        ("go from the hallway to the kitchen", ["kitchen"]),
        ("don't go to the hallway, go to the kitchen", ["kitchen"]),
        ("go to the kitchen before the hallway", ["kitchen", "hallway"]),
        ("go to the kitchen after the hallway", ["hallway", "kitchen"]),
        ("go to the living room and see what is on the desk", ["living room"]),
        ("Fahre in den hallway und dann in die kitchen", ["hallway", "kitchen"]),
    ],
)
def test_a_drive_alone_may_succeed(home, sentence, drives):
    drove(home, *drives)
    assert verify_report(claim(), home, sentence).success
    assert find_missed_drives(home, sentence) is None


@pytest.mark.parametrize(
    ("sentence", "drives"),
    [
        ("go to the kitchen", []),
        ("go to the kitchen", ["hallway"]),
        (ROUND, ["hallway"]),
        (ROUND, ["living room", "hallway"]),
        ("move to the hallway, then to the kitchen and return to the hallway", ["hallway", "kitchen"]),
        ("go to the desk", ["living room"]),
        ("go to the kitchen before the hallway", ["kitchen"]),
        ("navigate to the kitchen, not to the hallway", ["hallway"]),
    ],
)
def test_a_drive_that_was_left_out_is_no_success(home, sentence, drives):
    drove(home, *drives)
    settled = verify_report(claim(), home, sentence)
    assert not settled.success
    if drives:
        assert "the sentence wants the robot at" in settled.summary


def test_a_row_that_failed_has_a_code(facts):
    """A model may leave it out."""
    missed(facts)
    rows = [{"object_name": name, "completed": False} for name in ("red coke can", "blue mug")]
    report = TaskReport.model_validate({"success": False, "summary": "Not done.", "objects": rows})
    assert [row.error_code for row in report.objects] == ["UNKNOWN", "UNKNOWN"]
    settled = verify_report(report, facts, SENTENCE)
    assert [row.error_code for row in settled.objects] == ["PICK_SEG_MISSED", "UNKNOWN"]


@pytest.mark.parametrize(("sentence", "stands"), [("what stands on the table?", True), (SENTENCE, False)])
def test_to_have_looked_is_not_to_have_carried(facts, sentence, stands):
    facts.looked = facts.reached = True
    settled = verify_report(claim(), facts, sentence)
    assert settled.success is stands
    assert stands or "no object was picked up or put down" in settled.summary


def test_an_honest_failure_keeps_its_words_and_loses_false_rows(facts):
    settled = verify_report(claim(("red coke can", "bin"), success=False), facts, SENTENCE)
    assert settled.summary == "All done."
    assert not settled.objects[0].completed


def test_a_task_that_is_report_without_model_tells_what_was_done_and_what_is_held(facts):
    placed(facts)
    missed(facts, "blue mug")
    facts.gripper, facts.held = GripperContent.OBJECT, "blue mug"
    report = report_without_model(facts, "canceled by a person.")
    assert report.summary == "canceled by a person. Done before: red coke can. The robot keeps holding the blue mug."
    assert [(o.completed, o.error_code) for o in report.objects] == [(True, "NONE"), (False, "PICK_SEG_MISSED")]


def carry(facts: TaskFacts, object_id: str | None, target: str, code: str = "NONE", name: str = "red coke can") -> None:
    """A pick that succeeds, and a place that ends with `code`."""
    common = {
        "request_id": "r",
        "task_id": "t",
        "reason": "so it was",
        "object_id": object_id and f"obj_{object_id:0>12}",
    }
    picked = PickResult.model_validate(
        {**common, "success": True, "error_code": "NONE", "state": "SUCCEEDED", "held_object_height_m": 0.12}
    )
    facts.note(PickArguments(object_name=name), picked)
    done = code == "NONE"
    put = PlaceResult.model_validate(
        {**common, "success": done, "error_code": code, "state": "SUCCEEDED" if done else "FAILED"}
    )
    facts.note(PlaceArguments(target_location=target, object_name=name, object_height_m=0.12), put)


TWO = claim(("red coke can", "wooden coffee table"), ("red coke can", "wooden coffee table"))


def test_one_delivery_does_not_confirm_two_things_of_one_name(facts):
    carry(facts, "1", "wooden coffee table")
    settled = verify_report(TWO, facts, SENTENCE)
    assert not settled.success
    assert [outcome.completed for outcome in settled.objects] == [True, False]
    assert "only one of this name" in settled.summary


def test_two_things_of_one_name_are_two_deliveries(facts):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "2", "wooden coffee table")
    assert verify_report(TWO, facts, SENTENCE) is TWO


def test_one_thing_that_was_carried_twice_is_one_delivery(facts):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "1", "wooden coffee table")
    assert not verify_report(TWO, facts, SENTENCE).success


def test_things_of_one_name_that_nobody_can_tell_apart_are_no_two_deliveries(facts):
    carry(facts, None, "wooden coffee table")
    carry(facts, None, "wooden coffee table")
    assert not verify_report(TWO, facts, SENTENCE).success


def test_of_two_things_of_one_name_the_first_stays_delivered_when_the_second_is_dropped(facts):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "2", "wooden coffee table", code="PLACE_DROP_VERIFY_FAILED")
    settled = verify_report(TWO, facts, SENTENCE)
    assert [outcome.completed for outcome in settled.objects] == [True, False]


def test_two_things_of_one_name_may_go_to_two_places_in_any_order(facts):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "2", "bin")
    plan = [PlanRow("red coke can", "bin"), PlanRow("red coke can", "wooden coffee table")]
    report = claim(("red coke can", "bin"), ("red coke can", "wooden coffee table"))
    assert verify_report(report, facts, SENTENCE, plan) is report
    both_in_the_bin = claim(("red coke can", "bin"), ("red coke can", "bin"))
    settled = verify_report(both_in_the_bin, facts, SENTENCE)
    assert [outcome.completed for outcome in settled.objects] == [True, False]


def test_a_thing_that_was_picked_again_as_another_one_and_dropped_is_not_delivered(facts):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "2", "wooden coffee table", code="PLACE_DROP_VERIFY_FAILED")
    settled = verify_report(claim(("red coke can", "wooden coffee table")), facts, SENTENCE)
    assert not settled.success
    assert settled.objects[0].error_code == "PLACE_DROP_VERIFY_FAILED"


@pytest.mark.parametrize("target", ["wooden coffee table", ""])
def test_a_thing_that_was_picked_again_as_another_one_lies_where_it_was_put_last(facts, target):
    carry(facts, "1", "wooden coffee table")
    carry(facts, "2", "bin")
    plan = [PlanRow("red coke can", "wooden coffee table")]
    assert not verify_report(claim(("red coke can", target)), facts, SENTENCE, plan).success


PUT_IN_OTHER_LANGUAGES = [
    "Stell die rote Coladose auf den Couchtisch",
    "Nimm die Coladose und leg sie auf den Tisch",
    "Wirf die Dose in den Eimer",
    "Mets la canette rouge sur la table basse",
    "Prends la canette et pose la sur la table",
    "Dépose la canette dans la poubelle",
    "Coge la lata y ponla en la mesa",
    "Lleva la lata roja a la mesa",
    "Metti la lattina sul tavolo",
    "Coloque a lata na mesa",
    "Zet het blikje op de tafel",
]
TAKE_IN_OTHER_LANGUAGES = [
    "Nimm die rote Coladose",
    "Ramasse la canette",
    "Coge la lata",
    "Raccogli la lattina",
    "Pegue a lata",
    "Neem het blikje",
]


@pytest.mark.parametrize("sentence", PUT_IN_OTHER_LANGUAGES)
def test_what_is_still_held_is_no_success_of_a_sentence_that_asks_in_another_language_to_put_it_down(facts, sentence):
    facts.objects["red coke can"] = ObjectRecord("red coke can", picks=1, last_code="NONE")
    facts.gripper, facts.held = GripperContent.OBJECT, "red coke can"
    assert not verify_report(claim(("red coke can", "")), facts, sentence).success


@pytest.mark.parametrize("sentence", TAKE_IN_OTHER_LANGUAGES)
def test_what_is_to_be_taken_in_another_language_is_held_in_the_end(facts, sentence):
    facts.looked = True
    assert not verify_report(claim(), facts, sentence).success, "it has only looked"
    facts.objects["red coke can"] = ObjectRecord("red coke can", picks=1, last_code="NONE")
    facts.gripper, facts.held = GripperContent.OBJECT, "red coke can"
    assert verify_report(claim(("red coke can", "")), facts, sentence).success


@pytest.mark.parametrize(
    "sentence", ["pick up the pan on the range", "grab the table leg", "pick the red coke can up in its pose"]
)
def test_words_that_other_languages_put_things_with_are_none_in_english(facts, sentence):
    facts.objects["red coke can"] = ObjectRecord("red coke can", picks=1, last_code="NONE")
    facts.gripper, facts.held = GripperContent.OBJECT, "red coke can"
    assert verify_report(claim(("red coke can", "")), facts, sentence).success


@pytest.mark.parametrize("sentence", ["was siehst du?", "look into the hole", "what is on the desk", "où es-tu ?"])
def test_a_look_is_enough_where_nothing_is_to_be_handled(facts, sentence):
    facts.looked = True
    assert verify_report(claim(), facts, sentence).success


@pytest.mark.parametrize(
    ("picked", "put_down", "subject"),
    [
        ("bottle", "bottle made of green glass", "bottle"),
        ("cola", "red coke can", "cola"),
        ("red coke can", "the can", "red coke can"),
        # The site knows both: the model does not put down what it holds, or holds another thing.
        ("red coke can", "blue mug", "blue mug"),
    ],
)
def test_other_words_for_the_held_object_are_the_held_object(
    facts: TaskFacts, picked: str, put_down: str, subject: str
) -> None:
    facts.gripper, facts.held = GripperContent.OBJECT, facts.names.thing(picked)
    place = PlaceArguments(target_location="bin", object_name=put_down)
    assert facts.object_of(place) == subject


def test_a_failed_object_of_the_sentence_cannot_be_left_out_of_plan_and_report(facts: TaskFacts) -> None:
    placed(facts)
    missed(facts, "blue mug", stage="approach", code="NAV_TARGET_NOT_VISIBLE")
    sentence = "put the red coke can and the blue mug on the wooden coffee table"
    row = PlanRow("red coke can", "wooden coffee table")
    report = verify_report(claim(("red coke can", "wooden coffee table")), facts, sentence, [row])
    assert not report.success
    assert "blue mug" in report.summary


@pytest.mark.parametrize(
    "sentence",
    [
        "Move the red coke can to the hallway",
        "take the red coke can to the hallway",
        "return the red coke can",
        "clean up the desk",
    ],
)
def test_a_drive_is_no_success_for_a_sentence_that_moves_an_object(home: TaskFacts, sentence: str) -> None:
    home.reached, home.drives = True, [("hallway", "hallway")]
    assert not verify_report(TaskReport(success=True, summary="the red coke can"), home, sentence).success


@pytest.mark.parametrize(
    "sentence",
    [
        "Why don't you go to the kitchen?",
        "Go without delay to the kitchen",
        "Do not stop until you are in the kitchen, go there",
        "Drive from the hallway through the living room",
        "Fahr von der kitchen ins living room",
    ],
)
def test_a_destination_behind_a_negation_or_a_start_counts(home: TaskFacts, sentence: str) -> None:
    home.reached, home.drives = True, [("hallway", "hallway")]
    assert find_missed_drives(home, sentence) is not None
