"""subscribe_once."""

from difflib import get_close_matches
from typing import Annotated, Any, cast

import orjson
from pydantic import Field

from quartet_contracts.tools.ros import MessageResult
from quartet_robot_link import SENSOR, CallTimeout
from quartet_ros.topics import all_topics
from quartet_tool_server import Finite, InvalidArguments, ToolFailure, ToolServer

MAX_ITEMS = 32
"""A longer array is cut, with a mark that tells its length."""
MAX_TEXT = 500
MAX_BYTES = 16_000
"""Size of the message as JSON that a model can still read."""
NEAREST = 5


def register(server: ToolServer) -> None:
    @server.tool
    async def subscribe_once(
        topic: Annotated[str, Field(min_length=1, max_length=256, description="e.g. /odom")],
        msg_type: Annotated[str, Field(max_length=128, description="looked up when left out")] = "",
        timeout: Annotated[Finite, Field(gt=0, le=60, description="seconds to wait")] = 5.0,  # noqa: ASYNC109
    ) -> MessageResult:
        """The next message of a topic. Long arrays and texts are cut, with a mark that tells their length.

        Works with latched and best-effort topics. Images: use perception's look instead. Failures: INVALID_PARAMETERS
        (no such topic or another type; the message has the valid ones), TIMEOUT (nothing was published in time; some
        topics are silent while nothing changes), ROS_ERROR, BRIDGE_UNAVAILABLE.
        """
        robot = server.robot
        topics = await all_topics(robot)
        name = topic if topic.startswith("/") else f"/{topic}"
        known = topics.get(name)
        if known is None:
            raise InvalidArguments(f"topic '{name}' does not exist; {_nearest(name, topics)}")
        if msg_type and _plain(msg_type) != _plain(known):
            raise InvalidArguments(f"topic '{name}' has type {known}, not {msg_type}; leave msg_type out")
        # Without QoS the bridge infers durability, so that a latched message arrives; sensors need best effort.
        qos = SENSOR if known.startswith("sensor_msgs/") else None
        async with robot.link.subscribe(name, known, qos=qos, keep=1) as subscription:
            try:
                message = await subscription.next(timeout)
            except CallTimeout as error:
                raise ToolFailure(
                    f"{error}; the topic exists but is silent", code="TIMEOUT", topic=name, msg_type=known
                ) from error
        short = cast(dict[str, Any], shorten(message))
        size = len(orjson.dumps(short, option=orjson.OPT_SERIALIZE_NUMPY, default=str))
        if size > MAX_BYTES:
            raise ToolFailure(
                f"a message of {name} ({known}) has {size} bytes also after cutting, at most {MAX_BYTES} can be shown",
                code="ROS_ERROR",
                topic=name,
                msg_type=known,
            )
        return MessageResult(topic=name, msg_type=known, msg=short)


def shorten(value: Any) -> Any:
    """`value` with long arrays and texts cut and marked."""
    if isinstance(value, dict):
        return {key: shorten(item) for key, item in cast(dict[str, Any], value).items()}
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]} [... {len(value)} characters in all]"
    if isinstance(value, list):
        items = cast(list[Any], value)
        short = [shorten(item) for item in items[:MAX_ITEMS]]
        return [*short, f"[... {len(items)} items in all]"] if len(items) > MAX_ITEMS else short
    return value


def _plain(msg_type: str) -> str:
    """`pkg/msg/Type` and `pkg/Type` name the same type."""
    return msg_type.replace("/msg/", "/")


def _nearest(name: str, topics: dict[str, str]) -> str:
    near = get_close_matches(name, topics, n=NEAREST, cutoff=0.4)
    return f"similar: {', '.join(near)}" if near else f"get_topics lists the {len(topics)} that there are"
