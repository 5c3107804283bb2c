"""Quality of service as clients may ask for it on subscribe and advertise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quartet_simulation.errors import QosError

_POLICIES = {
    "history": ("keep_last", "keep_all"),
    "reliability": ("reliable", "best_effort", "best_available"),
    "durability": ("transient_local", "volatile", "best_available"),
}


@dataclass(frozen=True)
class Qos:
    """The parts of a profile that matter here; `durability` is None when the client leaves it open."""

    depth: int
    durability: str | None


def parse(value: dict[str, Any]) -> Qos:
    """A client's `qos` object. Raises QosError for an unknown policy or depth."""
    for key, valid in _POLICIES.items():
        policy = value.get(key, valid[0])
        if not isinstance(policy, str) or policy.lower() not in valid:
            raise QosError(f"{policy!r} is not a valid {key} policy; valid: {', '.join(valid)}")
    depth = value.get("depth", 10)
    if type(depth) is not int or depth < 0:
        raise QosError(f"depth must be a non-negative integer, got {depth!r}")
    durability = value.get("durability")
    return Qos(depth, durability.lower() if durability is not None else None)
