"""The robot guard.

ros2 launch quartet_bringup guard.launch.py robot_file:=/path/to/robot.yaml guard_parameters:=/path/to/guard.yaml
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from quartet_bringup.launching import as_actions, robot_file_argument, value
from quartet_bringup.nodes import guard


def start(context):
    topics = [value(context, name) for name in ("velocity_topic", "velocity_input_topic")]
    return as_actions([guard(Path(value(context, "robot_file")), Path(value(context, "guard_parameters")), *topics)])


def generate_launch_description():
    shipped = Path(get_package_share_directory("quartet_bringup")) / "config" / "guard.yaml"
    return LaunchDescription(
        [
            robot_file_argument(),
            DeclareLaunchArgument("guard_parameters", default_value=str(shipped), description="its parameter file"),
            DeclareLaunchArgument("velocity_topic", default_value="", description="empty: that of the file"),
            DeclareLaunchArgument("velocity_input_topic", default_value="", description="empty: that of the file"),
            OpaqueFunction(function=start),
        ]
    )
