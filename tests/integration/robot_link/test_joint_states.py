"""/joint_states as drivers send it: late, in parts, without velocities, without positions, with null."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from quartet_robot_link import CallTimeoutError, Robot


@pytest.fixture
async def robot(peer, robot_file) -> AsyncIterator[Robot]:
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    yield robot
    await robot.close()


@pytest.fixture
def publishing(peer, robot_file):
    """Starts a driver: `message(number)` gives the fields of each message, one every 30 ms."""
    tasks = []

    def start(message, *, every_s=0.03, after_s=0.0):
        async def drive():
            await peer.wait_for(op="subscribe", topic=robot_file.topics.joint_states)
            await asyncio.sleep(after_s)
            for number in itertools.count():
                stamp = {"sec": 100, "nanosec": int(number * every_s * 1e9)}
                fields = {"header": {"stamp": stamp}, **message(number)}
                await peer.send({"op": "publish", "topic": robot_file.topics.joint_states, "msg": fields})
                await asyncio.sleep(every_s)

        tasks.append(asyncio.create_task(drive()))

    yield start
    for task in tasks:
        task.cancel()


async def test_speeds_of_a_driver_without_velocities_come_from_positions(robot, publishing):
    joints = robot.file.arm.joints
    publishing(lambda _: {"name": joints, "position": [0.5] * len(joints), "velocity": []})
    assert await robot.wait_arm_at_rest() is True


async def test_an_arm_that_moves_is_seen_without_velocities(robot, publishing):
    joints = robot.file.arm.joints
    publishing(lambda number: {"name": joints, "position": [0.003 * number, *[0.0] * (len(joints) - 1)]})
    assert await robot.wait_arm_at_rest(timeout_s=1.0) is False


async def test_drivers_that_share_the_topic_tell_together(robot, publishing):
    joints = robot.file.arm.joints
    publishing(lambda _: {"name": joints[:2], "position": [0.0] * 2, "velocity": [0.0] * 2})
    publishing(lambda _: {"name": joints[2:], "position": [0.0] * (len(joints) - 2)})
    assert await robot.wait_arm_at_rest() is True


async def test_a_late_message_is_waited_for(robot, publishing):
    joints = robot.file.arm.joints
    publishing(lambda _: {"name": joints, "velocity": [0.0] * len(joints)}, after_s=0.5)
    assert await robot.wait_arm_at_rest(timeout_s=0.1) is True


async def test_what_is_missing_is_said(robot, publishing, monkeypatch):
    monkeypatch.setattr("quartet_robot_link._robot.JOINTS_LATE_S", 0.5)
    with pytest.raises(CallTimeoutError, match=r"no joint of the arm came on /joint_states within 0\.5 s"):
        await robot.wait_arm_at_rest(timeout_s=0.1)
    *some, last = robot.file.arm.joints
    publishing(lambda _: {"name": some, "velocity": [0.0] * len(some)})
    with pytest.raises(CallTimeoutError, match=f"/joint_states has no {last}; check arm.joints"):
        await robot.wait_arm_at_rest(timeout_s=0.1)


async def test_null_and_absent_positions_are_left_out(robot, publishing):
    first, *others = robot.file.arm.joints
    values = dict.fromkeys(others, 0.5)
    messages = itertools.cycle(
        [
            {"name": [first, *others], "position": [None, *values.values()]},
            {"name": [first, *others]},
            {"name": [first, *others], "position": [1.0]},
        ]
    )
    publishing(lambda _: next(messages))
    assert await robot.joint_positions(timeout_s=20) == {first: 1.0, **values}


async def test_an_arm_that_was_moving_when_its_world_stood_still_rests(robot, publishing, peer, until):
    """It shook when the clock of the simulation stopped: no drive might begin, and so the clock never went on."""
    joints = robot.file.arm.joints
    publishing(lambda _: {"name": joints, "velocity": [0.5] * len(joints)})
    assert await robot.wait_arm_at_rest(timeout_s=0.1) is False
    await peer.send({"op": "publish", "topic": "/clock", "msg": {"clock": {"sec": 7, "nanosec": 0}}})
    await until(lambda: robot.clock.stands)
    assert await robot.wait_arm_at_rest(timeout_s=0.1) is True


async def test_a_base_that_was_moving_when_its_world_stood_still_stands(robot, peer, until):
    twist = {"twist": {"linear": {"x": 0.3, "y": 0.0}, "angular": {"z": 0.0}}}
    message = {"op": "publish", "topic": robot.file.topics.odom, "msg": {"twist": twist}}
    peer.answer = lambda asked: [message] if (asked["op"], asked.get("topic")) == ("subscribe", "/odom") else []
    assert await robot.wait_standstill(timeout_s=0.0) is False
    await peer.send({"op": "publish", "topic": "/clock", "msg": {"clock": {"sec": 7, "nanosec": 0}}})
    await until(lambda: robot.clock.stands)
    assert await robot.wait_standstill(timeout_s=0.0) is True
