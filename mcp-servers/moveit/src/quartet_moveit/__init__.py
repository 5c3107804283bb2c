"""MCP server for arm and gripper: MoveIt 2 and gripper tools."""

from quartet_moveit import cartesian, gripper, plan, scene, state
from quartet_moveit.state import actions
from quartet_tool_server import ToolServer

NAME = "moveit"
INSTRUCTIONS = (
    "Moves the arm and the gripper of one robot. Poses are of the tool flange in metres, quaternions x, y, z, w. One "
    "arm motion at a time; stop_execution works at any time."
)


def register(server: ToolServer) -> None:
    """Add the tools."""
    for topic in (plan, cartesian, state, scene, gripper):
        topic.register(server)


__all__ = ["INSTRUCTIONS", "NAME", "actions", "register"]
