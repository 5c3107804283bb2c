"""Robots of different builds in one world: each is built, moves, sees and plans as its own file says."""

import math
from dataclasses import replace

import numpy as np
import pytest

from quartet_simulation.codes import NavCode
from quartet_simulation.mobile.build import SUMMIT
from quartet_simulation.mobile.file import load_build
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot
from support.robot_models import ROBOTS

FILES = [ROBOTS / name / "robot.yaml" for name in ("rover", "lifter")]
LIMIT_S = 60.0
"""World time."""


@pytest.fixture(scope="module")
def builds():
    return [load_build(path) for path in FILES]


@pytest.fixture(scope="module")
def files():
    return [load_robot(path) for path in FILES]


@pytest.fixture(scope="module")
def unlike(builds):
    sim = Simulation("studio", 0, builds=builds, sensors="clean")
    yield sim
    sim.close()


@pytest.fixture
def robots(unlike):
    unlike.reset("studio", 0)
    return unlike.robots


@pytest.fixture(scope="module")
def alone(builds):
    """Each of them as the only robot of the world."""
    sims = [Simulation("studio", 0, builds=[build], sensors="clean") for build in builds]
    yield sims
    for sim in sims:
        sim.close()


def run(robots, *goals):
    while not all(goal.done for goal in goals):
        robots[0].step(0.05)
        assert robots[0].time < LIMIT_S
    assert [goal.status for goal in goals] == ["SUCCEEDED"] * len(goals), [goal.error_text for goal in goals]


def test_each_has_the_joints_frames_cameras_and_laser_of_its_own_file(robots, alone, files):
    for robot, same, file in zip(robots, alone, files, strict=True):
        states = robot.joint_states()
        assert states["name"] == [*file.arm.joints, file.gripper.joint]
        folded = file.arm.named_states[file.arm.transit_state]
        assert states["position"][:-1] == pytest.approx(folded, abs=0.01)
        assert robot.gripper_state()["width"] == pytest.approx(file.gripper.stroke_m, abs=0.003)
        for camera in ("front", "arm"):
            assert robot.camera_info(camera) == same.camera_info(camera)
        mounted = {child: (parent, at, turn) for parent, child, at, turn in robot.static_transforms()}
        for parent, child, at, turn in same.static_transforms():
            assert mounted[child][0] == parent
            assert mounted[child][1] == pytest.approx(at, abs=1e-6), child
            assert np.abs(mounted[child][2]) == pytest.approx(np.abs(turn), abs=1e-6), child


def test_the_pictures_of_each_are_those_of_its_own_lens(builds):
    narrow = replace(builds[1].front_camera, fovy=40.0)
    sim = Simulation("studio", 0, builds=[builds[0], replace(builds[1], front_camera=narrow)], sensors="clean")
    try:
        for robot in sim.robots:
            info, fovy = robot.camera_info("front"), robot._physics.build.front_camera.fovy
            assert info["fx"] == pytest.approx(info["height"] / 2 / math.tan(math.radians(fovy) / 2))
        one, other = (robot.camera_info("front")["fx"] for robot in sim.robots)
        assert other > 1.3 * one
    finally:
        sim.close()


def test_both_move_their_arms_to_a_named_state_of_their_own_at_once(robots, files):
    goals = []
    for robot, file in zip(robots, files, strict=True):
        folded = file.arm.named_states[file.arm.transit_state]
        robot.put_arm(np.array(folded) + 0.15, file.gripper.stroke_m)
        path = robot.snapshot().plan_joints(folded).trajectory
        points = list(zip(path.times.tolist(), path.positions.tolist(), strict=True))
        goals.append(robot.execute_trajectory(list(path.joint_names), points))
    assert {goal.done for goal in goals} == {False}
    run(robots, *goals)
    for robot, file in zip(robots, files, strict=True):
        folded = file.arm.named_states[file.arm.transit_state]
        assert robot.joint_states()["position"][:-1] == pytest.approx(folded, abs=0.02)


def test_the_inverse_kinematics_of_each_are_those_of_its_own_arm(robots, builds):
    rng = np.random.default_rng(0)
    for robot, build in zip(robots, builds, strict=True):
        scene, solved = robot.snapshot(look=False), 0
        low, high = np.array(build.arm.lower), np.array(build.arm.upper)
        for joints in rng.uniform(low / 2, high / 2, (10, len(low))):
            pose = build.arm.forward(joints)
            for found in scene.ik_all(pose):
                solved += 1
                assert np.abs(scene.fk(found) - pose).max() < 1e-3
                assert np.abs(build.arm.forward(found) - pose).max() < 1e-3
        assert solved, "of reachable poses of a free arm some are solved"


def test_the_model_moves_as_the_kinematics_of_each_arm_say(robots, builds):
    rng = np.random.default_rng(1)
    for robot, build in zip(robots, builds, strict=True):
        to_map = robot.base_in_world()
        for joints in rng.uniform(np.array(build.arm.lower) / 2, np.array(build.arm.upper) / 2, (5, len(build.folded))):
            robot.put_arm(joints, build.hand.stroke)
            assert np.abs(to_map @ build.arm.forward(joints) - robot._physics.tool_pose()).max() < 1e-6


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_goal_at_a_wall_is_free_for_the_narrow_robot_alone(builds, order):
    """Neither plans with the body of the other, whichever is the first."""
    both = [builds[0], SUMMIT]
    assert both[0].base.width < SUMMIT.base.width - 0.1
    sim = Simulation("studio", 0, builds=[both[number] for number in order], sensors="clean")
    try:
        x0, y0, x1, _ = sim.world.bounds
        # Half of a wall of 0.1 m is in the room, and a base keeps 15 mm.
        beside = y0 + 0.065 + (both[0].base.width + SUMMIT.base.width) / 4
        found = {
            order[number]: {robot.compute_path((x, beside, 0.0))[0] for x in np.arange(x0 + 0.5, x1 - 0.5, 0.1)}
            for number, robot in enumerate(sim.robots)
        }
        assert found[0] == {NavCode.NONE}
        assert found[1] == {NavCode.GOAL_OCCUPIED}
        keeps = {order[number]: robot._costmap.lethal for number, robot in enumerate(sim.robots)}
        assert keeps[1] - keeps[0] == pytest.approx((SUMMIT.base.width - both[0].base.width) / 2)
        assert sim._people._driven.lethal == keeps[1], "people leave room for the widest"
        lasers = [robot._base._local._laser_height for robot in sim.robots]
        assert lasers == [both[number].laser_height for number in order]
    finally:
        sim.close()


def test_each_drives_as_its_own_base_does(robots, builds):
    """A differential drive does not go sideways; each is as fast as its file says."""
    assert builds[0].base.differential
    for robot, pose in zip(robots, ((-1.0, -1.2, 0.0), (0.5, -1.2, 0.0)), strict=True):
        robot.put_robot(*pose)
    before = [one["pose"] for one in robots[0].truth()["robots"]]
    for _ in range(20):
        for robot in robots:
            robot.command_velocity(0.0, 0.1, 0.0)
        robots[0].step(0.05)
    after = [one["pose"] for one in robots[0].truth()["robots"]]
    moved = [there[1] - here[1] for here, there in zip(before, after, strict=True)]
    sideways = [not build.base.differential for build in builds]
    assert [abs(one) > 0.03 for one in moved] == sideways, moved


def test_an_episode_with_one_robot_lays_things_as_with_an_unlike_one_after_it(robots, alone):
    there, here = alone[0].truth(), robots[0].truth()
    for name, one in there["objects"].items():
        assert here["objects"][name]["position"] == pytest.approx(one["position"], abs=1e-3)
