"""Nav2 with the names and limits of robot.yaml.

ros2 launch quartet_bringup navigation.launch.py robot_file:=/path/to/robot.yaml map:=/path/to/map.yaml
"""

import tempfile
from pathlib import Path

import yaml
from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import SetRemap

from quartet_bringup.launching import map_for, robot, robot_file_argument, value
from quartet_bringup.nav2_parameters import parameters_for, read


def start(context):
    nav2 = Path(get_package_share_directory("nav2_bringup"))
    parameters = parameters_for(
        robot(context),
        read(nav2 / "params" / "nav2_params.yaml"),
        read(Path(value(context, "nav2_parameters"))),
        stamped=value(context, "stamped_velocity") == "true",
    )
    # Stays after the start: Nav2's nodes read it again when they are respawned.
    with tempfile.NamedTemporaryFile("w", prefix="quartet_nav2_", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(parameters, file)
    given = {
        "params_file": file.name,
        "map": map_for(value(context, "map"), value(context, "slam")),
        "slam": value(context, "slam"),
        "use_respawn": "True",
        "use_composition": "False",
    }
    bringup = PythonLaunchDescriptionSource(str(nav2 / "launch" / "bringup_launch.py"))
    # Nav2 lets its docking server alone send past smoother and collision monitor.
    through_chain = SetRemap("docking_server:cmd_vel", "cmd_vel_nav")
    return [through_chain, IncludeLaunchDescription(bringup, launch_arguments=given.items())]


def generate_launch_description():
    shipped = Path(get_package_share_directory("quartet_bringup")) / "config" / "nav2.yaml"
    return LaunchDescription(
        [
            robot_file_argument(),
            DeclareLaunchArgument("map", default_value="", description="the map's YAML file; not needed with slam"),
            DeclareLaunchArgument("slam", default_value="False", description="True: make a map while driving"),
            DeclareLaunchArgument("nav2_parameters", default_value=str(shipped), description="laid over Nav2's own"),
            DeclareLaunchArgument("stamped_velocity", default_value="false", description="true: TwistStamped"),
            OpaqueFunction(function=start),
        ]
    )
