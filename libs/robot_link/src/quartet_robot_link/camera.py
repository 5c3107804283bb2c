"""Camera frames: one matching set of colour, depth and calibration, as arrays."""

import asyncio
import io
import re
import struct
import time
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from quartet_process import tracing
from quartet_robot_link._clock import stamp_of
from quartet_robot_link._decode import binary
from quartet_robot_link._lens import read_lens, without_distortion
from quartet_robot_link._rvl import decode_rvl
from quartet_robot_link.errors import BadFrameError, BridgeUnavailableError, CameraUnavailableError
from quartet_robot_link.link import SENSOR, Message, RobotLink

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

    from quartet_site import Camera

Matrix = NDArray[np.float64]
T = TypeVar("T")

MATCH_S = 0.02
"""Colour and depth belong together when their stamps are at most this far apart [s]: less than a frame at 30 Hz."""
KEEP = 8
"""Unmatched messages kept of each topic."""
MAX_PIXELS = 40_000_000
"""Largest picture that is decoded; more is a mistake or an attack."""
STAMP_SLACK_S = 1e-6
"""Two stamps of one moment may differ by rounding."""


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole calibration [pixels] of the rectified image."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True)
class CameraSnapshot:
    """What a camera saw at one moment, and where it was then.

    stamp: of the depth [s, ROS time]; the colour may be MATCH_S older or newer. colour: (H, W, 3) uint8 RGB. depth:
    (H, W) float32 [m] along the optical axis, aligned to colour; 0 where there is no return. Optical frame: x right, y
    down, z forward. base_from_camera and map_from_base take points of the right frame into the left one; map_from_base
    is None where the robot is not localised.
    """

    camera: str
    stamp: float
    frame: str
    colour: NDArray[np.uint8]
    depth: NDArray[np.float32]
    intrinsics: Intrinsics
    base_from_camera: Matrix
    map_from_base: Matrix | None
    jpeg: bytes | None
    """The colour image as the robot sent it, if that was a JPEG without distortion."""


@dataclass(frozen=True)
class Frames:
    """Colour, depth and calibration of one moment, decoded, without the pose of the camera."""

    stamp: float
    """Of the depth, which says where things are [s, ROS time]."""
    frame: str
    """As the robot file names it."""
    colour_frame: str
    """As the colour image names it."""
    colour: NDArray[np.uint8]
    depth: NDArray[np.float32]
    intrinsics: Intrinsics
    jpeg: bytes | None
    straightened: bool = False
    """Whether the distortion of the lens was removed here, since the robot sends raw images."""


