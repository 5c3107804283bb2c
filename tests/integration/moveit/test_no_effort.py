"""The simulated robot behind a bridge that tells no effort, as many gripper drivers, and without a status topic."""

from collections.abc import AsyncIterator

import pytest

import quartet_moveit
from quartet_robot_link import Robot
from support.frame_relay import frame_relay, without_effort


@pytest.fixture
async def numb(sim, robot_file) -> AsyncIterator[Robot]:
    topics = robot_file.topics.model_copy(update={"gripper_status": "/none"})
    file = robot_file.model_copy(update={"topics": topics})
    async with frame_relay(sim.url, without_effort) as url:
        robot = await Robot.open(file, url=url, wait_s=60)
        yield robot
        await robot.close()


async def test_a_grasp_is_known_from_its_stall(numb, sim, open_over):
    sim.reset(scenario="in_gripper:red cup")
    moveit = await open_over(numb, quartet_moveit)
    # It was closed before this server started.
    assert (await moveit.call("get_grasp_state"))["state"] == "UNKNOWN"
    closed = await moveit.call("close_gripper")
    assert (closed["state"], "effort_n" in closed) == ("HOLDING", False)
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"
    assert (await moveit.call("open_gripper"))["state"] == "EMPTY"
    assert sim.truth()["held"] is None
    released = await moveit.call("get_grasp_state")
    assert released["state"] == "EMPTY"
    assert released["released"] is not None
    assert (await moveit.call("close_gripper"))["state"] == "EMPTY"
