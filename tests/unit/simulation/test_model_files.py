"""Arms by model file: what MJCF and URDF describe is what moves, and what does not fit the robot file is told."""

import importlib.util
import math
import os
import shutil
import tomllib
from pathlib import Path

import mujoco
import numpy as np
import pytest
import yaml

from quartet_simulation.arm.kinematics import pose_matrix
from quartet_simulation.described.reading import INSTALLED_BY, read_model
from quartet_simulation.errors import ModelFileError, SimulationError
from quartet_simulation.mobile.file import bare, load_build
from quartet_simulation.names import prefix_of
from quartet_simulation.simulation import Simulation

ROOT = Path(__file__).resolve().parents[3]
LIFTER = ROOT / "deploy" / "robots" / "lifter"
DOWN = np.diag([1.0, -1.0, -1.0, 1.0])
"""A tool that points down."""

TETRAHEDRON = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"

URDF = """<robot name="two bars">
  <link name="foot"/>
  <link name="turret"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.04" length="0.1"/></geometry></collision>
    <visual><geometry><mesh filename="package://bars/turret.dae"/></geometry></visual></link>
  <link name="bar"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><origin xyz="0 0 0.15"/><geometry><mesh filename="package://bars/meshes/bar.obj"/></geometry>
    </collision></link>
  <link name="flange"/>
  <link name="left"><inertial><mass value="0.1"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><origin xyz="0.005 0 0.05"/>
    <geometry><box size="0.01 0.02 0.05"/></geometry></collision></link>
  <link name="right"><inertial><mass value="0.1"/><inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><origin xyz="-0.005 0 0.05"/>
    <geometry><box size="0.01 0.02 0.05"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="foot"/><child link="turret"/><axis xyz="0 0 1"/>
    <limit effort="10" velocity="0.7"/></joint>
  <joint name="bend" type="revolute"><parent link="turret"/><child link="bar"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="2" effort="10" velocity="9"/></joint>
  <joint name="fixed" type="fixed"><parent link="bar"/><child link="flange"/><origin xyz="0 0 0.3"/></joint>
  <joint name="left" type="prismatic"><parent link="flange"/><child link="left"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>
  <joint name="right" type="prismatic"><parent link="flange"/><child link="right"/><axis xyz="1 0 0"/>
    <limit lower="-0.05" upper="0" effort="10" velocity="1"/></joint>
</robot>
"""


@pytest.fixture
def folder(tmp_path):
    """A copy of the lifter, to be edited."""
    return Path(shutil.copytree(LIFTER, tmp_path / "lifter"))


@pytest.fixture(scope="module")
def build():
    return load_build(LIFTER / "robot.yaml")


@pytest.fixture(scope="module")
def lifter(build):
    sim = Simulation("studio", 0, builds=[build], sensors="clean")
    yield sim
    sim.close()


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def refused(folder: Path) -> str:
    with pytest.raises(SimulationError) as caught:
        load_build(folder / "robot.yaml")
    return str(caught.value)


def joints_within(arm, count: int) -> np.ndarray:
    low, high = np.maximum(arm.lower, -math.pi), np.minimum(arm.upper, math.pi)
    return np.random.default_rng(1).uniform(low, high, (count, len(low)))


# --- kinematics ---------------------------------------------------------------------------------------
def test_the_tool_is_where_mujoco_has_it_and_each_pose_is_found_again(build):
    arm, world = build.arm, bare(build)
    near = np.array(build.folded)
    for joints in joints_within(arm, 25):
        world.set_arm(joints)
        world.moved()
        pose = arm.forward(joints)
        assert np.abs(pose - world.pose(arm.tool)).max() < 1e-9
        found = arm.inverse(pose, near)
        assert len(found)
        for one in found:
            assert np.abs(arm.forward(one) - pose).max() < 1e-5
            assert (one >= np.array(arm.lower)).all()
            assert (one <= np.array(arm.upper)).all()


def test_the_same_pose_has_the_same_solutions(build):
    pose = build.arm.forward(joints_within(build.arm, 1)[0])
    first, second = (build.arm.inverse(pose, np.array(build.folded)) for _ in range(2))
    assert np.array_equal(first, second)


def test_a_pose_out_of_reach_has_no_solution(build):
    pose = DOWN.copy()
    pose[:3, 3] = 2.0, 0.0, 0.5
    assert build.arm.inverse(pose, np.array(build.folded)).shape == (0, 7)


def test_a_motion_goes_on_from_where_the_joints_are(build):
    arm = build.arm
    assert arm.follow is not None
    pose = DOWN.copy()
    pose[:3, 3] = 0.6, 0.1, 1.0
    joints = arm.inverse(pose, np.array(build.folded))[0]
    pose[2, 3] -= 0.01
    (after,) = arm.follow(pose, joints)
    assert np.abs(after - joints).max() < 0.1
    assert np.abs(arm.forward(after) - pose).max() < 1e-5


