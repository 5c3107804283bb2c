"""MoveIt's move_group with the robot's own MoveIt configuration package.

ros2 launch quartet_bringup manipulation.launch.py moveit_robot:=ur5 moveit_package:=my_robot_moveit_config
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_move_group_launch

from quartet_bringup.launching import value


def start(context):
    package = value(context, "moveit_package")
    configuration = MoveItConfigsBuilder(value(context, "moveit_robot"), package_name=package).to_moveit_configs()
    return generate_move_group_launch(configuration).entities


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument("moveit_robot", description="the robot's name in its URDF"),
            DeclareLaunchArgument("moveit_package", description="what MoveIt's setup assistant made for it"),
            OpaqueFunction(function=start),
        ]
    )
