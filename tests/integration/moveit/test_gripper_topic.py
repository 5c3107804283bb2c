"""A gripper that a topic commands, where the call ends early: played by a scripted bridge."""

import asyncio
from typing import Any

import pytest

import quartet_moveit
from quartet_robot_link import Robot
from quartet_site import Gripper

TOPIC = "/driver/commands"
OPEN, CLOSED = 0.0, 0.7


def states() -> dict[str, Any]:
    """Return /joint_states of open fingers at rest, as the bridge publishes it."""
    message = {"name": ["robotiq_140_finger_joint"], "position": [OPEN], "velocity": [0.0], "effort": [0.1]}
    return {"op": "publish", "topic": "/joint_states", "msg": message}


@pytest.fixture
async def moveit(peer, open_over, robot_file):
    """The tools over a bridge that sends each subscriber of /joint_states three messages."""
    fields = {"command": "Float64", "command_topic": TOPIC, "open_position": OPEN, "closed_position": CLOSED}
    gripper = Gripper.model_validate(robot_file.gripper.model_dump() | fields)
    robot = await Robot.open(robot_file.model_copy(update={"gripper": gripper}), url=peer.url, wait_s=60)
    hands = await open_over(robot, quartet_moveit)
    await hands.call("list_planning_groups")
    services = peer.answer

    def answer(operation):
        if operation["op"] == "subscribe" and operation["topic"] == "/joint_states":
            return [states()] * 3
        return services(operation)

    peer.answer = answer
    yield hands
    await robot.close()


def commands(peer) -> list[float]:
    """Return the positions that were published."""
    return [one["msg"]["data"] for one in peer.received if (one["op"], one.get("topic")) == ("publish", TOPIC)]


async def cancel(moveit) -> list[str]:
    return await moveit.server.leases.cancel("a person canceled it", channels=("gripper",))


async def test_a_command_that_is_still_being_sent_does_not_follow_the_hold(moveit, peer, monkeypatch):
    """The first message is late, until the canceled call holds the fingers."""
    link, begun, holds = moveit.server.robot.link, asyncio.Event(), asyncio.Event()
    publish = link.publish

    async def late(topic: str, *message: Any) -> None:
        if topic == TOPIC and not begun.is_set():
            begun.set()
            await holds.wait()
        elif topic == TOPIC:
            holds.set()
            await asyncio.sleep(0.1)
        await publish(topic, *message)

    monkeypatch.setattr(link, "publish", late)
    motion = asyncio.create_task(moveit.call("close_gripper"))
    await begun.wait()
    assert await cancel(moveit) == ["close_gripper"]
    assert (await motion)["error_code"] == "CANCELED"
    await link.call_service("/any")
    assert commands(peer) == [OPEN]


async def test_a_guard_that_latches_before_the_first_command_lets_none_pass(moveit, peer, until):
    peer.answer = lambda _: None
    motion = asyncio.create_task(moveit.call("close_gripper"))
    await peer.wait_for(op="subscribe", topic="/joint_states")
    values = [{"key": "latched", "value": "true"}, {"key": "reason", "value": "a person pressed stop"}]
    await peer.send({"op": "publish", "topic": "/robot_guard/state", "msg": {"values": values}})
    await until(lambda: moveit.server.robot.guard.latched)
    while not motion.done():
        await peer.send(states())
        await asyncio.sleep(0.02)
    assert (await motion)["error_code"] == "STOPPED"
    assert commands(peer) == []


async def test_fingers_whose_joint_states_end_are_held(moveit, peer):
    assert (await moveit.call("close_gripper"))["error_code"] == "TIMEOUT"
    assert commands(peer) == [CLOSED, OPEN]


async def test_a_cancel_does_not_wait_for_joint_states(moveit, peer):
    motion = asyncio.create_task(moveit.call("close_gripper"))
    await peer.wait_for(op="publish", topic=TOPIC)
    # Everything that was sent before this answer has arrived.
    await moveit.server.robot.link.call_service("/any")
    assert await cancel(moveit) == ["close_gripper"]
    assert commands(peer) == [CLOSED, OPEN]
    assert (await motion)["error_code"] == "CANCELED"