# --- in the simulation ----------------------------------------------------------------------------------
def test_the_arm_plans_follows_and_draws_a_straight_line(lifter):
    pose = DOWN.copy()
    pose[:3, 3] = 0.55, 0.0, 1.05
    scene = lifter.snapshot()
    plan = scene.plan_pose(pose)
    assert plan.trajectory is not None, plan.text
    goal = lifter.execute_trajectory(
        list(plan.trajectory.joint_names),
        [(float(t), q.tolist()) for t, q in zip(plan.trajectory.times, plan.trajectory.positions, strict=True)],
    )
    while not goal.done:
        lifter.step(0.01)
        assert max(map(abs, goal.feedback.get("error", [0.0]))) < 0.05
    assert goal.status == "SUCCEEDED", goal.error_text
    told = lifter.snapshot().fk()
    assert np.abs(told - pose).max() < 0.01
    true = np.linalg.inv(lifter.base_in_world()) @ lifter._physics.tool_pose()
    assert np.abs(true - told).max() < 0.01
    pose[2, 3] -= 0.2
    _, share = lifter.snapshot().cartesian([pose])
    assert share == 1.0


def test_the_fingers_hold_a_thing_between_their_pads(build):
    sim = Simulation("studio", 0, scenario="in_gripper:red coke can", builds=[build], sensors="clean")
    sim.step(0.5)
    assert sim.truth()["objects"]["red coke can"]["held"]
    assert 0.055 < sim.gripper_state()["width"] < 0.075


def test_the_parts_of_the_hand_have_the_names_by_which_touches_of_a_hand_are_told(lifter):
    names = {lifter._physics.model.geom(int(geom)).name for geom in lifter._physics.own_geoms}
    assert {"palm", "left_pad", "left_finger", "right_pad", "right_finger", "forearm", "wrist_3"} <= names


def test_closed_fingers_that_stay_apart_tell_their_opening(folder):
    for axis in ("1 0 0", "-1 0 0"):
        edit(folder / "arm.xml", f'axis="{axis}" range="0 0.06"', f'axis="{axis}" range="0.0015 0.06"')
    hand = load_build(folder / "robot.yaml").hand
    assert hand.opening_at(0.0) == pytest.approx(0.003)
    assert hand.opening_at(2 * hand.finger_at(0.05)) == pytest.approx(0.05)
    assert 2 * hand.finger_at(hand.stroke) == pytest.approx(0.117)


def test_two_of_them_are_in_one_world(build):
    sim = Simulation("home", 0, builds=[build] * 2, sensors="clean")
    joint = sim.arm.joints[0]
    assert sim._physics.model.joint(prefix_of(1) + joint).name == f"robot2/{joint}"
    sim.close()


# --- models of other makes ------------------------------------------------------------------------------
def test_angles_in_degrees_other_signs_and_a_tool_that_is_turned_give_the_same_arm(folder, build):
    """The same arm as another person would write it down: the robot moves alike."""
    model, robot = folder / "arm.xml", folder / "robot.yaml"
    edit(model, 'angle="radian"', 'angle="degree"')
    for low, high in (
        ("-2.9", "2.9"),
        ("-2.1", "2.1"),
        ("-2.6", "2.6"),
        ("-3.2", "3.2"),
        ("-2.2", "2.2"),
        ("-6.2", "6.2"),
    ):
        edit(
            model,
            f'range="{low} {high}"',
            f'range="{math.degrees(float(low)):.9f} {math.degrees(float(high)):.9f}"',
        )
    # A finger whose joint is negative when open, and the tool as a site.
    edit(
        model,
        'name="finger_2" type="slide" axis="-1 0 0" range="0 0.06"',
        'name="finger_2" type="slide" axis="1 0 0" range="-0.06 0"',
    )
    edit(
        model,
        '<body name="hand_base" pos="0 0 0.03">',
        '<body name="palm" pos="0 0 0.03"><site name="grasp" euler="20 90 -35"/>',
    )
    edit(robot, "tool: hand_base", "tool: gripper_tool")
    edit(robot, "links: [hand_base,", "links: [gripper_tool, palm,")
    edit(
        robot,
        "    model: arm.xml\n",
        f"    model: arm.xml\n    tool: {{body: grasp, rpy_rad: {np.radians([-20.0, -90.0, 35.0]).tolist()}}}\n",
    )
    other = load_build(robot)
    assert other.arm.tool == "gripper_tool"
    assert other.hand.stroke == pytest.approx(build.hand.stroke)
    for joints in joints_within(build.arm, 5):
        assert np.abs(other.arm.forward(joints) - build.arm.forward(joints)).max() < 1e-6


