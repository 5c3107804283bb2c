"""Every code of the place agent, each provoked by the world."""

import pytest


async def test_none_on_a_table(studio):
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "wooden table", "surface_place")
    result = await studio.place("wooden table", "red coke can")
    assert result.error_code == "NONE", studio.memory.story()
    x, y, z = studio.truth()["objects"]["red coke can"]["position"]
    assert abs(x) < 0.55
    assert 1.30 < y < 1.85
    assert 0.50 < z < 0.60


@pytest.mark.parametrize("height", [None, 0.076])
async def test_what_was_held_from_before_is_not_pushed_into_a_table(studio, height):
    """Only 0.076 m of the can hang below the fingers; whoever measured that does not know how tall it is."""
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "wooden table", "surface_place")
    result = await studio.place("wooden table", "red coke can", height=height)
    assert result.error_code == "NONE", studio.memory.story()
    released = (await studio.call("moveit__get_grasp_state")).content["released"]["tool_position"][2]
    table, gripper = studio.truth()["objects"]["red coke can"]["position"][2] - 0.061, studio.robot.gripper
    assert released - table >= gripper.finger_offset_m + 0.122 - gripper.grasp_depth(0.122) - 0.005


async def test_none_into_a_bin(studio):
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "bin", "container_place")
    result = await studio.place("bin", "red coke can")
    assert result.error_code == "NONE", studio.memory.story()
    x, y, _ = studio.truth()["objects"]["red coke can"]["position"]
    assert abs(x + 1.75) < 0.17
    assert abs(y - 1.55) < 0.17


async def test_none_on_the_floor(studio):
    studio.reset("in_gripper:red coke can")
    result = await studio.place("floor", "red coke can")
    assert result.error_code == "NONE", studio.memory.story()
    assert studio.truth()["objects"]["red coke can"]["position"][2] < 0.10


async def test_place_holding_nothing(studio):
    result = await studio.place("wooden table", "red coke can")
    assert result.error_code == "PLACE_HOLDING_NOTHING", studio.memory.story()


async def test_place_out_of_scope(studio):
    studio.reset("in_gripper:red coke can")
    result = await studio.place("ceiling lamp", "red coke can")
    assert result.error_code == "PLACE_OUT_OF_SCOPE", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"


async def test_place_seg_missed(studio):
    """The robot looks at the counter; the table is behind its left shoulder."""
    studio.reset("in_gripper:red coke can")
    result = await studio.place("wooden table", "red coke can")
    assert result.error_code == "PLACE_SEG_MISSED", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"


async def test_place_reach_exceeded(studio):
    """The counter is in view, more than a metre away."""
    studio.reset("in_gripper:red coke can")
    result = await studio.place("counter", "red coke can")
    assert result.error_code == "PLACE_REACH_EXCEEDED", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"


async def test_place_plan_failed_where_furniture_stands(studio):
    """The floor before the robot is taken by the counter."""
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "counter", "surface_place")
    result = await studio.place("floor", "red coke can")
    assert result.error_code == "PLACE_PLAN_FAILED", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"


async def test_place_drop_verify_failed_when_the_object_rolls_away(studio):
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "wooden table", "surface_place")
    studio.when("moveit__open_gripper", lambda: studio.hide("red coke can"), after=True)
    result = await studio.place("wooden table", "red coke can")
    assert result.error_code == "PLACE_DROP_VERIFY_FAILED", studio.memory.story()


async def test_a_place_after_one_of_unknown_end_sees_what_that_had_done(studio):
    """What lies at its target already is placed; what does not is not in the gripper either."""
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "wooden table", "surface_place")
    await studio.place("wooden table", "red coke can")
    again = await studio.place("wooden table", "red coke can", follows_uncertain=True)
    assert again.error_code == "NONE", studio.memory.story()
    assert studio.truth()["releases"] == {"red coke can": 1}
    plain = await studio.place("wooden table", "red coke can")
    assert plain.error_code == "PLACE_HOLDING_NOTHING", studio.memory.story()
    studio.hide("red coke can")
    gone = await studio.place("wooden table", "red coke can", follows_uncertain=True)
    assert gone.error_code == "PLACE_HOLDING_NOTHING", studio.memory.story()


async def test_what_was_let_go_over_a_bin_and_is_seen_nowhere_is_not_known_to_be_in_it(studio):
    """Also for an attempt that follows and finds the gripper empty."""
    studio.reset("in_gripper:red coke can")
    await studio.approach("studio", "bin", "container_place")
    studio.when("moveit__open_gripper", lambda: studio.hide("red coke can"), after=True)
    for again in (False, True):
        result = await studio.place("bin", "red coke can", follows_uncertain=again)
        assert (result.error_code, result.state) == ("UNKNOWN", "UNCERTAIN"), studio.memory.story()
        assert "whether it is in is not known" in result.reason
