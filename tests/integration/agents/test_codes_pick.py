"""Every code of the pick agent, each provoked by the world."""

import math


async def test_none_and_the_height_of_the_object(studio):
    await studio.approach("studio", "red coke can", "pick")
    can = studio.truth()["objects"]["red coke can"]["position"]
    result = await studio.pick("red coke can")
    assert result.error_code == "NONE", studio.memory.story()
    assert studio.truth()["held"] == "red coke can"
    assert abs(result.held_object_height_m - 0.122) < 0.02
    # The arm's planner was told how large it is, as the grasp pose had it: 66 mm, not the usual size.
    told = await studio.call("moveit__list_collision_objects")
    [held] = told.content["objects"]
    # Where the fingers closed on it is known, for the case that it has to go back.
    grasp = (await studio.call("moveit__get_grasp_state")).content["grasped"]
    assert grasp["tool_pose"]["frame_id"] == studio.robot.frames.odom
    assert 0.1 < grasp["tool_pose"]["position"][2] - can[2] < 0.3
    between, across, height = held["dimensions_m"]
    assert abs((await studio.call("moveit__get_grasp_state")).content["object_height_m"] - height) < 1e-4
    assert max(abs(between - 0.066), abs(across - 0.066), abs(height - 0.122)) < 0.012, held


async def test_pick_seg_missed(studio):
    studio.reset("absent:red coke can")
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_SEG_MISSED", studio.memory.story()
    assert "moveit__plan_and_execute" not in studio.memory.tools()


async def test_pick_reach_exceeded(studio):
    """From the entry pose the counter is nearly two metres away."""
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_REACH_EXCEEDED", studio.memory.story()


async def test_pick_plan_failed_under_a_table(studio):
    """The can stands on the floor under the table top: nothing gets to it from above."""
    await studio.approach("studio", "wooden table", "surface_place")
    studio.put_before("red coke can", 0.72, 0.0, 0.0)
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_PLAN_FAILED", studio.memory.story()
    assert studio.truth()["held"] is None


async def test_pick_attach_timeout_when_the_fingers_close_on_nothing(studio):
    """Each time the hand is about to close, somebody has moved the can; it is back when it is looked for."""
    await studio.approach("studio", "red coke can", "pick")
    home = studio.truth()["objects"]["red coke can"]["position"]
    studio.when("moveit__close_gripper", lambda: studio.hide("red coke can"))
    studio.when(
        "perception__segment_objects", lambda: studio.post("/place", object="red coke can", x=home[0], y=home[1], z=0.9)
    )
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_ATTACH_TIMEOUT", studio.memory.story()
    assert studio.memory.tools().count("moveit__close_gripper") == 2


async def test_pick_holding_already(studio):
    studio.reset("in_gripper:red cup")
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_HOLDING_ALREADY", studio.memory.story()
    assert "holds 'red cup'" in result.reason
    assert result.held_object == "red cup"
    assert result.held_object_height_m == 0.093


async def test_a_wrong_object_is_put_back_where_it_was_taken_from(studio):
    """Where the can stood there is a cup of the same colour when the hand comes down; the model does not notice."""
    await studio.approach("studio", "red coke can", "pick")
    at = studio.truth()["objects"]["red coke can"]["position"]

    def swap() -> None:
        studio.hide("red coke can")
        studio.post("/place", object="red cup", x=at[0], y=at[1], z=0.9)

    studio.when("moveit__close_gripper", swap)
    result = await studio.pick("red coke can")
    assert result.error_code == "PICK_WRONG_OBJECT", studio.memory.story()
    assert result.put_back, (result.reason, studio.memory.story())
    assert (result.held_object, studio.truth()["held"]) == (None, None)
    assert "put back where it was taken from" in result.reason
    assert math.dist(studio.truth()["objects"]["red cup"]["position"][:2], at[:2]) < 0.03
    state = (await studio.call("moveit__get_current_pose")).content["joint_positions"]
    arm = studio.robot.arm
    tucked = dict(zip(arm.joints, arm.named_states[arm.transit_state], strict=True))
    assert all(abs(math.remainder(state[joint] - at, math.tau)) < 0.05 for joint, at in tucked.items())


async def test_a_pick_after_one_of_unknown_end_frees_its_fingers_first(studio):
    """They may be around the object: the arm is brought up before anybody looks, and only then the model begins."""
    await studio.approach("studio", "red coke can")
    result = await studio.pick("red coke can", follows_uncertain=True)
    assert result.error_code == "NONE", studio.memory.story()
    calls = [
        e.event.tool for e in studio.memory.events if e.event.kind == "tool_call" and e.event.call_id[:6] == "verify"
    ]
    assert "moveit__open_gripper" in calls
    assert studio.truth()["grasps"] == {"red coke can": 1}
    held = await studio.pick("red coke can", follows_uncertain=True)
    assert held.error_code == "PICK_HOLDING_ALREADY", studio.memory.story()
    assert studio.truth()["releases"] == {}
