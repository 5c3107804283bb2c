"""Who answers for a motion: heartbeats from the caller to the server, and from the server to the robot guard."""

import asyncio
import time
from typing import Any

import pytest

from quartet_robot_link import Robot
from quartet_safety.motion import LapsedError, LeaseOwner, MotionLeases
from quartet_site import RobotFile
from quartet_tool_server import lease_terms, run_goal
from quartet_tool_server.errors import failure

SPIN = ("/spin", "nav2_msgs/action/Spin", {})
BEAT = "/robot_guard/heartbeat"
OWNER = LeaseOwner(fence=1, request_id="r")
BEATING = LeaseOwner(fence=1, request_id="r", beats=True)


def with_limits(file: RobotFile, **limits: float) -> RobotFile:
    return file.model_copy(update={"heartbeat": file.heartbeat.model_copy(update=limits)})


def leases(robot: Robot, owner: LeaseOwner = OWNER, **options: Any) -> MotionLeases:
    return MotionLeases(lease_terms("nav2", robot), lambda: owner, newest=lambda: 1, **options)


def beats(peer) -> list[str]:
    """Heartbeats and goals, as they came over the bridge."""
    return [
        operation["msg"]["frame_id"] if operation["op"] == "publish" else "goal"
        for operation in peer.received
        if operation["op"] == "send_action_goal" or (operation.get("topic") == BEAT and operation["op"] == "publish")
    ]


async def end_goal(peer, status: int) -> None:
    goal = await peer.wait_for(op="send_action_goal")
    await peer.send({"op": "action_result", "id": goal["id"], "status": status, "result": True, "values": {}})


async def cancels_end_goals(peer) -> None:
    await peer.wait_for(service="/spin/_action/cancel_goal", args={})
    await end_goal(peer, 5)


async def test_the_guard_hears_of_a_motion_before_it_begins_and_of_its_end(far, peer, eventually):
    async with leases(far).acquire("base", "spin_robot") as lease:
        running = asyncio.create_task(run_goal(lease, far, *SPIN, limit_s=60))
        await eventually(lambda: len(beats(peer)) >= 5)
        await end_goal(peer, 4)
        await running
    await eventually(lambda: beats(peer)[-1].endswith("/done"))
    heard = beats(peer)
    source = heard[0]
    assert source.startswith("nav2:")
    assert heard[1] == "goal"
    assert set(heard[2:-1]) == {source}
    assert heard[-1] == f"{source}/done"


async def test_each_motion_is_a_source_of_its_own_and_a_call_that_moves_nothing_is_none(far, peer, eventually):
    async with leases(far).acquire("base", "plan") as lease:
        lease.check()
    for channel in ("base", "arm"):
        async with leases(far).acquire(channel, "spin_robot") as lease:
            await lease.ready()
    await eventually(lambda: len([beat for beat in beats(peer) if beat.endswith("/done")]) == 2)
    assert len({beat.removesuffix("/done") for beat in beats(peer)}) == 2


async def test_a_caller_that_falls_silent_has_its_motion_ended(peer, robot_file, eventually):
    robot = await Robot.open(with_limits(robot_file, caller_timeout_s=1.0), url=peer.url, wait_s=60)
    ending = asyncio.create_task(cancels_end_goals(peer))
    watched = leases(robot, BEATING)
    try:
        async with watched.acquire("base", "spin_robot") as lease:
            await eventually(lambda: watched.heartbeat_ages()["caller"] > 0.2)
            with pytest.raises(
                LapsedError, match=r"no heartbeat of the caller for .* standstill, the gripper"
            ) as lapse:
                await run_goal(lease, robot, *SPIN, limit_s=60)
            with pytest.raises(LapsedError):
                await run_goal(lease, robot, *SPIN, limit_s=60)
        assert failure(lapse.value)["error_code"] == "HEARTBEAT_LAPSED"
        assert watched.lapses == 1
        assert watched.heartbeat_ages() == {"caller": 0.0, "server": 0.0}
        await ending
        await eventually(lambda: beats(peer)[-1].endswith("/done"))
        assert beats(peer).count("goal") == 1
    finally:
        ending.cancel()
        await robot.close()


