"""Images of a topic as image content, and those that were saved: view_saved_image."""

import base64
import io
import re
import time
from pathlib import Path
from typing import Annotated, Any

from fastmcp.tools import ToolResult as McpResult
from pydantic import Field

from quartet_contracts.tools.ros import SavedImageResult
from quartet_robot_link import Message
from quartet_tool_server import InvalidArgumentsError, ToolError, ToolServer, as_tool_result

IMAGE_TYPES = ("sensor_msgs/CompressedImage", "sensor_msgs/Image")
MAX_SIDE = 1280
"""Larger pictures are scaled down [pixels]."""
KEEP = 20
"""Saved images; the oldest go first."""
_NAME = re.compile(r"^[A-Za-z0-9_.-]{1,120}\.jpg$")


def folder(server: ToolServer) -> Path:
    """Return the folder in which images are saved."""
    return server.safety.state_dir / f"images-{server.robot.file.name}"


def to_jpeg(topic: str, message: Message) -> bytes:
    """JPEG of an Image or CompressedImage; depth in shades of grey up to its largest value. Raises ToolError."""
    # numpy and Pillow are loaded only where there are images.
    import numpy as np
    from PIL import Image

    from quartet_robot_link.camera import MAX_PIXELS, decode_colour, decode_depth

    try:
        depth = "compressedDepth" in str(message.get("format")) or message.get("encoding") in {
            "16UC1",
            "mono16",
            "32FC1",
        }
        width, height = int(message.get("width", 0)), int(message.get("height", 0))
        if not depth and "encoding" not in message:
            # Only the header is read here: a small file can unpack to gigabytes.
            with Image.open(io.BytesIO(_bytes(message["data"]))) as header:
                width, height = header.size
        if width * height > MAX_PIXELS:
            raise ValueError(f"{width} x {height} pixels are too many, at most {MAX_PIXELS} can be shown")
        if depth:
            metres = decode_depth(message)
            far = float(metres.max()) or 1.0
            pixels: Any = (metres / far * 255).astype(np.uint8)
        else:
            pixels = decode_colour(message)
        picture = Image.fromarray(pixels)
        picture.thumbnail((MAX_SIDE, MAX_SIDE))
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=85)
        return out.getvalue()
    except Exception as error:
        raise ToolError(
            f"the message of {topic} is no image that can be shown: {error}", code="ROS_ERROR", topic=topic
        ) from error


def _bytes(value: Any) -> bytes:
    """uint8[] is base64 text in JSON, bytes in CBOR."""
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def save(server: ToolServer, topic: str, jpeg: bytes) -> str:
    """Keep an image for view_saved_image; its name."""
    place = folder(server)
    place.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^A-Za-z0-9_]+", "_", topic).strip("_")[:60]
    name = f"{time.time_ns():019d}-{stem}.jpg"
    (place / name).write_bytes(jpeg)
    for old in saved(server)[:-KEEP]:
        (place / old).unlink(missing_ok=True)
    return name


def saved(server: ToolServer) -> list[str]:
    """Names of the saved images, the oldest first."""
    return sorted(path.name for path in folder(server).glob("*.jpg"))


def register(server: ToolServer) -> None:
    """Add view_saved_image."""

    @server.tool(result=SavedImageResult, read_only=True)
    async def view_saved_image(
        image_path: Annotated[
            str, Field(max_length=256, description="saved_image of subscribe_once; left out: the newest")
        ] = "",
    ) -> McpResult:
        """Show an image again that subscribe_once saved. Failure: INVALID_PARAMETERS (no such image)."""
        names = saved(server)
        name = image_path or (names[-1] if names else "")
        # Only a bare name that is listed: a path could lead anywhere.
        if not _NAME.match(name) or name not in names:
            newest = ", ".join(names[-3:]) or "none; call subscribe_once on an image topic first"
            raise InvalidArgumentsError(f"there is no saved image '{name}'; saved: {newest}")
        data = (folder(server) / name).read_bytes()
        return as_tool_result(SavedImageResult(image_path=name, size_bytes=len(data)), [(data, "image/jpeg")])
