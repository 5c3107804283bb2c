"""Grippers that services or a topic command, and grippers with a joint for each finger."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

import quartet_moveit
from quartet_robot_link import Robot
from quartet_site import Gripper, RobotFile
from support.gripper_relay import CLOSE, LEFT, OPEN, RIGHT, TOPIC, TRAVEL, GripperDriver

TWO = {"joint": LEFT, "open_position": TRAVEL, "closed_position": 0.0}
TWO |= {"second_joint": RIGHT, "second_open_position": -TRAVEL, "second_closed_position": 0.0}
DRIVERS: dict[str, dict[str, Any]] = {
    "Trigger": {"close_service": CLOSE, "open_service": OPEN},
    "SetBool": {"close_service": CLOSE},
    "Float64": {"command_topic": TOPIC},
    "Float64MultiArray": {"command_topic": TOPIC, **TWO},
    "JointTrajectory": {"command_topic": TOPIC, **TWO},
}


@contextlib.asynccontextmanager
async def with_driver(sim: Any, robot_file: RobotFile, command: str) -> AsyncIterator[tuple[Robot, GripperDriver]]:
    """The simulated robot with another gripper driver, and without a status topic."""
    fields = DRIVERS[command]
    driver = GripperDriver(robot_file, two_joints="second_joint" in fields)
    gripper = Gripper.model_validate(robot_file.gripper.model_dump() | {"command": command} | fields)
    topics = robot_file.topics.model_copy(update={"gripper_status": "/none"})
    file = robot_file.model_copy(update={"topics": topics, "gripper": gripper})
    async with driver.relay(sim.url) as url:
        robot = await Robot.open(file, url=url, wait_s=60)
        yield robot, driver
        await robot.close()


@pytest.mark.parametrize("command", DRIVERS)
async def test_a_cup_is_held_and_let_go(sim, robot_file, open_over, command):
    sim.reset(scenario="in_gripper:red cup")
    async with with_driver(sim, robot_file, command) as (robot, driver):
        driver.lost = 2
        moveit = await open_over(robot, quartet_moveit)
        closed = await moveit.call("close_gripper")
        assert (closed["ok"], closed["state"]) == (True, "HOLDING"), closed
        assert 0.05 < closed["width_m"] < 0.09
        opened = await moveit.call("open_gripper")
        assert (opened["ok"], opened["state"]) == (True, "EMPTY"), opened
        assert opened["width_m"] > 0.9 * robot_file.gripper.stroke_m
        assert sim.truth()["held"] is None
        again = await moveit.call("close_gripper")
        assert (again["state"], again["reached_goal"]) == ("EMPTY", True)
        assert again["width_m"] < 0.01
        kinds = {one["op"] for one in driver.requests}
        assert kinds == ({"call_service"} if command in {"Trigger", "SetBool"} else {"advertise", "publish"})


async def test_fingers_between_open_and_closed_are_as_far_apart_as_both_say(sim, robot_file, open_over):
    """One finger is 5 mm further than the other: either alone would be 10 mm off."""
    async with with_driver(sim, robot_file, "Float64MultiArray") as (robot, _):
        moveit = await open_over(robot, quartet_moveit)
        moved = await moveit.call("open_gripper", position=TRAVEL / 2)
        assert moved["width_m"] == pytest.approx(robot_file.gripper.stroke_m / 2, abs=0.004)


async def test_a_service_that_refuses_is_a_failure_with_its_reason(sim, robot_file, open_over):
    async with with_driver(sim, robot_file, "Trigger") as (robot, driver):
        moveit = await open_over(robot, quartet_moveit)
        driver.refuses = "the motor is hot"
        assert "the motor is hot" in await moveit.refused("close_gripper", "GRIPPER_FAILED")
        half = (robot_file.gripper.open_position + robot_file.gripper.closed_position) / 2
        assert "fully" in await moveit.refused("open_gripper", "INVALID_PARAMETERS", position=half)


async def test_fingers_that_stay_where_they_are_hold_nothing_for_sure(sim, robot_file, open_over):
    """Nobody listens on the topic: the command ends in time, and is no grasp."""
    async with with_driver(sim, robot_file, "Float64") as (robot, driver):
        moveit = await open_over(robot, quartet_moveit)
        driver.lost = 10_000
        result = await moveit.call("close_gripper")
        assert (result["state"], result["stalled"]) == ("EMPTY", False)
        assert result["width_m"] > 0.9 * robot_file.gripper.stroke_m


async def test_a_canceled_command_holds_the_fingers_where_they_are(sim, robot_file, open_over, until):
    async with with_driver(sim, robot_file, "Float64") as (robot, driver):
        moveit = await open_over(robot, quartet_moveit)
        driver.lost = 10_000
        motion = asyncio.create_task(moveit.call("close_gripper"))
        await until(lambda: any(one["op"] == "publish" for one in driver.requests))
        assert await moveit.server.leases.cancel("a person canceled it", channels=("gripper",)) == ["close_gripper"]
        result = await motion
        assert result["error_code"] == "CANCELED"
        commands = [one["msg"]["data"] for one in driver.requests if one["op"] == "publish"]
        assert commands[0] == robot_file.gripper.closed_position
        assert commands[-1] == pytest.approx(robot_file.gripper.open_position, abs=0.02)
