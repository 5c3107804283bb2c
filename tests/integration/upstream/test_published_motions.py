"""The published nav2, moveit and ros servers behind ours, by the shipped mappings, moving the simulated robot."""

import asyncio
import math

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_robot_link import Robot

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

DOWN = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
async def nav2(robot, published, make_mapping, open_server):
    return await open_server(quartet_nav2, mapping=make_mapping("nav2", {"nav2": published["nav2"]}))


def arm_of(urls: dict[str, str]) -> dict[str, str]:
    return {name: urls[name] for name in ("moveit", "ros")}


@pytest.fixture
async def moveit(robot, published, make_mapping, open_server):
    return await open_server(quartet_moveit, mapping=make_mapping("moveit", arm_of(published)))


async def joints(robot: Robot) -> list[float]:
    """What the arm's own sensors say."""
    found = await robot.joint_positions()
    return [found[name] for name in robot.file.arm.joints]


async def test_the_base(nav2, sim):
    pose = await nav2.call("get_robot_pose")
    assert pose["area"] == "studio"
    assert math.dist((pose["pose"]["x"], pose["pose"]["y"]), sim.truth()["robot"]["pose"][:2]) < 0.1
    assert (await nav2.call("navigate_to_pose", x=0.3, y=0.0, yaw=0.0))["ok"]
    x, y, yaw = sim.truth()["robot"]["pose"]
    assert math.dist((x, y), (0.3, 0.0)) < 0.2
    assert abs(yaw) < 0.3
    assert (await nav2.call("spin_robot", angle=1.0))["ok"]
    assert sim.truth()["robot"]["pose"][2] == pytest.approx(1.0, abs=0.3)
    assert (await nav2.call("backup_robot", distance=0.1))["ok"]
    assert (await nav2.call("drive_on_heading", distance=0.1))["ok"]
    assert (await nav2.call("approach_target", target_x_base=0.8, target_y_base=0.0, standoff_m=0.6))["ok"]
    assert (await nav2.call("clear_costmaps"))["cleared"] == ["global", "local"]


async def test_the_bases_failures_keep_their_code(nav2, sim):
    before = sim.truth()["robot"]["pose"]
    text = await nav2.refused("navigate_to_pose", "NAVIGATION_FAILED", x=1.0, y=1.9, yaw=0.0)
    assert "nav2" in text
    assert math.dist(sim.truth()["robot"]["pose"][:2], before[:2]) < 1.5


async def test_arm_and_gripper(moveit, sim, robot):
    group = robot.file.arm.group
    look = await moveit.call("plan_and_execute", target={"state_name": "look_down"})
    assert look["ok"], look
    assert look["executed"]
    wanted = robot.file.arm.named_states["look_down"]
    assert await joints(robot) == pytest.approx(wanted, abs=0.02), "a named state is the one of robot.yaml"
    yaw = (await robot.base_pose()).yaw
    here = await robot.base_pose()
    ahead = [here.x + 0.6 * math.cos(yaw), here.y + 0.6 * math.sin(yaw), 0.8]
    there = await moveit.call(
        "plan_and_execute", group=group, target={"position": ahead, "orientation": DOWN, "frame_id": "map"}
    )
    assert there["ok"], there
    pose = (await moveit.call("get_current_pose"))["pose"]
    assert pose["position"] == pytest.approx([0.6, 0.0, 0.8], abs=0.05), "the frame of a target is honoured"
    assert (await moveit.call("close_gripper"))["ok"]
    state = await moveit.call("get_grasp_state")
    assert state["state"] == "EMPTY"
    assert state["width_m"] < 0.01
    assert (await moveit.call("open_gripper"))["ok"]
    opened = await moveit.call("get_grasp_state")
    assert opened["width_m"] > 0.1
    assert "released" not in opened, "nothing was held"
    sim.post("/grasp", object="red coke can")
    flange = (await moveit.call("get_current_pose"))["pose"]["position"]
    assert (await moveit.call("open_gripper"))["ok"]
    released = (await moveit.call("get_grasp_state"))["released"]
    assert released["tool_position"] == pytest.approx(flange, abs=0.005), "our server measures, whoever opens"
    assert (await moveit.call("clear_planning_scene"))["ok"]


