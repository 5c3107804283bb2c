"""Which thing keeps which id, and for whom."""

import re
from dataclasses import replace

import pytest

from quartet_contracts.tools.perception import SAME_PLACE_M
from quartet_perception.errors import UnknownObjectIdError
from quartet_perception.object_tracker import MAX_OBJECTS, MAX_TASKS, ObjectTracker, Observation

CAN, TWIN = Observation("can", (1.0, 0.0, 0.9)), Observation("can", (1.0, 0.25, 0.9))


def moved(seen, y):
    return replace(seen, place=(1.0, seen.place[1] + y, 0.9))


@pytest.fixture
def tracker():
    return ObjectTracker()


def test_two_of_a_name_keep_their_ids_in_any_order_and_alone(tracker):
    first, second = tracker.update("t", [CAN, TWIN])
    assert first != second
    assert re.fullmatch(r"obj_[0-9a-f]{12}", first)
    assert tracker.update("t", [moved(TWIN, 0.04), moved(CAN, -0.04)]) == [second, first]
    assert tracker.update("t", [TWIN]) == [second]
    assert tracker.update("t", [CAN, Observation("cup", CAN.place)])[0] == first, "another name is another thing"


def test_what_stands_elsewhere_is_another_thing(tracker):
    (first,) = tracker.update("t", [CAN])
    (other,) = tracker.update("t", [moved(CAN, SAME_PLACE_M + 0.01)])
    assert other != first
    assert tracker.update("t", [CAN]) == [first]
    assert tracker.update("t", [replace(CAN, frame="odom")]) != [first], "places of two frames say nothing"


def test_a_place_of_the_site_is_known_by_its_name(tracker):
    table = Observation("table", (3.0, 0.0, 0.5), unique=True)
    pieces = tracker.update("t", [table, replace(table, place=(3.0, 1.0, 0.5))])
    assert pieces[0] == pieces[1], "what hides its middle does not make two of it"
    assert tracker.update("t", [replace(table, place=(3.0, 1.5, 0.5)), CAN])[0] == pieces[0]


def test_what_was_grasped_by_mistake_is_known_again_where_it_was_put_back(tracker):
    first, second = tracker.update("t", [CAN, TWIN])
    assert tracker.mark_mistaken("t", {"can"}) is None, "no grasp was planned"
    tracker.mark_grasp_target("t", second)
    assert tracker.mark_mistaken("t", {"cup"}) is None, "the grasp was planned under another name"
    assert tracker.mark_mistaken("another task", {"can"}) is None
    assert tracker.mistaken("t") == []
    in_hand = replace(TWIN, place=(1.0, 0.2, 1.3), in_gripper=True)
    assert tracker.update("t", [CAN, in_hand]) == [first, second]
    assert tracker.mark_mistaken("t", {"cup", "can"}).object_id == second
    elsewhere = Observation("can", (4.0, 2.0, 0.5))
    (third,) = tracker.update("t", [elsewhere])
    assert third not in {first, second}, "nothing elsewhere is taken for it"
    assert tracker.update("t", [moved(TWIN, 0.03), CAN]) == [second, first]
    assert [one.object_id for one in tracker.mistaken("t")] == [second]
    assert {one.object_id for one in tracker.named("t", {"can"})} == {first, third}
    with pytest.raises(UnknownObjectIdError, match="ruled out in this task"):
        tracker.get("t", second)


def test_a_thing_beside_what_was_grasped_by_mistake_is_another_one(tracker):
    """Also in a picture that shows it alone, and whichever was seen first."""
    (wrong,) = tracker.update("t", [CAN])
    tracker.mark_grasp_target("t", wrong)
    tracker.mark_mistaken("t", {"can"})
    beside = moved(CAN, 0.15)
    (right,) = tracker.update("t", [beside])
    assert right != wrong
    assert tracker.update("t", [CAN, beside]) == [wrong, right]
    assert tracker.update("t", [moved(CAN, 0.08)]) == [wrong], "seen a little beside where it stands"
    assert tracker.update("t", [moved(CAN, -0.08)]) == [wrong], "one such look does not move it"
    assert tracker.mark_mistaken("t", {"can"}) is None, "the same grasp is no reason for a second one"


