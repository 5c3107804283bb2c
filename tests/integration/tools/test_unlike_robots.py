"""Robots of different builds in one process: the tools of each are about its own body."""

import json
import shutil

import numpy as np
import pytest

import quartet_moveit
import quartet_nav2
from quartet_robot_link import Robot
from quartet_simulation.mobile.file import load_build
from quartet_site import load_robot
from quartet_tool_server.run import with_heartbeat_timeout
from support.robot_models import ROBOTS

WALL_Y = -2.15
"""Where the southern wall of the studio begins [m]."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The rover, and a lifter whose body is wider than that."""
    wide = tmp_path_factory.mktemp("wide") / "lifter"
    shutil.copytree(ROBOTS / "lifter", wide)
    text = (wide / "robot.yaml").read_text()
    assert "    width_m: 0.50\n" in text
    (wide / "robot.yaml").write_text(text.replace("    width_m: 0.50\n", "    width_m: 0.60\n"))
    return {"rover": ROBOTS / "rover" / "robot.yaml", "lifter": wide / "robot.yaml"}


@pytest.fixture(scope="module")
def process(start_studio, tmp_path_factory, files):
    ready = tmp_path_factory.mktemp("unlike") / "ready.json"
    studio = start_studio(ready, "--robot-file", ",".join(map(str, files.values())), "--heartbeat-timeout", "20")
    studio.robots = json.loads(ready.read_text())["robots"]
    yield studio
    studio.end()


@pytest.fixture
async def robots(process, files):
    read = [with_heartbeat_timeout(load_robot(path), 20.0) for path in files.values()]
    made = [await Robot.open(file, url=one["url"], wait_s=60) for file, one in zip(read, process.robots, strict=True)]
    yield dict(zip(files, made, strict=True))
    for robot in made:
        await robot.close()


async def test_the_arm_tools_of_each_are_about_its_own_arm(robots, files, open_over):
    for name, robot in robots.items():
        arm, forward = robot.file.arm, load_build(files[name]).arm.forward
        hands = await open_over(robot, quartet_moveit)
        state = await hands.call("get_current_joint_state")
        assert state["joint_names"] == arm.joints
        assert state["joint_positions"] == pytest.approx(arm.named_states[arm.transit_state], abs=0.01)
        pose = (await hands.call("get_current_pose"))["pose"]
        assert pose["position"] == pytest.approx(forward(np.array(state["joint_positions"]))[:3, 3], abs=0.005)
        x, y, z = pose["position"]
        higher = pose | {"position": [x, y, z + 0.05]}
        solved = await hands.call("compute_ik", position=higher["position"], orientation=higher["orientation"])
        assert forward(np.array(solved["joint_positions"]))[:3, 3] == pytest.approx(higher["position"], abs=0.005)
        moved = await hands.call("plan_and_execute", target=higher)
        assert moved["ok"], moved
        after = (await hands.call("get_current_pose"))["pose"]["position"]
        assert after == pytest.approx(higher["position"], abs=0.01)


async def test_a_pose_by_the_wall_is_free_for_the_body_that_fits(robots, open_over):
    found = {}
    for name, robot in robots.items():
        base = await open_over(robot, quartet_nav2)
        found[name] = (await base.call("get_path_from_robot", goal_x=0.0, goal_y=WALL_Y + 0.29))["error_code"]
        turned = await base.call("spin_robot", angle=0.5)
        assert turned["ok"], turned
    assert found == {"rover": "NONE", "lifter": "NAVIGATION_FAILED"}
