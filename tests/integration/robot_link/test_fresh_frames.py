"""A picture that was taken before the call is not what the robot sees now; a scripted peer plays clocks and delays."""

import asyncio
import base64
import io
import struct
import zlib
from collections.abc import AsyncIterator

import numpy as np
import pytest
from PIL import Image

from quartet_robot_link import BadFrameError, CameraUnavailableError, Robot
from quartet_robot_link.camera import capture

NOW = 1000.0
"""The robot's time, which is far from this machine's."""


def stamp(time_s):
    return {"sec": int(time_s), "nanosec": round((time_s - int(time_s)) * 1e9)}


def transform(parent, child, time_s):
    return {
        "header": {"stamp": stamp(time_s), "frame_id": parent},
        "child_frame_id": child,
        "transform": {"translation": {"x": 0, "y": 0, "z": 0}, "rotation": {"x": 0, "y": 0, "z": 0, "w": 1}},
    }


def publish(topic, msg):
    return {"op": "publish", "topic": topic, "msg": msg}


class Camera:
    """The front camera of a scripted robot: `frames` are the stamps that it sends when somebody subscribes."""

    def __init__(self, peer, file):
        self.peer, self.file, self.camera = peer, file, file.cameras.front
        self.odometry, self.frames = NOW, [NOW]
        self.colour_s = 0.0
        """How much later the colour's stamp is than that of depth."""
        peer.answer = self.answer

    def answer(self, operation):
        if operation["op"] != "subscribe":
            return None
        if operation["topic"] == self.file.topics.tf:
            return [self.tf()]
        if operation["topic"] == self.file.topics.tf_static:
            frames = [transform(self.file.frames.base, self.camera.frame, 0.0)]
            return [publish(operation["topic"], {"transforms": frames})]
        if operation["topic"] == self.camera.info_topic:
            return [message for time_s in self.frames for message in self.shot(time_s)]
        return None

    def tf(self):
        names = self.file.frames
        pairs = ((names.odom, names.base), (names.map, names.odom))
        return publish(self.file.topics.tf, {"transforms": [transform(*pair, self.odometry) for pair in pairs]})

    def shot(self, time_s):
        picture = io.BytesIO()
        Image.fromarray(np.full((2, 2, 3), 9, np.uint8)).save(picture, "png")
        depth = {"height": 2, "width": 2, "step": 4, "encoding": "16UC1", "is_bigendian": 0}
        info = {"width": 2, "height": 2, "k": [1, 0, 1, 0, 1, 1, 0, 0, 1]}
        for topic, message in (
            (self.camera.colour_topic, {"format": "png", "data": base64.b64encode(picture.getvalue()).decode()}),
            (self.camera.depth_topic, {**depth, "data": base64.b64encode(bytes(8)).decode()}),
            (self.camera.info_topic, info),
        ):
            later = 0.0 if topic == self.camera.depth_topic else self.colour_s
            header = {"stamp": stamp(time_s + later), "frame_id": self.camera.frame}
            yield publish(topic, {"header": header, **message})


@pytest.fixture
def camera(peer, robot_file):
    return Camera(peer, robot_file)


@pytest.fixture
async def seeing(camera, peer, robot_file) -> AsyncIterator[Robot]:
    robot = await Robot.open(robot_file, url=peer.url, wait_s=10)
    yield robot
    await robot.close()


async def test_a_frame_from_before_the_call_does_not_count(seeing, camera, peer):
    camera.frames = [NOW - 0.4, NOW - 0.01]
    look = asyncio.create_task(seeing.snapshot("front", timeout_s=20))
    await peer.wait_for(op="subscribe", topic=camera.camera.info_topic)
    camera.odometry = NOW + 0.3
    await peer.send(camera.tf())
    for frame in camera.shot(NOW + 0.25):
        await peer.send(frame)
    shot = await look
    assert shot.stamp == pytest.approx(NOW + 0.25)


async def test_a_frame_of_the_moment_of_the_call_counts(seeing, camera):
    """In a simulation that stands still no later one comes."""
    camera.frames = [NOW]
    assert (await seeing.snapshot("front", timeout_s=20)).stamp == NOW


@pytest.mark.parametrize("colour_s", [-0.016, 0.016])
async def test_a_frame_is_of_the_moment_of_its_depth(seeing, camera, colour_s):
    """Depth says where things are; the colour camera has a clock of its own."""
    camera.colour_s = colour_s
    assert (await seeing.snapshot("front", timeout_s=20)).stamp == NOW


async def test_colour_and_depth_of_two_moments_are_no_picture(seeing, camera):
    camera.colour_s = 0.03
    with pytest.raises(CameraUnavailableError, match="within 20 ms of each other"):
        await seeing.snapshot("front", timeout_s=2)


async def test_only_old_frames_are_an_error_that_says_how_old(seeing, camera):
    camera.frames = [NOW - 5.0, NOW - 2.5]
    with pytest.raises(CameraUnavailableError, match=r"2\.50 s older than the robot's odometry.*chrony"):
        await seeing.snapshot("front", timeout_s=3)


async def test_a_clock_that_is_behind_costs_its_lag_and_no_more(seeing, camera):
    camera.frames = [NOW - 0.8 + step / 10 for step in range(12)]
    assert NOW - 1e-6 <= (await seeing.snapshot("front", timeout_s=20)).stamp <= NOW + 0.3


