"""The transform buffer: chains, interpolation, stale and missing links."""

import asyncio
import math
import time

import pytest

from quartet_robot_link import (
    RosClock,
    ServiceUnavailableError,
    TransformBuffer,
    TransformStaleError,
    TransformUnavailableError,
)
from quartet_robot_link._clock import duration
from quartet_robot_link._transforms import MAX_FRAMES
from quartet_robot_link.geometry import yaw_quaternion


class QuietLink:
    """A link on which nothing arrives by itself; `ahead_s` is how far the robot's clock is ahead, None: no rosapi."""

    connected = True

    def __init__(self, ahead_s=None):
        self.asked, self.readers = {}, {}
        self.ahead_s, self.calls = ahead_s, 0

    async def call_service(self, service, args=None, *, timeout_s=None):
        assert service == "/rosapi/get_time"
        self.calls += 1
        if self.ahead_s is None:
            raise ServiceUnavailableError("no rosapi")
        return {"time": duration(time.time() + self.ahead_s)}

    def subscribe(self, topic, msg_type, qos=None, on_message=None, **_):
        self.asked[topic], self.readers[topic] = qos, on_message

        class Quiet:
            def close(self):
                pass

        return Quiet()


@pytest.fixture
def buffer():
    link = QuietLink()
    return TransformBuffer(link, RosClock(link, "/clock"))


def tf(parent, child, x=0.0, y=0.0, yaw=0.0, stamp=1.0):
    qx, qy, qz, qw = yaw_quaternion(yaw)
    sec = int(stamp)
    return {
        "transforms": [
            {
                "header": {"frame_id": parent, "stamp": {"sec": sec, "nanosec": round((stamp - sec) * 1e9)}},
                "child_frame_id": child,
                "transform": {
                    "translation": {"x": x, "y": y, "z": 0.0},
                    "rotation": {"x": qx, "y": qy, "z": qz, "w": qw},
                },
            }
        ]
    }


async def test_static_transforms_are_asked_for_with_the_depth_of_tf2_and_merged():
    """Each publisher keeps a message; with a depth of 1 only one or two of three came (ros2/geometry2#183)."""
    link = QuietLink()
    TransformBuffer(link, RosClock(link, "/clock"), tf_static="/ada/tf_static").start()
    for topic in ("/ada/tf_static", "/ada/tf_static_merged"):
        assert (link.asked[topic].depth, link.asked[topic].durability) == (100, "transient_local")


async def test_chain_up_and_down(buffer):
    buffer.add(tf("map", "odom", x=1.0), static=False)
    buffer.add(tf("/odom", "/base", y=2.0, yaw=math.pi / 2), static=False)
    buffer.add(tf("base", "camera", x=0.5), static=True)
    buffer.add(tf("base", "tool", x=0.2), static=True)
    assert (await buffer.lookup("map", "camera")).translation == pytest.approx((1.0, 2.5, 0.0))
    assert (await buffer.lookup("camera", "map")).apply((1.0, 2.5, 0.0)) == pytest.approx((0, 0, 0), abs=1e-9)
    assert (await buffer.lookup("tool", "camera")).translation == pytest.approx((0.3, 0, 0))
    assert (await buffer.lookup("base", "base")).translation == (0, 0, 0)
    assert (await buffer.lookup("map", "camera")).yaw == pytest.approx(math.pi / 2)


async def test_between_two_samples(buffer):
    buffer.add(tf("odom", "base", x=0.0, stamp=1.0), static=False)
    buffer.add(tf("odom", "base", x=1.0, yaw=1.0, stamp=2.0), static=False)
    found = await buffer.lookup("odom", "base", stamp=1.25)
    assert found.translation[0] == pytest.approx(0.25)
    assert found.yaw == pytest.approx(0.25)
    assert found.stamp == 1.25
    assert (await buffer.lookup("odom", "base")).stamp == 2.0


async def test_one_bad_transform_takes_none_of_the_others_with_it(buffer):
    waiting = asyncio.create_task(buffer.lookup("map", "tool", timeout_s=1800))
    await asyncio.sleep(0)
    good, bad, last = (tf("map", "base"), tf("base", "camera"), tf("base", "tool", x=2.0))
    bad["transforms"][0]["transform"]["translation"]["x"] = "far"
    message = {"transforms": [one["transforms"][0] for one in (good, bad, last)]}
    with pytest.raises((TypeError, ValueError)):
        buffer.add(message, static=False)
    async with asyncio.timeout(30):
        assert (await waiting).translation == (2.0, 0.0, 0.0)


