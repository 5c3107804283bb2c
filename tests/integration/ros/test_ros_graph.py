"""The ros server's tools that look: nodes, services, actions, parameters, types, images, the connection."""

import base64
import io

import pytest
from PIL import Image

import quartet_ros


@pytest.fixture
async def ros(open_server):
    return await open_server(quartet_ros)


READS = {
    "connect_to_robot", "ping_robot", "ping_robots", "detect_ros_version", "get_verified_robot_spec",
    "get_verified_robots_list", "get_topics", "get_topic_type", "get_topic_details", "get_message_details",
    "subscribe_once", "subscribe_for_duration", "get_services", "get_service_type", "get_service_details", "get_nodes",
    "get_node_details", "get_parameter", "has_parameter", "get_parameters", "get_parameter_details", "get_actions",
    "get_action_details", "get_action_status", "view_saved_image",
}  # fmt: skip
WRITES = {
    "publish_once", "publish_for_durations", "call_service", "set_parameter", "delete_parameter", "send_action_goal",
}  # fmt: skip


async def test_every_tool_is_there_and_says_whether_it_only_reads(ros):
    hints = {tool.name: tool.annotations for tool in await ros.client.list_tools()}
    assert set(hints) == {*READS, *WRITES, "cancel_action_goal"}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == READS
    assert {name for name, hint in hints.items() if hint.destructive_hint} == WRITES


async def test_only_the_configured_robot(ros, sim):
    port = int(sim.url.rpartition(":")[2])
    for arguments in ({}, {"ip": "127.0.0.1"}, {"ip": "summit", "port": port}):
        for tool in ("connect_to_robot", "ping_robot"):
            answer = await ros.call(tool, **arguments)
            assert answer["connected"]
            assert answer["latency_ms"] > 0
    for tool in ("connect_to_robot", "ping_robot"):
        assert "10.0.0.7" in await ros.refused(tool, "DENIED", ip="10.0.0.7")
        assert str(port) in await ros.refused(tool, "DENIED", port=1)
    several = await ros.call("ping_robots", targets=[{}, {"ip": "evil.example", "port": 9090}])
    assert [item["error_code"] for item in several["robots"]] == ["NONE", "DENIED"]
    assert len((await ros.call("ping_robots"))["robots"]) == 1


async def test_a_bridge_that_does_not_answer(ros, sim):
    sim.faults("zombie")
    await ros.refused("ping_robot", "TIMEOUT", ping_timeout=0.2)


async def test_version_and_specification(ros, sim):
    version = await ros.call("detect_ros_version")
    assert (version["version"], version["distro"]) == (2, "")
    assert "jazzy" in version["message"]
    assert (await ros.call("get_verified_robots_list"))["robots"] == ["summit"]
    spec = await ros.call("get_verified_robot_spec", name="summit")
    assert spec["spec"]["frames"]["base"] == "base_footprint"
    assert spec["spec"]["bridge"]["url"] == sim.url
    assert spec["ros_writes"] == {"topics": [], "services": [], "actions": [], "parameters": []}
    assert "summit" in await ros.refused("get_verified_robot_spec", "INVALID_PARAMETERS", name="atlas")


async def test_topic_type_and_details(ros):
    assert (await ros.call("get_topic_type", topic="odom"))["type"] == "nav_msgs/msg/Odometry"
    details = await ros.call("get_topic_details", topic="/cmd_vel")
    assert details["type"] == "geometry_msgs/msg/Twist"
    assert "/robot_guard" in details["subscribers"]
    for tool in ("get_topic_type", "get_topic_details"):
        assert "/odom" in await ros.refused(tool, "INVALID_PARAMETERS", topic="/odometry")


async def test_message_details(ros):
    answer = await ros.call("get_message_details", message_type="geometry_msgs/Twist")
    assert answer["type"] == "geometry_msgs/msg/Twist"
    fields = [field["name"] for field in answer["structures"][0]["fields"]]
    assert fields == ["linear", "angular"]
    assert len(answer["structures"]) == 2
    assert "geometry_msgs/Twist" in await ros.refused(
        "get_message_details", "INVALID_PARAMETERS", message_type="geometry_msgs/msg/Twits"
    )


