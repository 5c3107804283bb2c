"""The simulated robot behind a bridge that tells no effort, as many gripper drivers, and without a status topic."""

import contextlib
from collections.abc import AsyncIterator

import pytest

import quartet_moveit
from quartet_robot_link import Robot
from support.frame_relay import Change, frame_relay, without_effort, without_feeling


@contextlib.asynccontextmanager
async def behind(change: Change, sim, robot_file) -> AsyncIterator[Robot]:
    topics = robot_file.topics.model_copy(update={"gripper_status": "/none"})
    file = robot_file.model_copy(update={"topics": topics})
    async with frame_relay(sim.url, change) as url:
        robot = await Robot.open(file, url=url, wait_s=60)
        yield robot
        await robot.close()


@pytest.fixture
async def numb(sim, robot_file) -> AsyncIterator[Robot]:
    async with behind(without_effort, sim, robot_file) as robot:
        yield robot


async def attached(moveit) -> dict[str, list[float]]:
    found = (await moveit.call("list_collision_objects"))["objects"]
    return {one["object_id"]: one["dimensions_m"] for one in found if one.get("attached_to")}


async def planned(moveit) -> None:
    joints = (await moveit.call("get_current_joint_state"))["joint_positions"]
    await moveit.call("plan_to_joint_state", joint_positions=joints)


async def test_what_only_the_wrist_camera_can_tell_is_attached_after_the_fingers_closed_on_it(
    sim, robot_file, open_over
):
    sim.reset(scenario="in_gripper:red cup")
    async with behind(without_feeling, sim, robot_file) as robot:
        moveit = await open_over(robot, quartet_moveit)
        closed = await moveit.call("close_gripper", object_size_m=[0.07, 0.08, 0.11])
        assert closed["state"] == "UNKNOWN"
        assert [size[1:] for size in (await attached(moveit)).values()] == [pytest.approx([0.08, 0.11])]
        now = await moveit.call("get_grasp_state")
        assert (now["state"], now["object_height_m"]) == ("UNKNOWN", 0.11)
        await planned(moveit)
        assert len(await attached(moveit)) == 1, "a reading that tells nothing changes nothing"
        assert (await moveit.call("open_gripper"))["state"] == "EMPTY"
        await planned(moveit)
        assert await attached(moveit) == {}
        assert (await moveit.call("close_gripper"))["state"] == "EMPTY"
        assert await attached(moveit) == {}


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
