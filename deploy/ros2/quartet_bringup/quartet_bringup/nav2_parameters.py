"""Nav2's own parameter file with the robot's names and limits put in.

The file that comes with the installed nav2_bringup is the base, so that it fits its version; config/nav2.yaml is laid
over it, and what robot.yaml says comes last.
"""

import copy
from pathlib import Path
from typing import Any

import yaml

from quartet_bringup.robot_file import RobotNames

BASE_KEYS = ("robot_base_frame", "base_frame_id", "base_frame")
STANDARD_FRAMES = ("map", "odom")
FRAME_KEYS = ("global_frame", "local_frame", "global_frame_id", "odom_frame_id", "fixed_frame")
OMNI_MODEL = "nav2_amcl::OmniMotionModel"
"""AMCL's motion model of a base that drives sideways; Nav2's own file has the differential one."""
VELOCITY_NODES = ("controller_server", "behavior_server", "velocity_smoother", "collision_monitor", "docking_server")
"""Nodes of Nav2 that take enable_stamped_cmd_vel in Jazzy."""


class Nav2FileError(ValueError):
    """A parameter file cannot be used; the text names it and says why."""


def read(path: Path) -> dict[str, Any]:
    """A ROS parameter file. Raises Nav2FileError."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Nav2FileError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise Nav2FileError(f"{path}: is not a parameter file: node names with ros__parameters below them")
    return content


def parameters_for(
    robot: RobotNames, defaults: dict[str, Any], overlay: dict[str, Any], *, stamped: bool
) -> dict[str, Any]:
    """The parameters of all of Nav2's nodes for this robot. stamped: velocities as TwistStamped."""
    merged = _named(merge(defaults, overlay), robot)
    limits = {
        "max_velocity": [robot.linear_speed_m_s, 0.0, robot.angular_speed_rad_s],
        "min_velocity": [-robot.linear_speed_m_s, 0.0, -robot.angular_speed_rad_s],
    }
    # The end of Nav2's chain of velocities is where the guard listens.
    own: dict[str, Any] = {
        "velocity_smoother": limits,
        "collision_monitor": {"cmd_vel_out_topic": robot.topics["velocity"]},
    }
    if robot.holonomic:
        own["amcl"] = {"robot_model_type": OMNI_MODEL}
    for node in VELOCITY_NODES:
        own.setdefault(node, {})["enable_stamped_cmd_vel"] = stamped
    return merge(merged, {node: {"ros__parameters": values} for node, values in own.items()})


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """A copy of `base` in which what `over` says holds."""
    merged = copy.deepcopy(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            merged[key] = merge(below, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _named(tree: dict[str, Any], robot: RobotNames) -> dict[str, Any]:
    """Nav2's standard names replaced by the robot's, wherever they occur."""
    named: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            named[key] = _named(value, robot)
        elif key in BASE_KEYS:
            named[key] = robot.frames["base"]
        elif key in FRAME_KEYS and value in STANDARD_FRAMES:
            named[key] = robot.frames[value]
        elif key == "odom_topic":
            named[key] = robot.topics["odom"]
        elif key in ("topic", "scan_topic") and str(value).lstrip("/") == "scan":
            named[key] = robot.topics["scan"]
        elif key == "robot_radius":
            named[key] = robot.footprint_radius_m
        else:
            named[key] = value
    return named
