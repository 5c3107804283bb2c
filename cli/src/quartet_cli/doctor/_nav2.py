"""Nav2: its action servers, its services, its nodes active."""

from quartet_cli.doctor._exam import Exam, alike
from quartet_robot_link import LinkError

ACTIONS = ("navigate_to_pose", "spin", "drive_on_heading", "backup")
OPTIONAL = ("follow_waypoints", "compute_path_to_pose", "wait", "dock_robot", "undock_robot")
"""Only single tools need these."""
SERVICES = ("clear_global_costmap", "clear_local_costmap")
LIFECYCLE = "/get_state"
NODES = ("bt_navigator", "controller_server", "planner_server", "behavior_server", "amcl", "map_server")
"""Of Nav2's own names (nav2_bringup); a robot that localises in another way has no amcl and map_server."""
REQUIRED = NODES[:4]
START = (
    "activate it: ros2 service call /lifecycle_manager_navigation/manage_nodes nav2_msgs/srv/ManageLifecycleNodes "
    '"{command: 0}" (for amcl and map_server: /lifecycle_manager_localization), and look into its log if it refuses'
)


async def check_nav2(exam: Exam) -> None:
    file = exam.robot.file
    if exam.graph is None:
        exam.skip("nav2", "which servers run is not known", "mend rosapi first")
        return
    for name in ACTIONS:
        await check_action(exam, "nav2", name, "start Nav2")
    for name in OPTIONAL:
        if getattr(file.actions, name) in exam.graph.actions:
            await check_action(exam, "nav2", name, "start Nav2")
    for name in SERVICES:
        check_name(exam, "nav2", f"services.{name}", getattr(file.services, name), exam.graph.services, "start Nav2")
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


async def _check_state(exam: Exam, node: str, service: str) -> None:
    try:
        answer, took_ms = await exam.timed_call(service)
    except LinkError as error:
        exam.wrong("nav2", f"{node} does not say its state: {error}", f"restart {node}")
        return
    label = str(answer["current_state"]["label"])
    if label == "active":
        exam.ok("nav2", f"{node} is active", latency_ms=took_ms)
    else:
        exam.wrong("nav2", f"{node} is {label}, not active", START)


async def check_action(exam: Exam, step: str, field: str, start: str) -> None:
    """Whether the robot has an action of the robot file, with the type that the servers send."""
    actions = exam.robot.file.actions
    name, needed = str(getattr(actions, field)), actions.TYPES[field]
    if exam.graph is None or not check_name(exam, step, f"actions.{field}", name, exam.graph.actions, start):
        return
    found = await exam.robot.link.action_type(name, timeout_s=exam.patience_s)
    if found is None:
        exam.skip(
            step,
            f"the type of action {name} (actions.{field}) could not be learned",
            f"see that `ros2 action info -t {name}` says {needed} on the robot",
        )
    elif found != needed:
        exam.wrong(
            step,
            f"action {name} is {found}, actions.{field} needs {needed}",
            f"set actions.{field} in robot.yaml to the action server of that type, or {start} of ROS 2 Jazzy: with a "
            "goal of a wrong type the bridge loses the action until it restarts",
        )
    else:
        exam.ok(step, f"action {name} is {found}")


def check_name(exam: Exam, step: str, field: str, name: str, known: set[str], start: str) -> bool:
    """Whether the robot has a service or action of the robot file; a finding only where it has not."""
    if name in known:
        return True
    kind = "action server" if field.startswith("actions") else "service"
    similar = ", ".join(alike(name, known)) or "the name that it has there"
    what = f"the robot has no {kind} {name} ({field})"
    exam.wrong(step, what, f"{start}, or set {field} in robot.yaml to {similar}")
    return False
