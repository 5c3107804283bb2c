"""What a process writes to its sockets, write by write: each is a system call, and wakes the other side."""

from asyncio import selector_events
from typing import Any

import pytest


def note_writes(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a list that gets what the transports of asyncio are given to write from now on."""
    written: list[bytes] = []
    transport = vars(selector_events)["_SelectorSocketTransport"]
    write = transport.write

    def note(self: Any, data: bytes) -> None:
        written.append(bytes(data))
        write(self, data)

    monkeypatch.setattr(transport, "write", note)
    return written
