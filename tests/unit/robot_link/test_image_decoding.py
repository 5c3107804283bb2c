"""Colour and depth images of every encoding that drivers send."""

import base64
import io
import struct

import numpy as np
import pytest
from PIL import Image

from quartet_robot_link import CameraUnavailableError
from quartet_robot_link.camera import decode_colour, decode_depth

MILLIMETRES = np.array([[0, 500, 1000], [1500, 65535, 250]], np.uint16)
COLOURS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def image(array, encoding, *, pad=0, big=False):
    rows = array.astype(array.dtype.newbyteorder(">")) if big else array
    raw = rows.reshape(rows.shape[0], -1)
    data = b"".join(row.tobytes() + b"\0" * pad for row in raw)
    step = len(data) // array.shape[0]
    shape = {"height": array.shape[0], "width": array.shape[1], "step": step}
    return {**shape, "encoding": encoding, "is_bigendian": int(big), "data": data}


def png(array) -> bytes:
    out = io.BytesIO()
    Image.fromarray(array).save(out, "png")
    return out.getvalue()


@pytest.mark.parametrize("pad", [0, 5])
@pytest.mark.parametrize("big", [False, True])
def test_depth_in_millimetres(pad, big):
    depth = decode_depth(image(MILLIMETRES, "16UC1", pad=pad, big=big))
    assert depth.dtype == np.float32
    assert depth == pytest.approx(MILLIMETRES / 1000)


def test_depth_in_metres_has_zero_for_no_return():
    metres = np.array([[0.5, np.nan], [np.inf, 2.0]], np.float32)
    assert decode_depth(image(metres, "32FC1")).tolist() == [[0.5, 0.0], [0.0, 2.0]]


def test_json_carries_base64():
    message = image(MILLIMETRES, "16UC1")
    message["data"] = base64.b64encode(message["data"]).decode()
    assert decode_depth(message) == pytest.approx(MILLIMETRES / 1000)


def test_compressed_depth():
    header = struct.pack("<iff", 0, 0.0, 0.0)
    message = {"format": "16UC1; compressedDepth png", "data": header + png(MILLIMETRES)}
    assert decode_depth(message) == pytest.approx(MILLIMETRES / 1000)


def test_compressed_depth_of_floats_is_inverse_depth():
    a, b = 100.0, 1.0
    wanted = np.array([[1.0, 2.0], [4.0, 0.0]], np.float32)
    with np.errstate(divide="ignore"):
        coded = np.where(wanted > 0, np.round(a / wanted + b), 0).astype(np.uint16)
    message = {"format": "32FC1; compressedDepth png", "data": struct.pack("<iff", 0, a, b) + png(coded)}
    assert decode_depth(message) == pytest.approx(wanted, rel=0.02)


def rvl(image) -> bytes:
    """Code an image as rvl_codec.cpp of compressed_depth_image_transport does: word by word, nibble by nibble."""
    words, word, nibbles = [], 0, 0

    def put(value):
        nonlocal word, nibbles
        while True:
            nibble, value = value & 7, value >> 3
            word = (word << 4 | nibble | (8 if value else 0)) & 0xFFFFFFFF
            nibbles += 1
            if nibbles == 8:
                words.append(word)
                word, nibbles = 0, 0
            if not value:
                return

    pixels, at, before = [int(value) for value in image.ravel()], 0, 0
    while at < len(pixels):
        for wanted in (False, True):
            end = at
            while end < len(pixels) and bool(pixels[end]) is wanted:
                end += 1
            put(end - at)
            for value in pixels[at:end] if wanted else []:
                delta, before = value - before, value
                put((delta << 1) ^ (delta >> 31))
            at = end
    if nibbles:
        words.append(word << 4 * (8 - nibbles))
    height, width = image.shape
    return struct.pack(f"<II{len(words)}I", width, height, *words)


RVL = {"format": "16UC1; compressedDepth rvl"}
HEADER = struct.pack("<iff", 0, 0.0, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_depth_that_is_coded_as_rvl(seed):
    draw = np.random.default_rng(seed)
    image = draw.integers(400, 65536 if seed % 2 else 3000, (48, 61)).astype(np.uint16)
    image[draw.random(image.shape) < 0.3 * seed] = 0
    assert (decode_depth({**RVL, "data": HEADER + rvl(image)}) == (image / 1000).astype(np.float32)).all()


@pytest.mark.parametrize("image", [np.zeros((2, 3)), np.full((1, 1), 7), MILLIMETRES])
def test_small_pictures_of_rvl(image):
    assert decode_depth({**RVL, "data": HEADER + rvl(image.astype(np.uint16))}) == pytest.approx(image / 1000)


@pytest.mark.parametrize("coded", ["16UC1; compressedDepth rvl", "32FC1; compressedDepth rvl"])
def test_rvl_that_cannot_be_decoded_is_refused(monkeypatch, coded):
    good = rvl(MILLIMETRES)
    for data in (good[:8], good[:-4], good[:8] + b"\xff" * 8, good[:4], b""):
        with pytest.raises((ValueError, IndexError), match=r"RVL|values|unpack"):
            decode_depth({"format": coded, "data": HEADER + data})
    monkeypatch.setattr("quartet_robot_link.camera.MAX_PIXELS", 5)
    with pytest.raises(ValueError, match="3 x 2 pixels are too many, at most 5"):
        decode_depth({"format": coded, "data": HEADER + good})


def test_unknown_encodings_are_named():
    with pytest.raises(CameraUnavailableError, match=r"'64FC1'.*16UC1, 32FC1"):
        decode_depth(image(MILLIMETRES, "64FC1"))
    with pytest.raises(CameraUnavailableError, match=r"'yuv422'.*rgb8"):
        decode_colour(image(COLOURS, "yuv422"))


def test_colour_orders():
    assert (decode_colour(image(COLOURS, "rgb8")) == COLOURS).all()
    assert (decode_colour(image(COLOURS, "rgb8", pad=3)) == COLOURS).all()
    assert (decode_colour(image(COLOURS[:, :, ::-1].copy(), "bgr8")) == COLOURS).all()
    alpha = np.dstack([COLOURS[:, :, ::-1], np.zeros((2, 3), np.uint8)])
    assert (decode_colour(image(alpha, "bgra8")) == COLOURS).all()
    grey = decode_colour(image(COLOURS[:, :, 0].copy(), "mono8"))
    assert grey.shape == (2, 3, 3)
    assert (grey[:, :, 2] == COLOURS[:, :, 0]).all()


def test_compressed_colour():
    assert (decode_colour({"format": "png", "data": png(COLOURS)}) == COLOURS).all()


def test_a_depth_picture_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr("quartet_robot_link.camera.MAX_PIXELS", 5)
    message = {"format": "16UC1; compressedDepth png", "data": struct.pack("<iff", 0, 0.0, 0.0) + png(MILLIMETRES)}
    with pytest.raises(ValueError, match="3 x 2 pixels are too many, at most 5"):
        decode_depth(message)
