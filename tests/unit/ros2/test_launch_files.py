"""What the launch files of deploy/ros2 start, and that every name in them is the one of robot.yaml.

They run against a stand-in of launch and launch_ros, which package registries do not have; it requires arguments as the
real launch does.
"""

import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from quartet_bringup.errors import LaunchArgumentError, OldRclpyError
from quartet_bringup.nav2_parameters import Nav2FileError, merge, parameters_for, read
from quartet_bringup.nodes import bridge, compressors
from quartet_bringup.robot_file import RobotFileError, read_robot_file
from quartet_site import RobotFile, load_robot

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "deploy" / "ros2" / "quartet_bringup"
LAUNCH = PACKAGE / "launch"
SITES = sorted((ROOT / "deploy" / "sites").glob("*/robot.yaml"))
TEMPLATE = ROOT / "deploy" / "sites" / "template" / "robot.yaml"
BARE = "name: bare\narm: {joints: [one], named_states: {look_forward: [0.0]}}\n"
CAMERAS = "cameras: {front: &c {colour_topic: /c, depth_topic: /d, info_topic: /i, frame: f}, arm: *c}\n"

NAV2 = """
amcl: {ros__parameters: {base_frame_id: base_footprint, odom_frame_id: odom, global_frame_id: map, scan_topic: scan}}
bt_navigator: {ros__parameters: {global_frame: map, robot_base_frame: base_link, odom_topic: odom}}
controller_server:
  ros__parameters:
    controller_frequency: 20.0
    general_goal_checker: {plugin: checker, xy_goal_tolerance: 0.25, yaw_goal_tolerance: 0.25}
local_costmap:
  local_costmap:
    ros__parameters:
      global_frame: odom
      robot_base_frame: base_link
      robot_radius: 0.22
      voxel_layer: {scan: {topic: /scan, data_type: LaserScan}}
velocity_smoother: {ros__parameters: {velocity_timeout: 1.0, odom_topic: odom, max_velocity: [0.5, 0.0, 2.0]}}
collision_monitor:
  ros__parameters:
    base_frame_id: base_footprint
    odom_frame_id: odom
    source_timeout: 1.0
    scan: {type: scan, topic: scan}
docking_server: {ros__parameters: {base_frame: base_link, fixed_frame: odom}}
"""
"""An excerpt in the form of Nav2's nav2_params.yaml of Jazzy."""


@pytest.fixture
def ros(stand_in: Any, tmp_path: Path) -> Iterator[Any]:
    """The stand-in in place."""
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "nav2_params.yaml").write_text(NAV2)
    with stand_in.ros({"quartet_bringup": PACKAGE, "nav2_bringup": tmp_path}):
        yield stand_in


def leaves(tree: Any, at: str = "") -> dict[str, Any]:
    """Values by their dotted path."""
    if not isinstance(tree, dict):
        return {at: tree}
    return {path: leaf for key, value in tree.items() for path, leaf in leaves(value, f"{at}.{key}".strip(".")).items()}


# --- robot.yaml -----------------------------------------------------------------------------------
@pytest.mark.parametrize("path", [*SITES, "bare"], ids=lambda path: getattr(path, "parts", [path])[-2:][0])
def test_the_robots_side_reads_the_same_names_as_quartet(path: Any, tmp_path: Path) -> None:
    if path == "bare":
        path = tmp_path / "robot.yaml"
        path.write_text(BARE + CAMERAS)
    names, file = read_robot_file(path), load_robot(path)
    assert names.name == file.name
    assert f"{names.bridge_address}:{names.bridge_port}" in file.bridge.url
    for section in ("frames", "topics", "services"):
        ours = getattr(names, section)
        assert {key: getattr(getattr(file, section), key) for key in ours} == ours
    motions = {key: name for key, name in file.actions.model_dump().items() if key in names.motions}
    assert motions == names.motions
    assert names.gripper == file.actions.gripper
    assert list(names.arm_joints) == file.arm.joints
    assert names.heartbeat_timeout_s == file.heartbeat.guard_timeout_s
    assert names.footprint_radius_m == file.base.footprint_radius_m
    assert names.linear_speed_m_s == file.base.linear_speed_m_s
    assert names.angular_speed_rad_s == file.base.angular_speed_rad_s
    assert [(camera.colour, camera.depth, camera.info) for camera in names.cameras] == [
        (camera.colour_topic, camera.depth_topic, camera.info_topic)
        for camera in (file.cameras.front, file.cameras.arm)
    ]


