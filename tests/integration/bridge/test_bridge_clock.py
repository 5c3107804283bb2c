"""World time advances only while something needs it; results come after the state they made."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

SPIN, SPIN_TYPE = "/spin", "nav2_msgs/action/Spin"


def seconds(stamp: Any) -> float:
    return float(stamp["sec"]) + stamp["nanosec"] * 1e-9


async def still_time(robot: Any) -> float:
    """World time once it stands still, also on a busy machine.

    The stamp of a pose is of the world's own thread, which makes a step before the next call whenever anything needs
    time; it may have lost the processor between two calls, but not between ten.
    """
    seen: list[float] = []
    while len(seen) < 10 or len(set(seen[-10:])) > 1:
        answer = await robot.call("/compute_fk", {"fk_link_names": ["arm_tool0"]})
        seen.append(seconds(answer["values"]["pose_stamped"][0]["header"]["stamp"]))
    return seen[-1]


async def test_time_stands_still_without_a_goal(robot: Any) -> None:
    first = await still_time(robot)
    await robot.send(op="subscribe", topic="/clock")
    stamps = {seconds((await robot.message("/clock"))["clock"]) for _ in range(3)}
    assert stamps == {first}


async def test_a_goal_moves_time_and_then_it_stops(robot: Any) -> None:
    before = await still_time(robot)
    await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": 1.0})
    elapsed = seconds((await robot.result("g"))["values"]["total_elapsed_time"])
    after = await still_time(robot)
    assert before + elapsed < after < before + elapsed + 0.5


async def test_a_timed_wait_takes_its_time(robot: Any) -> None:
    before = await still_time(robot)
    await robot.goal("g", "/wait", "nav2_msgs/action/Wait", {"time": {"sec": 2, "nanosec": 500_000_000}})
    result = await robot.result("g")
    assert result["status"] == 4
    after = await still_time(robot)
    assert after - before == pytest.approx(2.5, abs=0.05)


async def test_velocity_moves_the_robot_and_goes_stale(robot: Any) -> None:
    before = await still_time(robot)
    start = (await robot.once("/odom"))["pose"]["pose"]["position"]
    for _ in range(3):
        await robot.send(op="publish", topic="/cmd_vel", msg={"angular": {"z": 0.4}})
        await asyncio.sleep(0.1)
    # At a velocity the world keeps to the clock on the wall, so that several calls get the same stamp.
    odometry = await robot.once("/odom")
    while abs(odometry["twist"]["twist"]["angular"]["z"]) >= 0.05:
        odometry = await robot.once("/odom")
    after = await still_time(robot)
    # Each command is good for half a second of world time, and then the base brakes.
    assert 0.4 < after - before < 3 * 0.5 + 1.5
    assert abs(odometry["pose"]["pose"]["position"]["x"] - start["x"]) < 0.1
    assert abs(odometry["pose"]["pose"]["orientation"]["z"]) > 0.02


async def test_state_after_a_result_is_newer_than_the_motion(robot: Any) -> None:
    """Without a new subscription: the last /tf before the result already shows the end of the motion."""
    topics = ("/tf", "/joint_states", "/odom", "/clock")
    for topic in topics:
        await robot.send(op="subscribe", topic=topic)
        await robot.message(topic)
    for turn in (1.0, -1.0):
        await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": turn})
        await robot.result("g")
        newest = {frame["topic"]: frame["msg"] for frame in robot.kept if frame["op"] == "publish"}
        robot.kept.clear()
        stamps = {
            "/tf": newest["/tf"]["transforms"][0]["header"]["stamp"],
            "/joint_states": newest["/joint_states"]["header"]["stamp"],
            "/odom": newest["/odom"]["header"]["stamp"],
            "/clock": newest["/clock"]["clock"],
        }
        standing = await still_time(robot)
        assert {topic: seconds(stamp) for topic, stamp in stamps.items()} == dict.fromkeys(topics, standing)


async def test_gripper_status_changes_before_the_result(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/gripper/status")
    assert await robot.message("/gripper/status") == {"data": "open"}
    for position, expected in ((0.7, "empty"), (0.0, "open")):
        await robot.goal(
            "g",
            "/robotiq_gripper_controller/gripper_cmd",
            "control_msgs/action/GripperCommand",
            {"command": {"position": position, "max_effort": 50.0}},
        )
        result = await robot.result("g")
        assert set(result["values"]) == {"position", "effort", "stalled", "reached_goal"}
        statuses = [frame["msg"]["data"] for frame in robot.kept if frame.get("topic") == "/gripper/status"]
        robot.kept.clear()
        assert statuses == ["moving", expected]


async def test_a_picture_after_a_result_shows_the_world_after_it(robot: Any) -> None:
    topics = [
        "/front_camera/color/image_raw/compressed",
        "/front_camera/aligned_depth_to_color/image_raw",
        "/front_camera/color/camera_info",
    ]
    await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": 0.5})
    await robot.result("g")
    now = await still_time(robot)
    stamps = []
    for topic in topics:
        message = await robot.once(topic)
        assert message["header"]["frame_id"] == "front_camera_color_optical_frame"
        stamps.append(seconds(message["header"]["stamp"]))
    assert stamps == [now] * 3


async def test_real_time_goes_on_without_a_goal_and_never_faster_than_the_wall_clock(
    start_sim: Any, connect: Any
) -> None:
    sim = start_sim("--realtime")
    async with connect(sim.url) as robot:
        loop = asyncio.get_running_loop()
        began, first = loop.time(), seconds((await robot.call("/rosapi/get_time"))["values"]["time"])
        last = first
        while last < first + 1.0:
            last = seconds((await robot.call("/rosapi/get_time"))["values"]["time"])
        assert last - first < loop.time() - began + 0.25


async def test_the_same_goals_make_the_same_world(sim: Any, robot: Any) -> None:
    """Neither pictures nor wall time between two goals change what happens."""
    outcomes = []
    for pictures in (False, True):
        await asyncio.to_thread(sim.post, "/reset", seed=4)
        if pictures:
            await robot.send(op="subscribe", topic="/front_camera/color/image_raw/compressed")
        for turn in (0.7, -0.4):
            await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": turn})
            assert (await robot.result("g"))["status"] == 4
            if pictures:
                await robot.message("/front_camera/color/image_raw/compressed")
        await robot.goal("h", "/drive_on_heading", "nav2_msgs/DriveOnHeading", {"target": {"x": 0.2}, "speed": 0.2})
        await robot.result("h")
        outcomes.append(sim.get("/truth"))
    assert outcomes[0] == outcomes[1]
