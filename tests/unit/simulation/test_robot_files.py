"""Robots by file: what robot.yaml says is what the simulation builds, and what does not fit is told at its line."""

import math
from pathlib import Path

import numpy as np
import pytest

from quartet_simulation.arm.kinematics import pose_matrix
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.arms import ARMS
from quartet_simulation.mobile.build import SUMMIT, Base, RobotBuild
from quartet_simulation.mobile.file import bare, load_build
from quartet_simulation.simulation import Simulation
from quartet_site import load_robot
from support.robot_models import ROBOTS, have_model, robots

ROVER = ROBOTS / "rover" / "robot.yaml"
SPOT = (-0.5, -0.4, 0.2)
"""A pose in the studio with nothing near."""


@pytest.fixture(scope="module")
def rover():
    sim = Simulation("studio", 0, builds=[load_build(ROVER)], sensors="clean")
    yield sim
    sim.close()


def edited(folder: Path, *changes: tuple[str, str]) -> Path:
    """The rover's file with parts of its text replaced."""
    text = ROVER.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    path = folder / "robot.yaml"
    path.write_text(text)
    return path


def run(sim, goal, limit=60.0):
    end = sim.time + limit
    while not goal.done:
        assert sim.time < end, goal.feedback
        sim.step(0.01)
        yield goal


@pytest.mark.parametrize("name", robots())
def test_the_robot_that_is_built_has_the_frames_that_its_file_names(name):
    have_model(name)
    path = ROBOTS / name / "robot.yaml"
    file = load_robot(path)
    sim = Simulation("studio", 0, builds=[load_build(path)], sensors="clean")
    parents = {child: parent for parent, child, *_ in [*sim.transforms(), *sim.static_transforms()]}
    frames = file.frames
    for frame in (frames.odom, frames.base, frames.tool, file.cameras.front.frame, file.cameras.arm.frame):
        while frame != frames.map:
            assert frame in parents
            frame = parents[frame]
    states = sim.joint_states()
    assert states["name"] == [*file.arm.joints, file.gripper.joint]
    assert states["position"][:-1] == pytest.approx(file.arm.named_states[file.arm.transit_state], abs=0.01)
    assert sim.gripper_state()["width"] == pytest.approx(file.gripper.stroke_m, abs=0.003)


@pytest.mark.parametrize("model", sorted(ARMS))
@pytest.mark.parametrize("foot", [((0.05, -0.08, 0.60), 0.7), ((-0.1, 0.0, 0.55), math.pi)])
def test_the_arm_moves_as_its_kinematics_say_wherever_it_stands(model, foot):
    kind = ARMS[model]
    build = RobotBuild(kind=kind, mount=foot[0], mount_yaw=foot[1], arm=kind.at(*foot))
    world = bare(build)
    rng = np.random.default_rng(0)
    for joints in rng.uniform(
        np.array(build.arm.lower) / 2, np.array(build.arm.upper) / 2, (10, len(build.arm.joints))
    ):
        world.set_arm(joints)
        world.moved()
        pose = build.arm.forward(joints)
        assert np.abs(pose - world.pose(build.arm.tool)).max() < 1e-6
        found = build.arm.inverse(pose, joints)
        assert len(found)
        assert all(np.abs(build.arm.forward(one) - pose).max() < 1e-5 for one in found)


def test_the_robot_of_the_home_is_the_one_without_a_file():
    assert RobotBuild() == SUMMIT
    assert SUMMIT.arm is ARMS["ur5"].arm


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("model: panda", "model: pumba", ["simulation.arm.model: there is no model 'pumba'", "valid: panda, ur5"]),
        ("tool: panda_tool0", "tool: arm_tool0", ["frames.tool", "no frame 'arm_tool0'", "valid: panda_tool0"]),
        ("frame: arm_camera_color", "frame: wrist_color", ["cameras.arm.frame", "'wrist_color_optical_frame'"]),
        ("group: panda_arm", "group: manipulator", ["arm.group", "'manipulator'; valid: panda_arm"]),
        ("- panda_joint7", "- panda_joint8", ["arm.joints", "panda_joint8; valid: panda_joint1"]),
        ("joint: panda_finger_joint1", "joint: finger", ["gripper.joint", "'finger'; valid: panda_finger_joint1"]),
        ("gripper: /panda_hand", "gripper: /hand", ["actions.gripper", "valid: /panda_hand_controller/gripper_cmd"]),
        ("stroke_m: 0.08", "stroke_m: 0.14", ["gripper.stroke_m: 0.14", "valid: 0.08"]),
        (
            "folded: [0.0, -1.70",
            "folded: [0.0, -1.90",
            ["arm.named_states.folded", "-1.9 rad; valid: -1.7628 to 1.7628"],
        ),
        (
            "folded: [0.0, -1.70, 0.0, -2.60, 0.0, 1.40",
            "folded: [0.0, 1.70, 0.0, -2.90, 0.0, 3.50",
            ["arm.named_states.folded", "touches itself there: "],
        ),
        ("drive: differential", "drive: legs", ["simulation.base.drive", "'omnidirectional' or 'differential'"]),
        ("width_m: 0.50", "width: 0.50", ["simulation.base.width", "valid fields here: ", "width_m"]),
        (
            "position_m: [0.10, 0.0, 0.40]",
            "position_m: [0.30, 0.0, 0.40]",
            ["x 0.3 is not over the body", "-0.26 to 0.26"],
        ),
        (
            "position_m: [0.10, 0.0, 0.40]",
            "position_m: [0.10, 0.0, 0.30]",
            ["z 0.3 is inside", "from its top"],
        ),
        ("wheel_track_m: 0.42", "wheel_track_m: 0.82", ["simulation.base.wheel_track_m", "valid: up to 0.6"]),
        ("footprint_radius_m: 0.45", "footprint_radius_m: 0.2", ["base.footprint_radius_m: 0.2", "valid: from 0.36"]),
        ("laser_height_m: 0.25", "laser_height_m: 0.75", ["simulation.laser_height_m", "valid: up to 0.36"]),
    ],
)
def test_what_does_not_fit_is_told_with_its_line_and_what_is_valid(tmp_path, before, after, words):
    path = edited(tmp_path, (before, after))
    with pytest.raises(SimulationError) as caught:
        load_build(path)
    text = str(caught.value)
    assert all(word in text for word in words), text
    (fault,) = text.splitlines()[1:]
    line = int(fault.split(":")[1])
    assert line > 1, text


