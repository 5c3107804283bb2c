"""How much a frame may unpack to, whatever the robot's side sends."""

import base64
import io
import json

import pytest
from PIL import Image

from quartet_robot_link import _decode
from quartet_robot_link._decode import Decoder
from quartet_robot_link.errors import UndecodableFrameError


def png(width: int, height: int) -> str:
    """An operation whose PNG unpacks to newlines alone."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (10, 10, 10)).save(out, "png")
    return json.dumps({"op": "png", "data": base64.b64encode(out.getvalue()).decode()})


def part(number: int, total: int, *, of: str, data: str = "x" * 100) -> str:
    return json.dumps({"op": "fragment", "id": of, "num": number, "total": total, "data": data})


def test_a_small_png_that_unpacks_to_too_much_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(_decode, "MAX_UNPACKED_BYTES", 3 * 99 * 100)
    with pytest.raises(UndecodableFrameError, match="100 x 100 pixels are more than 29700 bytes"):
        Decoder().decode(png(100, 100))


def test_fragments_of_too_long_a_message_are_dropped(monkeypatch):
    monkeypatch.setattr(_decode, "MAX_UNPACKED_BYTES", 250)
    decoder = Decoder()
    assert decoder.decode(part(0, 9, of="a")) == decoder.decode(part(1, 9, of="a")) == []
    with pytest.raises(UndecodableFrameError, match="first 3 of 9 fragments of message 'a'"):
        decoder.decode(part(2, 9, of="a"))
    assert decoder.decode(part(0, 1, of="b", data='{"op": "status"}')) == [{"op": "status"}]


def test_of_messages_that_never_end_the_oldest_are_dropped(monkeypatch):
    monkeypatch.setattr(_decode, "MAX_UNPACKED_BYTES", 250)
    decoder = Decoder()
    for name in "abc":
        assert decoder.decode(part(0, 2, of=name)) == []
    assert [name for name, _ in decoder._fragments] == ["b", "c"]
