"""The names that the robot's side takes from Quartet's robot.yaml, so that they are written once.

Quartet itself validates the whole file (docs/robot.md); this reads what ROS needs of it, with the same defaults.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from quartet_bringup.errors import RobotFileError
from quartet_safety.guard import HEARTBEAT_TOPIC, STATE_TOPIC, STOP_SERVICE

_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*")
BRIDGE_URL = "ws://127.0.0.1:9090"
FRAMES = {"map": "map", "odom": "odom", "base": "base_footprint", "tool": "arm_tool0"}
TOPICS = {
    "odom": "/odom",
    "scan": "/scan",
    "tf_static": "/tf_static",
    "joint_states": "/joint_states",
    "guard_state": STATE_TOPIC,
    "guard_heartbeat": HEARTBEAT_TOPIC,
    "velocity": "/cmd_vel",
}
MOTIONS = {
    "navigate_to_pose": "/navigate_to_pose",
    "follow_waypoints": "/follow_waypoints",
    "spin": "/spin",
    "drive_on_heading": "/drive_on_heading",
    "backup": "/backup",
    "dock_robot": "/dock_robot",
    "undock_robot": "/undock_robot",
    "move_group": "/move_action",
    "execute_trajectory": "/execute_trajectory",
}
"""Actions that move base or arm."""
GRIPPER = "/robotiq_gripper_controller/gripper_cmd"
SERVICES = {"guard_stop": STOP_SERVICE}
HEARTBEAT_TIMEOUT_S = 0.4
FOOTPRINT_RADIUS_M = 0.48
LINEAR_SPEED_M_S = 0.5
ANGULAR_SPEED_RAD_S = 0.8


@dataclass(frozen=True)
class Camera:
    """Topics of one camera."""

    name: str
    colour: str
    depth: str
    info: str


@dataclass(frozen=True)
class RobotNames:
    """Names, and the few figures that Nav2 and the guard need as well."""

    name: str
    bridge_address: str
    bridge_port: int
    frames: dict[str, str]
    topics: dict[str, str]
    motions: dict[str, str]
    gripper: str
    services: dict[str, str]
    arm_joints: tuple[str, ...]
    cameras: tuple[Camera, ...]
    heartbeat_timeout_s: float
    footprint_radius_m: float
    linear_speed_m_s: float
    angular_speed_rad_s: float
    holonomic: bool


def read_robot_file(path: Path) -> RobotNames:
    """Return the names in a robot.yaml.

    Raises:
        RobotFileError: the file or a field cannot be used.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RobotFileError(f"{path}: cannot be read: {error}") from error
    root = _Part(path, content)
    bridge = urlsplit(root.text("bridge.url", BRIDGE_URL))
    if bridge.scheme not in ("ws", "wss") or not bridge.hostname:
        raise RobotFileError(f"{path}: bridge.url: it is not a URL such as {BRIDGE_URL}")
    joints = root.value("arm.joints", None)
    if not isinstance(joints, list) or not joints or not all(isinstance(joint, str) for joint in joints):
        raise RobotFileError(f"{path}: arm.joints: {joints!r} is not a list of joint names")
    return RobotNames(
        name=root.text("name", ""),
        bridge_address=bridge.hostname,
        bridge_port=bridge.port or 9090,
        frames={key: root.text(f"frames.{key}", default) for key, default in FRAMES.items()},
        topics={key: root.name(f"topics.{key}", default) for key, default in TOPICS.items()},
        motions={key: root.name(f"actions.{key}", default) for key, default in MOTIONS.items()},
        gripper=root.name("actions.gripper", GRIPPER),
        services={key: root.name(f"services.{key}", default) for key, default in SERVICES.items()},
        arm_joints=tuple(joints),
        cameras=tuple(
            Camera(
                camera,
                root.name(f"cameras.{camera}.colour_topic", ""),
                root.name(f"cameras.{camera}.depth_topic", ""),
                root.name(f"cameras.{camera}.info_topic", ""),
            )
            for camera in root.value("cameras", {})
        ),
        heartbeat_timeout_s=root.number("heartbeat.guard_timeout_s", HEARTBEAT_TIMEOUT_S),
        footprint_radius_m=root.number("base.footprint_radius_m", FOOTPRINT_RADIUS_M),
        linear_speed_m_s=root.number("base.linear_speed_m_s", LINEAR_SPEED_M_S),
        angular_speed_rad_s=root.number("base.angular_speed_rad_s", ANGULAR_SPEED_RAD_S),
        holonomic=root.value("base.holonomic", False) is True,
    )


class _Part:
    """Fields of a file by their dotted path, checked."""

    def __init__(self, path: Path, content: Any) -> None:
        self._path, self._content = path, content

    def value(self, field: str, default: Any) -> Any:
        found = self._content
        for index, key in enumerate(field.split(".")):
            if not isinstance(found, dict):
                where = ".".join(field.split(".")[:index]) or "the file"
                raise RobotFileError(f"{self._path}: {where}: has fields of its own, not {found!r}")
            if key not in found:
                return default
            found = found[key]
        return found

    def text(self, field: str, default: str) -> str:
        found = self.value(field, default)
        if not isinstance(found, str) or not found:
            raise RobotFileError(f"{self._path}: {field}: {found!r} is not a name")
        return found

    def name(self, field: str, default: str) -> str:
        found = self.text(field, default)
        if not _NAME.fullmatch(found):
            raise RobotFileError(f"{self._path}: {field}: '{found}' is not a ROS name such as /odom")
        return found

    def number(self, field: str, default: float) -> float:
        found = self.value(field, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < float("inf"):
            raise RobotFileError(f"{self._path}: {field}: {found!r} is not a positive number")
        return float(found)