async def test_messages_for_a_while(ros, monkeypatch):
    answer = await ros.call("subscribe_for_duration", topic="/odom", duration=60, max_messages=3)
    assert (answer["received"], len(answer["messages"])) == (3, 3)
    assert answer["duration_s"] < 60
    silent = await ros.call("subscribe_for_duration", topic="/cmd_vel", duration=0.1)
    assert (silent["messages"], silent["received"]) == ([], 0)
    monkeypatch.setattr("quartet_ros.messages.MAX_BYTES", 2500)
    large = await ros.call("subscribe_for_duration", topic="/odom", duration=60, max_messages=5)
    assert large["received"] == 5
    assert 0 < len(large["messages"]) < 5
    assert "more messages came" in large["message"]
    wrong = [
        {"topic": "/front_camera/color/image_raw/compressed"},
        {"topic": "/odom", "duration": 0},
        {"topic": "/odom", "duration": 1000},
        {"topic": "/odom", "max_messages": 0},
        {"topic": "/odom", "msg_type": "std_msgs/String"},
        {"topic": "/nothing"},
    ]
    for arguments in wrong:
        await ros.refused("subscribe_for_duration", "INVALID_PARAMETERS", **arguments)


@pytest.mark.parametrize(
    "topic", ["/front_camera/color/image_raw/compressed", "/front_camera/aligned_depth_to_color/image_raw"]
)
async def test_images_come_as_pictures_and_can_be_seen_again(ros, topic):
    answer = await ros.client.call_tool("subscribe_once", {"topic": topic})
    result = answer.structured_content
    assert "data" not in result["msg"]
    picture = base64.b64decode(answer.content[1].data)
    assert Image.open(io.BytesIO(picture)).size == (640, 480)
    again = await ros.client.call_tool("view_saved_image", {"image_path": result["saved_image"]})
    assert base64.b64decode(again.content[1].data) == picture
    assert (await ros.call("view_saved_image"))["image_path"] == result["saved_image"]
    plain = await ros.call("subscribe_once", topic=topic, expects_image="false")
    assert "characters in all" in plain["msg"]["data"]


async def test_only_saved_images_are_shown(ros):
    for path in ["../fence-ros-summit.json", "/etc/passwd", "nothing.jpg", "fence-ros-summit.json"]:
        assert "there is no saved image" in await ros.refused("view_saved_image", "INVALID_PARAMETERS", image_path=path)


async def test_no_picture_where_there_is_none(ros):
    await ros.refused("subscribe_once", "INVALID_PARAMETERS", topic="/odom", expects_image="true")


async def test_services(ros):
    some = await ros.call("get_services", contains="costmap", limit=1)
    assert len(some["names"]) == 1
    assert "more match" in some["message"]
    assert some["total"] > 20
    assert (await ros.call("get_service_type", service="/robot_guard/stop"))["type"] == "std_srvs/srv/Trigger"
    details = await ros.call("get_service_details", service="robot_guard/stop")
    assert details["providers"] == ["/robot_guard"]
    assert [field["name"] for field in details["response"][0]["fields"]] == ["success", "message"]
    for tool in ("get_service_type", "get_service_details"):
        assert "/robot_guard/stop" in await ros.refused(tool, "INVALID_PARAMETERS", service="/robot_guard/halt")


async def test_nodes(ros):
    nodes = await ros.call("get_nodes", contains="guard")
    assert nodes["names"] == ["/robot_guard"]
    assert "/robot_guard/state" in (await ros.call("get_node_details", node="robot_guard"))["publishing"]


async def test_nothing_that_is_asked_for_kills_rosapi(ros, sim):
    sim.faults("rosapi_dies")
    await ros.refused("get_node_details", "INVALID_PARAMETERS", node="/nobody")
    await ros.refused("get_parameter", "INVALID_PARAMETERS", name="/nobody:x")
    await ros.refused("has_parameter", "INVALID_PARAMETERS", name="/nobody:x")
    await ros.refused("get_parameters", "INVALID_PARAMETERS", node_name="/nobody")
    await ros.refused("get_parameter_details", "INVALID_PARAMETERS", name="/nobody:x")
    await ros.refused("get_action_details", "ROS_ERROR", action_name="/move_action")
    await ros.refused("get_action_details", "INVALID_PARAMETERS", action_name="/nothing")
    await ros.call("get_actions")
    await ros.call("detect_ros_version")
    assert (await ros.call("get_topics", limit=1))["ok"], "rosapi still answers"