async def capture(
    link: RobotLink, camera: "Camera", *, timeout_s: float, since: Callable[[], float | None] = lambda: None
) -> Frames:
    """Return the first colour, depth and calibration that match; subscribes only for this.

    The distortion of raw images is removed by the calibration's coefficients; those of a topic `image_rect` have none.
    `since` returns the earliest stamp that counts [s, ROS time], None for any. Raises CameraUnavailableError,
    BridgeUnavailableError.
    """
    wanted = {
        "colour": (camera.colour_topic, _image_type(camera.colour_topic)),
        "depth": (camera.depth_topic, _image_type(camera.depth_topic)),
        "info": (camera.info_topic, "sensor_msgs/msg/CameraInfo"),
    }
    seen: dict[str, dict[float, Message]] = {name: {} for name in wanted}
    changed = asyncio.Event()

    def keep(name: str, message: Message) -> None:
        seen[name][stamp_of(message)] = message
        while len(seen[name]) > KEEP:
            del seen[name][next(iter(seen[name]))]
        changed.set()

    deadline = time.monotonic() + timeout_s
    async with AsyncExitStack() as stack:
        for name, (topic, msg_type) in wanted.items():
            subscription = link.subscribe(
                topic,
                msg_type,
                qos=SENSOR,
                compression="cbor",
                on_message=lambda message, name=name: keep(name, message),
            )
            stack.callback(subscription.close)
        stack.enter_context(tracing.step(f"rosbridge {camera.colour_topic}"))
        while True:
            match = _match(seen, since())
            if match is not None:
                break
            changed.clear()
            try:
                await asyncio.wait_for(changed.wait(), deadline - time.monotonic())
            except TimeoutError:
                if not link.connected:
                    raise BridgeUnavailableError("the connection to the robot's rosbridge is down") from None
                raise CameraUnavailableError(_missing(wanted, seen, timeout_s, since())) from None
    colour, depth, info = match
    lens = _read(read_lens, info, camera.info_topic)
    topics = camera.colour_topic, camera.depth_topic
    target = lens.rectified if any(map(_is_rectified, topics)) else lens.raw
    bent = [not _is_rectified(topic) and (bool(lens.coefficients) or target != lens.raw) for topic in topics]
    pixels = _read(decode_colour, colour, camera.colour_topic)
    metres = _read(decode_depth, depth, camera.depth_topic)
    picture = binary(colour["data"])
    is_jpeg = picture[:2] == b"\xff\xd8"
    return Frames(
        stamp=stamp_of(depth),
        frame=camera.frame,
        colour_frame=str(colour["header"].get("frame_id", "")).lstrip("/"),
        colour=without_distortion(pixels, lens, target) if bent[0] else pixels,
        depth=without_distortion(metres, lens, target) if bent[1] else metres,
        intrinsics=Intrinsics(lens.width, lens.height, target.fx, target.fy, target.cx, target.cy),
        jpeg=picture if is_jpeg and not bent[0] else None,
        straightened=any(bent),
    )


def _read(decode: Callable[[Message], T], message: Message, topic: str) -> T:
    """Return the decoded message. Raises BadFrameError, whatever is wrong with it."""
    try:
        return decode(message)
    except BadFrameError:
        raise
    except Exception as error:
        what = f"{message.get('encoding') or message.get('format') or 'no format'}, {type(error).__name__}: {error}"
        raise BadFrameError(
            f"a message on {topic} cannot be read ({what[:300]}); let the camera publish JPEG or PNG as colour, and "
            "16UC1, 32FC1 or compressedDepth (png or rvl) as depth, of the size that the message says"
        ) from error


def decode_colour(message: Message) -> NDArray[np.uint8]:
    """Return (H, W, 3) uint8 RGB of a sensor_msgs CompressedImage or Image.

    CompressedImage: JPEG or PNG. Image: rgb8, bgr8, rgba8, bgra8 or mono8. Raises
    BadFrameError for an encoding that is not supported, and whatever a damaged picture leads to.
    """
    data = binary(message["data"])
    if "encoding" not in message:
        with _opened(data) as image:
            return np.asarray(image.convert("RGB"))
    channels = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}.get(message["encoding"])
    if channels is None:
        raise BadFrameError(
            f"colour encoding '{message['encoding']}' is not supported; valid: rgb8, bgr8, rgba8, bgra8, mono8"
        )
    height, width, step = int(message["height"]), int(message["width"]), int(message["step"])
    rows = np.frombuffer(data, np.uint8).reshape(height, step)[:, : width * channels].reshape(height, width, channels)
    if channels == 1:
        return np.repeat(rows, 3, axis=2)
    return np.ascontiguousarray(rows[:, :, 2::-1] if message["encoding"].startswith("bgr") else rows[:, :, :3])


def decode_depth(message: Message) -> NDArray[np.float32]:
    """Return (H, W) float32 [m], 0 for no return, of a sensor_msgs Image or a compressedDepth CompressedImage.

    Encodings: 16UC1 [mm], 32FC1 [m]. Raises BadFrameError for others, and whatever a damaged picture leads to.
    """
    data = binary(message["data"])
    if "encoding" not in message:
        return _compressed_depth(str(message.get("format", "")), data)
    height, width, step = int(message["height"]), int(message["width"]), int(message["step"])
    encoding = message["encoding"]
    order = ">" if message.get("is_bigendian") else "<"
    rows = np.frombuffer(data, np.uint8).reshape(height, step)
    if encoding in {"16UC1", "mono16"}:
        raw = np.ascontiguousarray(rows[:, : width * 2]).view(f"{order}u2")
        return raw.astype(np.float32) / np.float32(1000.0)
    if encoding == "32FC1":
        raw = np.ascontiguousarray(rows[:, : width * 4]).view(f"{order}f4").astype(np.float32)
        return np.where(np.isfinite(raw), raw, np.float32(0))
    raise BadFrameError(f"depth encoding '{encoding}' is not supported; valid: 16UC1, 32FC1, compressedDepth")