def urdf_robot(folder: Path) -> Path:
    """Write a robot of two joints that a URDF describes into the folder."""
    (folder / "model.urdf").write_text(URDF)
    (folder / "meshes").mkdir()
    (folder / "meshes" / "bar.obj").write_text(TETRAHEDRON)
    fields = yaml.safe_load((LIFTER / "robot.yaml").read_text())
    fields["arm"].update(joints=["turn", "bend"], named_states={"folded": [0.0, 0.2]})
    fields["frames"]["tool"] = "flange"
    fields["gripper"].update(joint="right", open_position=-0.05, stroke_m=0.10, finger_offset_m=0.075)
    fields["simulation"]["arm"]["model"] = "model.urdf"
    fields["gripper"]["links"] = ["flange", "left", "right"]
    (folder / "robot.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    return folder / "robot.yaml"


def test_a_urdf_gives_joints_limits_speeds_meshes_and_fingers(tmp_path):
    build = load_build(urdf_robot(tmp_path))
    assert build.arm.links == ("turret", "bar")
    assert build.arm.lower == (-2 * math.pi, -1.5)
    assert build.arm.upper == (2 * math.pi, 2.0)
    assert build.arm.speed == (0.7, 2.0)
    assert (build.hand.stroke, build.hand.open_position, build.hand.closed_position) == pytest.approx((0.1, -0.05, 0))
    world = bare(build)
    for joints in joints_within(build.arm, 5):
        world.set_arm(joints)
        world.moved()
        assert np.abs(build.arm.forward(joints) - world.pose("flange")).max() < 1e-9
    kinds = {int(kind) for kind in world.model.geom_type}
    assert int(mujoco.mjtGeom.mjGEOM_MESH) in kinds
    sim = Simulation("studio", 0, builds=[build], sensors="clean")
    sim.step(0.1)
    assert sim.joint_states()["position"][:2] == pytest.approx([0.0, 0.2], abs=0.01)


def test_parts_that_overlap_by_their_shapes_everywhere_are_no_collision(folder):
    """As with coarse meshes: the second link sticks in the foot's tower whatever the joints are."""
    model = folder / "arm.xml"
    edit(
        model,
        '<geom class="joint" type="cylinder" size="0.05 0.04" mass="1.6"/>',
        '<geom class="joint" type="cylinder" pos="0 0 -0.3" size="0.05 0.4" mass="1.6"/>',
    )
    build = load_build(folder / "robot.yaml")
    assert ("column", "shoulder") in build.kind.apart or ("base_footprint", "shoulder") in build.kind.apart
    world = bare(build)
    world.set_arm(np.array(build.folded))
    assert world.named_contacts() == []


def test_a_mesh_and_an_included_part_in_the_folder_are_read(folder):
    (folder / "parts").mkdir()
    (folder / "parts" / "shell.obj").write_text(TETRAHEDRON)
    (folder / "assets.xml").write_text('<mujoco><asset><mesh file="shell.obj" scale="0.2 0.2 0.2"/></asset></mujoco>')
    model = folder / "arm.xml"
    edit(model, 'autolimits="true"/>', 'autolimits="true" meshdir="parts"/><include file="assets.xml"/>')
    edit(
        model,
        '<geom type="cylinder" pos="0 0 0.01"',
        '<geom type="mesh" mesh="shell" mass="0"/><geom type="cylinder" pos="0 0 0.01"',
    )
    world = bare(load_build(folder / "robot.yaml"))
    (mesh,) = np.flatnonzero(world.model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)
    assert world.model.body(int(world.model.geom_bodyid[mesh])).name == "wrist_3"


def test_a_model_of_an_installed_package_is_found_in_it(folder, monkeypatch):
    package = folder.parent / "lib" / "somebodys_arms"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the package is not imported')")
    (folder / "arm.xml").rename(package / "arm.xml")
    monkeypatch.syspath_prepend(str(package.parent))
    edit(folder / "robot.yaml", "model: arm.xml", "model: package:somebodys_arms/arm.xml")
    assert load_build(folder / "robot.yaml").arm.links[0] == "carriage"
    edit(folder / "robot.yaml", "package:somebodys_arms/arm.xml", "package:somebodys_arms/../../lifter/robot.yaml")
    assert "outside of" in refused(folder)


def on_a_base_of_its_own(folder: Path) -> Path:
    """The lifter's column on a platform with a wheel, as one model whose foot is on the floor."""
    edit(
        folder / "arm.xml",
        '<body name="column">',
        """<body name="platform">
             <geom name="deck" type="cylinder" pos="0 0 0.25" size="0.25 0.1"/>
             <body name="wheel_left" pos="0 0.2 0.1" euler="1.5708 0 0"><geom type="cylinder" size="0.1 0.02"/></body>
             <body name="column" pos="0.1 0 0.37">""",
    )
    edit(folder / "arm.xml", "</worldbody>", "</body></worldbody>")
    edit(folder / "robot.yaml", "position_m: [0.10, 0.0, 0.37]", "position_m: [0.0, 0.0, 0.0]")
    return folder / "robot.yaml"


def test_a_base_of_the_model_is_seen_in_place_of_the_box_and_its_wheels_stand_on_the_floor(folder, build):
    own = load_build(on_a_base_of_its_own(folder))
    assert np.allclose(own.arm.forward(np.array(own.folded)), build.arm.forward(np.array(build.folded)))
    world = bare(own)
    model = world.model
    assert model.geom("body").rgba[3] == 0
    shapes = {model.body(int(model.geom_bodyid[geom])).name: geom for geom in range(model.ngeom)}
    solid = {name for name, geom in shapes.items() if model.geom_contype[geom]}
    assert {"platform", "column", "base_footprint"} <= solid
    assert "wheel_left" not in solid
    assert model.geom_rgba[shapes["wheel_left"], 3] == 1
    sim = Simulation("studio", 0, builds=[own], sensors="clean")
    sim.step(0.1)
    assert sim.truth()["fixed_contacts"] == []
    sim.close()


def with_a_gripper_of_its_own(folder: Path) -> Path:
    """The lifter, its hand in a file of its own that names parts as the arm's file does and a mesh as well."""
    arm = (folder / "arm.xml").read_text()
    start = arm.index('<body name="hand_base"')
    end = arm.index("</body>", arm.index("</body>", arm.index('<body name="finger_2">')) + 1) + len("</body>")
    hand = arm[start:end].replace('<body name="hand_base" pos="0 0 0.03">', '<body name="hand_base">')
    hand = hand.replace('<body name="finger_1">', '<geom type="mesh" mesh="shell" mass="0"/><body name="finger_1">')
    (folder / "arm.xml").write_text(
        arm[:start]
        + '<geom type="mesh" mesh="shell" mass="0"/>'
        + arm[end:].replace("</mujoco>", '<asset><mesh name="shell" file="large.obj"/></asset></mujoco>')
    )
    (
        folder / "hand.xml"
    ).write_text(f"""<mujoco><default><default class="rubber"><geom friction="1.2 0.01 0.001"/></default>
      </default><asset><mesh name="shell" file="small.obj"/></asset>
      <worldbody>{hand}<body name="wrist_1" pos="0 0 0.01"/></worldbody>
      <actuator><motor joint="finger_1"/></actuator>
      <contact><exclude body1="hand_base" body2="finger_1"/></contact></mujoco>""")
    (folder / "small.obj").write_text(TETRAHEDRON.replace("0.1", "0.01"))
    (folder / "large.obj").write_text(TETRAHEDRON.replace("0.1", "0.02"))
    edit(
        folder / "robot.yaml",
        "  cameras:\n    front: {position_m",
        "  gripper:\n    model: hand.xml\n    at: wrist_3\n    position_m: [0, 0, 0.03]\n"
        "  cameras:\n    front: {position_m",
    )
    return folder / "robot.yaml"


def test_a_gripper_of_a_file_of_its_own_hangs_on_the_arm_as_if_it_were_of_one_file(folder, build):
    own = load_build(with_a_gripper_of_its_own(folder))
    joints = np.array(own.folded)
    assert np.allclose(own.arm.forward(joints), build.arm.forward(joints))
    assert (own.hand.stroke, own.arm.tip_m) == pytest.approx((build.hand.stroke, build.arm.tip_m))
    assert own.arm.fingers == build.arm.fingers
    # A name of both files, a mesh of the same name, and a pair that the gripper's model leaves out of collisions.
    assert "gripper.wrist_1" in own.arm.palm
    assert ("hand_base", "finger_1") in own.kind.apart
    model = bare(own).model
    (large, small) = (
        np.ptp(model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]], axis=0).max()
        for body in ("wrist_3", "hand_base")
        for geom in np.flatnonzero(model.geom_bodyid == model.body(body).id)
        if (mesh := model.geom_dataid[geom]) >= 0
    )
    assert large == pytest.approx(2 * small)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("model: hand.xml", "model: paw.xml", ["simulation.gripper.model", "'paw.xml'", "No such file"]),
        ("model: hand.xml", "model: ../hand.xml", ["simulation.gripper.model", "outside of"]),
        ("at: wrist_3", "at: wrist_9", ["simulation.gripper.at", "no body 'wrist_9'; valid: column, carriage"]),
        ("at: wrist_3", "at: forearm", ["'finger_1' does not hang on the last link of the arm, 'wrist_3'"]),
        ("stroke_m: 0.12", "stroke_m: 0.14", ["gripper.stroke_m", "that of the gripper of 'hand.xml'; valid: 0.12"]),
        ("model: arm.xml", "model: ur5", ["simulation.gripper", "'ur5' has its own"]),
    ],
)
def test_a_gripper_that_does_not_fit_is_told_with_its_line_and_what_is_valid(folder, before, after, words):
    edit(with_a_gripper_of_its_own(folder), before, after)
    text = refused(folder)
    assert all(word in text for word in words), text
    assert all(int(fault.split(":")[1]) > 1 for fault in text.splitlines()[1:]), text


