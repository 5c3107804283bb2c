"""Messages that claim to be images."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from quartet_ros.images import MAX_SIDE, to_jpeg
from quartet_tool_server import ToolError


def png(width, height):
    out = io.BytesIO()
    Image.new("1", (width, height)).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def raw(encoding, width, height, step, data):
    return {"encoding": encoding, "width": width, "height": height, "step": step, "data": data, "is_bigendian": 0}


@pytest.mark.parametrize(
    "message",
    [
        {"format": "jpeg", "data": base64.b64encode(b"no image at all").decode()},
        {"format": "jpeg", "data": "%%% not base64"},
        {"format": "jpeg", "data": ""},
        {"format": "png", "data": png(10_000, 5_000)},
        {"format": "16UC1; compressedDepth png", "data": ""},
        raw("rgb8", 100_000, 100_000, 300_000, ""),
        raw("rgb8", 4, 4, 12, base64.b64encode(b"short").decode()),
        raw("yuv422", 4, 4, 8, base64.b64encode(bytes(32)).decode()),
        {},
    ],
)
def test_what_is_no_image_is_a_typed_failure(message):
    with pytest.raises(ToolError) as failure:
        to_jpeg("/camera", message)
    assert failure.value.code == "ROS_ERROR"
    assert "/camera" in str(failure.value)


def test_a_large_picture_is_scaled_down():
    picture = Image.open(io.BytesIO(to_jpeg("/camera", {"format": "png", "data": png(4000, 1000)})))
    assert picture.format == "JPEG"
    assert picture.size == (MAX_SIDE, MAX_SIDE // 4)


def test_depth_is_shown_in_grey():
    depth = np.kron(np.array([[1000, 500], [0, 250]], np.uint16), np.ones((16, 16), np.uint16))
    data = base64.b64encode(depth.tobytes()).decode()
    picture = np.asarray(Image.open(io.BytesIO(to_jpeg("/depth", raw("16UC1", 32, 32, 64, data)))), np.float64)
    assert np.abs(picture - depth / 1000 * 255).max() < 4
