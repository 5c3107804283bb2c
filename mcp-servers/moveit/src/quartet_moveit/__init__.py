"""MCP server for arm and gripper: MoveIt 2 and gripper tools."""

from quartet_moveit import cartesian, execute, gripper, kinematics, objects, plan, plans, scene, state
from quartet_moveit.operations import Operations
from quartet_moveit.state import actions
from quartet_tool_server import ToolServer
from quartet_tool_server.middleware import current_grant

NAME = "moveit"
INSTRUCTIONS = (
    "Moves the arm and the gripper of one robot. Poses are of the tool flange in metres, quaternions x, y, z, w. One "
    "arm motion at a time; stop_execution works at any time."
)


def register(server: ToolServer) -> None:
    """Add the tools."""
    operations = Operations(lambda: grant.fence if (grant := current_grant.get()) else 0)
    for topic in (plan, cartesian, state, scene, gripper, kinematics):
        topic.register(server)
    for topic in (plans, execute, objects):
        topic.register(server, operations)


__all__ = ["INSTRUCTIONS", "NAME", "actions", "register"]
