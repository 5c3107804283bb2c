"""Nav2: its action servers, its services, its nodes active."""

from quartet_cli.doctor.examination import Examination, check_action, check_service
from quartet_robot_link import RobotLinkError

ACTIONS = ("navigate_to_pose", "spin", "drive_on_heading", "backup")
OPTIONAL = ("follow_waypoints", "compute_path_to_pose", "wait", "dock_robot", "undock_robot")
"""Actions that only single tools need."""
SERVICES = ("clear_global_costmap", "clear_local_costmap")
LIFECYCLE = "/get_state"
NODES = ("bt_navigator", "controller_server", "planner_server", "behavior_server", "amcl", "map_server")
"""Names of nav2_bringup; a robot that localises in another way has no amcl and map_server."""
REQUIRED = NODES[:4]
START = (
    "activate it: ros2 service call /lifecycle_manager_navigation/manage_nodes nav2_msgs/srv/ManageLifecycleNodes "
    '"{command: 0}" (for amcl and map_server: /lifecycle_manager_localization), and look into its log if it refuses'
)


async def check_nav2(exam: Examination) -> None:
    """Check Nav2's actions, services and nodes."""
    file = exam.robot.file
    if exam.graph is None:
        exam.skip("nav2", "which servers run is not known", "get rosapi to run first")
        return
    for name in ACTIONS:
        await check_action(exam, "nav2", name, "start Nav2")
    for name in OPTIONAL:
        if getattr(file.actions, name) in exam.graph.actions:
            await check_action(exam, "nav2", name, "start Nav2")
    for name in SERVICES:
        await check_service(exam, "nav2", name, "start Nav2")
    states = {
        service.removesuffix(LIFECYCLE).rpartition("/")[2]: service
        for service in exam.graph.services
        if service.endswith(LIFECYCLE)
    }
    for node in NODES:
        if node in states:
            await _check_state(exam, node, states[node])
        elif node in REQUIRED:
            exam.wrong(
                "nav2", f"Nav2's node {node} does not run", "start Nav2: ros2 launch nav2_bringup bringup_launch.py"
            )


async def _check_state(exam: Examination, node: str, service: str) -> None:
    try:
        answer, took_ms = await exam.timed_call(service)
    except RobotLinkError as error:
        exam.wrong("nav2", f"{node} does not say its state: {error}", f"restart {node}")
        return
    label = str(answer["current_state"]["label"])
    if label == "active":
        exam.ok("nav2", f"{node} is active", latency_ms=took_ms)
    else:
        exam.wrong("nav2", f"{node} is {label}, not active", START)
