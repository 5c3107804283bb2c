"""Every tool of the moveit server in the simulated studio; every code is provoked by the world."""

import asyncio
import math

import pytest

import quartet_moveit
import quartet_nav2
from quartet_robot_link import GoalStatus, MotionOutcome, Robot

DOWN = [1, 0, 0, 0]
FREE = [0.6, 0.0, 0.8]


@pytest.fixture
def moving(until):
    """Waits until the robot has left its start."""

    async def wait(sim, start: list[float]) -> None:
        await until(lambda: math.dist(tool(sim), start) > 0.03)

    return wait


@pytest.fixture
async def moveit(open_server):
    return await open_server(quartet_moveit)


def tool(sim) -> list[float]:
    return sim.truth()["robot"]["tool"]


def in_map(sim, x: float, y: float) -> tuple[float, float]:
    """A point of the base frame in the map, by ground truth."""
    rx, ry, yaw = sim.truth()["robot"]["pose"]
    return rx + math.cos(yaw) * x - math.sin(yaw) * y, ry + math.sin(yaw) * x + math.cos(yaw) * y


# --- plan_and_execute ----------------------------------------------------------------------------------------------


async def test_pose_target_is_reached(moveit, sim):
    result = await moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN})
    assert result["ok"], result
    assert result["planned"]
    assert result["executed"]
    assert result["moveit_error_code"] == 1
    assert math.dist(result["pose"]["position"], FREE) < 0.005
    assert math.dist(tool(sim)[:2], in_map(sim, *FREE[:2])) < 0.01


async def test_pose_target_in_another_frame(moveit, sim):
    """A published server ignored frame_id and went to the same numbers in the base frame."""
    robot = moveit.server.robot
    there = (await robot.transform("map", "base_footprint")).apply((0.6, 0.1, 0.8))
    turned = (await robot.transform("map", "base_footprint")).quaternion
    from quartet_robot_link.geometry import multiply

    result = await moveit.call(
        "plan_and_execute",
        target={"position": there, "orientation": multiply(turned, (1.0, 0.0, 0.0, 0.0)), "frame_id": "map"},
        target_type="pose",
        group="manipulator",
    )
    assert result["ok"], result
    assert result["pose"]["frame_id"] == "base_footprint"
    assert math.dist(result["pose"]["position"], (0.6, 0.1, 0.8)) < 0.01


async def test_named_and_joint_targets(moveit, sim, robot_file):
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_down"}))["ok"]
    wanted = robot_file.arm.named_states["look_down"]
    assert sim.truth()["robot"]["arm"] == pytest.approx(wanted, abs=0.01)
    back = robot_file.arm.named_states["look_forward"]
    assert (await moveit.call("plan_and_execute", target={"joint_positions": back}))["ok"]
    current = await moveit.call("get_current_pose")
    assert [current["joint_positions"][name] for name in robot_file.arm.joints] == pytest.approx(back, abs=0.01)


