"""Everything that Quartet needs on the robot, beside the drivers of base, arm, gripper and cameras.

ros2 launch quartet_bringup robot.launch.py robot_file:=/path/to/robot.yaml map:=/path/to/map.yaml \
    moveit_robot:=ur5 moveit_package:=my_robot_moveit_config
Parts that already run: navigation:=false manipulation:=false. The guard and the bridge always start.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from quartet_bringup.launching import moveit_arguments, robot_file_argument

HERE = Path(get_package_share_directory("quartet_bringup")) / "launch"
PARTS = {"cameras": "false", "navigation": "true", "manipulation": "true"}
"""What can be left out, and whether it is started when nothing is said."""


def include(part, *, choice=False):
    # What a part declares without a default has to be passed on by name; all other arguments reach it as they are.
    needed = moveit_arguments() if part == "manipulation" else [robot_file_argument()]
    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / f"{part}.launch.py")),
        launch_arguments=[(one.name, LaunchConfiguration(one.name)) for one in needed],
        condition=IfCondition(LaunchConfiguration(part)) if choice else None,
    )


def generate_launch_description():
    choices = [
        DeclareLaunchArgument(part, default_value=default, description=f"true: start {part}.launch.py")
        for part, default in PARTS.items()
    ]
    # The guard first: nothing moves before somebody watches.
    always = [include("guard"), include("bridge")]
    return LaunchDescription(
        [
            robot_file_argument(),
            *moveit_arguments(default=""),
            *choices,
            *always,
            *(include(part, choice=True) for part in PARTS),
        ]
    )
