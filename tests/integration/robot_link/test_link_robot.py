"""The link to the simulated robot: clock, frames, cameras, motions under supervision, faults of its bridge."""

import asyncio
import math

import numpy as np
import pytest

from quartet_robot_link import (
    LATCHED,
    BridgeLink,
    BridgeUnavailableError,
    CallTimeoutError,
    CameraUnavailableError,
    GoalStatus,
    Motion,
    Robot,
    RosClock,
    ServiceUnavailableError,
    TransformUnavailableError,
    duration,
)
from quartet_robot_link.camera import capture

SPIN = ("/spin", "nav2_msgs/action/Spin")


def spin(angle):
    return {"target_yaw": angle, "time_allowance": duration(60)}


def drive(distance, speed):
    return {"target": {"x": distance, "y": 0.0, "z": 0.0}, "speed": speed, "time_allowance": duration(60)}


async def test_ros_time_is_the_simulations(robot, sim, until):
    await until(lambda: robot.clock.simulated)
    motion = robot.start_motion(*SPIN, spin(1.0), limit_s=60)
    outcome = await motion.outcome()
    assert outcome.status is GoalStatus.SUCCEEDED
    assert outcome.duration_s > 0.5
    assert robot.clock.now() == pytest.approx(sim.truth()["time"], abs=1.0)


async def test_base_pose_after_a_result_is_the_pose_after_it(robot, sim):
    for _ in range(3):
        await robot.start_motion(*SPIN, spin(0.7), limit_s=60).outcome()
        turned = (await robot.base_pose("odom")).yaw - sim.truth()["robot"]["pose"][2]
        assert abs(math.remainder(turned, 2 * math.pi)) < 0.15


async def test_a_topic_of_another_type_is_told_as_such(robot):
    robot.file = robot.file.model_copy(update={"topics": robot.file.topics.model_copy(update={"odom": "/tf"})})
    with pytest.raises(CallTimeoutError, match="it carries tf2_msgs/msg/TFMessage, not nav_msgs/msg/Odometry"):
        await robot.wait_standstill(timeout_s=0.1)


async def test_camera_snapshot_has_matching_arrays_and_its_place(robot, sim):
    shot = await robot.snapshot("front")
    assert shot.colour.dtype == np.uint8
    assert shot.depth.dtype == np.float32
    assert shot.colour.shape == (*shot.depth.shape, 3)
    assert (shot.intrinsics.height, shot.intrinsics.width) == shot.depth.shape
    assert shot.jpeg is not None
    assert shot.jpeg[:2] == b"\xff\xd8"
    # The lower middle of the picture sees the floor before the robot: its height must come out near zero.
    v, u = int(shot.intrinsics.height * 0.8), shot.intrinsics.width // 2
    z = float(shot.depth[v, u])
    k = shot.intrinsics
    point = shot.base_from_camera @ np.array([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z, 1.0])
    assert abs(point[2]) < 0.05
    assert point[0] > 0.3
    assert shot.map_from_base is not None
    x, y, _ = sim.truth()["robot"]["pose"]
    assert math.dist(shot.map_from_base[:2, 3], (x, y)) < 0.1


async def test_snapshots_leave_no_subscription_behind(robot):
    await asyncio.gather(robot.snapshot("front"), robot.snapshot("arm"))
    assert not {topic for topic in robot.link.topics if "camera" in topic}


