"""Queries of the ROS graph, limited to requests that rosapi survives.

rosapi 2.7.1 dies of action_type, of node_details and get_param for an unknown node, and of action_goal_details of a
large action. So names are looked up in a list first, parameters go through the nodes' own services, and the type of an
action comes from robot.yaml, site.yaml or RobotLink.action_type, which asks the bridge and not rosapi.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, TypeVar

from pydantic import Field

from quartet_robot_link import Robot
from quartet_robot_link.permits import absolute, plain
from quartet_tool_server import InvalidArgumentsError

ROSAPI_S = 10.0
NEAREST = 5
MAX_SHOWN = 200

T = TypeVar("T")

Name = Annotated[str, Field(min_length=1, max_length=256)]
Contains = Annotated[str, Field(max_length=100, description="only those with this in their name or type, any case")]
Limit = Annotated[int, Field(ge=1, le=MAX_SHOWN)]


async def all_topics(robot: Robot) -> dict[str, str]:
    """Type of every topic by name. Raises what call_service raises."""
    response = await robot.link.call_service("/rosapi/topics", timeout_s=ROSAPI_S)
    return dict(sorted(zip(response["topics"], response["types"], strict=True)))


async def all_services(robot: Robot) -> list[str]:
    """Every service but the hidden ones."""
    return sorted((await robot.link.call_service("/rosapi/services", timeout_s=ROSAPI_S))["services"])


async def all_nodes(robot: Robot) -> list[str]:
    """Every node."""
    return sorted((await robot.link.call_service("/rosapi/nodes", timeout_s=ROSAPI_S))["nodes"])


async def all_actions(robot: Robot) -> list[str]:
    """Every action server."""
    return sorted((await robot.link.call_service("/rosapi/action_servers", timeout_s=ROSAPI_S))["action_servers"])


async def known_topic(robot: Robot, topic: str, msg_type: str) -> tuple[str, str]:
    """Name and type of a topic that exists. Raises InvalidArgumentsError."""
    topics, name = await all_topics(robot), absolute(topic)
    require(name, topics, "topic", "get_topics")
    known = topics[name]
    if msg_type and plain(msg_type) != plain(known):
        raise InvalidArgumentsError(f"topic '{name}' has type {known}, not {msg_type}; leave msg_type out")
    return name, known


def require(name: str, there: Iterable[str], what: str, lister: str) -> None:
    """Raises InvalidArgumentsError, with similar names, when `name` is not one of `there`."""
    names = list(there)
    if name not in names:
        near = get_close_matches(name, names, n=NEAREST, cutoff=0.4)
        hint = f"similar: {', '.join(near)}" if near else f"{lister} lists the {len(names)} that there are"
        raise InvalidArgumentsError(f"{what} '{name}' does not exist; {hint}")


def page(found: list[T], limit: int) -> tuple[list[T], str]:
    """The first `limit` and a note about the rest."""
    left_out = len(found) - limit
    text = f"{left_out} more match; narrow with contains or raise limit" if left_out > 0 else ""
    return found[:limit], text
