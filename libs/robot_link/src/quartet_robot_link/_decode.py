"""Decoder of websocket frames to rosbridge operations: JSON, CBOR, PNG, fragments."""

import base64
import io
import re
from dataclasses import dataclass, field
from typing import Any, cast

import orjson

from quartet_robot_link.errors import MessageTooLargeError, UndecodableFrameError
from quartet_robot_link.link import Message

MAX_PENDING_FRAGMENTS = 64
"""Messages whose fragments may be incomplete at the same time; beyond it the oldest is dropped."""
MAX_FRAGMENTS = 4096
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""Largest frame that is decoded, and largest text that is put together of fragments or unpacked of a PNG, and of all
parts that wait. A small PNG can unpack to gigabytes."""
HEAD = 1000
"""Characters of a frame in which its topic is looked for."""
_TOPIC = re.compile(r'"topic": ?"([^"]+)"')

# RFC 8746 typed arrays, little and big endian, as rosbridge_library's cbor_conversion writes them.
_TYPED_ARRAYS: dict[int, str] = {
    64: "u1",
    65: ">u2",
    66: ">u4",
    67: ">u8",
    69: "<u2",
    70: "<u4",
    71: "<u8",
    72: "i1",
    73: ">i2",
    74: ">i4",
    75: ">i8",
    77: "<i2",
    78: "<i4",
    79: "<i8",
    81: ">f4",
    82: ">f8",
    85: "<f4",
    86: "<f8",
}


def binary(value: Any) -> bytes:
    """Return a uint8[] field as bytes: it is bytes in CBOR, base64 text or a list of numbers in JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return base64.b64decode(value)
    return bytes(value)


@dataclass
class Decoder:
    """Turns frames into operations and keeps the parts of fragmented ones."""

    _fragments: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])
    """Parts so far by id and number of parts."""

    def decode(self, frame: str | bytes) -> list[Message]:
        """Return the operations that this frame completes. Raises UndecodableFrameError, MessageTooLargeError."""
        if len(frame) > MAX_UNPACKED_BYTES:
            head = frame[:HEAD] if isinstance(frame, str) else ""
            topic = found[1] if (found := _TOPIC.search(head)) else ""
            raise MessageTooLargeError(
                f"a message{f' on {topic}' if topic else ''} has {len(frame) / 1e6:.0f} MB as "
                f"{'JSON' if isinstance(frame, str) else 'CBOR'}, at most {MAX_UNPACKED_BYTES / 1e6:.0f} MB are read; "
                "let its node publish less, such as a coarser map, and upgrade rosbridge_suite if the message comes as "
                "JSON: arrays are asked for as CBOR",
                topic,
            )
        operation = self._parse(frame)
        if operation.get("op") == "fragment":
            whole = self._collect(operation)
            return [] if whole is None else self.decode(whole)
        if operation.get("op") == "png":
            return self.decode(_unpack_png(operation.get("data", "")))
        return [operation]

    @staticmethod
    def _parse(frame: str | bytes) -> Message:
        try:
            operation: Any = _loads_cbor(frame) if isinstance(frame, bytes) else orjson.loads(frame)
        except Exception as error:
            raise UndecodableFrameError(f"frame of {len(frame)} bytes cannot be decoded: {error}") from error
        if not isinstance(operation, dict):
            raise UndecodableFrameError(f"frame holds {type(operation).__name__}, not an object")
        return cast(Message, operation)

    def _collect(self, part: Message) -> str | None:
        try:
            key, number, total, data = str(part["id"]), int(part["num"]), int(part["total"]), str(part["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise UndecodableFrameError(f"fragment without id, num, total or data: {error}") from error
        if not 0 < total <= MAX_FRAGMENTS or not 0 <= number < total:
            raise UndecodableFrameError(f"fragment {number} of {total} is out of range")
        # Messages without an id of their own all come as "0", and two of them may be mixed; each is sent in order.
        of = (key, total)
        if number == 0:
            self._fragments.pop(of, None)
        parts = self._fragments.setdefault(of, [])
        if number != len(parts):
            del self._fragments[of]
            raise UndecodableFrameError(f"fragment {number} of {total} of message '{key}' does not follow {len(parts)}")
        parts.append(data)
        if sum(map(len, parts)) > MAX_UNPACKED_BYTES:
            del self._fragments[of]
            raise UndecodableFrameError(
                f"the first {number + 1} of {total} fragments of message '{key}' have more than "
                f"{MAX_UNPACKED_BYTES} characters"
            )
        if len(parts) == total:
            return "".join(self._fragments.pop(of))
        while len(self._fragments) > MAX_PENDING_FRAGMENTS or self._waiting() > MAX_UNPACKED_BYTES:
            del self._fragments[next(iter(self._fragments))]
        return None

    def _waiting(self) -> int:
        """Return the number of characters in the parts of incomplete messages."""
        return sum(len(part) for parts in self._fragments.values() for part in parts)


def _loads_cbor(frame: bytes) -> Any:
    import cbor2

    return cbor2.loads(frame, tag_hook=_typed_array)


def _typed_array(first: Any, second: Any) -> Any:
    # cbor2 6 calls its hook with (tag, immutable), cbor2 5 with (decoder, tag).
    tag = first if hasattr(first, "tag") else second
    kind = _TYPED_ARRAYS.get(tag.tag)
    if kind is None or not isinstance(tag.value, bytes):
        return tag.value
    if kind == "u1":
        return tag.value
    import numpy as np

    return np.frombuffer(tag.value, kind)


def _unpack_png(data: str) -> str:
    """Return the JSON text that rosbridge packed into the pixels of an RGB image, row by row, padded with newlines.

    Source: rosbridge_library/internal/pngcompression.py.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(data)), formats=["PNG"]) as image:
            # Only the header is read by now.
            if 3 * image.width * image.height > MAX_UNPACKED_BYTES:
                raise ValueError(f"{image.width} x {image.height} pixels are more than {MAX_UNPACKED_BYTES} bytes")
            return image.convert("RGB").tobytes().decode()
    except Exception as error:
        raise UndecodableFrameError(f"png operation cannot be unpacked: {error}") from error