def test_a_gripper_that_mujoco_cannot_use_is_told_with_its_file(folder):
    with_a_gripper_of_its_own(folder)
    edit(folder / "hand.xml", 'type="mesh"', 'type="glove"')
    assert "simulation.gripper.model" in (text := refused(folder))
    assert "hand.xml" in text


def test_what_is_left_out_of_a_model_is_not_built(folder, build):
    edit(
        folder / "arm.xml",
        '<body name="shoulder" pos="0 0 0.06">',
        '<body name="other arm" pos="0 0.2 0"><geom size="0.05"/><body name="other hand"><geom size="0.05"/></body>'
        "</body>"
        '<body name="shoulder" pos="0 0 0.06">',
    )
    assert "other hand" in load_build(folder / "robot.yaml").arm.palm
    edit(folder / "robot.yaml", "model: arm.xml", "model: arm.xml\n    without: [other arm]")
    own = load_build(folder / "robot.yaml")
    assert own.arm.palm == build.arm.palm
    assert bare(own).model.nbody == bare(build).model.nbody


def test_the_tool_frame_cannot_be_left_out(folder):
    edit(
        folder / "arm.xml", '<body name="hand_base" pos', '<body name="grip" pos="0 0 0.03"/><body name="hand_base" pos'
    )
    edit(folder / "robot.yaml", "tool: hand_base", "tool: grip")
    load_build(folder / "robot.yaml")
    edit(folder / "robot.yaml", "model: arm.xml", "model: arm.xml\n    without: [grip]")
    assert "simulation.arm.without.0: 'grip' carries the tool frame" in refused(folder)