def test_every_action_that_moves_base_or_arm_is_one_that_the_guard_ends() -> None:
    """A new action in robot.yaml is either a motion, or named here as none."""
    moves_nothing = {"compute_path_to_pose", "gripper", "wait"}
    names = read_robot_file(TEMPLATE)
    assert set(RobotFile.model_fields["actions"].annotation.model_fields) == names.motions.keys() | moves_nothing  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- 1", "the file: has fields of its own"),
        (BARE.replace("bare", "7"), "name: 7 is not a name"),
        (BARE.replace("[one]", "one"), "arm.joints: 'one' is not a list of joint names"),
        (BARE + "topics: {odom: 'a b'}", "topics.odom: 'a b' is not a ROS name"),
        (BARE + "topics: none", "topics: has fields of its own, not 'none'"),
        (BARE + "bridge: {url: 'http://x'}", "bridge.url: it is not a URL such as ws://127.0.0.1:9090"),
        (BARE + "base: {footprint_radius_m: -1}", "base.footprint_radius_m: -1 is not a positive number"),
        (BARE + "cameras: {front: {}}", "cameras.front.colour_topic: '' is not a name"),
        ("a: [", "cannot be read"),
    ],
)
def test_a_robot_file_that_cannot_be_used_is_told(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    with pytest.raises(RobotFileError) as caught:
        read_robot_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert complaint in str(caught.value)


# --- rosbridge and cameras ------------------------------------------------------------------------
def test_the_bridge_listens_where_robot_yaml_says_and_comes_back(ros: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("quartet_bringup.guard.requirements.installed_version", lambda: ("7.1.11", "a file"))
    websocket, rosapi, merger = ros.started(LAUNCH / "bridge.launch.py", robot_file=str(TEMPLATE))
    assert (websocket.package, websocket.executable, rosapi.package) == (
        "rosbridge_server",
        "rosbridge_websocket",
        "rosapi",
    )
    assert websocket.respawn
    assert rosapi.respawn
    assert (merger.package, merger.executable, merger.respawn) == ("quartet_bringup", "static_transforms", True)
    assert merger.parameters == [{"topic": load_robot(TEMPLATE).topics.tf_static}]
    parameters = websocket.parameters[0]
    assert (parameters["address"], parameters["port"], parameters["max_message_size"]) == ("127.0.0.1", 9090, 10**7)
    assert not {"certfile", "keyfile", "authenticate"} & parameters.keys()


def test_the_bridge_does_not_start_over_an_old_rclpy(ros: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("quartet_bringup.guard.requirements.installed_version", lambda: ("7.1.9", "a file"))
    with pytest.raises(OldRclpyError, match=r"7\.1\.10 or newer is needed"):
        ros.started(LAUNCH / "bridge.launch.py", robot_file=str(TEMPLATE))


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "0:0::0"])
def test_the_bridge_is_not_opened_to_every_network_unasked(address: str) -> None:
    robot = read_robot_file(TEMPLATE)
    with pytest.raises(LaunchArgumentError, match=f"address: '{address}' listens on every network"):
        bridge(robot, address)
    assert bridge(robot, address, everywhere="true")[0].parameters[0]["address"] == address  # type: ignore[index]
    assert bridge(robot, "10.0.0.7", "9191")[0].parameters[0]["port"] == 9191  # type: ignore[index]


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_told(port: str) -> None:
    with pytest.raises(LaunchArgumentError, match=f"port: '{port}' cannot be used; 1 to 65535 are valid"):
        bridge(read_robot_file(TEMPLATE), "127.0.0.1", port)


def test_compressed_pictures_come_on_the_topics_of_robot_yaml(ros: Any) -> None:
    file = load_robot(TEMPLATE)
    nodes = ros.started(LAUNCH / "cameras.launch.py", robot_file=str(TEMPLATE))
    topics = [dict(node.remappings)["out/compressed"] for node in nodes]
    assert topics == [file.cameras.front.colour_topic, file.cameras.arm.colour_topic]
    assert dict(nodes[0].remappings)["in"] == "/front_camera/color/image_raw"
    assert nodes[0].parameters == [{"in_transport": "raw", "out_transport": "compressed"}]


def test_a_camera_that_is_read_raw_is_not_compressed(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(BARE + CAMERAS)
    assert compressors(read_robot_file(path)) == []


# --- guard ----------------------------------------------------------------------------------------
def test_the_guard_gets_its_files_and_topics(ros: Any) -> None:
    (node,) = ros.started(LAUNCH / "guard.launch.py", robot_file="r.yaml", velocity_topic="/base/cmd_vel")
    assert (node.package, node.executable, node.respawn) == ("quartet_bringup", "robot_guard", True)
    assert node.parameters[0] == str(PACKAGE / "config" / "guard.yaml")
    assert node.parameters[1] == {"robot_file": "r.yaml", "velocity_topic": "/base/cmd_vel"}


# --- Nav2 -----------------------------------------------------------------------------------------
def test_nav2_gets_the_names_and_limits_of_robot_yaml(ros: Any, tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text(
        BARE
        + CAMERAS
        + "frames: {map: summit_map, odom: summit_odom, base: summit_base}\ntopics: {odom: /s/odom, scan: /s/scan, "
        + "velocity: /s/cmd_vel}\n"
        + "base: {holonomic: true, footprint_radius_m: 0.6, linear_speed_m_s: 0.3, angular_speed_rad_s: 0.4}\n"
    )
    remap, include = ros.started(
        LAUNCH / "navigation.launch.py", robot_file=str(path), map="/m.yaml", stamped_velocity="true"
    )
    assert remap == ros.SetRemap("docking_server:cmd_vel", "cmd_vel_nav"), "nothing sends past the collision monitor"
    given = dict(include.launch_arguments)
    assert given["map"] == "/m.yaml"
    file = Path(given["params_file"])
    found = leaves(yaml.safe_load(file.read_text()))
    file.unlink()
    said = {value for value in found.values() if isinstance(value, str)}
    assert not said & {"map", "odom", "base_link", "base_footprint", "/scan", "/odom"}
    assert found["local_costmap.local_costmap.ros__parameters.robot_radius"] == 0.6
    assert found["local_costmap.local_costmap.ros__parameters.voxel_layer.scan.topic"] == "/s/scan"
    assert found["collision_monitor.ros__parameters.scan.topic"] == "/s/scan"
    assert found["collision_monitor.ros__parameters.scan.type"] == "scan"
    assert found["collision_monitor.ros__parameters.source_timeout"] == 0.5
    assert found["collision_monitor.ros__parameters.cmd_vel_out_topic"] == "/s/cmd_vel", "where the guard listens"
    assert found["amcl.ros__parameters.global_frame_id"] == "summit_map"
    assert found["amcl.ros__parameters.robot_model_type"] == "nav2_amcl::OmniMotionModel"
    assert found["docking_server.ros__parameters.base_frame"] == "summit_base"
    assert found["docking_server.ros__parameters.fixed_frame"] == "summit_odom"
    assert found["velocity_smoother.ros__parameters.velocity_timeout"] == 0.5
    assert found["velocity_smoother.ros__parameters.max_velocity"] == [0.3, 0.0, 0.4]
    assert found["velocity_smoother.ros__parameters.odom_topic"] == "/s/odom"
    assert found["controller_server.ros__parameters.controller_frequency"] == 20.0, "what Nav2 says stays"
    assert found["controller_server.ros__parameters.general_goal_checker.xy_goal_tolerance"] == 0.15
    stamped = [value for path, value in found.items() if path.endswith("enable_stamped_cmd_vel")]
    assert stamped == [True] * 5


def test_a_base_that_does_not_drive_sideways_keeps_the_motion_model_of_nav2() -> None:
    model = {"amcl": {"ros__parameters": {"robot_model_type": "nav2_amcl::DifferentialMotionModel"}}}
    found = parameters_for(read_robot_file(TEMPLATE), model, {}, stamped=False)
    assert found["amcl"] == model["amcl"]


def test_navigation_needs_a_map_unless_it_makes_one(ros: Any) -> None:
    with pytest.raises(LaunchArgumentError, match=r"map: '' cannot be used; give map:=.*slam:=True"):
        ros.started(LAUNCH / "navigation.launch.py", robot_file=str(TEMPLATE))
    _, include = ros.started(LAUNCH / "navigation.launch.py", robot_file=str(TEMPLATE), slam="True")
    given = dict(include.launch_arguments)
    Path(given["params_file"]).unlink()
    assert (given["map"], given["slam"]) == ("", "True")


def test_what_is_laid_over_nav2_names_no_frame_and_no_topic_of_the_robot() -> None:
    """Those come from robot.yaml: written twice, they would come apart."""
    overlay = leaves(read(PACKAGE / "config" / "nav2.yaml"))
    keys = {path.rpartition(".")[2] for path in overlay}
    assert not keys & {"robot_base_frame", "base_frame_id", "global_frame", "odom_topic", "scan_topic", "robot_radius"}
    before = yaml.safe_load(NAV2)
    parameters_for(read_robot_file(TEMPLATE), before, read(PACKAGE / "config" / "nav2.yaml"), stamped=False)
    assert before == yaml.safe_load(NAV2), "the defaults are copied, not changed"


def test_merge_lays_one_tree_over_the_other() -> None:
    assert merge({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": 3}, "d": [2], "e": 4}) == {
        "a": {"b": 3, "c": 2},
        "d": [2],
        "e": 4,
    }


def test_a_parameter_file_that_is_none_is_told(tmp_path: Path) -> None:
    path = tmp_path / "nav2.yaml"
    with pytest.raises(Nav2FileError, match="cannot be read"):
        read(path)
    path.write_text("- a list")
    with pytest.raises(Nav2FileError, match="is not a parameter file"):
        read(path)


# --- MoveIt, and all of it ------------------------------------------------------------------------
def test_move_group_takes_the_robots_own_configuration(ros: Any) -> None:
    [node] = ros.started(LAUNCH / "manipulation.launch.py", moveit_robot="ur5", moveit_package="lab_moveit")
    assert (node.package, node.executable, node.name) == ("moveit_ros_move_group", "move_group", "")
    robot, rest = node.parameters
    assert robot == {"made": ("ur5", "lab_moveit")}
    assert rest["publish_planning_scene"] is True
    assert rest["capabilities"] == "lab/One"
    assert "disable_capabilities" not in rest, "launch_ros rejects an empty text"
    assert node.respawn, "it comes back when it dies"


@pytest.fixture
def parts_of(ros: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start robot.launch.py with arguments, and return the names of what starts."""
    monkeypatch.setattr("quartet_bringup.guard.requirements.installed_version", lambda: ("7.1.11", "a file"))

    def run(**arguments: str) -> list[str]:
        started = ros.started(LAUNCH / "robot.launch.py", **arguments)
        for one in started:
            if isinstance(one, ros.IncludeLaunchDescription):
                Path(dict(one.launch_arguments)["params_file"]).unlink()
        return [
            one.executable if isinstance(one, ros.Node) else one[0] if isinstance(one, tuple) else type(one).__name__
            for one in started
        ]

    return run


ALWAYS = ["robot_guard", "rosbridge_websocket", "rosapi_node", "static_transforms"]
NAVIGATION = ["SetRemap", "IncludeLaunchDescription"]
MOVEIT = {"moveit_robot": "ur5", "moveit_package": "lab_moveit"}


def test_the_guard_and_the_bridge_always_start_and_the_rest_by_choice(parts_of: Any) -> None:
    given = {"robot_file": str(TEMPLATE), "map": "/m.yaml"}
    assert parts_of(**given, **MOVEIT) == [*ALWAYS, *NAVIGATION, "move_group"]
    assert parts_of(**given, navigation="false", manipulation="false") == ALWAYS
    assert parts_of(**given, manipulation="false", cameras="true") == [*ALWAYS, "republish", "republish", *NAVIGATION]


@pytest.mark.parametrize("missing", MOVEIT)
def test_moveit_needs_the_robots_configuration(parts_of: Any, missing: str) -> None:
    given = {name: value for name, value in MOVEIT.items() if name != missing}
    with pytest.raises(
        LaunchArgumentError, match=f"{missing}: '' cannot be used; give {missing}:=.*manipulation:=false"
    ):
        parts_of(robot_file=str(TEMPLATE), map="/m.yaml", **given)


@pytest.mark.parametrize("path", sorted(LAUNCH.glob("*.launch.py")), ids=lambda path: path.name.partition(".")[0])
def test_a_launch_file_without_what_it_needs_names_it(ros: Any, path: Path) -> None:
    needed = "moveit_robot" if path.name.startswith("manipulation") else "robot_file"
    with pytest.raises(RuntimeError, match=f"Required launch argument '{needed}' was not provided"):
        ros.started(path)


def test_every_launch_file_says_what_its_arguments_are_for(ros: Any) -> None:
    for path in LAUNCH.glob("*.launch.py"):
        declared = [entity for entity in ros.described(path) if isinstance(entity, ros.DeclareLaunchArgument)]
        assert declared
        assert all(argument.description for argument in declared), path.name


# --- the package ----------------------------------------------------------------------------------
def test_the_package_says_licence_version_and_what_it_starts() -> None:
    package = ElementTree.parse(PACKAGE / "package.xml")
    assert package.findtext("license") == "Apache-2.0"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert package.findtext("version") == project["version"]
    setup = (PACKAGE / "setup.py").read_text()
    assert f'version="{project["version"]}"' in setup
    needed = {entry.text for entry in package.findall("exec_depend")}
    assert {"rosbridge_server", "rosapi", "image_transport", "nav2_bringup", "moveit_ros_move_group"} <= needed
    rclpy = next(entry for entry in package.findall("exec_depend") if entry.text == "rclpy")
    assert rclpy.get("version_gte") == "7.1.10"
