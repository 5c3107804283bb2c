"""What the guard's ROS adapter takes from its parameters, from robot.yaml and from the rclpy that is installed."""

import math
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quartet_bringup.errors import OldRclpyError, ParameterError
from quartet_bringup.guard.parameters import stopped_actions
from quartet_bringup.guard.requirements import check, installed_version
from quartet_bringup.guard.velocity import VelocityGate
from quartet_bringup.robot_file import read_robot_file


# --- actions ----------------------------------------------------------------------------------------
def test_a_stop_ends_everything_that_moves_base_or_arm_in_the_robots_namespace(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text("name: a\narm: {joints: [b]}\nactions: {navigate_to_pose: /summit/navigate_to_pose}\n")
    names = read_robot_file(path)
    chosen = stopped_actions(names, ["/arm/follow_joint_trajectory", "", "/spin"])
    assert {"/summit/navigate_to_pose", "/summit/follow_path", "/summit/navigate_through_poses"} <= set(chosen)
    assert {"/move_action", "/execute_trajectory", "/arm/follow_joint_trajectory"} <= set(chosen)
    assert len(chosen) == len(set(chosen))
    assert names.gripper not in chosen
    with pytest.raises(ParameterError, match="a cancelled grip may let go"):
        stopped_actions(names, [names.gripper])


# --- velocity ---------------------------------------------------------------------------------------
def test_a_command_of_motion_grows_stale_once() -> None:
    gate = VelocityGate(0.5)
    assert gate.passes([0.3, 0.0], held=False, now=10.0)
    assert not gate.stale(10.5)
    assert gate.stale(10.51)
    assert not gate.stale(10.6)
    assert gate.passes([0.0, 0.0], held=False, now=11.0)
    assert not gate.stale(20.0), "who was told to stand needs no other zero"


def test_nothing_passes_while_held_nor_what_is_no_number() -> None:
    gate = VelocityGate(0.5)
    assert not gate.passes([0.3, 0.0], held=True, now=10.0)
    assert not gate.passes([math.nan, 0.0], held=False, now=10.0)
    assert not gate.passes([0.0, math.inf], held=False, now=10.0)
    assert not gate.stale(11.0)


# --- rclpy ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["7.1.10", "7.1.11", "7.2.0", "9.1.2", "7.1.10-1noble"])
def test_an_rclpy_that_will_do(version: str) -> None:
    check((version, "a file"))


@pytest.mark.parametrize("version", ["7.1.9", "7.0.99", "3.3.15", "", "new"])
def test_an_rclpy_that_will_not_do(version: str) -> None:
    with pytest.raises(OldRclpyError, match=r"7\.1\.10 or newer is needed") as refused:
        check((version, "/opt/ros/jazzy/share/rclpy/package.xml"))
    text = str(refused.value)
    assert f"rclpy {version or 'of unknown version'} is installed, by /opt/ros/jazzy/share/rclpy/package.xml" in text
    assert "allow_old_rclpy:=true" in text


def test_an_rclpy_without_a_version_says_where_it_was_looked_for() -> None:
    with pytest.raises(OldRclpyError, match=r"neither rclpy's package\.xml nor the metadata .* ros-rclpy or rclpy"):
        check(None)


def test_the_version_is_that_of_the_package_in_the_ros_installation(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "package.xml").write_text("<package><version> 7.1.12 </version></package>")
    packages = ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = lambda name: str(tmp_path)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ament_index_python", ModuleType("ament_index_python"))
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", packages)
    assert installed_version() == ("7.1.12", str(tmp_path / "package.xml"))
    versions = {"ros-rclpy": "7.1.13"}

    def of_wheel(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr("importlib.metadata.version", of_wheel)
    assert installed_version() == ("7.1.13", "the metadata of the Python package ros-rclpy"), "package.xml lags"
    versions["ros-rclpy"] = "7.1.5"
    assert installed_version() == ("7.1.12", str(tmp_path / "package.xml")), "the metadata lags"
    versions.clear()
    (tmp_path / "package.xml").unlink()
    assert installed_version() is None, "no rclpy in this environment"