async def test_the_arms_failures_keep_their_code(moveit, robot):
    before = await joints(robot)
    far = {"position": [2.5, 0.0, 0.5], "orientation": DOWN}
    await moveit.refused("plan_and_execute", "PLANNING_FAILED", target=far)
    await moveit.refused("plan_and_execute", "UNKNOWN_STATE", target={"state_name": "handstand"})
    beyond = {"position": [20.0, 0.0, 0.5], "orientation": DOWN}
    await moveit.refused("plan_and_execute", "INVALID_PARAMETERS", target=beyond)
    assert await joints(robot) == pytest.approx(before, abs=0.01)


@pytest.fixture
async def slow_arm(realtime, robot, realtime_published, make_mapping, open_server):
    return await open_server(quartet_moveit, mapping=make_mapping("moveit", arm_of(realtime_published)))


def apart(first: list[float], second: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(first, second, strict=True))


async def test_a_stop_ends_the_arms_motion_though_the_upstreams_stop_does_not(slow_arm, robot, eventually):
    wanted = robot.file.arm.named_states["look_down"]
    before = await joints(robot)
    motion = asyncio.create_task(slow_arm.call("plan_and_execute", target={"state_name": "look_down"}))

    async def moves() -> bool:
        return apart(await joints(robot), before) > 0.05

    await eventually(moves, 60)
    assert "plan_and_execute" in await slow_arm.server.safety.stop("a person said so")
    assert (await motion)["error_code"] == "CANCELED"
    assert (await slow_arm.call("stop_execution"))["standstill"] is True
    assert apart(await joints(robot), wanted) > 0.1, "it did not arrive"


async def test_an_upstream_that_is_killed_in_a_motion_leaves_no_motion(
    realtime, robot, start_published, make_mapping, open_server, until
):
    foreign = await start_published(realtime.url, "nav2").wait_ready()
    nav2 = await open_server(quartet_nav2, mapping=make_mapping("nav2", {"nav2": foreign.url}))
    before = realtime.truth()["robot"]["pose"]
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await until(lambda: math.dist(realtime.truth()["robot"]["pose"][:2], before[:2]) > 0.03, 60)
    foreign.kill()
    result = await motion
    assert result["error_code"] == "UPSTREAM_UNAVAILABLE"
    assert "look before" in result["message"]
    await until(lambda: max(map(abs, realtime.truth()["robot"]["twist"])) < 0.005, 60)
    assert math.dist(realtime.truth()["robot"]["pose"][:2], before[:2]) < 0.8


async def test_a_latched_guard_lets_no_upstream_move(nav2, sim, robot, eventually):
    await robot.link.call_service(robot.file.services.guard_stop)
    await eventually(lambda: robot.guard.latched)
    before = sim.truth()["robot"]["pose"]
    await nav2.refused("navigate_to_pose", "STOPPED", x=0.5, y=0.0)
    assert sim.truth()["robot"]["pose"] == pytest.approx(before, abs=0.01)
    await sim.reset_guard(robot)


async def test_a_motion_that_the_guard_ends_is_told_as_stopped(
    realtime, robot, realtime_published, make_mapping, open_server, until
):
    nav2 = await open_server(quartet_nav2, mapping=make_mapping("nav2", {"nav2": realtime_published["nav2"]}))
    before = realtime.truth()["robot"]["pose"]
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await until(lambda: math.dist(realtime.truth()["robot"]["pose"][:2], before[:2]) > 0.03, 60)
    await robot.link.call_service(robot.file.services.guard_stop)
    assert (await motion)["error_code"] == "STOPPED"
    await realtime.reset_guard(robot)


async def test_questions_about_the_graph(robot, published, make_mapping, open_server):
    ros = await open_server(quartet_ros, mapping=make_mapping("ros", {"ros": published["ros"]}))
    assert (await ros.call("get_topic_type", topic="/odom"))["type"] == "nav_msgs/msg/Odometry"
    await ros.refused("get_topic_type", "INVALID_PARAMETERS", topic="/no/such/topic")
    assert (await ros.call("get_topics", contains="odom"))["total"] > 5, "lists are our own"
    text = await ros.refused("publish_once", "DENIED", topic="/cmd_vel", msg_type="geometry_msgs/msg/Twist", msg={})
    assert "ros_writes" in text
