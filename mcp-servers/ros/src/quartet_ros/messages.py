"""subscribe_once, subscribe_for_duration."""

import asyncio
import time
from typing import Annotated, Any, Literal, cast

import orjson
from fastmcp.tools import ToolResult as McpResult
from pydantic import Field

from quartet_contracts.tools.ros import MessageResult, MessagesResult
from quartet_robot_link import SENSOR, CallTimeoutError, Message, QoS
from quartet_robot_link.permits import plain
from quartet_ros.graph import Name, known_topic
from quartet_ros.images import IMAGE_TYPES, save, to_jpeg
from quartet_tool_server import (
    REPORT_EVERY_S,
    Finite,
    InvalidArgumentsError,
    ToolError,
    ToolServer,
    as_tool_result,
    report_progress,
)

MAX_ITEMS = 32
"""A longer array is cut, with a mark that tells its length."""
MAX_TEXT = 500
MAX_BYTES = 16_000
"""Size of what is shown as JSON that a model can still read."""

MsgType = Annotated[str, Field(max_length=128, description="looked up when left out")]
QueueLength = Annotated[int, Field(ge=1, le=100, description="messages kept while they wait; the oldest go first")]
Throttle = Annotated[int, Field(ge=0, le=60_000, description="least time between two messages [ms]")]


def register(server: ToolServer) -> None:  # noqa: C901 - a list of small functions
    """Add subscribe_once and subscribe_for_duration."""
    robot = server.robot

    @server.tool(result=MessageResult, read_only=True)
    async def subscribe_once(
        topic: Annotated[Name, Field(description="e.g. /odom")],
        msg_type: MsgType = "",
        timeout: Annotated[Finite, Field(gt=0, le=60, description="seconds to wait")] = 5.0,  # noqa: ASYNC109
        queue_length: QueueLength = 1,
        throttle_rate_ms: Throttle = 0,
        expects_image: Annotated[
            Literal["auto", "true", "false"], Field(description="auto: by the message type")
        ] = "auto",
    ) -> McpResult | MessageResult:
        """The next message of a topic. Long arrays and texts are cut, with a mark that tells their length.

        Works with latched and best-effort topics. An image comes as a picture, and can be seen again with
        view_saved_image. Failures: INVALID_PARAMETERS (no such topic or another type; the message has the valid ones),
        TIMEOUT (nothing was published in time; some topics are silent while nothing changes), ROS_ERROR,
        BRIDGE_UNAVAILABLE.
        """
        name, known = await known_topic(robot, topic, msg_type)
        pictures = plain(known) in IMAGE_TYPES
        if expects_image == "true" and not pictures:
            raise InvalidArgumentsError(f"topic '{name}' has type {known}, which is no image; leave expects_image out")
        async with robot.link.subscribe(
            name, known, qos=_qos(known), keep=queue_length, throttle_ms=throttle_rate_ms
        ) as subscription:
            try:
                message = await subscription.next(timeout)
            except CallTimeoutError as error:
                raise ToolError(
                    f"{error}; the topic exists but is silent", code="TIMEOUT", topic=name, msg_type=known
                ) from error
        if pictures and expects_image != "false":
            jpeg = await asyncio.to_thread(to_jpeg, name, message)
            saved = await asyncio.to_thread(save, server, name, jpeg)
            rest = cast(Message, shorten({key: value for key, value in message.items() if key != "data"}))
            result = MessageResult(topic=name, msg_type=known, msg=rest, saved_image=saved)
            return as_tool_result(result, [(jpeg, "image/jpeg")])
        short = cast(Message, shorten(message))
        size = _size(short)
        if size > MAX_BYTES:
            raise ToolError(
                f"a message of {name} ({known}) has {size} bytes also after cutting, at most {MAX_BYTES} can be shown",
                code="ROS_ERROR",
                topic=name,
                msg_type=known,
            )
        return MessageResult(topic=name, msg_type=known, msg=short)

    @server.tool(read_only=True)
    async def subscribe_for_duration(
        topic: Annotated[Name, Field(description="e.g. /odom")],
        msg_type: MsgType = "",
        duration: Annotated[Finite, Field(gt=0, le=60, description="seconds to listen")] = 5.0,
        max_messages: Annotated[int, Field(ge=1, le=100)] = 100,
        queue_length: QueueLength = 10,
        throttle_rate_ms: Throttle = 0,
    ) -> MessagesResult:
        """Messages of a topic for some seconds, or until max_messages have come. No images: use subscribe_once.

        Long arrays are cut, and at most 16 kB are shown; received counts all that came. A silent topic gives an empty
        list and ok. Failures: INVALID_PARAMETERS, ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        name, known = await known_topic(robot, topic, msg_type)
        if plain(known) in IMAGE_TYPES:
            raise InvalidArgumentsError(f"topic '{name}' carries images ({known}); use subscribe_once for one of them")
        shown: list[Message] = []
        received, size, full, started = 0, 0, False, time.monotonic()
        told_at = started
        async with robot.link.subscribe(
            name, known, qos=_qos(known), keep=queue_length, throttle_ms=throttle_rate_ms
        ) as subscription:
            while received < max_messages and (left := started + duration - time.monotonic()) > 0:
                try:
                    message = await subscription.next(min(left, REPORT_EVERY_S))
                except CallTimeoutError:
                    message = None
                if time.monotonic() - told_at >= REPORT_EVERY_S:
                    told_at = time.monotonic()
                    await report_progress(told_at - started, duration, f"{received} messages came on {name}")
                if message is None:
                    continue
                received += 1
                short = cast(Message, shorten(message))
                size += _size(short)
                full = full or size > MAX_BYTES
                if not full:
                    shown.append(short)
        text = f"{received - len(shown)} more messages came; {MAX_BYTES} bytes are the most that is shown"
        return MessagesResult(
            topic=name,
            msg_type=known,
            messages=shown,
            received=received,
            duration_s=round(time.monotonic() - started, 3),
            message=text if full else "" if received else "nothing was published in this time",
        )


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


def shown_whole(value: Message, what: str) -> Message:
    """`value` shortened. Raises ToolError when it is still too long to be read."""
    short = cast(Message, shorten(value))
    if (size := _size(short)) > MAX_BYTES:
        raise ToolError(
            f"{what} has {size} bytes also after cutting, at most {MAX_BYTES} can be shown", code="ROS_ERROR"
        )
    return short


def _qos(msg_type: str) -> QoS | None:
    # Without QoS the bridge infers durability, so that a latched message arrives; sensors need best effort.
    return SENSOR if msg_type.startswith("sensor_msgs/") else None


def _size(value: Any) -> int:
    return len(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY, default=str))
