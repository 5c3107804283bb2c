"""Agents name things to each other by id: of two cans that look alike it is the very one that was found."""

import pytest

from quartet_contracts import new_object_id

CAN, TWIN = "red coke can", "second red coke can"


def stand_up(stage):
    """Two cans that look alike on the floor before the robot, the one to the right a little nearer."""
    stage.reset(world="twins")
    stage.put_before(CAN, 0.78, 0.14, 0.0)
    stage.put_before(TWIN, 0.74, -0.14, 0.0)


@pytest.fixture
def twins(studio):
    stand_up(studio)
    return studio


def given(stage, tool):
    """Arguments of the calls of a tool."""
    return [e.event.arguments for e in stage.memory.events if e.event.kind == "tool_call" and e.event.tool == tool]


async def ids(stage):
    """Ids of the left and the right can."""
    seen = (await stage.call("perception__detect_objects", names=[CAN])).content["detections"]
    left, right = sorted(seen, key=lambda one: -one["position_base"][1])
    assert left["label"] == right["label"] == CAN
    return left["object_id"], right["object_id"]


async def test_a_pick_grasps_the_one_of_two_equal_things_that_its_id_names(twins):
    by_term = await twins.pick(CAN)
    assert by_term.error_code == "NONE", twins.memory.story()
    taken = twins.truth()["held"]
    stand_up(twins)
    left, right = await ids(twins)
    other, wanted = (CAN, left) if taken == TWIN else (TWIN, right)
    result = await twins.pick(CAN, object_id=wanted)
    assert result.error_code == "NONE", twins.memory.story()
    assert twins.truth()["held"] == other, f"the term alone means {taken}"
    assert result.object_id == wanted
    assert given(twins, "perception__get_topdown_grasp_pose") == [{"object_id": wanted}]


async def test_an_approach_by_id_stands_before_that_one(twins):
    _, right = await ids(twins)
    result = await twins.approach("studio", CAN, object_id=right)
    assert (result.error_code, result.object_id) == ("NONE", right), twins.memory.story()


async def test_a_job_by_ids_also_where_one_is_forgotten(studio):
    approached = await studio.approach("studio", CAN)
    assert approached.error_code == "NONE", studio.memory.story()
    picked = await studio.pick(CAN, object_id=new_object_id())
    assert picked.error_code == "NONE", studio.memory.story()
    assert "UNKNOWN_OBJECT_ID" in studio.memory.story(), "the agent went on with the name"
    assert picked.object_id == approached.object_id, "it is still the thing that the approach found"
    table = await studio.approach("studio", "wooden table", "surface_place")
    assert table.error_code == "NONE", studio.memory.story()
    assert table.object_id not in {None, picked.object_id}
    before = len(given(studio, "perception__detect_objects"))
    placed = await studio.place("wooden table", CAN, target_id=table.object_id, object_id=picked.object_id)
    assert (placed.error_code, placed.object_id) == ("NONE", picked.object_id), studio.memory.story()
    assert studio.truth()["objects"][CAN]["on"] == "wooden table"
    for asked in given(studio, "perception__detect_objects")[before:]:
        assert "names" not in asked, "what was carried is known by its id where it lies"
    (drop, *_) = given(studio, "perception__get_topdown_placing_pose")
    assert (drop["object_id"], "object_name" in drop) == (table.object_id, False)
