"""Plans that are executed later, and kinematics, in the simulated studio."""

import asyncio
import math

import pytest

import quartet_moveit
from quartet_robot_link import Motion, Robot

DOWN = [1, 0, 0, 0]
FREE = [0.6, 0.0, 0.8]


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


def arm(sim) -> list[float]:
    return sim.truth()["robot"]["arm"]


# --- planning and executing ----------------------------------------------------------------------------------------


async def test_a_plan_moves_nothing_until_it_is_executed(moveit, sim):
    before = arm(sim)
    plan = await moveit.call("plan_to_pose", position=FREE, orientation=DOWN)
    assert plan["ok"], plan
    assert plan["state"] == "PLANNED"
    assert plan["num_points"] > 5
    assert plan["planned_duration_s"] > 0.5
    assert arm(sim) == pytest.approx(before, abs=0.002)
    name = plan["operation_id"]
    assert (await moveit.call("get_plan_result", operation_id=name)) == plan
    status = await moveit.call("get_execution_status", operation_id=name)
    assert (status["state"], status["executed"]) == ("PLANNED", False)
    done = await moveit.call("execute_plan", operation_id=name)
    assert done["ok"], done
    assert (done["state"], done["executed"], done["moveit_error_code"]) == ("SUCCEEDED", True, 1)
    assert math.dist(done["pose"]["position"], FREE) < 0.005
    assert arm(sim) == pytest.approx(plan["final_positions"], abs=0.01)
    assert (await moveit.call("get_execution_status"))["state"] == "SUCCEEDED"
    again = await moveit.refused("execute_plan", "PLAN_OUTDATED", operation_id=name)
    assert "executed already" in again


async def test_plans_to_joints_and_named_states_and_the_newest_is_the_default(moveit, sim, robot_file):
    wanted = robot_file.arm.named_states["look_down"]
    first = await moveit.call("plan_to_joint_state", joint_positions=wanted)
    second = await moveit.call("plan_to_named_state", state_name="look_down", group="manipulator")
    assert first["final_positions"] == pytest.approx(wanted, abs=0.002)
    assert first["operation_id"] != second["operation_id"]
    assert (await moveit.call("execute_plan"))["operation_id"] == second["operation_id"]
    assert arm(sim) == pytest.approx(wanted, abs=0.01)
    moved = await moveit.call("execute_plan", operation_id=first["operation_id"])
    assert moved["error_code"] == "EXECUTION_FAILED", "it starts where the arm is no more"
    assert moved["moveit_error"] == "INVALID_MOTION_PLAN"
    assert (await moveit.call("get_execution_status", operation_id=first["operation_id"]))["state"] == "FAILED"


async def test_a_plan_that_is_not_found_cannot_be_executed(moveit, sim):
    joints = [-1.5, -0.4, 0.9, -2.8, 1.5, 0]
    plan = await moveit.call("plan_to_joint_state", joint_positions=joints, timeout=1e-6)
    assert (plan["error_code"], plan["state"], plan["moveit_error"]) == ("PLANNING_FAILED", "PLAN_FAILED", "TIMED_OUT")
    message = await moveit.refused("execute_plan", "PLAN_OUTDATED", operation_id=plan["operation_id"])
    assert "no path was found" in message


async def test_what_cannot_be_is_refused_and_nothing_moves(moveit, sim):
    before = arm(sim)
    for tool, arguments, code, words in [
        ("plan_to_pose", {"position": [2, 0, 0.5], "orientation": DOWN}, "OUT_OF_REACH", ("drive nearer",)),
        ("plan_to_pose", {"position": [0.7, 0, 0.1], "orientation": DOWN}, "GOAL_IN_COLLISION", ("touch",)),
        ("plan_to_pose", {"position": FREE, "orientation": DOWN, "group": "leg"}, "INVALID_GROUP", ("manipulator",)),
        (
            "plan_to_pose",
            {"position": FREE, "orientation": DOWN, "frame_id": "moon"},
            "TRANSFORM_UNAVAILABLE",
            ("'moon'",),
        ),
        ("plan_to_joint_state", {"joint_positions": [0, 0]}, "INVALID_PARAMETERS", ("has 2 values", "valid: 6")),
        ("plan_to_named_state", {"state_name": "tucked"}, "UNKNOWN_STATE", ("tucked", "look_forward")),
        ("execute_plan", {}, "UNKNOWN_OPERATION", ("no plan", "plan_to_pose")),
        ("get_plan_result", {"operation_id": "plan-9"}, "UNKNOWN_OPERATION", ("'plan-9'",)),
        ("get_execution_status", {"operation_id": "plan-9"}, "UNKNOWN_OPERATION", ("'plan-9'",)),
        ("compute_fk", {"joint_positions": [0]}, "INVALID_PARAMETERS", ("has 1 values",)),
        ("compute_fk", {"joint_positions": [0] * 6, "link_name": "tail"}, "INVALID_PARAMETERS", ("tail",)),
        ("compute_ik", {"position": [2, 0, 0.5], "orientation": DOWN, "attempts": 2}, "OUT_OF_REACH", ("2.000",)),
        ("compute_ik", {"position": FREE, "orientation": DOWN, "attempts": 0}, "INVALID_PARAMETERS", ("attempts",)),
        ("check_state_collision", {"joint_positions": ["NaN"] * 6}, "INVALID_PARAMETERS", ("finite",)),
        ("get_current_joint_state", {"group": "leg"}, "INVALID_GROUP", ("manipulator",)),
        ("get_current_pose", {"link_name": "tail"}, "TRANSFORM_UNAVAILABLE", ("'tail'",)),
    ]:
        message = await moveit.refused(tool, code, **arguments)
        for word in words:
            assert word in message
        assert arm(sim) == pytest.approx(before, abs=0.002)


