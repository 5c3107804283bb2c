"""MCP server for the base: navigation tools over Nav2."""

from quartet_nav2 import approach, behaviours, control, docking, navigate, path, waiting, waypoints, whereabouts
from quartet_nav2.control import actions
from quartet_tool_server import ToolServer

NAME = "nav2"
INSTRUCTIONS = (
    "Drives the base of one robot. Poses are in the map frame in metres and radians. One motion at a time; "
    "cancel_navigation works at any time."
)


def register(server: ToolServer) -> None:
    """Add the tools."""
    for topic in (navigate, waypoints, path, waiting, behaviours, approach, docking, control, whereabouts):
        topic.register(server)


__all__ = ["INSTRUCTIONS", "NAME", "actions", "register"]
