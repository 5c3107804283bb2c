"""Every code of the approach agent, each provoked by the world."""

import math

import pytest

from quartet_contracts import CheckResult, State


async def test_none_from_the_entry_pose_to_the_standoff(studio):
    """The can stands on the counter; after the drive-in it is one standoff away by ground truth."""
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NONE", studio.memory.story()
    assert result.state is State.SUCCEEDED
    assert [check.result for check in result.checks] == [CheckResult.PASS, CheckResult.PASS]
    standoff = studio.robot.approach.standoff_m.pick
    assert abs(studio.distance("red coke can") - standoff) < 0.15


async def raised_at_the_counter(studio):
    """With the arm up, the robot stands so near to the counter that the tucked hand would be inside of it."""
    await studio.drive(0.80, 0.0, 0.0)
    up = {"position": [0.45, 0.0, 1.35], "orientation": [0.7071, 0.7071, 0.0, 0.0], "frame_id": "base_footprint"}
    arm = studio.robot.arm.group
    raised = await studio.call("moveit__plan_and_execute", group=arm, target_type="pose", target=up)
    nearer = await studio.call("nav2__drive_on_heading", distance=0.3)
    assert raised.ok, raised
    assert nearer.ok, nearer


async def test_an_arm_that_cannot_be_tucked_where_the_robot_stands_is_tucked_a_little_back(studio):
    await raised_at_the_counter(studio)
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NONE", studio.memory.story()
    moved = [tool for tool in studio.memory.tools() if tool.startswith("nav2__") and not tool.endswith("_pose")]
    assert moved[0] == "nav2__backup_robot", studio.memory.story()
    assert studio.memory.tools().index("nav2__backup_robot") < studio.memory.tools().index("nav2__navigate_to_pose")


async def test_the_robot_stands_nearer_or_at_another_side_where_it_is_asked_to(studio):
    await studio.approach("studio", "red coke can", "pick")
    usual, at = studio.distance("red coke can"), studio.truth()["robot"]["pose"]
    result = await studio.approach("studio", "red coke can", "pick", stand="nearer")
    assert result.error_code == "NONE", studio.memory.story()
    assert studio.distance("red coke can") < usual - 0.05
    result = await studio.approach("studio", "red coke can", "pick", stand="other_side")
    assert result.error_code == "NONE", studio.memory.story()
    there = studio.truth()["robot"]["pose"]
    assert math.dist(there[:2], at[:2]) > 0.2
    assert abs(math.remainder(there[2] - at[2], math.tau)) > math.radians(20)
    assert abs(studio.distance("red coke can") - studio.robot.approach.standoff_m.pick) < 0.2


async def block_entry(studio):
    """Things stand where the robot has to go, and it has seen them there."""
    pose = studio.site.areas[0].entry
    away = (-1.1, 0.4)
    facing = math.atan2(pose.y - away[1], pose.x - away[0])
    await studio.drive(*away, facing)
    for name, dx, dy in (("green tea box", 0.30, 0.0), ("purple toy block", 0.0, 0.0), ("red cup", -0.1, 0.25)):
        studio.post("/place", object=name, x=pose.x + dx, y=pose.y + dy, z=0.0)
    await studio.call("nav2__spin_robot", angle=0.3)
    return pose


async def test_nav_drive_failed_when_no_pose_of_the_area_is_free(studio, monkeypatch):
    pose = await block_entry(studio)
    around = [(pose.x + dx, pose.y + dy) for dx, dy in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))]
    small = studio.site.areas[0].model_copy(update={"outline": around})
    monkeypatch.setattr(studio, "site", studio.site.model_copy(update={"areas": [small]}))
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NAV_DRIVE_FAILED", studio.memory.story()
    assert f"({pose.x:.2f}, {pose.y:.2f}): PLANNER_GOAL_OCCUPIED" in result.reason
    assert "nav2__wait" not in studio.memory.tools(), "it is alone: nobody will go away"