async def test_parameters(ros):
    one = await ros.call("get_parameter", name="/move_group:use_sim_time")
    assert (one["value"], one["type"]) == (True, "bool")
    assert (await ros.call("has_parameter", name="/move_group:use_sim_time"))["exists"]
    assert not (await ros.call("has_parameter", name="/move_group:nothing"))["exists"]
    every = await ros.call("get_parameters", node_name="move_group", contains="sim")
    assert every["parameters"] == [{"name": "use_sim_time", "type": "bool", "value": True}]
    details = await ros.call("get_parameter_details", name="/move_group:use_sim_time")
    assert "/clock" in details["description"]
    assert "use_sim_time" in await ros.refused("get_parameter", "INVALID_PARAMETERS", name="/move_group:use_time")
    for name in ("use_sim_time", ":use_sim_time", "/move_group:"):
        await ros.refused("get_parameter", "INVALID_PARAMETERS", name=name)


async def test_actions(ros):
    spin = await ros.call("get_actions", contains="spin")
    assert spin["actions"] == [{"name": "/spin", "type": "nav2_msgs/action/Spin"}]
    details = await ros.call("get_action_details", action_name="/spin")
    assert [field["name"] for field in details["goal"][0]["fields"]] == ["target_yaw", "time_allowance"]
    assert details["result"]
    assert details["feedback"]
    assert "/spin" in await ros.refused("get_action_details", "INVALID_PARAMETERS", action_name="/span")
    # No file of the robot names it: the bridge tells.
    details = await ros.call("get_action_details", action_name="/wait")
    assert details["type"] == "nav2_msgs/action/Wait"
    wrong = {"action_name": "/spin", "action_type": "nav2_msgs/action/BackUp"}
    assert "nav2_msgs/action/Spin" in await ros.refused("get_action_details", "INVALID_PARAMETERS", **wrong)


async def test_the_end_of_a_goal_is_seen_by_one_who_never_got_its_result(ros, robot, sim):
    before = await ros.call("get_action_status", action_name="/spin")
    sim.faults("silent_action")
    goal = await robot.link.send_goal("/spin", "nav2_msgs/action/Spin", {"target_yaw": 0.1})
    known = {item["goal_id"] for item in before["goals"]}
    while True:
        after = await ros.call("get_action_status", action_name="/spin")
        if not after["running"] and {item["goal_id"] for item in after["goals"]} - known:
            break
    assert not goal.done
    assert after["running"] == 0
    assert after["goals"][0]["status"] == "SUCCEEDED"
    assert after["goals"][0]["goal_id"] not in {item["goal_id"] for item in before["goals"]}
    await ros.refused("get_action_status", "INVALID_PARAMETERS", action_name="/nothing")


async def test_a_running_goal_is_canceled(realtime, open_server, robot, until):
    ros = await open_server(quartet_ros)
    goal = await robot.link.send_goal("/spin", "nav2_msgs/action/Spin", {"target_yaw": 6.0})
    await until(lambda: goal.feedback is not None)
    running = (await ros.call("get_action_status", action_name="/spin"))["goals"][0]
    assert running["status"] == "EXECUTING"
    await ros.refused("cancel_action_goal", "INVALID_PARAMETERS", action_name="/spin", goal_id="0f" * 16)
    await ros.refused("cancel_action_goal", "INVALID_PARAMETERS", action_name="/spin", goal_id="me")
    realtime.faults("cancels_refused")
    for chosen in ({}, {"goal_id": running["goal_id"]}):
        assert "refused" in await ros.refused("cancel_action_goal", "ROS_ERROR", action_name="/spin", **chosen)
    realtime.faults()
    answer = await ros.call("cancel_action_goal", action_name="/spin", goal_id=running["goal_id"])
    assert answer["canceling"] == [running["goal_id"]]
    assert (await goal.result()).status.name == "CANCELED"
    await ros.refused("cancel_action_goal", "ROS_ERROR", action_name="/spin", goal_id=running["goal_id"])
    assert "no goal" in (await ros.call("cancel_action_goal", action_name="/spin"))["message"]
