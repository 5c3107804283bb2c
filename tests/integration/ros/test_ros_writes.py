"""The ros server's generic writes: denied unless the site lists the name, and then under fence, stop and guard."""

import asyncio
import math

import pytest

import quartet_ros
from quartet_robot_link import GoalStatus
from quartet_site import RosWrites, load_site

TWIST = "geometry_msgs/msg/Twist"
SPIN = "nav2_msgs/action/Spin"
ALLOWED = {
    "topics": [
        {"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": 0.3, "max_angular_rad_s": 0.5},
        {"name": "/robot_guard/heartbeat", "type": "std_msgs/msg/Header"},
        {"name": "/gripper/status", "type": "std_msgs/msg/String"},
        {"name": "/nobody_listens", "type": "std_msgs/msg/String"},
    ],
    "services": [
        {"name": "/move_group/get_parameters", "type": "rcl_interfaces/srv/GetParameters"},
        {"name": "/robot_guard/reset", "type": "std_srvs/srv/Trigger"},
        {"name": "/move_group/list_parameters", "type": "std_srvs/srv/Trigger"},
    ],
    "actions": [
        {"name": "/spin", "type": SPIN, "max_duration_s": 30.0},
        {"name": "/backup", "type": "nav2_msgs/action/Spin"},
        {"name": "/no_such", "type": SPIN},
        {"name": "/wait", "type": SPIN},
        {"name": "/drive_on_heading", "type": "not_there/action/Drive"},
        {"name": "/move_action", "type": "moveit_msgs/action/MoveGroup"},
    ],
    "parameters": ["/move_group:use_sim_time", "/move_group:planning_attempts", "/robot_guard:new", "/nobody:x"],
}


@pytest.fixture
def site_file(request):
    from pathlib import Path

    site = load_site(Path(__file__).parents[3] / "deploy" / "sites" / "studio" / "site.yaml")
    if getattr(request, "param", True):
        return site.model_copy(update={"ros_writes": RosWrites.model_validate(ALLOWED)})
    return site


@pytest.fixture
async def ros(open_server):
    return await open_server(quartet_ros)


