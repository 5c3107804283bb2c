"""The Panda as planners see it: kinematics of any pose, and the table behind the interface of the ROS nodes."""

import math

import numpy as np
import pytest

from quartet_simulation.arm.kinematics import pose_matrix
from quartet_simulation.arm.model import standing
from quartet_simulation.arm.panda import PANDA as ARM
from quartet_simulation.errors import InvalidCommandError, UnknownNameError
from quartet_simulation.robot import panda
from quartet_simulation.sensors.calibration import draw_calibration
from quartet_simulation.sensors.frames import optical_pose
from quartet_simulation.sensors.levels import LEVELS
from quartet_simulation.tabletop import UnknownObjectError, UnknownTaskError
from quartet_simulation.tabletop.kinematics import FOOT, top_down
from quartet_simulation.tabletop.simulation import TableSimulation

PANDA = ARM.moved(standing((0.0, 0.0, FOOT[2])))
"""The arm in base_footprint."""


@pytest.fixture(scope="module")
def table():
    sim = TableSimulation(0, sensors="clean")
    yield sim
    sim.close()


def test_forward_kinematics_agree_with_the_physical_model(table):
    to_base = np.linalg.inv(table.base_in_world())
    body = table._body
    tool = body.data.body(panda.TOOL)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = tool.xmat.reshape(3, 3), tool.xpos
    assert np.abs(PANDA.forward(body.arm_positions()) - to_base @ pose).max() < 1e-6


def test_every_pose_of_the_arm_is_reached_again_with_the_same_joints():
    rng = np.random.default_rng(0)
    for joints in rng.uniform(panda.LOWER, panda.UPPER, (60, 7)):
        pose = PANDA.forward(joints)
        solutions = PANDA.inverse(pose, joints)
        assert np.abs(solutions - joints).max(axis=1).min() < 1e-6
        assert all(np.abs(PANDA.forward(found) - pose).max() < 1e-9 for found in solutions)
        assert ((np.array(panda.LOWER) <= solutions) & (solutions <= np.array(panda.UPPER))).all()


def test_a_hand_that_points_down_keeps_the_arm_upright(table):
    joints = top_down((0.2, 0.2, 0.9), 0.3)
    found = table.snapshot().ik_all(PANDA.forward(joints))
    assert found[0] == pytest.approx(joints, abs=1e-6)


def test_what_is_out_of_reach_has_no_solution():
    far = PANDA.forward(np.array(top_down((0.2, 0.0, 0.9), 0.0)))
    far[0, 3] += 1.0
    assert PANDA.inverse(far, np.zeros(7)).shape == (0, 7)


def test_the_gripper_is_open_at_four_centimetres_of_a_finger(table):
    assert table.hand.width_of(0.04) == pytest.approx(0.08)
    assert table.hand.position_of(0.0) == 0.0
    with pytest.raises(InvalidCommandError, match=r"outside 0.04 \(open\) .. 0.0 \(closed\)"):
        table.gripper_command(0.7, 20.0)


def test_frames_lead_from_the_map_to_the_fingers_and_the_cameras(table):
    frames = {child: parent for parent, child, _, _ in [*table.static_transforms(), *table.transforms()]}
    for leaf in ("panda_hand_tcp", "front_camera_color_optical_frame", "arm_camera_color_optical_frame"):
        while leaf != "map":
            leaf = frames[leaf]


def test_episodes_are_chosen_by_task_and_variation(table):
    table.reset(None, 3, "stack-blocks:4")
    assert table.truth()["task"]["instruction"].startswith("stack 3 maroon blocks")
    table.place_object("maroon block 1", 0.2, 0.1, 0.752, math.pi / 4)
    assert table.truth()["objects"]["maroon block 1"]["position"] == pytest.approx([0.2, 0.1, 0.777], abs=0.001)
    with pytest.raises(UnknownObjectError, match="valid: maroon block 1"):
        table.place_object("teapot", 0.2, 0.1, 0.752)
    with pytest.raises(UnknownTaskError, match="valid: basketball-in-hoop"):
        table.reset(None, 0, "juggle")
    with pytest.raises(UnknownTaskError, match="no variation two; valid: 0 to 59"):
        table.reset(None, 0, "stack-blocks:two")
    with pytest.raises(UnknownNameError, match="valid: tabletop"):
        table.reset("home", 0)
    with pytest.raises(UnknownNameError, match="valid: clean"):
        TableSimulation(0, sensors="perfect")


@pytest.fixture
def typical():
    sim = TableSimulation(3, sensors="typical")
    yield sim
    sim.close()


def told(sim, child):
    """Pose of a frame in base_footprint by the published transforms."""
    parents = {c: (p, pose_matrix(t, q)) for p, c, t, q in [*sim.transforms(), *sim.static_transforms()]}
    pose = np.eye(4)
    while child != "base_footprint":
        parent, step = parents[child]
        pose, child = step @ pose, parent
    return pose


def test_under_typical_sensors_the_arm_goes_where_its_encoders_have_it(typical):
    offsets = draw_calibration(LEVELS["typical"].calibration, 3, 7).joints
    assert np.abs(typical.snapshot().positions - typical._body.arm_positions() - offsets).max() < 1e-9
    measured = np.array(typical.joint_states()["position"][:7])
    assert np.allclose(told(typical, panda.TOOL), PANDA.forward(measured), atol=1e-6)
    wanted = measured + 0.05
    goal = typical.execute_trajectory(list(panda.JOINTS), [(0.0, measured.tolist()), (2.0, wanted.tolist())])
    while not goal.done:
        typical.step(0.1)
    typical.step(1.0)
    assert goal.status == "SUCCEEDED"
    assert np.array(typical.truth()["robot"]["arm"]) == pytest.approx(wanted - offsets, abs=1e-3)
    away = np.linalg.norm(PANDA.forward(wanted)[:3, 3] - PANDA.forward(wanted - offsets)[:3, 3])
    assert 2e-4 < away < 0.01


@pytest.mark.parametrize("camera", ["front", "arm"])
def test_under_typical_sensors_cameras_hang_a_little_beside_what_the_transforms_say(typical, table, camera):
    mountings = {child: pose for _, child, *pose in typical.static_transforms()}
    meant = {child: pose for _, child, *pose in table.static_transforms()}
    frame = next(child for child in meant if child.startswith(camera))
    assert mountings[frame] == meant[frame], "what the robot knows of its cameras stays as it is"
    parent = np.linalg.inv(typical.base_in_world())
    if camera == "arm":
        parent = np.linalg.inv(PANDA.forward(typical._body.arm_positions())) @ parent
    off = np.linalg.norm((parent @ optical_pose(typical._body, camera))[:3, 3] - mountings[frame][0])
    assert 1e-4 < off <= 2 * LEVELS["typical"].calibration.camera_m
    assert typical.jpeg_quality == 80
