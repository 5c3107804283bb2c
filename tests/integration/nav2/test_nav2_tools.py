"""Every tool of the nav2 server in the simulated studio; every code is provoked by the world."""

import asyncio
import functools
import math
import time

import pytest

import quartet_nav2
from quartet_nav2 import approach
from quartet_robot_link import CallTimeoutError, Robot, TransformUnavailableError


@pytest.fixture
def moving(until):
    """Waits until the robot has left its start."""

    async def wait(sim, start: list[float]) -> None:
        await until(lambda: math.dist(place(sim), start) > 0.03)

    return wait


@pytest.fixture
async def nav2(open_server):
    return await open_server(quartet_nav2)


def place(sim) -> list[float]:
    return sim.truth()["robot"]["pose"]


async def test_pose_and_area(nav2, sim):
    result = await nav2.call("get_robot_pose")
    x, y, yaw = place(sim)
    assert result["area"] == "studio"
    assert math.dist((result["pose"]["x"], result["pose"]["y"]), (x, y)) < 0.1
    assert abs(result["pose"]["yaw"] - yaw) < 0.1
    assert result["pose"]["frame_id"] == "map"


async def test_navigate_reaches_the_pose(nav2, sim):
    result = await nav2.call("navigate_to_pose", x=0.3, y=-0.6, yaw=1.0)
    assert result["ok"], result
    x, y, yaw = place(sim)
    assert math.dist((x, y), (0.3, -0.6)) < 0.15
    assert abs(yaw - 1.0) < 0.2
    assert result["distance_remaining_m"] < 0.1
    assert result["duration_s"] > 0
    assert result["nav2_error_code"] == 0


@pytest.mark.parametrize(
    ("x", "y", "name"), [(1.55, 0.0, "PLANNER_GOAL_OCCUPIED"), (40.0, 0.0, "PLANNER_GOAL_OUTSIDE_MAP")]
)
async def test_navigation_fails_with_nav2s_own_code(nav2, sim, x, y, name):
    before = place(sim)
    result = await nav2.call("navigate_to_pose", x=x, y=y)
    assert result["error_code"] == "NAVIGATION_FAILED"
    assert result["nav2_error"] == name
    assert name in result["message"]
    assert math.dist(place(sim), before) < 0.02


async def test_spin(nav2, sim):
    before = place(sim)
    assert (await nav2.call("spin_robot", angle=-1.0))["ok"]
    assert abs(place(sim)[2] - before[2] + 1.0) < 0.1


async def test_drive_and_back_up(nav2, sim):
    start = place(sim)
    assert (await nav2.call("drive_on_heading", distance=0.3))["ok"]
    assert abs(math.dist(place(sim)[:2], start[:2]) - 0.3) < 0.05
    assert (await nav2.call("backup_robot", distance=0.3))["ok"]
    assert math.dist(place(sim)[:2], start[:2]) < 0.08


async def test_drive_stops_before_an_obstacle(nav2, sim):
    result = await nav2.call("drive_on_heading", distance=3.0, speed=0.4)
    assert result["error_code"] == "NAVIGATION_FAILED"
    assert result["nav2_error"] == "DRIVE_COLLISION_AHEAD"
    assert sim.truth()["robot_in_collision"] == []


async def test_invalid_arguments_are_named_and_nothing_moves(nav2, sim):
    before = sim.truth()["time"]
    for tool, arguments, words in [
        ("drive_on_heading", {"distance": -0.2}, ("-0.2", "at most 5", "backup_robot")),
        ("drive_on_heading", {"distance": 0}, ("0", "above 0")),
        ("drive_on_heading", {"distance": 0.2, "speed": 9}, ("9", "at most 0.7")),
        ("backup_robot", {"distance": 50}, ("50", "at most 5")),
        ("spin_robot", {"angle": 100}, ("100", "12.5664")),
        ("spin_robot", {"angle": "NaN"}, ("angle", "finite", "NaN")),
        ("navigate_to_pose", {"x": "infinity", "y": 0}, ("x", "finite")),
        ("navigate_to_pose", {"x": 1.0}, ("y", "Missing", "x, y, yaw")),
        ("navigate_to_pose", {"x": 1.0, "y": 0.0, "z": 1}, ("z", "x, y, yaw")),
        ("navigate_to_pose", {"x": "kitchen", "y": 0}, ("x", "kitchen")),
        ("clear_costmaps", {"costmap_type": "both"}, ("both", "'all', 'global' or 'local'")),
        ("approach_target", {"target_x_base": 1, "target_y_base": 0, "standoff_m": 0}, ("standoff_m 0", "above 0")),
        ("approach_target", {"target_x_base": 9, "target_y_base": 0, "standoff_m": 1}, ("9.00 m", "at most 5")),
    ]:
        message = await nav2.refused(tool, "INVALID_PARAMETERS", **arguments)
        for word in words:
            assert word in message
        assert sim.truth()["time"] == before


