"""MCP server for arm and gripper: MoveIt 2 and gripper tools."""

from quartet_moveit import cartesian, execute, gripper, kinematics, objects, plan, plans
from quartet_moveit.execute import actions
from quartet_moveit.fingers import Fingers
from quartet_moveit.held_object import HeldObject
from quartet_moveit.operations import Operations
from quartet_moveit.planner import Planner
from quartet_moveit.shared_space import SPACE
from quartet_tool_server import ServerSpec, ToolServer, current_grant


def register(server: ToolServer) -> None:
    """Add the tools of arm and gripper."""
    operations = Operations(lambda: grant.fence if (grant := current_grant.get()) else 0)
    fingers = Fingers(server.robot)
    held = HeldObject(server.robot, fingers.grasp, operations.outdate)
    planner = Planner(server.robot, held)
    gripper.register(server, planner, fingers)
    for topic in (plan, cartesian, kinematics):
        topic.register(server, planner)
    plans.register(server, operations, planner)
    execute.register(server, operations, held)
    objects.register(server, operations)
    if server.robot.file.arm.bounds_m:
        SPACE.arms[server.site.name, server.robot.file.name] = operations.outdate


SERVER = ServerSpec(
    "moveit",
    register,
    instructions="Moves the arm and the gripper of one robot. Poses are of the tool flange in metres, quaternions x, "
    "y, z, w. One arm motion at a time; stop_execution works at any time.",
    actions=lambda robot, site: actions(robot),
)

__all__ = ["SERVER"]
