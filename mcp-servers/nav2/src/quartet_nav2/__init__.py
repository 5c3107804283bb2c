"""MCP server for the base: navigation tools over Nav2."""

from quartet_contracts.tools.nav2 import NavCode
from quartet_nav2 import approach, behaviours, control, docking, navigate, path, waypoints
from quartet_nav2.control import actions
from quartet_tool_server import ServerSpec, ToolServer


def register(server: ToolServer) -> None:
    """Add the tools of the base."""
    for topic in (navigate, waypoints, path, behaviours, approach, docking, control):
        topic.register(server)


SERVER = ServerSpec(
    "nav2",
    register,
    instructions="Drives the base of one robot. Poses are in the map frame in metres and radians. One motion at a "
    "time; cancel_navigation works at any time.",
    actions=lambda robot, site: actions(robot),
    canceled_code=NavCode.NAVIGATION_CANCELED,
)

__all__ = ["SERVER"]
