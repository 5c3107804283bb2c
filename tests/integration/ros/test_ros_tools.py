"""The ros server's tools over the simulated robot's graph."""

import pytest

import quartet_ros


@pytest.fixture
async def ros(open_server):
    return await open_server(quartet_ros)


async def test_topics_are_filtered_and_limited(ros):
    every = await ros.call("get_topics", limit=200)
    assert every["total"] == len(every["topics"])
    assert {"name": "/odom", "type": "nav_msgs/msg/Odometry"} in every["topics"]
    cameras = await ros.call("get_topics", contains="CAMERA")
    assert cameras["topics"]
    assert all("camera" in topic["name"] for topic in cameras["topics"])
    assert cameras["total"] == every["total"]
    by_type = await ros.call("get_topics", contains="sensor_msgs/msg/CameraInfo")
    assert {topic["type"] for topic in by_type["topics"]} == {"sensor_msgs/msg/CameraInfo"}
    few = await ros.call("get_topics", limit=2)
    assert len(few["topics"]) == 2
    assert f"{every['total'] - 2} more match" in few["message"]


async def test_wrong_limits(ros):
    for arguments in [{"limit": 0}, {"limit": 100000}, {"limit": "all"}, {"contains": "x" * 200}]:
        assert next(iter(arguments)) in await ros.refused("get_topics", "INVALID_PARAMETERS", **arguments)


async def test_one_message(ros, sim):
    result = await ros.call("subscribe_once", topic="odom", msg_type="nav_msgs/Odometry")
    assert result["topic"] == "/odom"
    assert result["msg_type"] == "nav_msgs/msg/Odometry"
    assert result["msg"]["child_frame_id"] == "base_footprint"


async def test_latched_and_sensor_topics(ros):
    assert (await ros.call("subscribe_once", topic="/gripper/status"))["msg"] == {"data": "open"}
    scan = (await ros.call("subscribe_once", topic="/scan"))["msg"]
    assert len(scan["ranges"]) == 33
    assert "items in all" in scan["ranges"][-1]


async def test_what_cannot_be_read(ros):
    for arguments, code, words in [
        ({"topic": "/odometry"}, "INVALID_PARAMETERS", ("'/odometry' does not exist", "/odom")),
        ({"topic": "/zzz"}, "INVALID_PARAMETERS", ("'/zzz' does not exist",)),
        ({"topic": "/odom", "msg_type": "std_msgs/String"}, "INVALID_PARAMETERS", ("nav_msgs/msg/Odometry",)),
        ({"topic": ""}, "INVALID_PARAMETERS", ("topic",)),
        ({"topic": "/odom", "timeout": -1}, "INVALID_PARAMETERS", ("timeout", "greater than 0")),
        ({"topic": "/cmd_vel", "timeout": 0.2}, "TIMEOUT", ("/cmd_vel", "silent")),
    ]:
        message = await ros.refused("subscribe_once", code, **arguments)
        for word in words:
            assert word in message