async def test_an_execution_can_be_watched_and_stopped(moveit, realtime, until):
    plan = await moveit.call("plan_to_pose", position=FREE, orientation=DOWN)
    before = arm(realtime)
    motion = asyncio.create_task(moveit.call("execute_plan", operation_id=plan["operation_id"]))
    await until(lambda: math.dist(arm(realtime), before) > 0.05)
    assert (await moveit.call("get_execution_status"))["state"] == "EXECUTING"
    assert "execute_plan" in await moveit.refused("plan_cartesian_path", "BUSY", position=FREE)
    assert (await moveit.call("plan_to_named_state", state_name="look_down"))["operation_id"], "planning goes on"
    stopped = await moveit.call("stop_execution", operation_id=plan["operation_id"])
    assert "execute_plan" in stopped["canceled"]
    assert stopped["standstill"] is True
    result = await motion
    assert (result["error_code"], result["state"]) == ("CANCELED", "CANCELED")
    status = await moveit.call("get_execution_status", operation_id=plan["operation_id"])
    assert status["state"] == "CANCELED"
    assert "stop_execution" in status["message"]


async def test_an_outcome_that_was_lost_is_settled_by_looking(moveit, sim):
    """A bridge that never tells the result: the call ends by its own deadline, and the next look finds the truth."""
    plan = await moveit.call("plan_to_pose", position=FREE, orientation=DOWN)
    sim.faults("silent_action")
    robot = moveit.server.robot

    def impatient(action, action_type, args, *, limit_s, on_feedback=None):
        return Motion(
            robot.link, robot.clock, action, action_type, args, limit_s=limit_s, on_feedback=on_feedback,
            stall_s=0.5, cancel_wait_s=0.5,
        )  # fmt: skip

    robot.start_motion = impatient
    assert "has not ended" in await moveit.refused("execute_plan", "TIMEOUT")
    assert arm(sim) == pytest.approx(plan["final_positions"], abs=0.01)
    status = await moveit.call("get_execution_status", operation_id=plan["operation_id"])
    assert (status["state"], status["executed"]) == ("SUCCEEDED", True)
    assert "outcome was lost" in status["message"]


async def test_an_execution_whose_bridge_dies_is_not_called_done(moveit, realtime, until):
    plan = await moveit.call("plan_to_pose", position=FREE, orientation=DOWN)
    before = arm(realtime)
    motion = asyncio.create_task(moveit.call("execute_plan"))
    await until(lambda: math.dist(arm(realtime), before) > 0.05)
    link = moveit.server.robot.link
    link.reconnect("a test")
    assert (await motion)["error_code"] == "BRIDGE_UNAVAILABLE"
    assert await link.wait_connected(60)
    assert (await moveit.call("stop_execution"))["standstill"] is True
    status = await moveit.call("get_execution_status", operation_id=plan["operation_id"])
    assert (status["state"], status["executed"]) == ("UNKNOWN", False)
    assert "not where the plan ends" in status["message"]


async def test_a_plan_of_an_older_attempt_is_not_executed(moveit, sim):
    plan = await moveit.call("plan_to_named_state", state_name="look_down")
    before = arm(sim)
    moveit.grant["fence"] = 2
    await moveit.refused("execute_plan", "UNKNOWN_OPERATION", operation_id=plan["operation_id"])
    moveit.grant["fence"] = 1
    await moveit.refused("execute_plan", "FENCED", operation_id=plan["operation_id"])
    assert arm(sim) == pytest.approx(before, abs=0.002)


async def test_a_stopped_guard_lets_no_plan_run(moveit, sim):
    plan = await moveit.call("plan_to_named_state", state_name="look_down")
    before = arm(sim)
    link, services = moveit.server.robot.link, moveit.server.robot.file.services
    try:
        await link.call_service(services.guard_stop)
        assert "reset" in await moveit.refused("execute_plan", "STOPPED", operation_id=plan["operation_id"])
    finally:
        await sim.reset_guard(moveit.server.robot)
    moveit.grant["fence"] += 1
    assert arm(sim) == pytest.approx(before, abs=0.002)
    assert (await moveit.call("plan_to_named_state", state_name="look_down"))["ok"]
    assert (await moveit.call("execute_plan"))["ok"]


