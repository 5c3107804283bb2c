"""Messages on the wire: JSON, PNG, CBOR and CDR, each made once however many subscribers there are."""

from __future__ import annotations

import base64
import io
import math
import struct
from typing import Any

import cbor2
import numpy as np
import orjson
from PIL import Image

from quartet_simulation.ros.definitions import PRIMITIVES, Definition, Field
from quartet_simulation.ros.graph import Published
from quartet_simulation.ros.types import Message, definition

_TYPED_ARRAYS = {
    "uint16": (69, "<u2"),
    "uint32": (70, "<u4"),
    "uint64": (71, "<u8"),
    "byte": (72, "u1"),
    "int8": (72, "i1"),
    "int16": (77, "<i2"),
    "int32": (78, "<i4"),
    "int64": (79, "<i8"),
    "float32": (85, "<f4"),
    "float64": (86, "<f8"),
}
"""Little-endian typed array tags of RFC 8746."""


def to_json(frame: Any) -> bytes:
    """JSON of a frame: bytes become base64, inf and NaN null."""
    return orjson.dumps(frame, default=_extra, option=orjson.OPT_SERIALIZE_NUMPY)


def _extra(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, np.ndarray):
        # orjson takes only contiguous arrays by itself.
        return value.tolist()
    raise TypeError(f"cannot encode a {type(value).__name__}")


def to_png(frame: bytes) -> bytes:
    """A JSON frame in the pixels of an RGB PNG that is nearly square, padded with newlines, inside a `png` frame."""
    width = math.isqrt(len(frame) // 3)
    height = math.ceil(len(frame) / (3 * width))
    buffer = io.BytesIO()
    Image.frombytes("RGB", (width, height), frame.ljust(3 * width * height, b"\n")).save(
        buffer, "png", compress_level=1
    )
    return orjson.dumps({"op": "png", "data": base64.b64encode(buffer.getvalue()).decode("ascii")})


def cbor_values(of: Definition, message: Message) -> Message:
    """Values as CBOR carries them: native bytes, numeric arrays tagged."""
    return {field.name: _cbor_value(field, message[field.name]) for field in of.fields}


def _cbor_value(field: Field, value: Any) -> Any:
    if field.length is None:
        return value if field.primitive else cbor_values(definition(field.base), value)
    if field.binary:
        return bytes(value)
    if field.base in _TYPED_ARRAYS:
        tag, dtype = _TYPED_ARRAYS[field.base]
        return cbor2.CBORTag(tag, np.asarray(value, dtype=dtype).tobytes())
    if field.primitive:
        return list(value)
    element = definition(field.base)
    return [cbor_values(element, item) for item in value]


def to_cdr(of: Definition, message: Message) -> bytes:
    """The message as DDS carries it: little-endian CDR with its four bytes of encapsulation header."""
    out = bytearray(b"\x00\x01\x00\x00")
    _cdr_object(out, of, message)
    return bytes(out)


def _align(out: bytearray, size: int) -> None:
    out.extend(bytes(-(len(out) - 4) % size))


def _cdr_object(out: bytearray, of: Definition, message: Message) -> None:
    if not of.fields:
        # rosidl gives an empty structure one octet.
        out.append(0)
    for field in of.fields:
        value = message[field.name]
        if field.length is None:
            _cdr_item(out, field, value)
            continue
        if not field.length:
            _align(out, 4)
            out += struct.pack("<I", len(value))
        if field.primitive and field.base != "string":
            code = PRIMITIVES[field.base]
            if len(value):
                _align(out, struct.calcsize(code))
                out += value if isinstance(value, bytes) else np.asarray(value).astype(code).tobytes()
        else:
            for item in value:
                _cdr_item(out, field, item)


def _cdr_item(out: bytearray, field: Field, value: Any) -> None:
    if not field.primitive:
        _cdr_object(out, definition(field.base), value)
    elif field.base == "string":
        _align(out, 4)
        text = value.encode() + b"\x00"
        out += struct.pack("<I", len(text)) + text
    else:
        code = PRIMITIVES[field.base]
        _align(out, struct.calcsize(code))
        out += struct.pack("<" + code, value)


def frame(published: Published, compression: str) -> bytes:
    """A `publish` frame, made at most once per message. JSON and `png` are text, `cbor` and `cbor-raw` binary."""
    if compression not in published.frames:
        published.frames[compression] = _encode(published, compression)
    return published.frames[compression]


def _encode(published: Published, compression: str) -> bytes:
    head = {"op": "publish", "topic": published.topic}
    match compression:
        case "png":
            return to_png(frame(published, "none"))
        case "cbor":
            values = cbor_values(definition(published.type_name), published.message)
            return cbor2.dumps(head | {"msg": values})
        case "cbor-raw":
            raw = to_cdr(definition(published.type_name), published.message)
            seconds, nanoseconds = divmod(published.stamp_ns, 1_000_000_000)
            return cbor2.dumps(head | {"msg": {"secs": seconds, "nsecs": nanoseconds, "bytes": raw}})
        case _:
            return to_json(head | {"msg": published.message})
