"""MoveIt's move_group with the robot's own MoveIt configuration package.

ros2 launch quartet_bringup manipulation.launch.py moveit_robot:=ur5 moveit_package:=my_robot_moveit_config
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from moveit_configs_utils import MoveItConfigsBuilder
from moveit_configs_utils.launches import generate_move_group_launch

from quartet_bringup.launching import moveit_arguments, needed


def start(context):
    package = needed(context, "moveit_package")
    configuration = MoveItConfigsBuilder(needed(context, "moveit_robot"), package_name=package).to_moveit_configs()
    return generate_move_group_launch(configuration).entities


def generate_launch_description():
    return LaunchDescription([*moveit_arguments(), OpaqueFunction(function=start)])
