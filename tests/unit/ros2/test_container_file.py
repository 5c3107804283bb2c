"""The container of deploy/ros2: read, not built; its base image and packages are not to be had in the tests."""

import os
import re
from pathlib import Path

import pytest
import yaml

ROS2 = Path(__file__).resolve().parents[3] / "deploy" / "ros2"
PACKAGE = ROS2 / "quartet_bringup"
DOCKERFILE = (ROS2 / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((ROS2 / "compose.yaml").read_text())


def test_the_image_is_jazzy_runs_as_nobody_special_and_refuses_an_old_rclpy() -> None:
    assert re.search(r"^ARG ROS_IMAGE=ros:jazzy-ros-base\nFROM \$\{ROS_IMAGE\}$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1] != "root"
    assert "check(installed_version())" in DOCKERFILE


def test_a_release_gives_the_base_image_by_its_digest() -> None:
    """The file that the workflow writes names the argument that compose hands to the build."""
    assert COMPOSE["services"]["ros2"]["build"]["args"] == {"ROS_IMAGE": "${ROS_IMAGE:-ros:jazzy-ros-base}"}
    workflow = yaml.safe_load((ROS2.parents[1] / ".github" / "workflows" / "images.yml").read_text())
    steps = workflow["jobs"]["images"]["steps"]
    (pin,) = [step["run"] for step in steps if step.get("name") == "Pin"]
    assert 'echo "ROS_IMAGE=ros:jazzy-ros-base@$digest" >ros2.env' in pin
    (kept,) = [step["with"]["path"].split() for step in steps if "upload-artifact" in step.get("uses", "")]
    assert "ros2.env" in kept


@pytest.mark.parametrize(
    ("needed", "package"),
    [
        ("rosbridge_server", "ros-jazzy-rosbridge-suite"),
        ("nav2_bringup", "ros-jazzy-nav2-bringup"),
        ("moveit_ros_move_group", "ros-jazzy-moveit"),
        ("image_transport_plugins", "ros-jazzy-image-transport-plugins"),
    ],
)
def test_what_the_package_needs_is_installed(needed: str, package: str) -> None:
    assert f"<exec_depend>{needed}</exec_depend>" in (PACKAGE / "package.xml").read_text()
    assert re.search(rf"^\s+{package}( \\)?$", DOCKERFILE, re.MULTILINE)


def test_what_is_copied_and_launched_is_there() -> None:
    for source in re.findall(r"^COPY (?:--\S+ )?(\S+) ", DOCKERFILE, re.MULTILINE):
        assert (ROS2.parents[1] / source).exists(), source
    assert os.access(ROS2 / "entrypoint", os.X_OK)
    command = COMPOSE["services"]["ros2"]["command"].split()
    assert command[:4] == ["ros2", "launch", "quartet_bringup", "robot.launch.py"]
    assert (PACKAGE / "launch" / command[3]).is_file()
    build = COMPOSE["services"]["ros2"]["build"]
    assert (ROS2 / build["context"] / build["dockerfile"]).is_file()


def test_the_guards_core_is_in_the_package_in_the_repository_and_in_the_image() -> None:
    """A relative link, which setuptools and colcon follow; the image lays both folders out as the repository does."""
    link, core = PACKAGE / "quartet_safety", ROS2.parents[1] / "libs" / "safety" / "src" / "quartet_safety"
    assert link.resolve() == core
    assert not link.readlink().is_absolute()
    copied = dict(re.findall(r"^COPY (?:--\S+ )?(\S+) (\S+)$", DOCKERFILE, re.MULTILINE))
    package = Path(copied["deploy/ros2/quartet_bringup"])
    assert os.path.normpath(package / link.readlink()) == copied["libs/safety/src/quartet_safety"]


def test_the_health_check_asks_the_guards_port() -> None:
    guard = yaml.safe_load((PACKAGE / "config" / "guard.yaml").read_text())["robot_guard"]["ros__parameters"]
    assert f"http://{guard['http_host']}:{guard['http_port']}/state" in DOCKERFILE


def test_the_compose_file_holds_no_secret_publishes_no_port_and_keeps_the_latch() -> None:
    service = COMPOSE["services"]["ros2"]
    assert "ports" not in service
    assert "privileged" not in service
    assert service["restart"] == "unless-stopped"
    assert not [name for name in service["environment"] if name.endswith(("TOKEN", "KEY", "PASSWORD"))]
    home = re.search(r"^ENV ROS_HOME=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert home is not None
    volumes = [volume.rpartition(":")[2] for volume in service["volumes"] if volume.startswith("latch:")]
    assert volumes
    assert home[1].startswith(volumes[0])
