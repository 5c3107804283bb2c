"""A simulation in real time with the clock of a robot: its stamps are wall time, and it has no /clock."""

import time
from typing import Any

DRIFT_S = 0.25
"""The simulation may be this much late before its stamps jump."""


class WallTime:
    """Turn each stamp of an operation of the simulation into wall time; /clock, from which it learns, is dropped."""

    def __init__(self) -> None:
        self._offset_s: float | None = None

    def __call__(self, operation: dict[str, Any]) -> dict[str, Any] | None:
        """Return the changed operation, None for /clock; what comes before the first /clock stays as it is."""
        if operation.get("topic") == "/clock":
            offset_s = time.time() - _seconds(operation["msg"]["clock"])
            if self._offset_s is None or abs(offset_s - self._offset_s) > DRIFT_S:
                self._offset_s = offset_s
            return None
        if self._offset_s is not None:
            self._shift(operation)
        return operation

    def _shift(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._shift(item)
        elif isinstance(value, dict):
            stamp = value.get("stamp")
            if isinstance(stamp, dict) and (at := _seconds(stamp)) and self._offset_s is not None:
                at += self._offset_s
                value["stamp"] = {"sec": int(at), "nanosec": int(at % 1 * 1e9)}
            for item in value.values():
                self._shift(item)


def _seconds(stamp: dict[str, Any]) -> float:
    return stamp["sec"] + stamp["nanosec"] * 1e-9
