"""Tools of the servers on a real ROS graph: servers and messages are rclpy's, the robot behind them is simulated."""

import asyncio
import base64
import io
import math
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_robot_link import ActionServerLostError, Robot
from quartet_site import RobotFile
from support.graph_relay import GraphRelay, graph_names

CAMERA = "/front_camera/color/image_raw/compressed"
TOPICS = {
    "/clock": "rosgraph_msgs/msg/Clock",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage",
    "/odom": "nav_msgs/msg/Odometry",
    "/joint_states": "sensor_msgs/msg/JointState",
    "/gripper/status": "std_msgs/msg/String",
    "/robot_guard/state": "diagnostic_msgs/msg/DiagnosticStatus",
    CAMERA: "sensor_msgs/msg/CompressedImage",
}
DOWN = [1, 0, 0, 0]
BOX = {"object_id": "crate", "position": [0.7, 0.0, 0.75], "dimensions": [0.2, 0.04, 0.5]}
# The first one builds the interfaces.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1000)]


@pytest.fixture(scope="module")
def graph(
    interfaces_python: Path, ros_environment: dict[str, str], robot_file: RobotFile, studio_process: Any
) -> Iterator[Any]:
    names = graph_names(robot_file, TOPICS)
    relay = GraphRelay(interfaces_python, ros_environment, studio_process.url, names)
    yield relay
    relay.close()


@pytest.fixture
async def robot(graph: Any, sim: Any, robot_file: RobotFile) -> AsyncIterator[Robot]:
    robot = await Robot.open(robot_file, url=graph.url, wait_s=60)
    await robot.base_pose(timeout_s=60)
    yield robot
    await robot.close()


@pytest.fixture
async def nav2(open_server: Any) -> Any:
    return await open_server(quartet_nav2)


@pytest.fixture
async def moveit(open_server: Any) -> Any:
    return await open_server(quartet_moveit)


async def test_drive_on_heading(nav2: Any, sim: Any) -> None:
    x, y, _ = sim.truth()["robot"]["pose"]
    driven = await nav2.call("drive_on_heading", distance=0.3, speed=0.2)
    assert driven["ok"], driven
    assert math.dist(sim.truth()["robot"]["pose"][:2], (x, y)) == pytest.approx(0.3, abs=0.05)
    blocked = await nav2.call("drive_on_heading", distance=3.0, speed=0.3)
    assert (blocked["error_code"], blocked["nav2_error"]) == ("NAVIGATION_FAILED", "DRIVE_COLLISION_AHEAD")


async def test_dock_robot(nav2: Any, sim: Any) -> None:
    docked = await nav2.call("dock_robot", x=0.3, y=-1.0, yaw=-1.5708)
    assert docked["ok"], docked
    assert math.dist(sim.truth()["robot"]["pose"][:2], (0.3, -1.0)) < 0.12
    assert "DOCKING_DOCK_NOT_IN_DB" in await nav2.refused("dock_robot", "NAVIGATION_FAILED", dock_id="mars")


async def test_collision_objects(moveit: Any) -> None:
    assert (await moveit.call("add_collision_box", **BOX))["object"]["dimensions_m"] == BOX["dimensions"]
    assert "crate" in await moveit.refused("attach_object", "ROS_ERROR", object_id="crate", link_name="tail")
    attached = await moveit.call("attach_object", object_id="crate")
    assert attached["object"]["attached_to"] == "arm_tool0"
    [listed] = (await moveit.call("list_collision_objects"))["objects"]
    assert listed["attached_to"] == "arm_tool0"
    assert "detach_object" in await moveit.refused("add_collision_box", "INVALID_PARAMETERS", **BOX)
    detached = await moveit.call("detach_object", object_id="crate")
    assert detached["object"].get("attached_to") is None
    assert math.dist(detached["object"]["pose"]["position"], BOX["position"]) < 0.02
    assert "'cat'" in await moveit.refused("detach_object", "UNKNOWN_OBJECT", object_id="cat")


async def test_execute_plan(moveit: Any) -> None:
    plan = await moveit.call("plan_to_pose", position=[0.6, 0.0, 0.8], orientation=DOWN)
    assert plan["ok"], plan
    done = await moveit.call("execute_plan", operation_id=plan["operation_id"])
    assert (done["error_code"], done["state"], done["moveit_error_code"]) == ("NONE", "SUCCEEDED", 1)
    assert math.dist(done["pose"]["position"], (0.6, 0.0, 0.8)) < 0.005
    assert "executed already" in await moveit.refused(
        "execute_plan", "PLAN_OUTDATED", operation_id=plan["operation_id"]
    )


async def test_view_saved_image(open_server: Any) -> None:
    ros = await open_server(quartet_ros)
    answer = await ros.client.call_tool("subscribe_once", {"topic": CAMERA})
    again = await ros.client.call_tool("view_saved_image", {})
    assert again.structured_content["image_path"] == answer.structured_content["saved_image"]
    assert again.content[1].data == answer.content[1].data
    assert Image.open(io.BytesIO(base64.b64decode(again.content[1].data))).size == (640, 480)
    assert "there is no saved image" in await ros.refused("view_saved_image", "INVALID_PARAMETERS", image_path="a.jpg")


async def test_an_action_server_that_dies_in_mid_goal_ends_the_motion(
    nav2: Any, graph: Any, robot_file: RobotFile
) -> None:
    """The bridge's own client of the goal stays, with which the action's name stays in the graph."""
    action, robot, running = robot_file.actions.wait, nav2.server.robot, asyncio.Event()
    kind, patience = robot_file.actions.TYPES["wait"], {"time": {"sec": 3000}}
    motion = robot.start_motion(action, kind, patience, limit_s=4000, on_feedback=lambda _: running.set())
    outcome = asyncio.ensure_future(motion.outcome())
    await running.wait()
    assert await robot.link.has_action_server(action)
    assert not motion.done, "asking cancels nothing"
    graph.order("remove", action=action)
    try:
        with pytest.raises(ActionServerLostError, match="left the ROS graph"):
            await asyncio.wait_for(outcome, 60)
    finally:
        graph.order("restore", action=action, type=kind)


async def test_an_action_server_that_goes_away_is_named(nav2: Any, graph: Any, robot_file: RobotFile) -> None:
    action = robot_file.actions.drive_on_heading
    graph.order("remove", action=action)
    try:
        await nav2.refused("drive_on_heading", "NAV2_NOT_ACTIVE", distance=0.2)
        robot = nav2.server.robot
        assert not await robot.link.has_action_server(action)
        assert await robot.link.has_action_server(robot_file.actions.spin)
    finally:
        graph.order("restore", action=action, type=robot_file.actions.TYPES["drive_on_heading"])
    assert await nav2.server.robot.link.has_action_server(action)
