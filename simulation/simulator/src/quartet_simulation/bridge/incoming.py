"""What a client sends, split into JSON objects as rosbridge_library's protocol.py splits it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

MAX_WAITING = 1_000_000
"""Characters that may wait for the rest of an object; more are forgotten."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


class Incoming:
    """Text of one client that is not yet a whole object, over the borders of its frames."""

    def __init__(self) -> None:
        self._waiting = ""

    def feed(self, frame: str | bytes) -> Iterator[Any]:
        """Take a frame; yield what it completes: one value, or each object with an `op` that is found in it."""
        self._waiting += frame if isinstance(frame, str) else frame.decode(errors="replace")
        try:
            whole = orjson.loads(self._waiting)
        except orjson.JSONDecodeError:
            yield from self._objects()
        else:
            self._waiting = ""
            yield whole
        if len(self._waiting) > MAX_WAITING:
            self._waiting = ""

    def _objects(self) -> Iterator[Any]:
        start = self._waiting.find("{")
        while start >= 0:
            try:
                found, end = _DECODER.raw_decode(self._waiting, start)
            except (ValueError, RecursionError):
                start = self._waiting.find("{", start + 1)
                continue
            if found.get("op") is None:
                # A part of an object whose rest has not come yet. Behind a whole object without `op`, rosbridge finds
                # nothing any more; the same here.
                return
            self._waiting = self._waiting[end:]
            yield found
            start = self._waiting.find("{")
