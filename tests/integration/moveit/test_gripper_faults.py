"""A gripper whose controller gives up or does not move: played by a scripted bridge."""

import asyncio

import pytest

import quartet_moveit
from quartet_robot_link import Robot


def states(position: float, effort: float = 0.0):
    """A /joint_states message as the bridge publishes it."""
    message = {"name": ["robotiq_140_finger_joint"], "position": [position], "velocity": [0.0], "effort": [effort]}
    return {"op": "publish", "topic": "/joint_states", "msg": message}


class StuckGripper:
    """Answers gripper goals with `status` and `values`, and stays at `position`."""

    def __init__(self, position: float, status: int, **values) -> None:
        self.position, self.status, self.values = position, status, values

    def __call__(self, operation):
        if operation["op"] == "send_action_goal":
            end = {"op": "action_result", "id": operation["id"], "status": self.status, "result": True}
            return [end | {"action": operation["action"], "values": {"stalled": False} | self.values}]
        if operation["op"] == "subscribe" and operation["topic"] == "/joint_states":
            return [states(self.position)]
        return None


@pytest.fixture
async def moveit(peer, open_server, robot_file):
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    yield await open_server(quartet_moveit, over=robot)
    await robot.close()


async def test_an_aborted_gripper_goal(moveit, peer):
    peer.answer = StuckGripper(0.3, 6)
    for tool in ("open_gripper", "close_gripper"):
        assert "controller gave up" in await moveit.refused(tool, "GRIPPER_FAILED")


async def test_an_open_gripper_that_stays_closed(moveit, peer):
    peer.answer = StuckGripper(0.5, 4, reached_goal=True)
    message = await moveit.refused("open_gripper", "GRIPPER_FAILED")
    assert "0.040 m wide" in message
    assert "at least 0.126 m" in message


async def test_a_canceled_gripper_goal(moveit, peer):
    peer.answer = StuckGripper(0.3, 5)
    assert "stopped" in await moveit.refused("close_gripper", "CANCELED")


async def test_a_silent_gripper_driver(moveit, peer):
    peer.answer = lambda operation: None
    message = await moveit.refused("get_grasp_state", "TIMEOUT")
    assert "/joint_states" in message


async def test_a_bridge_that_dies_during_the_grasp(moveit, peer):
    peer.answer = lambda operation: None
    call = asyncio.create_task(moveit.refused("close_gripper", "BRIDGE_UNAVAILABLE"))
    await peer.wait_for(op="send_action_goal")
    await peer.stop()
    assert "look before doing it again" in await call
