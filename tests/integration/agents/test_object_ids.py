"""Agents name things to each other by id: of two cans that look alike it is the very one that was found."""

import pytest

from quartet_contracts import new_object_id

CAN, TWIN = "red coke can", "second red coke can"
pytestmark = pytest.mark.long


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
    placed = await studio.place("wooden table", CAN, target_id=table.object_id, held_id=picked.object_id)
    assert (placed.error_code, placed.object_id) == ("NONE", picked.object_id), studio.memory.story()
    assert studio.truth()["objects"][CAN]["on"] == "wooden table"
    for asked in given(studio, "perception__detect_objects")[before:]:
        assert "names" not in asked, "what was carried is known by its id where it lies"
    (drop, *_) = given(studio, "perception__get_topdown_placing_pose")
    assert (drop["target_id"], "object_name" in drop) == (table.object_id, False)


async def carry_to_the_twin(stage):
    """Bring one can to the table that the other lies on; return a place's ids and what lay there before."""
    stage.reset(world="twins")
    stage.hide(TWIN)
    approached = await stage.approach("studio", CAN)
    picked = await stage.pick(CAN, object_id=approached.object_id)
    assert picked.error_code == "NONE", stage.memory.story()
    table = await stage.approach("studio", "wooden table", "surface_place")
    stage.put_before(TWIN, 0.72, 0.3, 0.5)
    seen = (await stage.call("perception__detect_objects", names=[CAN], held_id=picked.object_id)).content
    (twin,) = [one for one in seen["detections"] if not one["in_gripper"]]
    assert twin["object_id"] != picked.object_id, "the other can is not the one that is held"
    before = [{"position": twin["position_map"], "object_id": twin["object_id"]}]
    return {"held_id": picked.object_id, "target_id": table.object_id, "alike_before": before}


@pytest.mark.parametrize("by_id", [True, False])
async def test_what_lay_at_the_target_before_is_not_taken_for_what_was_lost(studio, by_id):
    told = await carry_to_the_twin(studio)
    studio.when("moveit__open_gripper", lambda: studio.hide(CAN), after=True)
    told |= {} if by_id else {"held_id": None}
    lost = await studio.place("wooden table", CAN, **told)
    assert lost.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()
    assert "was there before" in lost.reason


@pytest.mark.parametrize("by_id", [True, False])
async def test_what_is_put_down_beside_one_that_looks_like_it_is_seen(studio, by_id):
    told = await carry_to_the_twin(studio)
    placed = await studio.place("wooden table", CAN, **told | ({} if by_id else {"held_id": None}))
    assert placed.error_code == "NONE", studio.memory.story()
    assert studio.truth()["objects"][CAN]["on"] == "wooden table"
    assert placed.object_id == told["held_id"]


async def before_a_bin_with_a_twin(stage):
    """Bring one can to the bin that the other has lain in all the time; return a place's arguments."""
    stage.reset(world="twins")
    # Beside the middle, so that the other can, let go over the middle, does not come to stand on it.
    stage.post("/place", object=TWIN, x=-1.67, y=1.60, z=0.02)
    approached = await stage.approach("studio", CAN)
    picked = await stage.pick(CAN, object_id=approached.object_id)
    assert picked.error_code == "NONE", stage.memory.story()
    await stage.approach("studio", "bin", "container_place")
    return {"object_id": picked.object_id, "alike_before": []}


async def test_one_that_was_never_seen_in_a_bin_is_not_taken_for_what_was_lost(studio):
    told = await before_a_bin_with_a_twin(studio)
    studio.when("moveit__open_gripper", lambda: studio.hide(CAN))
    lost = await studio.place("bin", CAN, **told)
    assert (lost.error_code, lost.state) == ("UNKNOWN", "UNCERTAIN"), studio.memory.story()
    assert "may have lain there before" in lost.reason


async def test_what_is_let_go_over_a_bin_with_one_that_looks_like_it_is_in(studio):
    told = await before_a_bin_with_a_twin(studio)
    placed = await studio.place("bin", CAN, **told)
    assert placed.error_code == "NONE", studio.memory.story()
    x, y, _ = studio.truth()["objects"][CAN]["position"]
    assert abs(x + 1.75) < 0.17
    assert abs(y - 1.55) < 0.17
