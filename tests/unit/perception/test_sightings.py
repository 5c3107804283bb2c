"""Which thing keeps which id, and for whom."""

import re
from dataclasses import replace

import pytest

from quartet_perception.errors import UnknownObjectId
from quartet_perception.sightings import MAX_TASKS, MAX_THINGS, SAME_M, Seen, Sightings

CAN, TWIN = Seen("can", (1.0, 0.0, 0.9)), Seen("can", (1.0, 0.25, 0.9))


def moved(seen, y):
    return replace(seen, place=(1.0, seen.place[1] + y, 0.9))


@pytest.fixture
def sightings():
    return Sightings()


def test_two_of_a_name_keep_their_ids_in_any_order_and_alone(sightings):
    first, second = sightings.note("t", [CAN, TWIN])
    assert first != second
    assert re.fullmatch(r"obj_[0-9a-f]{12}", first)
    assert sightings.note("t", [moved(TWIN, 0.04), moved(CAN, -0.04)]) == [second, first]
    assert sightings.note("t", [TWIN]) == [second]
    assert sightings.note("t", [CAN, Seen("cup", CAN.place)])[0] == first, "another name is another thing"


def test_what_stands_elsewhere_is_another_thing(sightings):
    (first,) = sightings.note("t", [CAN])
    (other,) = sightings.note("t", [moved(CAN, SAME_M + 0.01)])
    assert other != first
    assert sightings.note("t", [CAN]) == [first]
    assert sightings.note("t", [replace(CAN, frame="odom")]) != [first], "places of two frames say nothing"


def test_a_place_of_the_site_is_known_by_its_name(sightings):
    table = Seen("table", (3.0, 0.0, 0.5), only_one=True)
    pieces = sightings.note("t", [table, replace(table, place=(3.0, 1.0, 0.5))])
    assert pieces[0] == pieces[1], "what hides its middle does not make two of it"
    assert sightings.note("t", [replace(table, place=(3.0, 1.5, 0.5)), CAN])[0] == pieces[0]


def test_what_has_no_place_gets_no_id(sightings):
    assert sightings.note("t", [Seen("glass", None)]) == [None]


def test_a_thing_keeps_its_id_in_the_hand_and_where_it_is_put_down(sightings):
    first, second = sightings.note("t", [CAN, TWIN])
    sightings.grasp("t", second)
    in_hand = replace(TWIN, place=(1.0, 0.2, 1.3), in_gripper=True)
    assert sightings.note("t", [CAN, in_hand]) == [first, second]
    on_the_table = Seen("can", (4.0, 2.0, 0.5))
    assert sightings.note("t", [on_the_table]) == [second]
    assert sightings.note("t", [on_the_table, CAN]) == [second, first]
    assert sightings.note("t", [moved(CAN, 0.25)]) != [second], "nothing is carried any more"


def test_what_an_agent_says_is_held_may_turn_up_anywhere(sightings):
    first, second = sightings.note("t", [CAN, TWIN])
    assert sightings.carry("t", second).name == "can"
    assert sightings.note("t", [TWIN]) == [second]
    sightings.carry("t", second)
    assert sightings.note("t", [CAN, Seen("can", (4.0, 2.0, 0.5))]) == [first, second]


def test_something_in_the_hand_that_nobody_grasped_is_new(sightings):
    (first,) = sightings.note("t", [CAN])
    (held,) = sightings.note("t", [Seen("can", None, in_gripper=True)])
    assert held != first
    assert sightings.note("t", [Seen("can", None, in_gripper=True)]) == [held]


def test_an_id_of_another_task_or_none_is_refused(sightings):
    (mine,) = sightings.note("mine", [CAN])
    (theirs,) = sightings.note("theirs", [CAN])
    assert mine != theirs
    assert sightings.get("mine", mine).name == "can"
    for task, object_id in (("theirs", mine), ("mine", theirs), ("mine", "obj_000000000000"), ("nobody", mine)):
        for use in (sightings.get, sightings.carry, sightings.grasp):
            with pytest.raises(UnknownObjectId, match="Go on with the name") as refused:
                use(task, object_id)
            assert object_id in str(refused.value)


def test_the_register_is_bounded(sightings):
    (oldest,) = sightings.note("t", [CAN])
    (kept,) = sightings.note("t", [TWIN])
    for number in range(MAX_THINGS - 1):
        sightings.note("t", [Seen(f"thing {number}", CAN.place), TWIN])
    assert sightings.get("t", kept)
    with pytest.raises(UnknownObjectId):
        sightings.get("t", oldest)
    for number in range(MAX_TASKS - 1):
        sightings.note(f"t{number}", [CAN])
    assert sightings.get("t", kept)
    sightings.note("one more", [CAN])
    with pytest.raises(UnknownObjectId):
        sightings.get("t", kept)
