"""Wire formats against independent implementations: rosbags for CDR, cbor2 and PIL for the others."""

from __future__ import annotations

import base64
import io
import json
import math
from typing import Any

import cbor2
import numpy as np
import pytest
from PIL import Image
from rosbags.typesys import Stores, get_typestore

from quartet_simulation.bridge.encoding import frame, to_cdr
from quartet_simulation.ros.definitions import load
from quartet_simulation.ros.graph import Published
from quartet_simulation.ros.types import complete, definition

STORE = get_typestore(Stores.ROS2_JAZZY)

SAMPLES: dict[str, dict[str, Any]] = {
    "std_msgs/msg/Empty": {},
    "std_msgs/msg/String": {"data": "größer"},
    "sensor_msgs/msg/JointState": {"name": ["a", "bcd"], "position": [1.5, -2.0], "velocity": [0.25]},
    "sensor_msgs/msg/CompressedImage": {"format": "jpeg", "data": base64.b64encode(bytes(range(7))).decode()},
    "sensor_msgs/msg/LaserScan": {"angle_min": -1.5, "ranges": [1.0, 2.5, 3.0], "range_max": 12.0},
    "sensor_msgs/msg/CameraInfo": {"width": 640, "height": 480, "d": [0.0] * 5, "k": [float(i) for i in range(9)]},
    "sensor_msgs/msg/BatteryState": {"present": True, "percentage": 0.5, "location": "base"},
    "tf2_msgs/msg/TFMessage": {
        "transforms": [{"header": {"frame_id": "map"}, "child_frame_id": "odom"}, {"child_frame_id": "x"}]
    },
    "nav_msgs/msg/OccupancyGrid": {"info": {"width": 2, "height": 2}, "data": [0, 100, -1, 0]},
    "diagnostic_msgs/msg/DiagnosticStatus": {"level": 2, "name": "guard", "values": [{"key": "a", "value": "b"}]},
    "action_msgs/msg/GoalStatusArray": {"status_list": [{"status": 4}]},
    "shape_msgs/msg/SolidPrimitive": {"type": 1, "dimensions": [1.0, 2.0, 3.0]},
}


def as_rosbags(name: str, message: dict[str, Any]) -> Any:
    """The same message as an object of rosbags."""
    values: list[Any] = []
    for field in definition(name).fields:
        value = message[field.name]
        if not field.primitive:
            inner = field.base.replace("/", "/msg/")
            value = (
                [as_rosbags(inner, item) for item in value] if field.length is not None else as_rosbags(inner, value)
            )
        elif field.length is not None and field.base != "string":
            dtype = {"bool": "bool", "byte": "uint8", "char": "uint8"}.get(field.base, field.base)
            value = np.frombuffer(value, "uint8") if isinstance(value, bytes) else np.array(value, dtype)
        values.append(value)
    return STORE.types[name](*values)


@pytest.mark.parametrize("name", SAMPLES)
def test_cdr_is_what_dds_carries(name: str) -> None:
    message = complete(name, SAMPLES[name])
    assert to_cdr(definition(name), message) == bytes(STORE.serialize_cdr(as_rosbags(name, message), name))


def test_all_messages_serialise() -> None:
    for name, (kind, _) in load().items():
        if kind == "msg" and name in STORE.fielddefs:
            message = complete(name, {})
            assert to_cdr(definition(name), message) == bytes(STORE.serialize_cdr(as_rosbags(name, message), name)), (
                name
            )


def published(name: str, message: dict[str, Any]) -> Published:
    return Published("/topic", name, message, 3_000_000_007)


def test_json_has_null_for_inf_and_base64_for_bytes() -> None:
    message = complete("sensor_msgs/LaserScan", {}) | {
        "ranges": np.array([1.0, math.inf, math.nan], dtype=np.float32),
        "range_max": math.inf,
    }
    msg = json.loads(frame(published("sensor_msgs/msg/LaserScan", message), "none"))["msg"]
    assert msg["ranges"] == [1.0, None, None]
    assert msg["range_max"] is None
    image = complete("sensor_msgs/CompressedImage", {}) | {"data": b"\xff\x00\x01"}
    msg = json.loads(frame(published("sensor_msgs/msg/CompressedImage", image), "none"))["msg"]
    assert base64.b64decode(msg["data"]) == b"\xff\x00\x01"


def test_cbor_has_native_bytes_and_typed_arrays() -> None:
    image = complete("sensor_msgs/CompressedImage", {}) | {"data": b"\xff\x00\x01"}
    decoded = cbor2.loads(frame(published("sensor_msgs/msg/CompressedImage", image), "cbor"))
    assert decoded["op"] == "publish"
    assert decoded["topic"] == "/topic"
    assert decoded["msg"]["data"] == b"\xff\x00\x01"
    scan = complete("sensor_msgs/LaserScan", {"ranges": [1.0, 2.0]})
    ranges = cbor2.loads(frame(published("sensor_msgs/msg/LaserScan", scan), "cbor"))["msg"]["ranges"]
    assert ranges.tag == 85
    assert np.frombuffer(ranges.value, "<f4").tolist() == [1.0, 2.0]


def test_cbor_raw_carries_cdr_and_time() -> None:
    message = complete("std_msgs/String", {"data": "x"})
    msg = cbor2.loads(frame(published("std_msgs/msg/String", message), "cbor-raw"))["msg"]
    assert (msg["secs"], msg["nsecs"]) == (3, 7)
    text: Any = STORE.deserialize_cdr(msg["bytes"], "std_msgs/msg/String")
    assert text.data == "x"


@pytest.mark.parametrize("length", [0, 1, 2, 3, 100, 1001])
def test_png_holds_the_json_frame_as_rosbridge_packs_it(length: int) -> None:
    """rosbridge_library/internal/pngcompression.py: RGB, nearly square, padded with newlines."""
    message = complete("std_msgs/String", {"data": "x" * length})
    item = published("std_msgs/msg/String", message)
    outer = json.loads(frame(item, "png"))
    assert outer["op"] == "png"
    with Image.open(io.BytesIO(base64.b64decode(outer["data"]))) as image:
        text = image.tobytes()
        assert image.mode == "RGB"
        assert 0 <= image.height - image.width <= 3
    assert text.rstrip(b"\n") == frame(item, "none")
    assert len(text) - len(frame(item, "none")) < 3 * image.width


def test_a_message_is_encoded_once() -> None:
    item = published("std_msgs/msg/String", complete("std_msgs/String", {"data": "x"}))
    assert frame(item, "none") is frame(item, "none")
