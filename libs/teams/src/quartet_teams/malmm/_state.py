"""The state of an arm and of what is before it, as text with the lines that the MALMM paper has."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

Vector = tuple[float, float, float]
_NEGATIVE_ZERO = re.compile(r"^-(0\.0+)$")


@dataclass(frozen=True)
class StateObject:
    """An object as the state tells it."""

    name: str
    position: Vector
    """Its centre [m]."""
    turns: Vector
    """About fixed x, y and z [rad]."""
    extents: Vector
    """Length, width and height: along its own x, y and z [m]."""
    colour: str
    note: str = ""
    """What else is to be known of where it is; a line of ours, which the paper does not have."""


def state_text(objects: Iterable[StateObject], hand: Vector, held: str | None) -> str:
    """Return the state as text; `hand` is where the finger tips are [m], `held` the name of what the gripper holds."""
    lines: list[str] = []
    for one in objects:
        length, width, height = one.extents
        lines += [
            f"**{one.name}**",
            f"Center Position: {_told(one.position)}",
            f"Orientation: {_told(one.turns)}",
            f"Height: {height:.4f}",
            f"Width: {width:.4f}",
            f"Length: {length:.4f}",
            f"Color: {one.colour}",
            *([f"Note: {one.note}"] if one.note else []),
            "",
        ]
    lines += [
        f"End-effector position: {_told(hand)}",
        f"Grasped object: {held}" if held else "No object grasped",
    ]
    return "\n".join(lines)


def _told(values: Vector) -> str:
    return "[" + ", ".join(_NEGATIVE_ZERO.sub(r"\1", f"{value:.4f}") for value in values) + "]"