# --- kinematics ----------------------------------------------------------------------------------------------------


async def test_forward_and_inverse_kinematics_agree(moveit, sim, robot_file):
    before = arm(sim)
    found = await moveit.call("compute_ik", position=FREE, orientation=DOWN)
    assert found["joint_names"] == robot_file.arm.joints
    back = await moveit.call("compute_fk", joint_positions=found["joint_positions"])
    assert back["link_name"] == "arm_tool0"
    assert back["pose"]["frame_id"] == "base_footprint"
    assert back["pose"]["position"] == pytest.approx(FREE, abs=0.002)
    tip = await moveit.call("compute_fk", joint_positions=found["joint_positions"], link_name="gripper_tip")
    below = FREE[2] - robot_file.gripper.finger_offset_m
    assert tip["pose"]["position"] == pytest.approx([*FREE[:2], below], abs=0.01)
    assert arm(sim) == pytest.approx(before, abs=0.002)


async def test_the_present_state_and_its_pose(moveit, sim, robot_file):
    state = await moveit.call("get_current_joint_state")
    assert state["joint_positions"] == pytest.approx(arm(sim), abs=0.01)
    assert (state["group"], state["joint_names"]) == ("manipulator", robot_file.arm.joints)
    told = await moveit.call("compute_fk", joint_positions=state["joint_positions"])
    seen = await moveit.call("get_current_pose", group="manipulator", link_name="arm_tool0")
    assert told["pose"]["position"] == pytest.approx(seen["pose"]["position"], abs=0.01)


async def test_a_state_through_the_robots_own_body_is_in_collision(moveit):
    fine = (await moveit.call("get_current_joint_state"))["joint_positions"]
    assert await moveit.call("check_state_collision", joint_positions=fine) == {
        "ok": True, "error_code": "NONE", "message": "", "in_collision": False, "contacts": [],
    }  # fmt: skip
    through = await moveit.call("check_state_collision", joint_positions=[0.0, 1.2, 1.0, 0.0, 0.0, 0.0])
    assert through["in_collision"] is True
    assert through["contacts"]


async def test_contacts_never_name_what_only_the_cameras_can_know(moveit, sim):
    there = (await moveit.call("plan_to_pose", position=[0.6, 0.0, 0.20], orientation=DOWN))["final_positions"]
    assert (await moveit.call("check_state_collision", joint_positions=there))["in_collision"] is False
    # Below a finger.
    x, y, _ = (await moveit.server.robot.transform("map", "base_footprint")).apply((0.67, 0.0, 0.0))
    sim.post("/place", object="green tea box", x=x, y=y, z=0.0)
    result = await moveit.call("check_state_collision", joint_positions=there)
    assert result["in_collision"] is True
    assert "<octomap>" in str(result["contacts"])
    assert "tea" not in str(result)


async def test_planning_groups(moveit, robot_file):
    (group,) = (await moveit.call("list_planning_groups"))["groups"]
    assert group["name"] == robot_file.arm.group
    assert group["joint_names"] == robot_file.arm.joints
    assert set(group["named_states"]) == set(robot_file.arm.named_states)
    assert (group["base_frame"], group["tool_frame"]) == ("base_footprint", "arm_tool0")


async def test_without_move_group_the_tools_say_so(open_over, sim, robot_file):
    for service, tool, arguments in (
        ("plan_kinematic_path", "plan_to_named_state", {"state_name": "look_down"}),
        ("get_planning_scene", "plan_to_named_state", {"state_name": "look_down"}),
        ("get_planning_scene", "list_collision_objects", {}),
    ):
        services = robot_file.services.model_copy(update={service: "/not_there"})
        robot = await Robot.open(robot_file.model_copy(update={"services": services}), url=sim.url, wait_s=60)
        try:
            moveit = await open_over(robot, quartet_moveit)
            assert "/not_there" in await moveit.refused(tool, "ROS_ERROR", **arguments)
        finally:
            await robot.close()


async def test_annotations_tell_what_moves(moveit):
    tools = {tool.name: tool.annotations for tool in await moveit.client.list_tools()}
    assert {name for name, hints in tools.items() if hints.read_only_hint} == {
        "get_plan_result", "get_execution_status", "get_current_pose", "get_current_joint_state", "get_grasp_state",
        "compute_fk", "compute_ik", "check_state_collision", "list_planning_groups", "list_collision_objects",
    }  # fmt: skip
    assert {name for name, hints in tools.items() if hints.destructive_hint} >= {
        "plan_and_execute", "plan_cartesian_path", "execute_plan", "open_gripper", "close_gripper",
        "add_collision_box", "add_collision_sphere", "remove_collision_object", "clear_planning_scene",
        "attach_object", "detach_object",
    }  # fmt: skip
