"""get_topics."""

from typing import Annotated

from pydantic import Field

from quartet_contracts.tools.ros import TopicInfo, TopicsResult
from quartet_robot_link import Robot
from quartet_tool_server import ToolServer

MAX_TOPICS = 200


async def all_topics(robot: Robot) -> dict[str, str]:
    """Type of every topic by name. Raises what call_service raises."""
    response = await robot.link.call_service("/rosapi/topics", timeout_s=10.0)
    return dict(sorted(zip(response["topics"], response["types"], strict=True)))


def register(server: ToolServer) -> None:
    @server.tool
    async def get_topics(
        contains: Annotated[str, Field(max_length=100, description="only topics with this in name or type")] = "",
        limit: Annotated[int, Field(ge=1, le=MAX_TOPICS)] = 30,
    ) -> TopicsResult:
        """Names and message types of the robot's topics, at most `limit` of them, in alphabetical order.

        A robot can have hundreds: narrow with contains (any case, e.g. "camera" or "sensor_msgs"). total counts all
        topics of the robot. Failures: ROS_ERROR (rosapi is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        topics, wanted = await all_topics(server.robot), contains.lower()
        found = [TopicInfo(name=n, type=t) for n, t in topics.items() if wanted in n.lower() or wanted in t.lower()]
        left_out = len(found) - limit
        text = f"{left_out} more match; narrow with contains or raise limit" if left_out > 0 else ""
        return TopicsResult(topics=found[:limit], total=len(topics), message=text)
