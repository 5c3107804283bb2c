"""rosbridge and rosapi: how Quartet reaches the robot.

ros2 launch quartet_bringup bridge.launch.py robot_file:=/path/to/robot.yaml
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from quartet_bringup.guard.requirements import check, installed_version
from quartet_bringup.launching import as_actions, robot, robot_file_argument, value
from quartet_bringup.nodes import bridge


def start(context):
    # rosbridge is what an old rclpy breaks.
    check(installed_version())
    arguments = [value(context, name) for name in ("address", "port", "everywhere")]
    return as_actions(bridge(robot(context), *arguments))


def generate_launch_description():
    return LaunchDescription(
        [
            robot_file_argument(),
            DeclareLaunchArgument("address", default_value="", description="to listen on; empty: that of bridge.url"),
            DeclareLaunchArgument("port", default_value="", description="to listen on; empty: that of bridge.url"),
            DeclareLaunchArgument("everywhere", default_value="false", description="true: every network is meant"),
            OpaqueFunction(function=start),
        ]
    )