def test_shapes_for_collisions_are_not_drawn_where_a_body_has_others_in_a_group_of_their_own(folder):
    before = '<geom type="box" pos="0 0 0.025" size="0.055 0.032 0.025" mass="0.5" rgba="0.13 0.13 0.14 1"/>'
    looks = '<geom type="sphere" size="0.03" contype="0" conaffinity="0" mass="0" group="{}"/>'
    for group, drawn in ((0, 1), (1, 0)):
        shutil.copy(LIFTER / "arm.xml", folder / "arm.xml")
        edit(folder / "arm.xml", before, before + looks.format(group))
        model = bare(load_build(folder / "robot.yaml")).model
        (box, sphere) = (
            model.geom_rgba[geom, 3]
            for kind in (mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_SPHERE)
            for geom in np.flatnonzero(model.geom_bodyid == model.body("hand_base").id)
            if model.geom_type[geom] == kind and "camera" not in model.geom(geom).name
        )
        assert (box, sphere) == (drawn, 1)


@pytest.mark.parametrize(("package", "command"), INSTALLED_BY.items())
def test_a_package_that_is_missing_is_told_with_what_installs_it(folder, monkeypatch, package, command):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    edit(folder / "robot.yaml", "model: arm.xml", f"model: package:{package}/arm.xml")
    assert f"'{package}' is not installed here; install it with {command}" in refused(folder)
    script, robot = command.split()
    assert (ROOT / script).is_file()
    assert f"package:{package}/" in "".join(
        path.read_text() for path in (ROOT / "deploy/robots" / robot).glob("*.yaml")
    )
    with (ROOT / "pyproject.toml").open("rb") as file:
        (locked,) = tomllib.load(file)["dependency-groups"][robot]
    assert locked.split("==")[0].replace("-", "_").endswith(package)