async def test_another_pose_of_the_area_where_the_entry_is_not_free(studio):
    pose = await block_entry(studio)
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NONE", studio.memory.story()
    assert f"({pose.x:.2f}, {pose.y:.2f}): PLANNER_GOAL_OCCUPIED" in result.reason
    assert "came to (" in result.reason
    assert abs(studio.distance("red coke can") - studio.robot.approach.standoff_m.pick) < 0.15


async def test_nav_area_wrong_for_a_place_of_another_area(studio):
    result = await studio.approach("garage", "red coke can", "pick")
    assert result.error_code == "NAV_AREA_WRONG", studio.memory.story()
    assert "studio" in result.reason
    assert studio.memory.tools().count("nav2__navigate_to_pose") == 0


async def test_nav_target_not_visible_after_the_spin_search(studio):
    studio.reset("absent:red coke can")
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NAV_TARGET_NOT_VISIBLE", studio.memory.story()
    assert studio.memory.tools().count("nav2__spin_robot") == 5


async def test_what_is_in_the_gripper_is_not_looked_for_all_around(studio):
    studio.reset("in_gripper:red cup")
    result = await studio.approach("studio", "red cup", "pick")
    assert result.error_code == "NAV_TARGET_NOT_VISIBLE", studio.memory.story()
    assert "is in the gripper" in result.reason
    assert "nav2__spin_robot" not in studio.memory.tools()


async def test_another_thing_in_the_gripper_ends_no_search(studio):
    studio.reset("in_gripper:red cup,absent:red coke can")
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NAV_TARGET_NOT_VISIBLE", studio.memory.story()
    assert "was not seen" in result.reason
    assert studio.memory.tools().count("nav2__spin_robot") == 5


async def test_nav_verify_override_when_the_target_is_taken_away(studio):
    """The model has seen the can and claims success; somebody takes it before the robot is there."""
    studio.when("perception__detect_objects", lambda: studio.hide("red coke can"), after=True)
    result = await studio.approach("studio", "red coke can", "pick")
    assert result.error_code == "NAV_VERIFY_OVERRIDE", studio.memory.story()


async def test_spin_search_finds_what_is_behind_the_robot(studio):
    """The block lies on the floor, out of view from the entry pose."""
    result = await studio.approach("studio", "purple toy block", "pick")
    assert result.error_code == "NONE", studio.memory.story()
    assert "nav2__spin_robot" in studio.memory.tools()
    assert abs(studio.distance("purple toy block") - studio.robot.approach.standoff_m.pick) < 0.15


async def test_a_floor_place_needs_no_target(studio):
    result = await studio.approach("studio", "floor", "floor_place")
    assert result.error_code == "NONE", studio.memory.story()
    assert result.checks[1].result is CheckResult.SKIP


async def test_an_arm_that_was_halted_low_goes_straight_up_before_the_robot_drives(studio):
    """Also for a first approach: it may be an earlier task that was halted."""
    await studio.approach("studio", "red coke can")
    group = studio.robot.arm.group
    before = studio.truth()["objects"]["red coke can"]["position"]
    grasp = (await studio.call("perception__get_topdown_grasp_pose", object_name="red coke can")).content
    for target in (grasp["pre_grasp_pose"], grasp["grasp_pose"]):
        moved = await studio.call("moveit__plan_and_execute", group=group, target_type="pose", target=target)
        assert moved.ok, moved.message
    low = (await studio.call("moveit__get_current_pose")).content["pose"]["position"]
    studio.memory.events.clear()
    result = await studio.approach("studio", "bin", "container_place")
    assert result.error_code == "NONE", studio.memory.story()
    calls = [e.event for e in studio.memory.events if e.event.kind == "tool_call"]
    first = next(call for call in calls if call.tool.split("__")[1] not in {"get_current_pose", "look"})
    assert first.tool == "moveit__plan_cartesian_path", [call.tool for call in calls]
    assert first.arguments["position"][:2] == pytest.approx(low[:2], abs=0.01)
    assert first.arguments["position"][2] > low[2] + 0.05
    after = studio.truth()["objects"]["red coke can"]["position"]
    assert math.dist(before, after) < 0.03
