"""MCP server for ROS introspection: topics and messages."""

from quartet_ros import messages, topics
from quartet_tool_server import ToolServer

NAME = "ros"
INSTRUCTIONS = "Looks into the ROS graph of one robot. Nothing here moves it."


def register(server: ToolServer) -> None:
    """Add the tools."""
    topics.register(server)
    messages.register(server)


__all__ = ["INSTRUCTIONS", "NAME", "register"]