CALLS = [
    ("publish_once", {"topic": "/cmd_vel", "msg_type": TWIST, "msg": {"linear": {"x": 0.1}}}),
    ("publish_for_durations", {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{}], "durations": [0.1]}),
    ("call_service", {"service_name": "/move_group/get_parameters", "request": {"names": ["use_sim_time"]}}),
    ("set_parameter", {"name": "/move_group:planning_attempts", "value": 3}),
    ("delete_parameter", {"name": "/move_group:planning_attempts"}),
    ("send_action_goal", {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": 0.1}}),
]


@pytest.mark.parametrize("site_file", [False], indirect=True)
async def test_everything_is_denied_where_the_site_lists_nothing(ros, robot):
    sent = []
    # Nothing at all may go to the robot.
    robot.link._send = lambda operation: sent.append(operation)  # noqa: SLF001 - the last thing before the socket
    for tool, arguments in CALLS:
        message = await ros.refused(tool, "DENIED", **arguments)
        assert "allows: none" in message
        assert "ros_writes" in message
        assert not sent


async def test_what_is_not_listed_is_denied(ros):
    for tool, arguments in [
        ("publish_once", {"topic": "/tf", "msg_type": "tf2_msgs/msg/TFMessage", "msg": {}}),
        ("publish_once", {"topic": "/cmd_vel2", "msg_type": TWIST, "msg": {}}),
        ("publish_once", {"topic": "/robot_guard/heartbeat", "msg_type": "std_msgs/msg/Header", "msg": {}}),
        ("call_service", {"service_name": "/robot_guard/reset"}),
        ("call_service", {"service_name": "/rosapi/set_param", "request": {"name": "/move_group:x", "value": "1"}}),
        ("call_service", {"service_name": "/spin/_action/send_goal"}),
        ("send_action_goal", {"action_name": "/navigate_to_pose", "action_type": SPIN, "goal": {}}),
        ("set_parameter", {"name": "/robot_guard:use_sim_time", "value": False}),
        ("delete_parameter", {"name": "/robot_guard:use_sim_time"}),
    ]:
        await ros.refused(tool, "DENIED", **arguments)


async def test_every_write_is_fenced(ros):
    await ros.server.safety.install_fence(5)
    for tool, arguments in CALLS:
        await ros.refused(tool, "FENCED", **arguments)


async def test_a_call_let_in_before_a_newer_fence_does_not_act(ros, robot, monkeypatch):
    real = robot.link.advertise

    async def overtaken(topic, msg_type):
        await real(topic, msg_type)
        ros.server.safety.fences.install(9)

    monkeypatch.setattr(robot.link, "advertise", overtaken)
    await ros.refused("publish_once", "FENCED", topic="/cmd_vel", msg_type=TWIST, msg={"linear": {"x": 0.1}})


async def test_no_write_without_a_grant_for_it(ros):
    ros.grant["tools"] = ["ros__get_topics"]
    for tool, arguments in CALLS:
        await ros.refused(tool, "DENIED", **arguments)


async def test_nothing_is_written_while_the_guard_is_stopped(ros, robot, until):
    await robot.link.call_service("/robot_guard/stop")
    await until(lambda: robot.guard.latched)
    for tool, arguments in CALLS:
        if tool != "delete_parameter":  # there is none to delete
            await ros.refused(tool, "STOPPED", **arguments)


async def test_a_velocity_drives_and_ends_with_zero(ros, sim, robot):
    before = await robot.base_pose()
    async with robot.link.subscribe("/cmd_vel", TWIST, keep=50) as heard:
        answer = await ros.call(
            "publish_for_durations",
            topic="/cmd_vel",
            msg_type=TWIST,
            messages=[{"linear": {"x": 0.2}}, {"linear": {"x": -0.1}}],
            durations=[0.6, 0.2],
        )
        speeds = [(await heard.next(60))["linear"]["x"] for _ in range(answer["published"])]
    assert answer["published"] >= 3
    assert speeds[0] == 0.2
    assert -0.1 in speeds
    assert speeds[-1] == 0.0
    assert await robot.wait_standstill()
    after = await robot.base_pose()
    assert math.hypot(after.x - before.x, after.y - before.y) > 0.02


async def test_one_velocity_does_not_go_on(ros, robot):
    async with robot.link.subscribe("/cmd_vel", TWIST, keep=50) as heard:
        answer = await ros.call("publish_once", topic="cmd_vel", msg_type="", msg={"angular": {"z": 0.4}})
        speeds = [(await heard.next(60))["angular"]["z"] for _ in range(answer["published"])]
    assert speeds[0] == 0.4
    assert speeds[-1] == 0.0
    assert await robot.wait_standstill()


async def test_a_stop_ends_a_velocity_at_once(realtime, open_server, robot):
    ros = await open_server(quartet_ros)
    drive = {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{"linear": {"x": 0.05}}], "durations": [30.0]}
    async with robot.link.subscribe("/cmd_vel", TWIST, keep=500) as heard:
        call = asyncio.create_task(ros.call("publish_for_durations", **drive))
        assert (await heard.next(60))["linear"]["x"] == 0.05
        await ros.refused("publish_once", "BUSY", topic="/cmd_vel", msg_type=TWIST, msg={})
        assert await ros.server.safety.stop("a person stopped it") == ["publish_for_durations"]
        assert (await call)["error_code"] == "CANCELED"
        while (await heard.next(60))["linear"]["x"] != 0.0:
            pass
    assert await robot.wait_standstill()


async def test_the_guard_ends_a_velocity(realtime, open_server, robot):
    ros = await open_server(quartet_ros)
    drive = {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{"linear": {"x": 0.05}}], "durations": [30.0]}
    async with robot.link.subscribe("/cmd_vel", TWIST) as heard:
        call = asyncio.create_task(ros.call("publish_for_durations", **drive))
        await heard.next(60)
        await robot.link.call_service("/robot_guard/stop")
    assert (await call)["error_code"] == "STOPPED"