async def test_a_target_that_cannot_be_is_refused_and_nothing_moves(moveit, sim):
    before = sim.truth()["robot"]["arm"]
    for arguments, code, words in [
        ({"target": {"position": [2.0, 0, 0.5], "orientation": DOWN}}, "OUT_OF_REACH", ("2.000", "drive nearer")),
        ({"target": {"position": [0.7, 0, 0.1], "orientation": DOWN}}, "GOAL_IN_COLLISION", ("0.700", "touch")),
        ({"target": {"state_name": "tucked"}}, "UNKNOWN_STATE", ("tucked", "look_forward")),
        ({"target": {"state_name": "look_down"}, "group": "leg"}, "INVALID_GROUP", ("leg", "manipulator")),
        (
            {"target": {"position": FREE, "orientation": DOWN, "frame_id": "kitchen"}},
            "TRANSFORM_UNAVAILABLE",
            ("'kitchen'", "base_footprint"),
        ),
        ({"target": {"position": FREE, "orientation": [1, 0, 0, 1]}}, "INVALID_PARAMETERS", ("1.4142", "x, y, z, w")),
        ({"target": {"position": FREE, "orientation": [0, 0, 0, 0]}}, "INVALID_PARAMETERS", ("norm is 0.0000",)),
        ({"target": {"position": FREE}}, "INVALID_PARAMETERS", ("orientation is missing",)),
        ({"target": {}}, "INVALID_PARAMETERS", ("exactly one of", "state_name")),
        (
            {"target": {"position": FREE, "orientation": DOWN, "state_name": "look_down"}},
            "INVALID_PARAMETERS",
            ("exactly one of",),
        ),
        (
            {"target": {"joint_positions": [0, 0]}},
            "INVALID_PARAMETERS",
            ("has 2 values", "valid: 6", "elbow_joint"),
        ),
        ({"target": {"joint_positions": [9, 0, 0, 0, 0, 0]}}, "INVALID_PARAMETERS", ("arm_shoulder_pan_joint 9",)),
        ({"target": {"position": [60, 0, 0], "orientation": DOWN}}, "INVALID_PARAMETERS", ("60.0 m", "frame_id")),
        ({"target": {"position": ["nan", 0, 0], "orientation": DOWN}}, "INVALID_PARAMETERS", ("finite",)),
        ({"target": {"state_name": "look_down"}, "target_type": "pose"}, "INVALID_PARAMETERS", ("named_state",)),
        ({"target": {"state_name": "look_down"}, "timeout": 900}, "INVALID_PARAMETERS", ("timeout", "15")),
    ]:
        message = await moveit.refused("plan_and_execute", code, **arguments)
        for word in words:
            assert word in message
        assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.002)


async def test_start_in_collision_until_the_scene_is_cleared(moveit, sim):
    here = (await moveit.call("get_current_pose"))["pose"]["position"]
    await moveit.call("add_collision_box", object_id="box", position=here, dimensions=[0.1, 0.1, 0.1])
    message = await moveit.refused("plan_and_execute", "START_IN_COLLISION", target={"state_name": "look_down"})
    assert "clear the scene" in message
    assert (await moveit.call("clear_planning_scene"))["octomap_cleared"]
    assert (await moveit.call("plan_and_execute", target={"state_name": "look_down"}))["ok"]


# --- plan_cartesian_path -------------------------------------------------------------------------------------------


async def test_straight_path_keeps_its_line(moveit, sim):
    await moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN})
    result = await moveit.call("plan_cartesian_path", position=[0.6, 0.0, 0.6])
    assert result["ok"], result
    assert result["fraction"] == pytest.approx(1.0)
    assert math.dist(result["pose"]["position"], (0.6, 0, 0.6)) < 0.005
    assert result["pose"]["orientation"] == pytest.approx(DOWN, abs=0.01)


async def test_a_path_into_the_robot_is_incomplete_and_nothing_moves(moveit, sim):
    await moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN})
    before = sim.truth()["robot"]["arm"]
    result = await moveit.call("plan_cartesian_path", position=[0.1, 0.0, 0.3])
    assert result["error_code"] == "PATH_INCOMPLETE"
    assert 0 <= result["fraction"] < 0.95
    assert "nothing moved" in result["message"]
    assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.002)
    more = {"position": [0.1, 0.0, 0.3], "min_fraction": result["fraction"] + 0.01}
    await moveit.refused("plan_cartesian_path", "PATH_INCOMPLETE", **more)
    # As a model writes it that rounds upwards.
    again = await moveit.call("plan_cartesian_path", position=[0.1, 0.0, 0.3], min_fraction=result["fraction"] + 0.0005)
    assert again["ok"], "a part that is enough for the caller is driven"


async def test_a_path_that_cannot_be_is_refused(moveit):
    for arguments, code, word in [
        ({"position": FREE, "min_fraction": 2}, "INVALID_PARAMETERS", "min_fraction"),
        ({"position": [0.1, 0.2]}, "INVALID_PARAMETERS", "position"),
        ({"position": FREE, "group": "leg"}, "INVALID_GROUP", "manipulator"),
        ({"position": FREE, "frame_id": "kitchen"}, "TRANSFORM_UNAVAILABLE", "'kitchen'"),
    ]:
        assert word in await moveit.refused("plan_cartesian_path", code, **arguments)