async def test_approach_turns_then_drives_in_to_the_standoff(nav2, sim):
    start = place(sim)
    distance, bearing = 1.3, 0.6
    target = (start[0] + distance * math.cos(start[2] + bearing), start[1] + distance * math.sin(start[2] + bearing))
    result = await nav2.call(
        "approach_target",
        target_x_base=distance * math.cos(bearing),
        target_y_base=distance * math.sin(bearing),
        standoff_m=0.9,
    )
    assert result["ok"], result
    assert result["within_tolerance"]
    assert abs(math.dist(place(sim)[:2], target) - 0.9) < 0.06
    assert abs(result["distance_after_m"] - 0.9) < 0.06
    assert abs(result["turned_rad"] - bearing) < 0.1
    assert abs(result["driven_m"] - 0.4) < 0.06
    assert abs(result["bearing_after_rad"]) < 0.1


async def test_approach_does_nothing_when_near_enough(nav2, sim):
    before = sim.truth()["time"]
    result = await nav2.call("approach_target", target_x_base=0.85, target_y_base=0.1, standoff_m=0.8)
    assert result["ok"]
    assert result["within_tolerance"]
    assert result["driven_m"] == 0
    assert sim.truth()["time"] == before


async def test_approach_tells_how_near_it_came_when_blocked(nav2, sim):
    result = await nav2.call("approach_target", target_x_base=2.0, target_y_base=0.0, standoff_m=0.2)
    assert result["error_code"] == "NAVIGATION_FAILED"
    assert result["nav2_error"] == "DRIVE_COLLISION_AHEAD"
    assert 0.2 < result["distance_after_m"] < 2.0
    assert not result["within_tolerance"]
    assert sim.truth()["robot_in_collision"] == []


async def test_clear_costmaps(nav2):
    for which, cleared in [("all", ["global", "local"]), ("global", ["global"]), ("local", ["local"])]:
        assert (await nav2.call("clear_costmaps", costmap_type=which))["cleared"] == cleared


async def test_cancel_with_nothing_running(nav2):
    result = await nav2.call("cancel_navigation")
    assert result["ok"]
    assert result["canceled"] == []
    assert result["standstill"] is True


async def test_cancel_does_not_wait_behind_the_motion_and_stops_it(nav2, realtime, moving, until):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await moving(realtime, start)
    canceled = await nav2.call("cancel_navigation")
    assert canceled["canceled"] == ["/drive_on_heading", "drive_on_heading"] or canceled["canceled"] == [
        "drive_on_heading"
    ]
    assert canceled["standstill"] is True
    result = await motion
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "cancel_navigation" in result["message"]
    assert math.dist(place(realtime)[:2], start[:2]) < 0.5
    stopped, then = place(realtime), realtime.truth()["time"]
    await until(lambda: realtime.truth()["time"] > then + 0.3)
    assert math.dist(place(realtime), stopped) < 0.005


async def test_a_cancel_between_two_steps_has_the_code_of_a_cancel(nav2, sim, monkeypatch):
    """approach_target turns, looks where it is, and drives."""
    before, see = place(sim), approach._see  # noqa: SLF001 - the moment between two steps

    async def canceled(*arguments):
        nav2.server.leases.running[0].cancel("somebody was quick")
        return await see(*arguments)

    monkeypatch.setattr(approach, "_see", canceled)
    target = {"target_x_base": 0.5, "target_y_base": 0.9, "standoff_m": 0.5}
    message = await nav2.refused("approach_target", "NAVIGATION_CANCELED", **target)
    assert "somebody was quick" in message
    turned = place(sim)
    assert abs(turned[2] - before[2]) > 0.3
    assert math.dist(turned[:2], before[:2]) < 0.05, "it turned and did not drive"


async def test_a_client_that_gives_up_stops_the_motion(nav2, realtime, moving, until):
    start = place(realtime)
    call = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await moving(realtime, start)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not nav2.server.leases.running)
    assert await nav2.server.robot.wait_standstill()
    assert math.dist(place(realtime)[:2], start[:2]) < 0.5