async def test_missing_link_is_named_with_what_is_known(buffer):
    buffer.add(tf("map", "odom"), static=False)
    buffer.add(tf("base", "camera"), static=True)
    with pytest.raises(TransformUnavailableError, match=r"nothing joins 'base' and 'map'.*base, camera, map, odom"):
        await buffer.lookup("map", "camera", timeout_s=0.01)


async def test_a_frame_that_was_never_heard_of_is_not_waited_for_twice(buffer):
    buffer.add(tf("map", "base"), static=False)
    with pytest.raises(TransformUnavailableError, match="moon"):
        await buffer.lookup("map", "moon", timeout_s=0.05)
    async with asyncio.timeout(30):
        with pytest.raises(TransformUnavailableError, match="moon"):
            await buffer.lookup("map", "moon", timeout_s=0.05)
        buffer._heard_at -= 3600
        with pytest.raises(TransformUnavailableError, match="moon"):
            await buffer.lookup("map", "moon", timeout_s=1800)
        waiting = asyncio.create_task(buffer.lookup("map", "base", stamp=2.0, timeout_s=1800))
        await asyncio.sleep(0)
        assert not waiting.done(), "one that is known may move on"
        buffer.add(tf("map", "base", stamp=2.0), static=False)
        assert (await waiting).stamp == 2.0


async def test_nothing_known_at_all(buffer):
    with pytest.raises(TransformUnavailableError, match="known frames: none"):
        await buffer.lookup("map", "base", timeout_s=0.01)


async def test_stale_moving_frame(buffer):
    buffer.add(tf("map", "odom"), static=False)
    buffer.add(tf("odom", "base"), static=True)
    await asyncio.sleep(0.02)
    with pytest.raises(TransformUnavailableError, match=r"'map' -> 'odom' was last received \d+\.\d s ago"):
        await buffer.lookup("map", "base", timeout_s=0.0, max_age_s=0.01)
    assert (await buffer.lookup("odom", "base", timeout_s=0.0, max_age_s=0.01)).source == "base"


@pytest.mark.parametrize(("stamp", "words"), [(9.0, "known up to 2.000"), (0.5, "known from 1.000")])
async def test_stamp_outside_of_history(buffer, stamp, words):
    buffer.add(tf("odom", "base", stamp=1.0), static=False)
    buffer.add(tf("odom", "base", stamp=2.0), static=False)
    with pytest.raises(TransformUnavailableError, match=words):
        await buffer.lookup("odom", "base", stamp=stamp, timeout_s=0.01)


async def test_waits_for_the_stamp_to_come(buffer):
    buffer.add(tf("odom", "base", stamp=1.0), static=False)
    waiting = asyncio.create_task(buffer.lookup("odom", "base", stamp=2.0, timeout_s=60))
    await asyncio.sleep(0)
    buffer.add(tf("odom", "base", x=3.0, stamp=2.0), static=False)
    assert (await waiting).translation[0] == 3.0


async def test_time_that_jumps_back_starts_anew(buffer):
    buffer.add(tf("odom", "base", x=1.0, stamp=50.0), static=False)
    buffer.add(tf("odom", "base", x=2.0, stamp=0.1), static=False)
    found = await buffer.lookup("odom", "base")
    assert found.translation[0] == 2.0
    assert found.stamp == pytest.approx(0.1)


async def test_late_message_does_not_replace_a_newer_one(buffer):
    buffer.add(tf("odom", "base", x=2.0, stamp=1.00), static=False)
    buffer.add(tf("odom", "base", x=1.0, stamp=0.98), static=False)
    assert (await buffer.lookup("odom", "base")).translation[0] == 2.0


async def test_two_publishers_of_one_edge_leave_the_history_of_both(buffer):
    """Odometry at 30 Hz, and a second node at 50 Hz whose stamps are 60 ms behind; pictures are 0.3 s old."""
    sent = [(t / 30, t / 30) for t in range(60)] + [(t / 50 + 0.001, t / 50 + 0.001 - 0.06) for t in range(100)]
    looked_up = 0
    for at, stamp in sorted(sent):
        buffer.add(tf("odom", "base", x=100 + stamp, stamp=100 + stamp), static=False)
        if at > 0.5:
            found = await buffer.lookup("odom", "base", stamp=100 + at - 0.3, timeout_s=0.0)
            assert found.translation[0] == pytest.approx(100 + at - 0.3)
            looked_up += 1
    assert looked_up > 100
    newest = max(stamp for _, stamp in sent)
    assert (await buffer.lookup("odom", "base")).stamp == pytest.approx(100 + newest)


