"""Service calls, line by line as the real bridge answers them."""

from __future__ import annotations

from typing import Any


async def test_success_carries_values_result_and_id(robot: Any) -> None:
    answer = await robot.call("/clear_octomap")
    assert answer == {
        "op": "service_response",
        "service": "/clear_octomap",
        "values": {},
        "result": True,
        "id": "call1",
    }


async def test_no_id_in_no_id_out(robot: Any) -> None:
    await robot.send(op="call_service", service="/rosapi/get_time")
    answer = await robot.op("service_response")
    assert "id" not in answer
    assert set(answer["values"]["time"]) == {"sec", "nanosec"}


async def test_args_may_be_a_list_and_type_is_ignored(robot: Any) -> None:
    answer = await robot.call("/rosapi/topic_type", ["/tf"], type="nonsense/Type")
    assert answer["values"] == {"type": "tf2_msgs/msg/TFMessage"}


async def test_an_id_may_be_anything_or_stand_behind_the_name(robot: Any) -> None:
    for number in ([1, "two"], {"three": 3}, 0, ""):
        await robot.send(op="call_service", service="/clear_octomap", id=number)
        assert (await robot.op("service_response"))["id"] == number
    await robot.send(op="call_service", service="/clear_octomap#33")
    answer = await robot.op("service_response")
    assert (answer["service"], answer["id"], answer["result"]) == ("/clear_octomap#33", "33", True)
    await robot.send(op="call_service", service="/clear_octomap#33", id="own")
    assert (await robot.op("service_response"))["id"] == "own"
    await robot.send(op="call_service", service="/clear_octomap", id=None)
    assert "id" not in await robot.op("service_response")


async def test_unknown_service(robot: Any) -> None:
    answer = await robot.call("/nope")
    assert (answer["result"], answer["values"]) == (False, "Service /nope does not exist")


async def test_unknown_field(robot: Any) -> None:
    answer = await robot.call("/robot_guard/stop", {"bad": 1})
    assert (answer["result"], answer["values"]) == (
        False,
        "Message type std_srvs/Trigger_Request does not have a field bad",
    )


async def test_wrong_field_type(robot: Any) -> None:
    answer = await robot.call("/rosapi/topic_type", {"topic": 3})
    assert answer["result"] is False
    assert "rosapi_msgs/TopicType_Request message requires a string for field topic" in answer["values"]


async def test_graph_through_rosapi(robot: Any) -> None:
    topics = (await robot.call("/rosapi/topics"))["values"]
    types = dict(zip(topics["topics"], topics["types"], strict=True))
    assert types["/front_camera/color/image_raw/compressed"] == "sensor_msgs/msg/CompressedImage"
    assert types["/arm_camera/aligned_depth_to_color/image_raw"] == "sensor_msgs/msg/Image"
    assert types["/cmd_vel"] == "geometry_msgs/msg/Twist"
    raw = (await robot.call("/rosapi/topics_and_raw_types"))["values"]
    assert raw["topics"] == topics["topics"]
    text = raw["typedefs_full_text"][raw["topics"].index("/odom")]
    assert "MSG: geometry_msgs/PoseWithCovariance" in text
    services = (await robot.call("/rosapi/services"))["values"]["services"]
    for name in ("/compute_ik", "/robot_guard/stop", "/bt_navigator/get_state"):
        assert name in services
        assert (await robot.call("/rosapi/service_type", {"service": name}))["values"]["type"]
    hidden = "/spin/_action/cancel_goal"
    assert hidden not in services
    assert (await robot.call("/rosapi/service_type", {"service": hidden}))["values"] == {"type": ""}
    actions = (await robot.call("/rosapi/action_servers"))["values"]["action_servers"]
    assert {
        "/navigate_to_pose",
        "/spin",
        "/drive_on_heading",
        "/backup",
        "/move_action",
        "/execute_trajectory",
        "/robotiq_gripper_controller/gripper_cmd",
    } <= set(actions)
    action_type = await robot.call("/rosapi/action_type", {"action": "/spin"})
    assert action_type["values"] == {"type": "nav2_msgs/action/Spin"}
    nodes = (await robot.call("/rosapi/nodes"))["values"]["nodes"]
    assert {"/bt_navigator", "/move_group", "/robot_guard", "/rosapi"} <= set(nodes)
    details = (await robot.call("/rosapi/node_details", {"node": "/robot_guard"}))["values"]
    assert details["subscribing"] == ["/cmd_vel", "/joint_states", "/odom", "/robot_guard/heartbeat"]
    assert details["publishing"] == ["/robot_guard/state"]
    assert "/robot_guard/stop" in details["services"]
    unknown = await robot.call("/rosapi/topic_type", {"topic": "/nope"})
    assert unknown["values"] == {"type": ""}


async def test_type_details(robot: Any) -> None:
    answer = await robot.call("/rosapi/message_details", {"type": "geometry_msgs/msg/PoseStamped"})
    typedefs = answer["values"]["typedefs"]
    assert typedefs[0]["fieldnames"] == ["header", "pose"]
    assert typedefs[0]["fieldtypes"] == ["std_msgs/Header", "geometry_msgs/Pose"]
    assert {typedef["type"] for typedef in typedefs} >= {"std_msgs/Header", "geometry_msgs/Quaternion"}
    goal = await robot.call("/rosapi/action_goal_details", {"type": "nav2_msgs/action/Spin"})
    assert goal["values"]["typedefs"][0]["fieldnames"] == ["target_yaw", "time_allowance"]
    unknown = await robot.call("/rosapi/message_details", {"type": "no_msgs/msg/Thing"})
    assert unknown["result"] is False
    assert "no_msgs/msg/Thing" in unknown["values"]


async def test_parameters(robot: Any) -> None:
    answer = await robot.call("/rosapi/get_param", {"name": "/bt_navigator:use_sim_time"})
    assert answer["values"] == {"value": "true", "successful": True, "reason": ""}
    refused = await robot.call("/rosapi/set_param", {"name": "/bt_navigator:use_sim_time", "value": "7"})
    assert refused["result"] is True
    assert refused["values"]["successful"] is False
    missing = await robot.call("/rosapi/get_param", {"name": "/bt_navigator:nope"})
    assert missing["values"]["successful"] is False
    own = await robot.call("/bt_navigator/get_parameters", {"names": ["use_sim_time"]})
    assert own["values"]["values"][0]["bool_value"] is True


async def test_nav2_is_active(robot: Any) -> None:
    for node in ("bt_navigator", "controller_server", "planner_server", "behavior_server", "amcl"):
        answer = await robot.call(f"/{node}/get_state")
        assert answer["values"]["current_state"] == {"id": 3, "label": "active"}


async def test_costmaps_are_cleared(robot: Any) -> None:
    for costmap in ("global", "local"):
        answer = await robot.call(f"/{costmap}_costmap/clear_entirely_{costmap}_costmap", {"request": {}})
        assert (answer["result"], answer["values"]) == (True, {"response": {}})
