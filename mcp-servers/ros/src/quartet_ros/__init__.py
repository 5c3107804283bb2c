"""MCP server for ROS itself: topics, services, nodes, parameters and actions of one robot."""

from quartet_ros import connection, goals, images, messages, parameters, publish, services, topics
from quartet_tool_server import ServerSpec, ToolServer


def register(server: ToolServer) -> None:
    """Add the tools of the ROS graph."""
    for topic in (connection, topics, messages, images, publish, services, parameters, goals):
        topic.register(server)


SERVER = ServerSpec(
    "ros",
    register,
    instructions="Looks into the ROS graph of one robot. What publishes, calls, sets or sends goals is denied unless "
    "the site file lists the topic, service, parameter or action by name under ros_writes.",
    # The goals that send_action_goal may have sent.
    actions=lambda robot, site: tuple(entry.name for entry in site.ros_writes.actions),
)

__all__ = ["SERVER"]