async def test_after_a_lapse_the_server_vouches_no_longer(peer, robot_file, eventually):
    """So that the guard ends a motion that the robot does not end when it is told to."""
    robot = await Robot.open(with_limits(robot_file, caller_timeout_s=1.0), url=peer.url, wait_s=60)
    try:
        async with leases(robot, BEATING).acquire("base", "spin_robot") as lease:
            running = asyncio.create_task(run_goal(lease, robot, *SPIN, limit_s=60))
            await peer.wait_for(service="/spin/_action/cancel_goal", args={})
            told = len(beats(peer))
            cancels = len([o for o in peer.received if o.get("service") == "/spin/_action/cancel_goal"])
            await eventually(
                lambda: len([o for o in peer.received if o.get("service") == "/spin/_action/cancel_goal"]) > cancels + 2
            )
            assert len(beats(peer)) <= told + 1, "one may have been on its way"
            await end_goal(peer, 5)
            with pytest.raises(LapsedError):
                await running
    finally:
        await robot.close()


@pytest.mark.parametrize("required", [False, True])
async def test_whose_motion_needs_heartbeats(far, required):
    """Those of a grant that says so; everybody's where the server asks for it."""
    for owner in (OWNER, BEATING):
        server = leases(far, owner, beats_required=required)
        async with server.acquire("base", "spin_robot") as lease:
            assert (lease.caller is not None) == (required or owner.beats)
            assert server.beat("r") == 1
            assert server.beat("another request") == 0


async def test_a_server_that_was_frozen_moves_nothing_when_it_wakes(peer, robot_file, eventually):
    robot = await Robot.open(with_limits(robot_file, guard_timeout_s=1.0), url=peer.url, wait_s=60)
    try:
        async with leases(robot).acquire("topic /cmd_vel", "publish_for_durations") as lease:
            await lease.ready()
            time.sleep(1.3)  # noqa: ASYNC251  the whole process stands still, as after SIGSTOP
            with pytest.raises(LapsedError, match="this server sent no heartbeat"):
                await lease.ready()
            assert lease.canceled.is_set()
    finally:
        await robot.close()


async def test_a_motion_that_the_guard_ended_says_why(far, peer):
    async with leases(far).acquire("base", "spin_robot") as lease:
        running = asyncio.create_task(run_goal(lease, far, *SPIN, limit_s=60))
        await peer.wait_for(op="send_action_goal")
        await peer.send(
            {
                "op": "publish",
                "topic": "/robot_guard/state",
                "msg": {
                    "level": 1,
                    "name": "robot_guard",
                    "message": "heartbeat lapsed: nav2:abc",
                    "hardware_id": "",
                    "values": [{"key": "latched", "value": "false"}],
                },
            }
        )
        await end_goal(peer, 5)
        with pytest.raises(LapsedError, match="robot guard: heartbeat lapsed: nav2:abc"):
            await running


async def test_stops_at_the_guard_alone_are_counted(far, peer, eventually):
    await peer.wait_for(op="subscribe", topic="/robot_guard/state")
    for latched in ("true", "true", "false", "true", "false"):
        state = {"message": "", "values": [{"key": "latched", "value": latched}]}
        await peer.send({"op": "publish", "topic": "/robot_guard/state", "msg": state})

    async def twice():
        return (far.guard.stops, far.guard.latched) == (2, False)

    await eventually(twice)


async def test_the_topic_is_advertised_before_the_first_motion(far, peer):
    """A guard that discovers the publisher only with the first beat may miss it."""
    await peer.wait_for(op="subscribe", topic="/robot_guard/state")
    state = {"message": "running", "values": [{"key": "latched", "value": "false"}]}
    await peer.send({"op": "publish", "topic": "/robot_guard/state", "msg": state})
    assert (await peer.wait_for(op="advertise", topic=BEAT))["type"] == "std_msgs/msg/Header"
    assert beats(peer) == []
