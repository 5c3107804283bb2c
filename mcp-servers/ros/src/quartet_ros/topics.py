"""get_topics, get_topic_type, get_topic_details, get_message_details, get_nodes, get_node_details."""

import asyncio
from typing import Annotated

from pydantic import Field

from quartet_contracts.tools.ros import (
    MessageDetailsResult,
    NamesResult,
    NodeDetailsResult,
    TopicDetailsResult,
    TopicInfo,
    TopicsResult,
    TypeResult,
)
from quartet_robot_link.permits import absolute, plain
from quartet_ros.graph import (
    ROSAPI_S,
    Contains,
    Limit,
    Name,
    all_nodes,
    all_topics,
    known_topic,
    page,
    require,
)
from quartet_ros.types import MAX_STRUCTURES, message_structures
from quartet_tool_server import ToolServer

MAX_LISTED = 60
"""Names shown of each list of a node."""


def register(server: ToolServer) -> None:
    """Add the tools of this module: 6 in all."""
    link = server.robot.link

    @server.tool(read_only=True)
    async def get_topics(contains: Contains = "", limit: Limit = 30) -> TopicsResult:
        """Names and message types of the robot's topics, at most `limit` of them, in alphabetical order.

        A robot can have hundreds: narrow with contains (any case, e.g. "camera" or "sensor_msgs"). total counts all
        topics of the robot. Failures: ROS_ERROR (rosapi is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        topics, wanted = await all_topics(server.robot), contains.lower()
        found = [TopicInfo(name=n, type=t) for n, t in topics.items() if wanted in n.lower() or wanted in t.lower()]
        shown, text = page(found, limit)
        return TopicsResult(topics=shown, total=len(topics), message=text)

    @server.tool(read_only=True)
    async def get_topic_type(topic: Name) -> TypeResult:
        """Message type of a topic, e.g. nav_msgs/msg/Odometry of /odom.

        Failures: INVALID_PARAMETERS (no such topic; the message has similar ones), ROS_ERROR, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        name, known = await known_topic(server.robot, topic, "")
        return TypeResult(name=name, type=known)

    @server.tool(read_only=True)
    async def get_topic_details(topic: Name) -> TopicDetailsResult:
        """Message type of a topic and the nodes that publish and subscribe it. Failures: as of get_topic_type."""
        name, known = await known_topic(server.robot, topic, "")
        out, into = await asyncio.gather(
            *(
                link.call_service(f"/rosapi/{role}", {"topic": name}, timeout_s=ROSAPI_S)
                for role in ("publishers", "subscribers")
            )
        )
        return TopicDetailsResult(
            name=name, type=known, publishers=sorted(out["publishers"]), subscribers=sorted(into["subscribers"])
        )

    @server.tool(read_only=True)
    async def get_message_details(
        message_type: Annotated[str, Field(min_length=3, max_length=128, description="e.g. geometry_msgs/msg/Twist")],
    ) -> MessageDetailsResult:
        """Fields of a message type, and of the types inside it. array_length: -1 a single value, 0 any, n exactly n.

        Failures: INVALID_PARAMETERS (no such type on the robot), ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        there = (await link.call_service("/rosapi/interfaces", timeout_s=ROSAPI_S))["interfaces"]
        types = {plain(name): name for name in there if "/msg/" in name}
        require(plain(message_type), types, "message type", "get_topics")
        full = types[plain(message_type)]
        parts = await message_structures(server.robot, full)
        left_out = len(parts) - MAX_STRUCTURES
        text = f"{left_out} more types are inside; ask for them by name" if left_out > 0 else ""
        return MessageDetailsResult(type=full, structures=parts[:MAX_STRUCTURES], message=text)

    @server.tool(read_only=True)
    async def get_nodes(contains: Contains = "", limit: Limit = 50) -> NamesResult:
        """Names of the running ROS nodes, at most `limit`. Failures: ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE."""
        nodes = await all_nodes(server.robot)
        shown, text = page([name for name in nodes if contains.lower() in name.lower()], limit)
        return NamesResult(names=shown, total=len(nodes), message=text)

    @server.tool(read_only=True)
    async def get_node_details(node: Name) -> NodeDetailsResult:
        """Topics that a node publishes and subscribes, and its services; at most 60 of each.

        Failures: INVALID_PARAMETERS (no such node; the message has similar ones), ROS_ERROR, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        name = absolute(node)
        # Looked up first: rosapi 2.7.1 dies of a node that it does not know.
        require(name, await all_nodes(server.robot), "node", "get_nodes")
        found = await server.robot.link.call_service("/rosapi/node_details", {"node": name}, timeout_s=ROSAPI_S)
        lists = {key: sorted(found.get(key) or []) for key in ("publishing", "subscribing", "services")}
        cut = [f"{len(names) - MAX_LISTED} more of {key}" for key, names in lists.items() if len(names) > MAX_LISTED]
        return NodeDetailsResult(
            node=name,
            publishing=lists["publishing"][:MAX_LISTED],
            subscribing=lists["subscribing"][:MAX_LISTED],
            services=lists["services"][:MAX_LISTED],
            message="; ".join(cut),
        )
