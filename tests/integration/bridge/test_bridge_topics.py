"""Advertise, publish, subscribe: encodings, throttling, latching, quality of service, silence."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from typing import Any

import cbor2
import pytest
from PIL import Image
from rosbags.typesys import Stores, get_typestore

STRING = "std_msgs/msg/String"


async def test_a_message_reaches_other_clients(sim: Any, robot: Any, connect: Any) -> None:
    async with connect(sim.url) as other:
        await other.send(op="subscribe", topic="/chat", type="std_msgs/String")
        await other.settled()
        await robot.send(op="advertise", topic="/chat", type=STRING)
        await robot.send(op="publish", topic="/chat", msg={"data": "hello"})
        frame = await other.op("publish")
        assert frame == {"op": "publish", "topic": "/chat", "msg": {"data": "hello"}}


async def test_type_is_inferred_for_a_known_topic(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/gripper/status")
    assert await robot.message("/gripper/status") == {"data": "open"}


async def test_publish_needs_a_known_topic(robot: Any) -> None:
    await robot.send(op="publish", topic="/nobody", msg={"data": "x"})
    await robot.settled()
    topics = (await robot.call("/rosapi/topics"))["values"]["topics"]
    assert "/nobody" not in topics


async def test_a_client_that_advertises_again_and_again_is_one_publisher(robot: Any) -> None:
    for _ in range(5):
        await robot.send(op="advertise", topic="/chat", type=STRING)
    await robot.send(op="advertise", topic="/chat", type="std_msgs/msg/Bool")
    assert (await robot.call("/rosapi/publishers", {"topic": "/chat"}))["values"]["publishers"] == [
        "/rosbridge_websocket"
    ]
    assert (await robot.call("/rosapi/topic_type", {"topic": "/chat"}))["values"]["type"] == STRING
    await robot.send(op="unadvertise", topic="/chat")
    assert "/chat" not in (await robot.call("/rosapi/topics"))["values"]["topics"]


async def test_unsubscribe_by_id_and_all(robot: Any) -> None:
    for sid in ("a", "b"):
        await robot.send(op="subscribe", topic="/chat", type=STRING, id=sid)
    await robot.send(op="advertise", topic="/chat", type=STRING)
    for sid, expected in (("a", 1), ("b", 0)):
        await robot.send(op="unsubscribe", topic="/chat", id=sid)
        await robot.send(op="publish", topic="/chat", msg={"data": sid})
        await robot.call("/rosapi/get_time")
        received = [frame for frame in robot.kept if frame["op"] == "publish"]
        robot.kept.clear()
        assert len(received) == expected
    await robot.send(op="subscribe", topic="/chat", id="c")
    await robot.send(op="subscribe", topic="/chat", id="d")
    await robot.silent_after(op="unsubscribe", topic="/chat")
    await robot.silent_after(op="publish", topic="/chat", msg={"data": "nobody listens"})


async def test_throttled_without_a_queue_drops(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/chat", type=STRING, throttle_rate=60_000)
    await robot.send(op="advertise", topic="/chat", type=STRING)
    for number in range(20):
        await robot.send(op="publish", topic="/chat", msg={"data": str(number)})
    await robot.call("/rosapi/get_time")
    assert [frame["msg"]["data"] for frame in robot.kept] == ["0"]


async def test_throttled_with_a_queue_keeps_the_newest(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/chat", type=STRING, throttle_rate=100, queue_length=2)
    await robot.send(op="advertise", topic="/chat", type=STRING)
    for number in range(6):
        await robot.send(op="publish", topic="/chat", msg={"data": str(number)})
    received = [(await robot.message("/chat"))["data"] for _ in range(3)]
    assert received == ["0", "4", "5"]


@pytest.mark.parametrize("qos", [None, {"durability": "transient_local", "depth": 1}])
async def test_latched_topics_hand_over_their_last_message(robot: Any, qos: Any) -> None:
    options = {"qos": qos} if qos else {}
    for topic, key in (("/tf_static", "transforms"), ("/map", "info"), ("/robot_guard/state", "level")):
        await robot.send(op="subscribe", topic=topic, **options)
        assert key in await robot.message(topic)


async def test_only_the_first_client_gets_the_latched_messages_of_all_publishers(sim: Any, connect: Any) -> None:
    """Each later client has a subscription that ends with its first message (MultiSubscriber of rosbridge_library)."""
    counts = []
    async with contextlib.AsyncExitStack() as clients:
        # A spelling that no other test uses: rosbridge keeps a subscription for a while after its last client.
        for topic in ("tf_static", "tf_static", "tf_static_merged", "tf_static_merged"):
            client = await clients.enter_async_context(connect(sim.url))
            qos = {"durability": "transient_local", "depth": 100}
            await client.send(op="subscribe", topic=topic, type="tf2_msgs/TFMessage", qos=qos)
            await client.call("/rosapi/get_time")
            counts.append([len(one["msg"]["transforms"]) for one in client.kept if one.get("topic") == topic])
    whole = sum(counts[0])
    assert counts == [[whole - 2, 1, 1], [1], [whole], [whole]]


async def test_volatile_readers_get_no_latched_message(robot: Any) -> None:
    await robot.silent_after(op="subscribe", topic="/map", qos={"durability": "volatile"})


async def test_transient_local_reader_of_a_volatile_topic_gets_nothing(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/clock", qos={"durability": "transient_local", "depth": 1})
    with pytest.raises(TimeoutError):
        await robot.message("/clock", limit_s=0.4)


async def test_a_client_may_latch(sim: Any, robot: Any, connect: Any) -> None:
    await robot.send(op="advertise", topic="/chat", type=STRING, qos={"durability": "transient_local"})
    await robot.send(op="publish", topic="/chat", msg={"data": "kept"})
    await robot.settled()
    async with connect(sim.url) as late:
        await late.send(op="subscribe", topic="/chat")
        assert await late.message("/chat") == {"data": "kept"}


async def test_unadvertised_topics_disappear(sim: Any, robot: Any, connect: Any) -> None:
    async with connect(sim.url) as other:
        await other.send(op="advertise", topic="/chat", type=STRING)
        await other.settled()
        assert (await robot.call("/rosapi/topic_type", {"topic": "/chat"}))["values"]["type"] == STRING
        await other.send(op="unadvertise", topic="/chat")
        await other.settled()
        assert (await robot.call("/rosapi/topic_type", {"topic": "/chat"}))["values"]["type"] == ""
        await other.send(op="advertise", topic="/chat", type=STRING)
        await other.settled()
    while (await robot.call("/rosapi/topic_type", {"topic": "/chat"}))["values"]["type"]:
        pass


@pytest.mark.parametrize(
    "frame",
    [
        {"op": "dance"},
        {},
        {"op": "subscribe"},
        {"op": "subscribe", "topic": 7},
        {"op": "subscribe", "topic": "/map", "id": [1]},
        {"op": "send_action_goal", "action": "/spin", "action_type": "nav2_msgs/action/Spin", "id": [1]},
        {"op": "fragment", "id": "f", "data": "x", "num": 0, "total": "two"},
        {"op": "subscribe", "topic": "/x", "type": "no_msgs/Thing"},
        {"op": "subscribe", "topic": "/no_such_topic"},
        {"op": "subscribe", "topic": "/map", "type": STRING},
        {"op": "subscribe", "topic": "/map", "throttle_rate": "fast"},
        {"op": "subscribe", "topic": "/map", "qos": {"reliability": "perfect"}},
        {"op": "subscribe", "topic": "/map", "qos": {"depth": -1}},
        {"op": "subscribe", "topic": "/map", "qos": "latched"},
        {"op": "unsubscribe", "topic": "/never_subscribed"},
        {"op": "advertise", "topic": "/x", "type": "no_msgs/Thing"},
        {"op": "advertise", "topic": "/map", "type": STRING},
        {"op": "advertise", "topic": "/x"},
        {"op": "publish", "topic": "/cmd_vel", "msg": {"linear": {"q": 1}}},
        {"op": "publish", "topic": "/cmd_vel", "msg": {"linear": {"x": "fast"}}},
        {"op": "publish", "msg": {}},
        {"op": "call_service", "id": "x"},
        {"op": "call_service", "service": 3, "id": "x"},
        {"op": "send_action_goal", "action": "/spin", "id": "x"},
        {"op": "cancel_action_goal", "id": "unknown", "action": "/spin"},
        {"op": "cancel_action_goal", "id": "x"},
    ],
)
async def test_what_is_wrong_gets_no_answer(robot: Any, frame: dict[str, Any]) -> None:
    await robot.silent_after(**frame)


async def test_garbage_gets_no_answer(robot: Any) -> None:
    for text in ("{", "[1]", "null", '"op"', ""):
        await robot.socket.send(text)
    await robot.settled()
    assert robot.kept == []


async def test_encodings_of_an_image(robot: Any) -> None:
    topic = "/front_camera/color/image_raw/compressed"
    plain = await robot.once(topic)
    jpeg = base64.b64decode(plain["data"])
    assert jpeg[:2] == b"\xff\xd8"
    await robot.send(op="subscribe", topic=topic, compression="cbor")
    frame = cbor2.loads(await robot.receive(lambda item: isinstance(item, bytes)))
    assert (frame["op"], frame["topic"], frame["msg"]["data"]) == ("publish", topic, jpeg)
    await robot.send(op="unsubscribe", topic=topic)
    await robot.settled()
    await robot.send(op="subscribe", topic=topic, compression="cbor-raw")
    raw = cbor2.loads(await robot.receive(lambda item: isinstance(item, bytes)))["msg"]
    message: Any = get_typestore(Stores.ROS2_JAZZY).deserialize_cdr(raw["bytes"], "sensor_msgs/msg/CompressedImage")
    assert message.data.tobytes() == jpeg
    await robot.send(op="unsubscribe", topic=topic)
    await robot.settled()


async def test_png_frames(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/gripper/status", compression="png")
    frame = await robot.op("png")
    with Image.open(io.BytesIO(base64.b64decode(frame["data"]))) as image:
        inner = json.loads(image.tobytes())
    assert inner == {"op": "publish", "topic": "/gripper/status", "msg": {"data": "open"}}


async def whole(robot: Any) -> tuple[Any, dict[str, Any]]:
    """The next message that comes in fragments: their id, and the message."""
    first = await robot.op("fragment")
    pieces = [first] + [await robot.op("fragment") for _ in range(first["total"] - 1)]
    assert {piece["id"] for piece in pieces} == {first["id"]}
    assert [piece["num"] for piece in pieces] == list(range(first["total"]))
    return first["id"], json.loads("".join(piece["data"] for piece in pieces))


async def test_a_fragment_size_holds_for_all_that_follows(robot: Any) -> None:
    await robot.send(op="subscribe", topic="/map", fragment_size=1000)
    number, message = await whole(robot)
    # No id of its own: rosbridge counts anew for every message.
    assert (number, message["op"], message["topic"]) == ("0", "publish", "/map")
    assert len(message["msg"]["data"]) == message["msg"]["info"]["width"] * message["msg"]["info"]["height"]
    await robot.send(op="call_service", service="/rosapi/topics", id="mine")
    number, message = await whole(robot)
    while message.get("topic") == "/map":
        # The map of the episode that has just begun, after that of the last one.
        number, message = await whole(robot)
    assert (number, message["op"], message["id"]) == ("mine", "service_response", "mine")
    await robot.send(op="unsubscribe", topic="/nothing", fragment_size=None)
    assert len((await robot.call("/rosapi/topics"))["values"]["topics"]) > 10


@pytest.mark.parametrize("size", [0, -1, "10"])
async def test_with_a_fragment_size_that_is_none_messages_are_lost(robot: Any, size: Any) -> None:
    await robot.send(op="subscribe", topic="/chat", type=STRING)
    await robot.send(op="advertise", topic="/chat", type=STRING)
    await robot.send(op="publish", topic="/chat", msg={"data": "lost"}, fragment_size=size)
    await robot.send(op="publish", topic="/chat", msg={"data": "there"}, fragment_size=10_000)
    assert await robot.message("/chat") == {"data": "there"}


async def test_cbor_above_the_limit_is_lost(robot: Any) -> None:
    await robot.send(op="advertise", topic="/chat", type=STRING)
    await robot.send(op="subscribe", topic="/chat", compression="cbor", fragment_size=100)
    for text in ("x" * 200, "short"):
        await robot.send(op="publish", topic="/chat", msg={"data": text})
    frame = cbor2.loads(await robot.receive(lambda item: isinstance(item, bytes)))
    assert frame["msg"] == {"data": "short"}


async def test_objects_and_frames_need_not_fit(robot: Any) -> None:
    def call(name: str) -> str:
        args = {"topic": "/tf {nested} {"}
        return json.dumps({"op": "call_service", "service": "/rosapi/topic_type", "args": args, "id": name})

    await robot.socket.send(call("a") + call("b") + "\n" + call("c")[:40])
    await robot.socket.send(call("c")[40:] + "rubbish {" + call("d"))
    for name in "abcd":
        assert (await robot.op("service_response"))["id"] == name
    await robot.socket.send(call("e").encode())
    await robot.op("service_response", id="e")
    # What is inside of an unfinished message is no operation of its own.
    text = json.dumps({"op": "publish", "topic": "/chat", "msg": {"inner": {"data": 1}, "more": {"data": 2}}})
    await robot.socket.send(text[:-10])
    await robot.socket.send(text[-10:] + call("f"))
    await robot.op("service_response", id="f")


async def test_a_second_subscription_sets_the_faster_rate(robot: Any) -> None:
    await robot.send(op="advertise", topic="/chat", type=STRING)
    await robot.send(op="subscribe", topic="/chat", id="slow", throttle_rate=3_600_000, queue_length=5)
    for number in range(3):
        await robot.send(op="publish", topic="/chat", msg={"data": str(number)})
    assert await robot.message("/chat") == {"data": "0"}
    await robot.send(op="subscribe", topic="/chat", id="fast", throttle_rate=1, queue_length=9)
    assert [(await robot.message("/chat"))["data"] for _ in range(2)] == ["1", "2"]
    await robot.send(op="unsubscribe", topic="/chat", id="fast")
    await robot.send(op="publish", topic="/chat", msg={"data": "late"})
    await robot.call("/rosapi/get_time")
    assert robot.kept == []


async def test_frames_over_the_limit_are_fragmented(start_sim: Any, connect: Any) -> None:
    sim = start_sim("--max-message-size", "2000")
    async with connect(sim.url) as robot:
        await robot.send(op="call_service", service="/rosapi/topics_and_raw_types", id="big")
        first = await robot.op("fragment")
        pieces = [first] + [await robot.op("fragment") for _ in range(first["total"] - 1)]
        whole = json.loads("".join(piece["data"] for piece in pieces))
        assert (whole["op"], whole["id"]) == ("service_response", "big")


async def test_incoming_fragments_are_joined(robot: Any) -> None:
    text = json.dumps({"op": "call_service", "service": "/rosapi/get_time", "id": "joined"})
    half = len(text) // 2
    for number, piece in ((1, text[half:]), (0, text[:half])):
        await robot.send(op="fragment", id="f", data=piece, num=number, total=2)
    assert (await robot.op("service_response", id="joined"))["result"] is True