def test_all_faults_are_told_at_once(tmp_path):
    path = edited(tmp_path, ("tool: panda_tool0", "tool: hand"), ("stroke_m: 0.08", "stroke_m: 0.2"))
    with pytest.raises(SimulationError, match=r"(?s)frames\.tool.*gripper\.stroke_m"):
        load_build(path)


def test_a_file_that_says_nothing_of_the_simulation_is_refused(tmp_path):
    path = edited(tmp_path)
    path.write_text(path.read_text().partition("simulation:")[0])
    with pytest.raises(SimulationError, match="there is no field 'simulation'"):
        load_build(path)


def test_two_wheels_neither_slide_nor_turn_faster_than_they_can(rover):
    rover.put_robot(*SPOT)
    x, y, yaw = SPOT
    # Beside it: without sliding it must turn, drive and turn back.
    goal = rover.navigate_to_pose(x - 0.6 * math.sin(yaw), y + 0.6 * math.cos(yaw), yaw)
    fastest = sideways = 0.0
    for _ in run(rover, goal):
        vx, vy, wz = rover._physics.base_twist()
        fastest, sideways = max(fastest, abs(vx) + abs(wz) * 0.21), max(sideways, abs(vy))
    assert goal.status == "SUCCEEDED", goal.error_text
    assert sideways < 0.03
    assert 0.1 < fastest < 0.6 * 1.05
    rover.command_velocity(0.0, 0.4, 0.0)
    before = rover.truth()["robot"]["pose"]
    rover.step(0.4)
    assert math.dist(rover.truth()["robot"]["pose"][:2], before[:2]) < 0.005


def test_a_curve_stays_the_same_where_a_wheel_would_be_too_fast():
    base = Base(differential=True, linear_speed=0.6, wheel_track=0.4)
    forward, aside, turn = base.driven((0.5, 0.3, 1.5))
    assert aside == 0.0
    assert forward + turn * 0.2 == pytest.approx(0.6)
    assert turn / forward == pytest.approx(3.0)
    assert base.driven((0.3, 0.0, 0.5)) == (0.3, 0.0, 0.5)


def test_checks_for_collisions_have_the_shape_of_the_robot(rover, studio):
    """The rover stands free where the longer and wider robot would touch a wall or not pass."""
    x0, *_ = rover.world.bounds
    pose = (x0 + 0.33, -0.4, math.pi)
    free = []
    for sim in (rover, studio):
        sim.reset("studio", 0)
        sim.put_robot(*SPOT)
        free.append(sim._base.pose_is_free(pose))
    assert free == [True, False]
    assert rover._costmap.lethal == pytest.approx(studio._costmap.lethal - (0.61 - 0.50) / 2)


def test_a_thing_in_the_hand_is_held_and_its_joints_are_measured_with_offsets(rover):
    sim = Simulation("studio", 0, sensors="typical", scenario="in_gripper:red coke can", builds=rover._builds)
    assert sim.truth()["objects"]["red coke can"]["held"]
    assert 0.055 < sim.gripper_state()["width"] < 0.075
    # The robot believes its encoders: what it tells of its tool is not where the tool is.
    told = np.eye(4)
    chain = {child: (parent, p, q) for parent, child, p, q in [*sim.transforms(), *sim.static_transforms()]}
    frame = sim.arm.tool
    while frame != sim.arm.base:
        parent, position, quaternion = chain[frame]
        told, frame = pose_matrix(position, quaternion) @ told, parent
    true = np.linalg.inv(sim.base_in_world()) @ sim._physics.tool_pose()
    assert 1e-4 < np.linalg.norm(told[:3, 3] - true[:3, 3]) < 0.03