async def test_a_second_motion_is_refused_while_one_runs(nav2, realtime, moving):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await moving(realtime, start)
    assert "drive_on_heading" in await nav2.refused("spin_robot", "BUSY", angle=1.0)
    await nav2.call("cancel_navigation")
    await motion


async def test_progress_is_reported_while_the_robot_drives(nav2, realtime):
    await nav2.call("drive_on_heading", distance=0.4, speed=0.3)
    assert nav2.progress
    assert all(total == pytest.approx(0.4) for _, total, _ in nav2.progress)
    assert "of 0.40 m" in nav2.progress[-1][2]


async def test_a_motion_canceled_by_somebody_else_says_so(nav2, realtime, moving):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await moving(realtime, start)
    assert await nav2.server.robot.link.cancel_goals("/drive_on_heading") == 1
    result = await motion
    assert result["error_code"] == "NAVIGATION_CANCELED"
    assert "somebody else" in result["message"]


async def test_guard_stop_ends_the_motion_and_refuses_the_next(nav2, realtime, moving):
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=1.0, speed=0.1))
    await moving(realtime, start)
    link, services = nav2.server.robot.link, nav2.server.robot.file.services
    try:
        assert (await link.call_service(services.guard_stop))["success"]
        assert (await motion)["error_code"] == "STOPPED"
        assert "reset" in await nav2.refused("spin_robot", "STOPPED", angle=0.5)
    finally:
        await realtime.reset_guard(nav2.server.robot)
    assert "the robot was stopped" in await nav2.refused("spin_robot", "FENCED", angle=0.2)
    nav2.grant["fence"] += 1
    assert (await nav2.call("spin_robot", angle=0.2))["ok"]


async def test_a_goal_over_its_time_is_canceled(open_over, realtime, robot_file):
    hurried = robot_file.model_copy(update={"base": robot_file.base.model_copy(update={"navigation_timeout_s": 0.01})})
    robot = await Robot.open(hurried, url=realtime.url, wait_s=60)
    try:
        robot.clock.now = patient_clock(robot.clock.now)  # 30 s pass in every second
        nav2 = await open_over(robot, quartet_nav2)
        message = await nav2.refused("navigate_to_pose", "TIMEOUT", x=0.3, y=-1.2, yaw=3.0)
        assert "canceled and has ended" in message
        assert await robot.wait_standstill()
    finally:
        await robot.close()


def patient_clock(now):
    start = now()
    return lambda: start + 30 * (now() - start)


async def test_inactive_navigation_is_told(open_over, sim, robot_file):
    lost = robot_file.model_copy(
        update={"actions": robot_file.actions.model_copy(update={"navigate_to_pose": "/not_there/navigate_to_pose"})}
    )
    robot = await Robot.open(lost, url=sim.url, wait_s=60)
    try:
        nav2 = await open_over(robot, quartet_nav2)
        assert "Nav2 is not running" in await nav2.refused("navigate_to_pose", "NAV2_NOT_ACTIVE", x=0.3, y=0)
    finally:
        await robot.close()


async def test_an_unlocalised_robot_names_the_missing_link(open_over, sim, robot_file, monkeypatch):
    lost = robot_file.model_copy(update={"frames": robot_file.frames.model_copy(update={"map": "site_map"})})
    robot = await Robot.open(lost, url=sim.url, wait_s=60)
    try:
        with pytest.raises(TransformUnavailableError, match="'site_map'"):
            await robot.base_pose(timeout_s=0.3)
        nav2 = await open_over(robot, quartet_nav2)
        message = await nav2.refused("get_robot_pose", "TRANSFORM_UNAVAILABLE")
        assert "nothing joins" in message
        assert "base_footprint" in message
    finally:
        await robot.close()


async def test_missing_service_is_a_ros_error(open_over, sim, robot_file):
    services = robot_file.services.model_copy(update={"clear_global_costmap": "/not_there/clear"})
    robot = await Robot.open(robot_file.model_copy(update={"services": services}), url=sim.url, wait_s=60)
    try:
        nav2 = await open_over(robot, quartet_nav2)
        assert "/not_there/clear does not exist" in await nav2.refused("clear_costmaps", "ROS_ERROR")
    finally:
        await robot.close()


