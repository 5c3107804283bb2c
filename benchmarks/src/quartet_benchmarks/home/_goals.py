"""What an episode asks of the world, and whether the world says yes."""

from dataclasses import dataclass
from typing import Any, Literal

Truth = dict[str, Any]
MOVED_M = 0.10
"""An object that nobody asked for counts as disturbed when it is this far from where it was."""


@dataclass(frozen=True)
class Goal:
    """One object and where it must end."""

    object: str
    kind: Literal["on", "in", "floor"]
    target: str
    """Surface, container, or the area whose floor is meant."""

    def met(self, truth: Truth) -> bool:
        """Whether the object lies where it should, released."""
        thing = truth["objects"].get(self.object)
        if thing is None or thing["held"]:
            return False
        if self.kind == "on":
            return thing["on"] == self.target
        if self.kind == "in":
            return thing["in"] == self.target
        return thing["on"] == "floor" and thing["area"] == self.target


def disturbed(before: Truth, after: Truth, moved_on_purpose: set[str]) -> list[str]:
    """Objects that are not where they were, beside those that the task is about."""
    found: list[str] = []
    for name, was in before["objects"].items():
        if name in moved_on_purpose:
            continue
        now = after["objects"].get(name)
        if now is None:
            found.append(name)
            continue
        distance = sum((a - b) ** 2 for a, b in zip(was["position"], now["position"], strict=True)) ** 0.5
        if distance > MOVED_M or (was["on"], was["in"]) != (now["on"], now["in"]):
            found.append(name)
    return found
