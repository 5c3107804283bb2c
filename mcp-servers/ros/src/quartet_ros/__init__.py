"""MCP server for ROS itself: topics, services, nodes, parameters and actions of one robot."""

from quartet_ros import connection, goals, images, messages, nodes, parameters, publish, services, topics
from quartet_tool_server import ToolServer

NAME = "ros"
INSTRUCTIONS = (
    "Looks into the ROS graph of one robot. What publishes, calls, sets or sends goals is denied unless the site file "
    "lists the topic, service, parameter or action by name under ros_writes."
)


def register(server: ToolServer) -> None:
    """Add the tools."""
    for topic in (connection, topics, messages, images, publish, services, nodes, parameters, goals):
        topic.register(server)


__all__ = ["INSTRUCTIONS", "NAME", "register"]