async def test_without_a_bridge_every_tool_says_so(open_over, robot_file):
    robot = await Robot.open(robot_file, url="ws://127.0.0.1:9")
    try:
        nav2 = await open_over(robot, quartet_nav2)
        message = await nav2.refused("spin_robot", "BRIDGE_UNAVAILABLE", angle=1)
        assert "ws://127.0.0.1:9" in message
        assert "QUARTET_BRIDGE_URL" in message
    finally:
        await robot.close()


async def test_the_cancel_works_after_the_result_was_lost(nav2, sim):
    """A server that never answers: the call still ends, by its own deadline, and says that the outcome is unknown."""
    sim.faults("silent_action")
    nav2.server.robot.start_motion = impatient(nav2.server.robot)
    message = await nav2.refused("spin_robot", "TIMEOUT", angle=0.5)
    assert "has not ended" in message


def impatient(robot):
    from quartet_robot_link import Motion

    def start(action, action_type, args, *, limit_s, on_feedback=None):
        return Motion(
            robot.link, robot.clock, action, action_type, args, limit_s=limit_s, on_feedback=on_feedback,
            stall_s=0.5, cancel_wait_s=0.5,
        )  # fmt: skip

    return start


async def test_a_base_that_rolls_on_after_the_cancel_is_a_failure(open_over, peer, robot_file):
    rolling = {"linear": {"x": 0.2, "y": 0.0}, "angular": {"z": 0.0}}

    def answer(operation):
        if operation["op"] == "call_service":
            return [
                {"op": "service_response", "id": operation["id"], "values": {"goals_canceling": []}, "result": True}
            ]
        if operation["op"] == "subscribe" and operation["topic"] == "/odom":
            return [{"op": "publish", "topic": "/odom", "msg": {"twist": {"twist": rolling}}}]
        return None

    peer.answer = answer
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    robot.wait_standstill = functools.partial(robot.wait_standstill, timeout_s=0.0)
    try:
        nav2 = await open_over(robot, quartet_nav2)
        message = await nav2.refused("cancel_navigation", "TIMEOUT")
        assert "still moves" in message
        assert "stop button" in message
    finally:
        await robot.close()


async def test_odometry_without_speeds_tells_no_standstill_and_the_cancel_counts(open_over, peer, robot_file):
    """rosbridge sends NaN as null."""
    nothing = dict.fromkeys("xyz")
    odometry = {"op": "publish", "topic": "/odom", "msg": {"twist": {"twist": {"linear": nothing, "angular": nothing}}}}
    canceled = {"op": "service_response", "values": {"goals_canceling": []}, "result": True}

    def answer(operation):
        if operation["op"] == "call_service":
            return [canceled | {"id": operation["id"]}]
        return [odometry] if operation.get("topic") == "/odom" and operation["op"] == "subscribe" else None

    peer.answer = answer
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    robot.wait_standstill = functools.partial(robot.wait_standstill, timeout_s=0.0)
    try:
        with pytest.raises(CallTimeoutError, match="speeds on /odom are no numbers"):
            await robot.wait_standstill()
        nav2 = await open_over(robot, quartet_nav2)
        result = await nav2.call("cancel_navigation")
        assert (result["ok"], result.get("standstill")) == (True, None)
    finally:
        await robot.close()


REJECTED, UNKNOWN_GOAL_ID = 1, 2
"""action_msgs/srv/CancelGoal."""
EXECUTING = 2
"""action_msgs/msg/GoalStatus."""


@pytest.mark.parametrize(
    ("of_all", "of_one", "refused"),
    [(0, None, False), (REJECTED, None, True), (0, 0, True), (0, UNKNOWN_GOAL_ID, False)],
    ids=["nothing runs", "rclcpp", "rclpy", "the server was started anew"],
)
async def test_a_cancel_that_the_robot_refuses_is_no_cancel(open_over, peer, robot_file, of_all, of_one, refused):
    """The codes that /spin answers to a cancel of all goals, and of the one that its status topic lists."""
    standing = {"twist": {"twist": {"linear": {"x": 0.0, "y": 0.0}, "angular": {"z": 0.0}}}}
    goal = {"goal_info": {"goal_id": {"uuid": "AAECAwQFBgcICQoLDA0ODw=="}, "stamp": {}}, "status": EXECUTING}

    def answer(operation):
        if operation["op"] == "call_service":
            code = of_one if operation["args"] else of_all
            values = {"goals_canceling": [], "return_code": code if operation["service"].startswith("/spin/") else 0}
            return [{"op": "service_response", "id": operation["id"], "values": values, "result": True}]
        if operation["op"] == "subscribe" and operation["topic"] == "/odom":
            return [{"op": "publish", "topic": "/odom", "msg": standing}] * 50
        if operation["op"] == "subscribe" and operation["topic"] == "/spin/_action/status" and of_one is not None:
            return [{"op": "publish", "topic": operation["topic"], "msg": {"status_list": [goal]}}]
        return None

    peer.answer = answer
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    try:
        nav2 = await open_over(robot, quartet_nav2)
        await peer.wait_for(op="subscribe", topic="/spin/_action/status")
        if refused:
            answer = await nav2.call("cancel_navigation")
            assert answer["error_code"] == "ROS_ERROR"
            assert (answer["running"], answer["canceled"]) == (["/spin"], [])
            assert "/spin was not canceled" in answer["message"]
            assert "stop button" in answer["message"]
        else:
            assert (await nav2.call("cancel_navigation"))["canceled"] == []
    finally:
        await robot.close()