# --- what does not fit ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("robot.yaml", "model: arm.xml", "model: leg.xml", ["simulation.arm.model", "'leg.xml'", "No such file"]),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm",
            ["no model 'arm'; valid: panda, ur5, a file (.xml, .mjcf, .urdf)"],
        ),
        ("robot.yaml", "model: arm.xml", "model: package:no_such_arms/a.xml", ["'no_such_arms' is not installed"]),
        ("robot.yaml", "model: arm.xml", "model: 'package:arms'", ["valid: package:NAME/PATH"]),
        ("robot.yaml", "model: arm.xml", "model: ur5\n    foot: column", ["simulation.arm.foot", "'ur5' has its own"]),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    foot: rack",
            ["simulation.arm.foot", "no body 'rack'; valid: column, carriage"],
        ),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    foot: forearm",
            ["'forearm' does not carry 'lift'; valid: column, carriage"],
        ),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    tool: {body: hook}",
            ["simulation.arm.tool.body", "no body or site 'hook'"],
        ),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    without: [rack]",
            ["simulation.arm.without.0", "no body 'rack'; valid: column, carriage"],
        ),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    without: [forearm]",
            ["simulation.arm.without.0", "'forearm' carries 'elbow'; valid: bodies"],
        ),
        ("robot.yaml", "tool: hand_base", "tool: hook", ["frames.tool", "no body or site 'hook'; valid: column"]),
        (
            "robot.yaml",
            "tool: hand_base",
            "tool: forearm",
            ["frames.tool", "not fixed to the last link of the arm, 'wrist_3'"],
        ),
        ("robot.yaml", "tool: hand_base", "tool: finger_1", ["frames.tool", "not fixed to the last link"]),
        (
            "robot.yaml",
            "model: arm.xml",
            "model: arm.xml\n    tool: {body: hand_base, rpy_rad: [0, 0, 1.57]}",
            ["'hand_base' is another body", "new name"],
        ),
        ("robot.yaml", "[lift, pan,", "[lift, pam,", ["arm.joints.1", "no joint 'pam'; valid: lift, pan, shoulder"]),
        (
            "robot.yaml",
            "[lift, pan, shoulder,",
            "[lift, shoulder, pan,",
            ["arm.joints.2", "'pan' does not hang on 'shoulder'"],
        ),
        ("robot.yaml", "finger_2]", "thumb]", ["gripper.links", "no link 'thumb'; valid: carriage, "]),
        ("robot.yaml", "joint: finger_1", "joint: thumb", ["gripper.joint", "no joint 'thumb'; valid: lift"]),
        ("robot.yaml", "joint: finger_1", "joint: twist", ["gripper.joint", "'twist' is a hinge; valid: a slide"]),
        ("robot.yaml", "joint: finger_1", "joint: lift", ["gripper.joint", "'lift' is a joint of the arm"]),
        (
            "robot.yaml",
            "position_m: [0.10, 0.0, 0.37]",
            "position_m: [0.10, 0.0, 0.1]",
            ["simulation.arm.position_m", "z 0.1 is inside", "from its top, 0.36, or 0 for a model with a base"],
        ),
        ("robot.yaml", "stroke_m: 0.12", "stroke_m: 0.14", ["gripper.stroke_m: 0.14", "valid: 0.12"]),
        ("robot.yaml", "finger_offset_m: 0.14", "finger_offset_m: 0.1", ["gripper.finger_offset_m", "valid: 0.14"]),
        ("robot.yaml", "open_position: 0.06", "open_position: 0.02", ["gripper.open_position", "valid: 0.06"]),
        (
            "robot.yaml",
            "folded: [0.05,",
            "folded: [0.50,",
            ["arm.named_states.folded", "lift is 0.5", "valid: 0 to 0.36"],
        ),
        ("arm.xml", "</mujoco>", "", ["arm.xml is not XML"]),
        ("arm.xml", "<mujoco model", "<!DOCTYPE a><mujoco model", ["document type"]),
        (
            "arm.xml",
            'type="capsule" fromto="0 0 0.02 0 0 0.40"',
            'type="tube" fromto="0 0 0.02 0 0 0.40"',
            ["MuJoCo cannot use", "tube"],
        ),
        (
            "arm.xml",
            'name="twist" axis="0 0 1" range="-6.2 6.2"',
            'name="twist" type="ball"',
            ["arm.joints.6", "neither a hinge nor a slide"],
        ),
        (
            "arm.xml",
            'name="finger_2" type="slide" axis="-1 0 0" range="0 0.06"',
            'name="finger_2" type="hinge" axis="0 1 0" range="0 1"',
            ["gripper.joint", "the hand has 0 slides"],
        ),
        (
            "arm.xml",
            'name="finger_1" type="slide" axis="1 0 0" range="0 0.06"',
            'name="finger_1" type="slide" axis="1 0 0"',
            ["'finger_1' has no range"],
        ),
        (
            "arm.xml",
            'name="finger_1" type="slide" axis="1 0 0"',
            'name="finger_1" type="slide" axis="0 1 0"',
            ["frames.tool", "'finger_1' moves along (0.00, 1.00, 0.00) of it"],
        ),
        (
            "arm.xml",
            '<body name="finger_1">',
            '<body name="finger_1" pos="0 0.03 0">',
            ["frames.tool", "meet at (0.000, 0.015"],
        ),
        ("arm.xml", 'range="0 0.06"', 'range="0.02 0.06"', ["gripper.joint", "closed fingers are 0.020 m apart"]),
        ("arm.xml", '<body name="upper_arm"', '<body name="base_link"', ["simulation.arm.model", "a body 'base_link'"]),
        ("arm.xml", "<worldbody>", '<include file="../secret.xml"/><worldbody>', ["'../secret.xml'", "outside of"]),
        ("arm.xml", "<worldbody>", '<include file="/etc/passwd"/><worldbody>', ["'/etc/passwd'", "outside of"]),
        ("arm.xml", "<worldbody>", '<include file="arm.xml"/><worldbody>', ["includes 'arm.xml' more than once"]),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><mesh name="a" file="../a.obj"/></asset><worldbody>',
            ["'../a.obj'", "outside of"],
        ),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><mesh name="a" file="/etc/hosts.stl"/></asset><worldbody>',
            ["'/etc/hosts.stl'", "outside of"],
        ),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><mesh name="a" file="a.obj"/></asset><worldbody>',
            ["'a.obj'", "No such file"],
        ),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><mesh name="a" file="a.dae"/></asset><worldbody>',
            ["'a.dae'; valid: .stl, .obj, .msh"],
        ),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><hfield name="a" file="arm.xml"/></asset><worldbody>',
            ["<hfield file='arm.xml'>"],
        ),
        (
            "arm.xml",
            "<worldbody>",
            '<asset><model name="a" file="arm.xml"/></asset><worldbody>',
            ["<model file='arm.xml'>"],
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_line_and_what_is_valid(folder, file, before, after, words):
    (folder.parent / "secret.xml").write_text("<mujoco/>")
    (folder.parent / "a.obj").write_text(TETRAHEDRON)
    edit(folder / file, before, after)
    text = refused(folder)
    assert all(word in text for word in words), text
    (fault,) = text.splitlines()[1:]
    assert int(fault.split(":")[1]) > 1, text


def test_faults_of_joints_tool_and_gripper_are_told_at_once(folder):
    robot = folder / "robot.yaml"
    edit(robot, "[lift, pan,", "[lift, pam,")
    edit(robot, "joint: finger_1", "joint: twist")
    assert len(refused(folder).splitlines()) == 3
    edit(robot, "[lift, pam,", "[lift, pan,")
    edit(robot, "tool: hand_base", "tool: hook")
    edit(robot, "model: arm.xml", "model: arm.xml\n    foot: column")
    assert len(refused(folder).splitlines()) == 3


def test_a_link_that_leads_out_of_the_folder_is_not_followed(folder):
    (folder.parent / "a.obj").write_text(TETRAHEDRON)
    (folder / "a.obj").symlink_to(folder.parent / "a.obj")
    edit(folder / "arm.xml", "<worldbody>", '<asset><mesh name="a" file="a.obj"/></asset><worldbody>')
    assert "outside of" in refused(folder)


def test_what_mujoco_gets_names_no_file(folder):
    """So that it opens none by itself, whatever it makes of paths."""
    (folder / "a.obj").write_text(TETRAHEDRON)
    edit(folder / "arm.xml", "<worldbody>", '<asset><mesh file="a.obj"/><texture file="x.png"/></asset><worldbody>')
    read = read_model("arm.xml", folder)
    assert list(read.assets) == ["mesh0.obj"]
    assert "a.obj" not in read.xml
    assert "x.png" not in read.xml


def test_a_urdf_whose_mesh_is_missing_or_outside_is_refused(tmp_path):
    urdf_robot(tmp_path)
    for path in ("package://bars/no.obj", "../../no.obj", "file:///etc/no.obj"):
        (tmp_path / "model.urdf").write_text(URDF.replace("package://bars/meshes/bar.obj", path))
        with pytest.raises(ModelFileError, match=r"cannot be read|outside of"):
            read_model("model.urdf", tmp_path)


ROS_URDF = """<robot name="arm">
  <link name="l0"><collision><geometry><mesh filename="package://arm_description/meshes/l0.obj"/></geometry></collision>
  </link></robot>
"""
"""A mesh as packages of ROS name it."""


@pytest.mark.parametrize("urdf", ["arm.urdf", "urdf/arm.urdf", "arm_description/urdf/arm.urdf"])
@pytest.mark.parametrize("mesh", ["arm_description/meshes/l0.obj", "meshes/l0.obj"])
def test_a_mesh_of_a_ros_package_is_found_with_and_without_the_name_of_the_package(tmp_path, urdf, mesh):
    for path, text in ((urdf, ROS_URDF), (mesh, TETRAHEDRON)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert list(read_model(urdf, tmp_path).assets.values()) == [TETRAHEDRON.encode()]


@pytest.mark.parametrize("name", ["arm_description/meshes/l0.obj", "arm_description", ""])
def test_a_mesh_of_a_ros_package_that_is_not_there_is_told_with_where_it_was_looked_for(tmp_path, name):
    (tmp_path / "arm.urdf").write_text(ROS_URDF.replace("arm_description/meshes/l0.obj", name))
    with pytest.raises(ModelFileError) as refused:
        read_model("arm.urdf", tmp_path)
    if "/" in name:
        words = f"arm.urdf:2 cannot be read: there is no {name} and no meshes/l0.obj in {tmp_path}; copy the meshes"
        assert words in str(refused.value)


def test_the_robot_of_the_file_tells_its_own_frames(lifter):
    told = {child for _, child, *_ in [*lifter.transforms(), *lifter.static_transforms()]}
    assert {"arm_mount", "carriage", "wrist_3", "hand_base", "gripper_tip"} <= told
    pose = np.eye(4)
    chain = {child: (parent, p, q) for parent, child, p, q in [*lifter.transforms(), *lifter.static_transforms()]}
    frame = "hand_base"
    while frame != "base_footprint":
        parent, position, quaternion = chain[frame]
        pose, frame = pose_matrix(position, quaternion) @ pose, parent
    assert np.abs(pose - lifter.snapshot().fk()).max() < 0.01


def edited(xml, before, new):
    assert before in xml
    return xml.replace(before, new, 1)


WORLD = "<worldbody>"
LAUGHS = '<!DOCTYPE a [<!ENTITY a0 "x">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9)) + "]>"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda xml: edited(xml, WORLD, f"{WORLD}{'<frame>' * 3000}{'</frame>' * 3000}"),
            "nested deeper than 100 levels",
        ),
        (lambda xml: edited(xml, WORLD, f"{WORLD}{'<geom/>' * 30_000}"), "more than 20000 elements"),
        (
            lambda xml: edited(xml, WORLD, f'{WORLD}<replicate count="9"><geom size="1"/></replicate>'),
            "<replicate> makes",
        ),
        (
            lambda xml: edited(
                xml, WORLD, f'<asset><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/></asset>{WORLD}'
            ),
            "<hfield> makes",
        ),
        (
            lambda xml: edited(xml, WORLD, f'<asset><mesh name="m" builtin="sphere" params="4"/></asset>{WORLD}'),
            "the mesh 'm' is built in",
        ),
        (lambda xml: f'<?xml version="1.0" encoding="utf-16"?>{LAUGHS}{xml}', "has a document type or entities"),
    ],
)
def test_a_model_that_is_meant_to_hang_or_to_take_the_memory_is_refused_by_name(folder, change, said):
    xml = change((folder / "arm.xml").read_text())
    (folder / "arm.xml").write_bytes(xml.encode("utf-16" if "utf-16" in xml else "utf-8"))
    with pytest.raises(SimulationError, match=said):
        load_build(folder / "robot.yaml")