async def test_time_that_went_back_is_the_robots_time(seeing, camera, peer):
    camera.frames = [12.0]
    look = asyncio.create_task(seeing.snapshot("front", timeout_s=20))
    await peer.wait_for(op="subscribe", topic=camera.camera.info_topic)
    camera.odometry = 12.0
    await peer.send(camera.tf())
    for frame in camera.shot(12.0):
        await peer.send(frame)
    assert (await look).stamp == 12.0


def png(width, height):
    """The header of a picture of any size, with next to no data."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("which", "fields", "words"),
    [
        ("colour", {"data": base64.b64encode(b"no image").decode()}, "UnidentifiedImageError"),
        ("colour", {"data": ""}, "UnidentifiedImageError"),
        ("colour", {"data": "!?"}, "cannot be read"),
        ("colour", {"data": base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(40)).decode()}, "cannot be read"),
        ("colour", {"data": base64.b64encode(png(40_000, 40_000)).decode()}, "pixels"),
        ("colour", {"data": base64.b64encode(png(64, 64)).decode()}, "cannot be read"),
        ("depth", {"width": 640, "height": 480}, "reshape"),
        ("depth", {"encoding": "64FC1"}, "64FC1"),
        ("depth", {"data": 7}, "cannot be read"),
        ("info", {"k": [0] * 9}, "calibration"),
        ("info", {"k": None}, "calibration"),
        ("info", {"k": [None] * 9}, "calibration"),
        ("info", {"k": [600, 0, None, 0, 600, 240, 0, 0, 1]}, "calibration"),
        ("info", {"k": [600, 0, 320, 0, 0, 240, 0, 0, 1]}, "calibration"),
        ("info", {"width": "wide"}, "cannot be read"),
    ],
)
async def test_what_is_no_image_is_named_and_the_next_look_works(seeing, camera, peer, which, fields, words):
    good, topic = camera.shot, getattr(camera.camera, f"{which}_topic")

    def spoilt(time_s):
        for frame in good(time_s):
            yield frame | {"msg": frame["msg"] | fields} if frame["topic"] == topic else frame

    camera.shot = spoilt
    with pytest.raises(BadFrameError, match=words) as raised:
        await seeing.snapshot("front", timeout_s=20)
    assert topic in str(raised.value) or words in {"64FC1", "calibration"}
    camera.shot = good
    assert (await seeing.snapshot("front", timeout_s=20)).stamp == NOW


DISTORTED = {
    "width": 64,
    "height": 48,
    "distortion_model": "plumb_bob",
    "d": [-0.35, 0.1, 0.0, 0.0, 0.0],
    "k": [60.0, 0.0, 32.0, 0.0, 60.0, 24.0, 0.0, 0.0, 1.0],
    "p": [52.0, 0.0, 31.8, 0.0, 0.0, 52.0, 23.9, 0.0, 0.0, 0.0, 1.0, 0.0],
}


@pytest.mark.parametrize(
    ("colour", "depth", "focal"),
    [
        ("/c/image_raw/compressed", "/d/image_raw", 60.0),
        ("/c/image_rect_color/compressed", "/d/image_rect", 52.0),
        ("/c/image_rect_color/compressed", "/d/image_raw", 52.0),
    ],
)
async def test_pictures_are_those_of_a_pinhole(seeing, camera, peer, colour, depth, focal):
    """All pixels of one ray at the image's edge are in one place, whichever of the topics are rectified."""
    camera.camera = camera.camera.model_copy(update={"colour_topic": colour, "depth_topic": depth})
    x, r2 = 0.45, 0.45**2
    raw = 60.0 * x * (1 + r2 * (-0.35 + r2 * 0.1)) + 32.0
    straight = focal * x + (31.8 if focal == 52.0 else 32.0)

    def shot(time_s):
        pixels, metres = np.zeros((48, 64, 3), np.uint8), np.zeros((48, 64), np.uint16)
        pixels[:, round(straight if "rect" in colour else raw)] = 200
        metres[:, round(straight if "rect" in depth else raw)] = 1500
        picture = io.BytesIO()
        Image.fromarray(pixels).save(picture, "jpeg", quality=95)
        header = {"header": {"stamp": stamp(time_s), "frame_id": camera.camera.frame}}
        yield publish(colour, header | {"format": "jpeg", "data": base64.b64encode(picture.getvalue()).decode()})
        about = {"height": 48, "width": 64, "step": 128, "encoding": "16UC1", "is_bigendian": 0}
        yield publish(depth, header | about | {"data": base64.b64encode(metres.tobytes()).decode()})
        yield publish(camera.camera.info_topic, header | DISTORTED)

    camera.shot = shot
    frames = await capture(seeing.link, camera.camera, timeout_s=20)
    assert frames.intrinsics.fx == focal
    middle = frames.depth[20:28]
    assert np.nonzero(middle)[1].mean() == pytest.approx(straight, abs=0.8)
    assert np.nonzero(frames.colour[20:28, :, 0] > 100)[1].mean() == pytest.approx(straight, abs=0.8)
    assert abs(raw - straight) > 1.4
    assert frames.straightened == ("raw" in depth)
    assert (frames.jpeg is None) == ("raw" in colour)


async def test_without_odometry_any_frame_will_do(seeing, camera, peer):
    camera.frames = [NOW - 100.0]
    names = camera.file.frames

    def only_arm(operation):
        if operation["op"] == "subscribe" and operation["topic"] == camera.file.topics.tf:
            return [publish(operation["topic"], {"transforms": [transform(names.base, "elsewhere", NOW)]})]
        return camera.answer(operation)

    peer.answer = only_arm
    shot = await seeing.snapshot("front", timeout_s=20)
    assert shot.stamp == NOW - 100.0
    assert shot.map_from_base is None