async def test_a_cancel_that_an_action_server_refuses_as_rclpy_does_is_no_cancel(nav2, realtime, moving):
    link, start = nav2.server.robot.link, place(realtime)
    realtime.faults("cancels_refused")
    await link.send_goal("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", {"target": {"x": 2.0}, "speed": 0.05})
    await moving(realtime, start)
    answer = await nav2.call("cancel_navigation")
    assert (answer["error_code"], answer["standstill"]) == ("TIMEOUT", False), answer
    assert (answer["running"], answer["canceled"]) == (["/drive_on_heading"], [])
    assert "/drive_on_heading goes on" in answer["message"]
    realtime.faults()
    answer = await nav2.call("cancel_navigation")
    assert (answer["ok"], answer["running"], answer["canceled"]) == (True, [], ["/drive_on_heading"])


async def test_a_pose_from_before_the_bridge_was_lost_is_no_pose_of_now(open_over, peer, robot_file, until):
    def frame(parent, child):
        header = {"stamp": {"sec": int(time.time()), "nanosec": 0}, "frame_id": parent}
        placed = {"translation": {"x": 1.0, "y": 0.0, "z": 0.0}, "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
        return {"header": header, "child_frame_id": child, "transform": placed}

    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    names = robot_file.frames
    try:
        nav2 = await open_over(robot, quartet_nav2)
        asking = asyncio.create_task(nav2.call("get_robot_pose"))
        await peer.wait_for(op="subscribe", topic="/tf")
        transforms = [frame(names.map, names.odom), frame(names.odom, names.base)]
        await peer.send({"op": "publish", "topic": "/tf", "msg": {"transforms": transforms}})
        pose = await asking
        assert pose["ok"], pose
        await peer.stop()
        await until(lambda: not robot.link.connected, 30)
        assert "rosbridge" in await nav2.refused("get_robot_pose", "BRIDGE_UNAVAILABLE")
    finally:
        await robot.close()


async def test_a_bridge_that_dies_during_a_motion(nav2, realtime, moving):
    """The call ends at once with the outcome unknown, and the robot does not drive on by itself."""
    start = place(realtime)
    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=2.0, speed=0.1))
    await moving(realtime, start)
    link = nav2.server.robot.link
    link.reconnect("a test")
    result = await motion
    assert result["error_code"] == "BRIDGE_UNAVAILABLE"
    assert "look before doing it again" in result["message"]
    assert await link.wait_connected(60)
    assert await nav2.server.robot.wait_standstill()
    assert math.dist(place(realtime)[:2], start[:2]) < 0.6
    assert (await nav2.call("get_robot_pose"))["ok"]


async def test_an_action_server_that_dies_during_a_motion(nav2, realtime, moving, monkeypatch):
    """The call ends with its outcome unknown, long before its time is over; the guard stops what nobody can cancel."""
    robot, start = nav2.server.robot, place(realtime)

    async def gone(*_, **__):
        return False

    async def nobody(*_, **__):
        return 0

    motion = asyncio.create_task(nav2.call("drive_on_heading", distance=2.0, speed=0.1))
    await moving(realtime, start)
    monkeypatch.setattr(robot.link, "has_action_server", gone)
    monkeypatch.setattr(robot.link, "cancel_goals", nobody)
    result = await motion
    assert result["error_code"] == "TIMEOUT", result
    assert "its action server left the ROS graph" in result["message"]
    assert robot.guard.lapse_since(0.0)
    assert await robot.wait_standstill()
    assert math.dist(place(realtime)[:2], start[:2]) < 1.8