def test_orders_of_memory_that_say_nothing_about_the_arm_are_left_out(folder, build):
    orders = (
        '<size memory="900G" nuser_body="2000000000" nkey="900000000"/>'
        '<sensor><user name="u" dim="2000000000"/></sensor>'
        '<custom><numeric name="n" size="2000000000" data="1"/></custom>'
    )
    (folder / "arm.xml").write_text(edited((folder / "arm.xml").read_text(), WORLD, orders + WORLD))
    assert load_build(folder / "robot.yaml").arm.joints == build.arm.joints


def test_files_that_include_one_another_without_end_are_refused(folder):
    for n in range(400):
        (folder / f"i{n}.xml").write_text(f'<mujoco><include file="i{n + 1}.xml"/></mujoco>')
    (folder / "arm.xml").write_text(edited((folder / "arm.xml").read_text(), WORLD, f'<include file="i0.xml"/>{WORLD}'))
    with pytest.raises(SimulationError, match="includes more than 100 files"):
        load_build(folder / "robot.yaml")


@pytest.mark.parametrize("name", ["arm.xml", "m.stl"])
def test_a_pipe_in_the_folder_is_not_waited_for(folder, name):
    xml = edited((folder / "arm.xml").read_text(), WORLD, f'<asset><mesh name="m" file="m.stl"/></asset>{WORLD}')
    (folder / "arm.xml").write_text(xml)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    with pytest.raises(SimulationError, match="no regular file"):
        load_build(folder / "robot.yaml")