async def test_a_reset_of_the_clock_forgets_the_future(buffer):
    clock = buffer._clock._on_clock
    clock({"clock": duration(7.0)})
    for stamp in (0.55, 5.0, 7.0):
        buffer.add(tf("odom", "base", x=stamp, stamp=stamp), static=False)
        buffer.add(tf("base", "tool", x=stamp, stamp=stamp), static=False)
    buffer.add(tf("map", "odom", stamp=7.0), static=True)
    # A transform of the new time may be here before the clock.
    buffer.add(tf("odom", "base", x=0.5, stamp=0.5), static=False)
    clock({"clock": duration(0.5)})
    assert (await buffer.lookup("map", "base")).translation[0] == 0.5
    with pytest.raises(TransformUnavailableError, match="nothing joins"):
        await buffer.lookup("map", "tool", timeout_s=0.01)


@pytest.mark.parametrize("ahead_s", [0.0, 3600.0, -3600.0])
async def test_age_is_judged_by_stamp_and_the_robots_clock(ahead_s):
    link = QuietLink(ahead_s)
    buffer = TransformBuffer(link, RosClock(link, "/clock"))
    robot = time.time() + ahead_s
    buffer.add(tf("odom", "base", stamp=robot), static=False)
    buffer.add(tf("map", "odom", stamp=robot + 1.0), static=False)
    assert (await buffer.lookup("map", "base")).source == "base"
    buffer.add(tf("odom", "tool", stamp=robot - 30.0), static=False)
    words = r"newest stamp of 'odom' -> 'tool' is 30\.\d s before the robot's clock \(limit 5 s\).*chrony"
    with pytest.raises(TransformStaleError, match=words):
        await buffer.lookup("map", "tool", timeout_s=0.01)
    assert buffer.newest("map", "tool") is None
    assert buffer.last("map", "tool") is not None
    assert (await buffer.lookup("odom", "tool", stamp=robot - 30.0)).source == "tool"
    buffer.add(tf("odom", "tool", stamp=robot - 30.0), static=True)
    assert (await buffer.lookup("map", "tool")).source == "tool"
    assert link.calls == 1


async def test_simulated_time_is_the_robots_clock():
    link = QuietLink(0.0)
    buffer = TransformBuffer(link, RosClock(link, "/clock"))
    link.readers["/clock"]({"clock": duration(100.0)})
    buffer.add(tf("odom", "base", stamp=60.0), static=False)
    with pytest.raises(TransformStaleError, match=r"40\.0 s before the robot's clock"):
        await buffer.lookup("odom", "base", timeout_s=0.01)
    buffer.add(tf("odom", "base", stamp=99.0), static=False)
    assert (await buffer.lookup("odom", "base")).stamp == 99.0
    assert link.calls == 0


async def test_history_is_bounded(buffer):
    for step in range(200):
        buffer.add(tf("odom", "base", stamp=step * 0.5), static=False)
    with pytest.raises(TransformUnavailableError, match="known from"):
        await buffer.lookup("odom", "base", stamp=1.0, timeout_s=0.01)


async def test_a_ring_of_frames_ends(buffer):
    buffer.add(tf("a", "b"), static=False)
    buffer.add(tf("b", "a"), static=False)
    with pytest.raises(TransformUnavailableError):
        await buffer.lookup("map", "a", timeout_s=0.01)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("translation", {"x": 1.0, "y": "far", "z": 0.0}),
        ("translation", {"x": float("nan"), "y": 0.0, "z": 0.0}),
        ("rotation", {"x": 0.0, "y": 0.0, "z": 0.0, "w": 0.0}),
        ("rotation", None),
    ],
    ids=["text", "nan", "no rotation", "missing"],
)
async def test_a_transform_that_cannot_be_read_leaves_no_frame_behind(buffer, field, value):
    strange = tf("map", "odom", x=1.0)
    strange["transforms"][0]["transform"][field] = value
    with pytest.raises((ArithmeticError, TypeError, ValueError)):
        buffer.add(strange, static=False)
    with pytest.raises(TransformUnavailableError):
        await buffer.lookup("map", "odom", timeout_s=0.05)
    buffer.add(tf("map", "odom", x=2.0), static=False)
    assert (await buffer.lookup("map", "odom")).rigid.translation[0] == 2.0


async def test_frames_without_end_are_not_kept(buffer):
    for number in range(MAX_FRAMES):
        buffer.add(tf("map", f"frame {number}"), static=True)
    with pytest.raises(ValueError, match=f"more than {MAX_FRAMES} frames"):
        buffer.add(tf("map", "one more"), static=True)
    buffer.add(tf("map", "frame 7", x=3.0), static=True)
    assert (await buffer.lookup("map", "frame 7")).rigid.translation[0] == 3.0