async def test_snapshot_while_the_robot_drives_is_placed_at_its_stamp(realtime, robot):
    motion = robot.start_motion("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive(0.5, 0.3), limit_s=60)
    shot = await robot.snapshot("front")
    at_stamp = await robot.transform("odom", "base_footprint", stamp=shot.stamp)
    assert at_stamp.stamp == shot.stamp
    await motion.outcome()


async def test_a_missing_camera_names_its_topics(sim, robot_file):
    front = robot_file.cameras.front.model_copy(update={"depth_topic": "/nope/depth"})
    cameras = robot_file.cameras.model_copy(update={"front": front})
    robot = await Robot.open(robot_file.model_copy(update={"cameras": cameras}), url=sim.url, wait_s=60)
    try:
        with pytest.raises(CameraUnavailableError, match="/nope/depth"):
            await robot.snapshot("front", timeout_s=0.5)
    finally:
        await robot.close()


async def test_latched_messages_arrive(robot):
    async with robot.link.subscribe("/gripper/status", "std_msgs/msg/String", qos=LATCHED) as subscription:
        assert (await subscription.next(60))["data"] == "open"


async def test_frames_that_are_not_connected(robot):
    with pytest.raises(TransformUnavailableError, match="'moon'"):
        await robot.transform("map", "moon", timeout_s=0.3)


async def test_unknown_service(robot):
    with pytest.raises(ServiceUnavailableError, match="/nope does not exist"):
        await robot.link.call_service("/nope")


async def test_a_first_goal_on_a_fresh_bridge_is_tried_again(sim, robot):
    sim.faults("first_goal_unavailable")
    outcome = await robot.start_motion(*SPIN, spin(0.3), limit_s=60).outcome()
    assert outcome.status is GoalStatus.SUCCEEDED


async def test_a_silent_bridge_fails_the_probe(sim, robot):
    assert await robot.link.probe()
    sim.faults("zombie")
    # Frames that were under way count as a sign of life; it ends once they are read.
    while await robot.link.probe(timeout_s=0.3):
        pass
    with pytest.raises(CallTimeoutError):
        await robot.link.call_service("/clear_octomap", timeout_s=0.3)
    sim.faults()
    assert await robot.link.probe()


async def test_a_bridge_whose_executor_has_died_is_named_and_left(sim, robot_file, until):
    link = await BridgeLink.open(sim.url, wait_s=10, probe_every_s=0.2, probe_wait_s=0.5)
    try:
        assert await link.probe()
        sim.faults("dead_executor")
        await until(lambda: not link.connected and link.reconnects > 1)
        with pytest.raises(BridgeUnavailableError, match="a zombie bridge"):
            await link.call_service("/clear_octomap")
        # The camera's driver is not to blame.
        with pytest.raises(BridgeUnavailableError):
            await capture(link, robot_file.cameras.front, timeout_s=0.2)
        sim.faults()
        assert await link.wait_connected(60)
        assert (await capture(link, robot_file.cameras.front, timeout_s=60)).colour.size
    finally:
        await link.close()


async def test_a_motion_over_its_ros_time_is_canceled(realtime, robot):
    motion = robot.start_motion("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive(1.0, 0.1), limit_s=0.5)
    with pytest.raises(CallTimeoutError, match="canceled and has ended"):
        await motion.outcome()
    assert await robot.wait_standstill()


async def test_a_hung_action_is_noticed_by_the_standing_clock(sim, robot, until):
    await until(lambda: robot.clock.simulated)
    sim.faults("silent_action")
    motion = Motion(robot.link, robot.clock, *SPIN, spin(0.3), limit_s=60, stall_s=0.4, cancel_wait_s=0.4)
    with pytest.raises(CallTimeoutError, match=r"clock has not advanced.*has not ended"):
        await motion.outcome()


async def test_a_goal_after_a_long_rest_is_not_taken_for_hung(sim, robot, until):
    """A simulation's clock stands while nothing moves."""
    before = robot.start_motion(*SPIN, spin(0.3), limit_s=60)
    assert (await before.outcome()).status is GoalStatus.SUCCEEDED
    await until(lambda: robot.clock.stalled_s > 4.0)
    motion = Motion(robot.link, robot.clock, *SPIN, spin(0.3), limit_s=60, stall_s=4.0)
    assert (await motion.outcome()).status is GoalStatus.SUCCEEDED


async def test_cancel_waits_for_the_end(realtime, robot, until):
    start = realtime.truth()["robot"]["pose"]
    motion = robot.start_motion("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive(1.0, 0.1), limit_s=60)
    await until(lambda: math.dist(realtime.truth()["robot"]["pose"], start) > 0.03)
    motion.cancel("a test")
    motion.cancel("somebody later")
    outcome = await motion.outcome()
    assert outcome.status is GoalStatus.CANCELED
    assert outcome.canceled_because == "a test"
    assert await robot.wait_standstill()


async def test_a_cancel_before_the_goal_has_arrived_still_ends_it(realtime, robot):
    start = realtime.truth()["robot"]["pose"]
    motion = robot.start_motion("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive(1.0, 0.1), limit_s=60)
    motion.cancel("at once")
    assert (await motion.outcome()).status is GoalStatus.CANCELED
    assert math.dist(realtime.truth()["robot"]["pose"], start) < 0.1


async def test_a_connection_lost_on_the_way_ends_call_and_motion(realtime, robot, until):
    """rosbridge keeps the goal of a lost client running; the link cancels it when it is back."""
    start = realtime.truth()["robot"]["pose"]
    motion = robot.start_motion("/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive(2.0, 0.1), limit_s=60)
    await until(lambda: math.dist(realtime.truth()["robot"]["pose"], start) > 0.03)
    robot.link.reconnect("a test")
    with pytest.raises(BridgeUnavailableError, match="look before doing it again"):
        await motion.outcome()
    assert await robot.link.wait_connected(60)
    assert await robot.wait_standstill()
    assert math.dist(realtime.truth()["robot"]["pose"], start) < 0.5
    assert (await robot.base_pose()).frame == "map"


async def test_a_quiet_simulation_with_a_silent_rosapi_keeps_the_link(sim, until, monkeypatch):
    """As a robot that stands still: no /clock, and rosapi hangs; goals run all the same."""
    sim.faults("no_clock", "rosapi_silent")
    link = await BridgeLink.open(sim.url, wait_s=10, probe_every_s=0.2)
    answers, ask = [], link.probe

    async def probe(timeout_s):
        answers.append(await ask(timeout_s))
        return answers[-1]

    monkeypatch.setattr(link, "probe", probe)
    clock = RosClock(link, "/clock")
    try:
        with pytest.raises(CallTimeoutError):
            await link.call_service("/rosapi/get_time", timeout_s=0.2)
        await until(lambda: len(answers) >= 3)
        assert (all(answers), link.reconnects, clock.simulated) == (True, 0, False)
        goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {"target_yaw": 0.1})
        assert (await goal.result()).status == GoalStatus.SUCCEEDED
    finally:
        await link.close()
