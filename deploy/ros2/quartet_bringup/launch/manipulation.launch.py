"""MoveIt's move_group with the robot's own MoveIt configuration package.

ros2 launch quartet_bringup manipulation.launch.py moveit_robot:=ur5 moveit_package:=my_robot_moveit_config
"""

from launch import LaunchDescription
from launch.actions import OpaqueFunction
from launch_ros.actions import Node
from moveit_configs_utils import MoveItConfigsBuilder

from quartet_bringup.launching import moveit_arguments, needed
from quartet_bringup.nodes import RESPAWN_DELAY_S

# The parameters of generate_move_group_launch in moveit_configs_utils, whose node is not respawned:
# https://github.com/moveit/moveit2/blob/main/moveit_configs_utils/moveit_configs_utils/launches.py
MOVE_GROUP = {
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
    # Older versions have none; launch_ros rejects an empty text as a parameter.
    capabilities = {name: text for name, text in getattr(configuration, "move_group_capabilities", {}).items() if text}
    # Without a name: the process has several nodes, and the name would apply to all of them.
    return [
        Node(
            package="moveit_ros_move_group",
            executable="move_group",
            parameters=[configuration.to_dict(), MOVE_GROUP | capabilities],
            output="screen",
            respawn=True,
            respawn_delay=RESPAWN_DELAY_S,
        )
    ]


def generate_launch_description():
    return LaunchDescription([*moveit_arguments(), OpaqueFunction(function=start)])