async def test_an_arm_that_is_blocked_has_failed(moveit, sim):
    """A published server said "completed" after a failed execution. The scene is cleared, so that the planner does
    not know of the block on which the closed fingers then push."""
    await moveit.call("close_gripper")
    await moveit.call("plan_and_execute", target={"position": [0.7, 0.0, 0.75], "orientation": DOWN})
    x, y = in_map(sim, 0.7, 0.0)
    sim.post("/place", object="red coke can", x=x, y=y, z=0.0)
    await moveit.call("clear_planning_scene")
    result = await moveit.call("plan_cartesian_path", position=[0.7, 0.0, 0.20], min_fraction=0.5)
    assert result["error_code"] == "EXECUTION_FAILED", result
    assert not result["executed"]
    assert "CONTROL_FAILED (protective stop: " in result["message"]
    assert "plan again from where it is" in result["message"]
    assert (await moveit.call("plan_cartesian_path", position=[0.7, 0.0, 0.75]))["ok"], "it may move again"


# --- stopping ------------------------------------------------------------------------------------------------------


async def test_stop_ends_the_motion_and_keeps_the_grip(moveit, realtime, moving, until):
    realtime.post("/grasp", object="red coke can")
    start = tool(realtime)
    motion = asyncio.create_task(moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN}))
    await moving(realtime, start)
    stopped = await moveit.call("stop_execution")
    assert "plan_and_execute" in stopped["canceled"]
    assert stopped["standstill"] is True
    result = await motion
    assert result["error_code"] == "CANCELED"
    assert "stop_execution" in result["message"]
    rest, then = tool(realtime), realtime.truth()["time"]
    await until(lambda: realtime.truth()["time"] > then + 0.3)
    assert math.dist(tool(realtime), rest) < 0.005
    assert realtime.truth()["held"] == "red coke can"


async def test_stop_with_nothing_running(moveit):
    result = await moveit.call("stop_execution")
    assert result["canceled"] == []
    assert result["standstill"] is True


async def test_one_arm_motion_at_a_time(moveit, realtime, moving):
    start = tool(realtime)
    motion = asyncio.create_task(moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN}))
    await moving(realtime, start)
    assert "plan_and_execute" in await moveit.refused("plan_cartesian_path", "BUSY", position=FREE)
    assert (await moveit.call("get_current_pose"))["ok"]
    await moveit.call("stop_execution")
    await motion


async def test_guard_stop_holds_the_arm(moveit, realtime, moving):
    start = tool(realtime)
    motion = asyncio.create_task(moveit.call("plan_and_execute", target={"position": FREE, "orientation": DOWN}))
    await moving(realtime, start)
    link, services = moveit.server.robot.link, moveit.server.robot.file.services
    try:
        await link.call_service(services.guard_stop)
        assert (await motion)["error_code"] == "STOPPED"
        assert "reset" in await moveit.refused("close_gripper", "STOPPED")
    finally:
        await realtime.reset_guard(moveit.server.robot)


async def test_missing_move_group_is_told(open_over, sim, robot_file):
    actions = robot_file.actions.model_copy(update={"move_group": "/not_there/move_action"})
    robot = await Robot.open(robot_file.model_copy(update={"actions": actions}), url=sim.url, wait_s=60)
    try:
        moveit = await open_over(robot, quartet_moveit)
        message = await moveit.refused("plan_and_execute", "ROS_ERROR", target={"state_name": "look_down"})
        assert "move_group is not running" in message
    finally:
        await robot.close()


async def test_slow_services_end_in_a_timeout(moveit, sim, robot_file):
    sim.faults("slow_services")
    moveit.server.robot.link._call_timeout_s = 0.5  # noqa: SLF001 - else the test takes 5 s
    assert "/clear_octomap" in await moveit.refused("clear_planning_scene", "TIMEOUT")


# --- gripper -------------------------------------------------------------------------------------------------------