async def test_a_wrong_or_fast_velocity_is_not_sent(ros, robot):
    good = {"linear": {"x": 0.1}}
    for message, words in [
        ({"linear": {"x": 0.31}}, ("0.31", "0.3 m/s")),
        ({"linear": {"x": 0.25, "y": -0.25}}, ("0.3 m/s",)),
        ({"angular": {"z": -0.6}}, ("0.6", "0.5 rad/s")),
        ({"linear": {"x": float("nan")}}, ("msg.linear.x", "finite")),
        ({"linear": {"x": "fast"}}, ("msg.linear.x", "'fast'")),
        ({"linear": {"x": True}}, ("msg.linear.x", "finite")),
        ({"linear": 0.1}, ("msg.linear", "Vector3")),
        ({"speed": 0.1}, ("'speed'", "linear, angular")),
    ]:
        async with robot.link.subscribe("/cmd_vel", TWIST) as heard:
            once = await ros.refused(
                "publish_once", "INVALID_PARAMETERS", topic="/cmd_vel", msg_type=TWIST, msg=message
            )
            many = {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [good, message], "durations": [0.1, 0.1]}
            await ros.refused("publish_for_durations", "INVALID_PARAMETERS", **many)
            assert heard.latest is None, "also the good one before it"
        for word in words:
            assert word in once


