"""MoveIt's move_group with the robot's own MoveIt configuration package.

ros2 launch quartet_bringup manipulation.launch.py moveit_robot:=ur5 moveit_package:=my_robot_moveit_config
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node
from moveit_configs_utils import MoveItConfigsBuilder

from quartet_bringup.launching import moveit_arguments, needed
from quartet_bringup.nodes import RESPAWN_DELAY_S

# What generate_move_group_launch of moveit_configs_utils sets as well, whose node does not come back when it dies.
PUBLISHED = {
    "publish_robot_description_semantic": True,
    "publish_planning_scene": True,
    "publish_geometry_updates": True,
    "publish_state_updates": True,
    "publish_transforms_updates": True,
    "monitor_dynamics": False,
    "allow_trajectory_execution": True,
}


def start(context):
    package = needed(context, "moveit_package")
    configuration = MoveItConfigsBuilder(needed(context, "moveit_robot"), package_name=package).to_moveit_configs()
    capabilities = getattr(configuration, "move_group_capabilities", {})
    # Without a name of its own: the process has several nodes, and a name would be that of all.
    return [
        Node(
            package="moveit_ros_move_group",
            executable="move_group",
            parameters=[configuration.to_dict(), capabilities, PUBLISHED],
            output="screen",
            respawn=True,
            respawn_delay=RESPAWN_DELAY_S,
        )
    ]


def generate_launch_description():
    return LaunchDescription([*moveit_arguments(), OpaqueFunction(function=start)])