def test_what_has_no_place_gets_no_id(tracker):
    assert tracker.update("t", [Observation("glass", None)]) == [None]


def test_a_thing_keeps_its_id_in_the_hand_and_where_it_is_put_down(tracker):
    first, second = tracker.update("t", [CAN, TWIN])
    tracker.mark_grasp_target("t", second)
    in_hand = replace(TWIN, place=(1.0, 0.2, 1.3), in_gripper=True)
    assert tracker.update("t", [CAN, in_hand]) == [first, second]
    on_the_table = Observation("can", (4.0, 2.0, 0.5))
    assert tracker.update("t", [on_the_table]) == [second]
    assert tracker.update("t", [on_the_table, CAN]) == [second, first]
    assert tracker.update("t", [moved(CAN, 0.25)]) != [second], "nothing is carried any more"


def test_what_an_agent_says_is_held_may_turn_up_anywhere(tracker):
    first, second = tracker.update("t", [CAN, TWIN])
    assert tracker.mark_held("t", second).name == "can"
    assert tracker.update("t", [TWIN]) == [second]
    tracker.mark_held("t", second)
    assert tracker.update("t", [CAN, Observation("can", (4.0, 2.0, 0.5))]) == [first, second]


def test_what_is_known_to_be_held_is_nothing_that_lies_elsewhere(tracker):
    (held,) = tracker.update("t", [CAN])
    tracker.mark_held("t", held)
    lying = Observation("can", (4.0, 2.0, 0.5))
    (other,) = tracker.update("t", [lying], holding=held)
    assert other != held
    beside = replace(lying, place=(4.0, 2.15, 0.5))
    assert tracker.update("t", [lying, beside]) == [other, held], "the one where nothing was before is the one put down"


def test_something_in_the_hand_that_nobody_grasped_is_new(tracker):
    (first,) = tracker.update("t", [CAN])
    (held,) = tracker.update("t", [Observation("can", None, in_gripper=True)])
    assert held != first
    assert tracker.update("t", [Observation("can", None, in_gripper=True)]) == [held]


def test_an_id_of_another_task_or_none_is_refused(tracker):
    (mine,) = tracker.update("mine", [CAN])
    (theirs,) = tracker.update("theirs", [CAN])
    assert mine != theirs
    assert tracker.get("mine", mine).name == "can"
    for task, object_id in (("theirs", mine), ("mine", theirs), ("mine", "obj_000000000000"), ("nobody", mine)):
        for use in (tracker.get, tracker.mark_held, tracker.mark_grasp_target):
            with pytest.raises(UnknownObjectIdError, match="Go on with the name") as refused:
                use(task, object_id)
            assert object_id in str(refused.value)


def test_the_register_is_bounded(tracker):
    (oldest,) = tracker.update("t", [CAN])
    (kept,) = tracker.update("t", [TWIN])
    for number in range(MAX_OBJECTS - 1):
        tracker.update("t", [Observation(f"thing {number}", CAN.place), TWIN])
    assert tracker.get("t", kept)
    with pytest.raises(UnknownObjectIdError):
        tracker.get("t", oldest)
    for number in range(MAX_TASKS - 1):
        tracker.update(f"t{number}", [CAN])
    assert tracker.get("t", kept)
    tracker.update("one more", [CAN])
    with pytest.raises(UnknownObjectIdError):
        tracker.get("t", kept)


def test_doubtful_lookalike_beside_a_confirmed_object_is_another_thing(tracker):
    doubtful = replace(CAN, doubtful=True)
    (confirmed,) = tracker.update("t", [doubtful])
    tracker.settle("t", confirmed, is_it=True)
    assert tracker.update("t", [moved(doubtful, 0.05)]) == [confirmed], "it stays doubtful where it stands"
    assert tracker.update("t", [moved(doubtful, 0.05 + 0.15)]) != [confirmed]


def test_doubtful_observation_is_not_what_is_carried(tracker):
    (held,) = tracker.update("t", [CAN])
    tracker.mark_held("t", held)
    lying = Observation("can", (4.0, 2.0, 0.5), doubtful=True)
    assert tracker.update("t", [lying]) != [held]
    assert tracker.update("t", [Observation("can", (6.0, 2.0, 0.5))]) == [held]