async def test_gripper_closes_on_nothing_and_opens(moveit):
    closed = await moveit.call("close_gripper")
    assert closed["ok"]
    assert closed["state"] == "EMPTY"
    assert closed["width_m"] < 0.008
    opened = await moveit.call("open_gripper")
    assert opened["state"] == "EMPTY"
    assert opened["width_m"] > 0.13


async def test_what_is_held_is_measured_and_never_named(moveit, sim):
    sim.post("/grasp", object="red coke can")
    state = await moveit.call("get_grasp_state")
    assert state["state"] == "HOLDING"
    assert state["width_m"] == pytest.approx(0.066, abs=0.01)
    assert state["effort_n"] > 5
    assert "coke" not in str(state)
    before = state.get("released")
    closed = await moveit.call("close_gripper")
    assert closed["state"] == "HOLDING"
    assert closed["stalled"]
    assert not closed["reached_goal"]
    assert (await moveit.call("get_grasp_state")).get("grasped") is None, "it was put into the hand"
    flange = (await moveit.call("get_current_pose"))["pose"]["position"]
    opened = await moveit.call("open_gripper")
    assert opened["state"] == "EMPTY"
    assert sim.truth()["held"] is None
    await moveit.call("open_gripper")
    released = (await moveit.call("get_grasp_state"))["released"]
    assert released["tool_position"] == pytest.approx(flange, abs=0.005)
    base_x, base_y, yaw = sim.truth()["robot"]["pose"]
    x, y, z = released["tool_position_map"]
    assert math.dist((x, y), (base_x, base_y)) == pytest.approx(math.hypot(*flange[:2]), abs=0.02)
    assert math.atan2(y - base_y, x - base_x) == pytest.approx(yaw + math.atan2(flange[1], flange[0]), abs=0.02)
    assert z == pytest.approx(flange[2], abs=0.005)
    assert before is None or released["age_s"] < before["age_s"], "open fingers that are opened release nothing"


@pytest.mark.parametrize("closes", [True, False], ids=["by this server", "by another one"])
async def test_a_release_is_forgotten_once_something_is_held_again(moveit, sim, closes):
    """What is missing from the fingers later was not let go there: it may have been lost on the way."""
    sim.post("/grasp", object="red coke can")
    await moveit.call("open_gripper")
    assert (await moveit.call("get_grasp_state"))["released"] is not None
    sim.post("/grasp", object="red coke can")
    told = await moveit.call("close_gripper" if closes else "get_grasp_state")
    assert (told["state"], told.get("released")) == ("HOLDING", None)
    sim.post("/place", object="red coke can", x=-1.5, y=-1.5, z=0.0, yaw=0.0)
    await moveit.call("close_gripper")
    lost = await moveit.call("get_grasp_state")
    assert (lost["state"], lost.get("released")) == ("EMPTY", None)


async def test_fingers_that_only_touch_a_thing_are_not_empty(moveit, sim):
    """Opened by a hair it still hangs between them; whether it does is not for the fingers to say."""
    sim.post("/grasp", object="red coke can")
    held = await moveit.call("get_grasp_state")
    assert held["state"] == "HOLDING"
    gripper = moveit.server.robot.file.gripper
    position = gripper.closed_position * (1 - (held["width_m"] - 0.002) / gripper.stroke_m)
    touching = await moveit.call("open_gripper", position=position)
    assert sim.truth()["held"] == "red coke can"
    assert gripper.touching_effort_n < touching["effort_n"] < gripper.holding_min_effort_n
    assert touching["state"] == "UNKNOWN"
    assert "close the fingers to hold it" in touching["message"]
    assert (await moveit.call("close_gripper"))["state"] == "HOLDING"
    wider = gripper.closed_position * (1 - (held["width_m"] + 0.02) / gripper.stroke_m)
    let_go = await moveit.call("open_gripper", position=wider)
    assert let_go["state"] == "EMPTY", "half open, and nothing between the fingers"
    assert sim.truth()["held"] is None


