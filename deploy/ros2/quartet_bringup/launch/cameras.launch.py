"""Compressed pictures from cameras whose drivers publish raw ones alone.

ros2 launch quartet_bringup cameras.launch.py robot_file:=/path/to/robot.yaml
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction

from quartet_bringup.launching import as_actions, robot, robot_file_argument
from quartet_bringup.nodes import compressors


def start(context):
    return as_actions(compressors(robot(context)))


def generate_launch_description():
    return LaunchDescription([robot_file_argument(), OpaqueFunction(function=start)])