async def test_wrong_arguments_of_allowed_writes(ros):
    for tool, arguments, word in [
        ("publish_once", {"topic": "/cmd_vel", "msg_type": "std_msgs/String", "msg": {}}, TWIST),
        ("publish_once", {"topic": "/nobody_listens", "msg_type": "", "msg": {}}, "does not exist"),
        (
            "publish_for_durations",
            {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{}], "durations": [1, 1]},
            "1 messages and 2 durations",
        ),
        (
            "publish_for_durations",
            {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{}, {}], "durations": [40, 40]},
            "80 s",
        ),
        ("call_service", {"service_name": "/move_group/get_parameters", "service_type": "std_srvs/srv/Empty"}, "Get"),
        ("call_service", {"service_name": "/move_group/get_parameters", "request": {"name": "x"}}, "names"),
        ("call_service", {"service_name": "/move_group/get_parameters", "request": {"names": "x"}}, "array"),
        ("call_service", {"service_name": "/move_group/list_parameters"}, "correct the file"),
        ("send_action_goal", {"action_name": "/spin", "action_type": "nav2_msgs/BackUp", "goal": {}}, SPIN),
        ("send_action_goal", {"action_name": "/backup", "action_type": SPIN, "goal": {}}, "nav2_msgs/action/BackUp"),
        ("send_action_goal", {"action_name": "/wait", "action_type": SPIN, "goal": {}}, "is nav2_msgs/action/Wait"),
        (
            "send_action_goal",
            {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": float("inf")}},
            "goal.target_yaw",
        ),
        ("send_action_goal", {"action_name": "/spin", "action_type": SPIN, "goal": {"angle": 1}}, "target_yaw"),
        ("send_action_goal", {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": "x"}}, "goal.target"),
        ("send_action_goal", {"action_name": "/no_such", "action_type": "", "goal": {}}, "/no_such"),
        ("send_action_goal", {"action_name": "/drive_on_heading", "action_type": "", "goal": {}}, "not_there/action"),
        ("set_parameter", {"name": "/move_group:use_sim_time", "value": "often"}, "bool"),
        ("set_parameter", {"name": "/nobody:x", "value": 1}, "/nobody"),
        ("delete_parameter", {"name": "/nobody:x"}, "/nobody"),
        ("delete_parameter", {"name": "/robot_guard:new"}, "new"),
    ]:
        assert word in await ros.refused(tool, "INVALID_PARAMETERS", **arguments)


async def test_another_topic_gets_its_message(ros, robot):
    async with robot.link.subscribe("/gripper/status", "std_msgs/msg/String", keep=5) as heard:
        await heard.next(60)
        answer = await ros.call(
            "publish_once", topic="/gripper/status", msg_type="std_msgs/msg/String", msg={"data": "open"}
        )
        assert answer["published"] == 1
        assert (await heard.next(60)) == {"data": "open"}


async def test_a_service_is_called(ros, sim, robot, monkeypatch):
    request = {"names": ["use_sim_time"]}
    answer = await ros.call("call_service", service_name="move_group/get_parameters", request=request)
    assert answer["service_type"] == "rcl_interfaces/srv/GetParameters"
    assert answer["response"]["values"][0]["bool_value"] is True
    real = robot.link.call_service

    async def slow(service, *arguments, **options):
        if service == "/move_group/get_parameters":
            sim.faults("slow_services")
        return await real(service, *arguments, **options)

    monkeypatch.setattr(robot.link, "call_service", slow)
    await ros.refused("call_service", "TIMEOUT", service_name="/move_group/get_parameters", timeout=0.3)


async def test_parameters_are_set_and_deleted(ros):
    name = "/move_group:planning_attempts"
    assert (await ros.call("set_parameter", name=name, value="7"))["value"] == 7
    assert (await ros.call("get_parameter", name=name))["type"] == "integer"
    await ros.refused("set_parameter", "INVALID_PARAMETERS", name=name, value=0.5)
    assert (await ros.call("set_parameter", name="/move_group:use_sim_time", value="true"))["value"] is True
    assert (await ros.call("delete_parameter", name=name))["exists"] is False
    await ros.refused("get_parameter", "INVALID_PARAMETERS", name=name)
    assert "statically typed" in await ros.refused("delete_parameter", "ROS_ERROR", name="/move_group:use_sim_time")
    assert "not declared" in await ros.refused("set_parameter", "ROS_ERROR", name="/robot_guard:new", value=1)


async def test_a_goal_runs_to_its_end(ros):
    answer = await ros.call("send_action_goal", action_name="spin", action_type=SPIN, goal={"target_yaw": 0.2})
    assert (answer["status"], answer["action_type"]) == ("SUCCEEDED", SPIN)
    assert answer["duration_s"] > 0
    assert answer["result"]["error_code"] == 0
    status = await ros.call("get_action_status", action_name="/spin")
    assert status["goals"][0]["status"] == "SUCCEEDED"


async def test_a_goal_of_an_action_too_large_to_ask_about(ros, sim):
    sim.faults("rosapi_dies")
    move = {"action_name": "/move_action", "action_type": "moveit_msgs/action/MoveGroup"}
    await ros.refused("send_action_goal", "ROS_ERROR", **move, goal={"request": {"group_name": "nobody"}})
    assert (await ros.call("get_topics", limit=1))["ok"], "rosapi still answers"


async def test_a_wrong_type_never_reaches_the_action(ros, sim):
    sim.faults("wrong_type_poisons")
    for wrong in ("nav2_msgs/action/BackUp", "nowhere/action/Spin"):
        await ros.refused("send_action_goal", "INVALID_PARAMETERS", action_name="/spin", action_type=wrong, goal={})
    good = {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": 0.1}}
    assert (await ros.call("send_action_goal", **good))["status"] == "SUCCEEDED"


async def test_a_goal_that_is_given_up_is_canceled_and_its_end_is_known(realtime, open_server, robot, until):
    ros = await open_server(quartet_ros)
    spin = {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": 6.0}}
    call = asyncio.create_task(ros.client.call_tool("send_action_goal", spin))
    await until(lambda: ros.server.leases.running and ros.server.leases.running[0].goal)
    async with robot.link.subscribe("/spin/_action/status", "action_msgs/msg/GoalStatusArray") as status:
        while not any(goal["status"] == 2 for goal in (await status.next(60))["status_list"]):
            pass
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not ros.server.leases.running)
    end = await ros.call("get_action_status", action_name="/spin")
    assert (end["goals"][0]["status"], end["running"]) == ("CANCELED", 0)


async def test_a_stop_cancels_also_goals_that_another_process_sent(realtime, open_server, robot, until):
    ros = await open_server(quartet_ros)
    goal = await robot.link.send_goal("/spin", SPIN, {"target_yaw": 6.0})
    await until(lambda: goal.feedback is not None)
    assert await ros.server.safety.stop("a person stopped it") == ["/spin"]
    assert (await goal.result()).status is GoalStatus.CANCELED


async def test_a_goal_ends_at_its_time_limit(realtime, open_server):
    ros = await open_server(quartet_ros)
    spin = {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": 6.0}, "timeout": 0.3}
    assert "did not finish" in await ros.refused("send_action_goal", "TIMEOUT", **spin)
    assert (await ros.call("get_action_status", action_name="/spin"))["running"] == 0