async def test_wrong_gripper_command(moveit):
    for arguments, words in [
        ({"position": 3}, ("3", "0 to 0.7")),
        ({"effort": 0}, ("0 N", "above 0")),
        ({"effort": 2}, ("2 N", "5 to 235")),
        ({"effort": "inf"}, ("finite",)),
    ]:
        message = await moveit.refused("close_gripper", "INVALID_PARAMETERS", **arguments)
        for word in words:
            assert word in message


async def test_wrong_gripper_joint_is_told(open_over, sim, robot_file):
    gripper = robot_file.gripper.model_copy(update={"joint": "left_finger"})
    robot = await Robot.open(robot_file.model_copy(update={"gripper": gripper}), url=sim.url, wait_s=60)
    try:
        moveit = await open_over(robot, quartet_moveit)
        message = await moveit.refused("get_grasp_state", "ROS_ERROR")
        assert "left_finger" in message
        assert "gripper.joint" in message
    finally:
        await robot.close()


async def test_a_grasp_from_approach_to_lift(moveit, open_server, sim):
    """Drive in, descend, close, lift: the can leaves the floor between the fingers."""
    nav2 = await open_server(quartet_nav2)
    can_x, can_y = in_map(sim, 1.1, 0.1)
    sim.post("/place", object="red coke can", x=can_x, y=can_y, z=0.0)
    assert (await nav2.call("approach_target", target_x_base=1.1, target_y_base=0.1, standoff_m=0.8))["ok"]
    rx, ry, yaw = sim.truth()["robot"]["pose"]
    px, py, _ = sim.truth()["objects"]["red coke can"]["position"]
    x = math.cos(yaw) * (px - rx) + math.sin(yaw) * (py - ry)
    y = math.cos(yaw) * (py - ry) - math.sin(yaw) * (px - rx)
    assert (await moveit.call("open_gripper"))["ok"]
    above = {"position": [x, y, 0.45], "orientation": DOWN}
    assert (await moveit.call("plan_and_execute", target=above))["ok"]
    await moveit.call("clear_planning_scene")
    descent = await moveit.call("plan_cartesian_path", position=[x, y, 0.24])
    assert descent["ok"], descent
    assert (await moveit.call("close_gripper"))["state"] == "HOLDING"
    assert (await moveit.call("plan_cartesian_path", position=[x, y, 0.45]))["ok"]
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"
    assert sim.truth()["held"] == "red coke can"
    assert sim.truth()["objects"]["red coke can"]["bottom_z"] > 0.15


async def test_a_planner_without_time_has_failed(moveit, sim):
    before = sim.truth()["robot"]["arm"]
    target = {"joint_positions": [-1.5, -0.4, 0.9, -2.8, 1.5, 0]}  # not in a straight line in joint space
    result = await moveit.call("plan_and_execute", target=target, timeout=1e-6)
    assert result["error_code"] == "PLANNING_FAILED", result
    assert result["moveit_error"] == "TIMED_OUT"
    assert "once more" in result["message"]
    assert not result["planned"]
    assert sim.truth()["robot"]["arm"] == pytest.approx(before, abs=0.002)
    assert (await moveit.call("plan_and_execute", target=target))["ok"]


async def test_a_way_that_moveit_finds_in_collision_is_no_motion_that_was_blocked(moveit, monkeypatch):
    """MoveIt hands the trajectory over all the same; after EXECUTION_FAILED nobody would try again."""
    point = {"positions": [0.0] * 6, "time_from_start": {"sec": 1, "nanosec": 0}}
    invalid = {
        "error_code": {"val": -2, "message": "", "source": ""},
        "planned_trajectory": {"joint_trajectory": {"points": [point]}},
    }

    async def aborted(*_, **__):
        return MotionOutcome(GoalStatus.ABORTED, invalid, 0.0)

    monkeypatch.setattr(moveit.server, "run_goal", aborted)
    result = await moveit.call("plan_and_execute", target={"state_name": "look_down"})
    assert result["error_code"] == "PLANNING_FAILED", result
    assert (result["moveit_error"], result["planned"]) == ("INVALID_MOTION_PLAN", False)
    assert "once more" in result["message"]
