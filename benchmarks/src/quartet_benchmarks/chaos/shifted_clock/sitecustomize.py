"""Shifts the wall clock of the Python process that starts with this folder in PYTHONPATH, for the chaos suite only.

Python imports a module of this name at its start (https://docs.python.org/3/library/site.html). The shift [s] is a
double in the file that CHAOS_CLOCK_FILE names, and may change while the process runs. What reads the wall clock past
`time.time`, `time.time_ns` and `datetime` (the kernel's file times, libraries in C) keeps the machine's time; monotonic
clocks are not touched.
"""

import datetime
import mmap
import os
import struct
import time

_real_time, _real_time_ns, _Real = time.time, time.time_ns, datetime.datetime


def _begin(path: str) -> None:
    with open(path, "rb") as file:
        memory = mmap.mmap(file.fileno(), struct.calcsize("d"), access=mmap.ACCESS_READ)

    def shift_s() -> float:
        return struct.unpack("d", memory[:])[0]

    def shifted_time() -> float:
        return _real_time() + shift_s()

    def shifted_time_ns() -> int:
        return _real_time_ns() + round(shift_s() * 1e9)

    class Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _Real)

    class Shifted(_Real, metaclass=Kind):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return _Real.fromtimestamp(shifted_time(), tz)

        @classmethod
        def today(cls) -> datetime.datetime:
            return _Real.fromtimestamp(shifted_time())

        @classmethod
        def utcnow(cls) -> datetime.datetime:
            return _Real.fromtimestamp(shifted_time(), datetime.UTC).replace(tzinfo=None)

    time.time, time.time_ns, datetime.datetime = shifted_time, shifted_time_ns, Shifted


if "CHAOS_CLOCK_FILE" in os.environ:
    _begin(os.environ["CHAOS_CLOCK_FILE"])