def _compressed_depth(text: str, data: bytes) -> NDArray[np.float32]:
    """Decode a header of 12 bytes (format, quantisation a, b) and the 16-bit PNG or RVL data after it.

    Source: ros-perception/image_transport_plugins, compressed_depth_image_transport/codec.cpp.
    """
    _, a, b = struct.unpack("<iff", data[:12])
    if text.rstrip().endswith(" rvl"):
        raw = decode_rvl(data[12:], MAX_PIXELS).astype(np.float32)
    else:
        with _opened(data[12:]) as image:
            raw = np.asarray(image).astype(np.float32)
    if text.startswith("32FC1"):
        with np.errstate(divide="ignore"):
            metres = np.where(raw > 0, np.float32(a) / (raw - np.float32(b)), np.float32(0))
        return metres.astype(np.float32)
    return raw / np.float32(1000.0)


@contextmanager
def _opened(data: bytes) -> "Generator[PillowImage]":
    """Open a compressed picture. Raises ValueError for one of too many pixels, before it is unpacked."""
    from PIL import Image

    # Only the header is read by now: a small file can unpack to gigabytes.
    with Image.open(io.BytesIO(data)) as image:
        if image.width * image.height > MAX_PIXELS:
            raise ValueError(f"{image.width} x {image.height} pixels are too many, at most {MAX_PIXELS}")
        yield image


def _is_rectified(topic: str) -> bool:
    """Return whether images of a topic are rectified, as image_proc calls those: image_rect, image_rect_color ..."""
    return "image_rect" in topic


def _image_type(topic: str) -> str:
    compressed = re.search(r"/compressed(Depth)?$", topic)
    return "sensor_msgs/msg/CompressedImage" if compressed else "sensor_msgs/msg/Image"


def _match(
    seen: dict[str, dict[float, Message]], since: float | None = None
) -> tuple[Message, Message, Message] | None:
    """Return the newest depth with a colour of the same moment; calibration changes slowly, so any will do."""
    if not seen["info"]:
        return None
    for stamp in sorted(seen["depth"], reverse=True):
        if since is not None and stamp < since - STAMP_SLACK_S:
            return None
        near = min(seen["colour"], key=lambda other: abs(other - stamp), default=None)
        if near is not None and abs(near - stamp) <= MATCH_S:
            return seen["colour"][near], seen["depth"][stamp], next(reversed(seen["info"].values()))
    return None


def _missing(
    wanted: dict[str, tuple[str, str]],
    seen: dict[str, dict[float, Message]],
    timeout_s: float,
    since: float | None,
) -> str:
    silent = [wanted[name][0] for name, messages in seen.items() if not messages]
    if silent:
        return f"no message within {timeout_s:g} s on {', '.join(silent)}; check that the camera driver runs"
    if since is not None and _match(seen) is not None:
        late_s = since - max(seen["depth"])
        return (
            f"in {timeout_s:g} s the newest frame on {wanted['depth'][0]} was {late_s:.2f} s older than the robot's "
            "odometry when the call came, so that it may show what was there before the last motion; "
            "let the camera send less, or synchronise the clock of its computer with the robot's (chrony)"
        )
    return (
        f"no colour and depth frame within {MATCH_S * 1000:g} ms of each other in {timeout_s:g} s on "
        f"{wanted['colour'][0]} and {wanted['depth'][0]}; check that depth is aligned to colour"
    )
