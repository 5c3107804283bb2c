"""Plain data to launch actions; the one module that knows launch_ros."""

from collections.abc import Iterable
from pathlib import Path

from launch.actions import DeclareLaunchArgument
from launch.launch_context import LaunchContext
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from quartet_bringup.errors import LaunchArgumentError
from quartet_bringup.nodes import RESPAWN_DELAY_S, NodeSpec
from quartet_bringup.robot_file import RobotNames, read_robot_file


def as_actions(specs: Iterable[NodeSpec]) -> list[Node]:
    """Nodes that come back when they die."""
    return [
        Node(
            package=spec.package,
            executable=spec.executable,
            name=spec.name,
            parameters=spec.parameters,
            remappings=spec.remappings,
            output="screen",
            respawn=True,
            respawn_delay=RESPAWN_DELAY_S,
        )
        for spec in specs
    ]


def robot_file_argument() -> DeclareLaunchArgument:
    """Return the launch argument `robot_file`, which has no default."""
    return DeclareLaunchArgument("robot_file", description="Quartet's robot.yaml of this robot")


def moveit_arguments(*, default: str | None = None) -> list[DeclareLaunchArgument]:
    """Return the launch arguments that name the robot's MoveIt configuration."""
    return [
        DeclareLaunchArgument("moveit_robot", default_value=default, description="the robot's name in its URDF"),
        DeclareLaunchArgument(
            "moveit_package", default_value=default, description="what MoveIt's setup assistant made for it"
        ),
    ]


def needed(context: LaunchContext, name: str) -> str:
    """Return the value of a launch argument. Raises LaunchArgumentError if it is empty."""
    if found := value(context, name):
        return found
    raise LaunchArgumentError(f"{name}: '' cannot be used; give {name}:=..., or manipulation:=false without MoveIt")


def map_for(path: str, slam: str) -> str:
    """Return the map's path for Nav2, whose map server cannot be configured without one. Raises LaunchArgumentError."""
    if path or slam.lower() in {"true", "1"}:
        return path
    raise LaunchArgumentError("map: '' cannot be used; give map:=/path/to/map.yaml, or slam:=True to make a map")


def value(context: LaunchContext, name: str) -> str:
    """Of a launch argument."""
    return LaunchConfiguration(name).perform(context)


def robot(context: LaunchContext) -> RobotNames:
    """Raises RobotFileError, which ends the launch."""
    return read_robot_file(Path(value(context, "robot_file")))
