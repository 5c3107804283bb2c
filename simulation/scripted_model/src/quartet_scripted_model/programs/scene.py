"""Reads the state of the scene from a prompt."""

import re
from dataclasses import dataclass

_THING = re.compile(
    r"\*\*(?P<name>.+)\*\*\nCenter Position: \[(?P<position>.+)\]\nOrientation: \[(?P<turns>.+)\]\n"
    r"Height: (?P<height>.+)\nWidth: (?P<width>.+)\nLength: (?P<length>.+)\nColor: (?P<colour>.+)"
    r"(?:\nNote: (?P<note>.+))?"
)
_UNSURE = re.compile(r"may be elsewhere|not sure")
SAFE_M, RELEASE_M = 0.1, 0.02
"""Distances of the MALMM paper's prompts, for a prompt that names none [m]."""
_HAND = re.compile(r"End-effector position: \[(.+)\]")
_HELD = re.compile(r"Grasped object: (.+)")

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Described:
    """A thing as the state tells it."""

    name: str
    position: Vector
    yaw: float
    length: float
    width: float
    height: float
    """Along its own x, y and z [m]."""
    colour: str
    unsure: bool = False
    """The state says that it may be elsewhere."""

    @property
    def top(self) -> float:
        """Height of its upper side, upright [m]."""
        return self.position[2] + self.height / 2


@dataclass(frozen=True)
class Scene:
    """A state as it is told."""

    things: dict[str, Described]
    hand: Vector
    held: str | None
    safe_m: float = SAFE_M
    release_m: float = RELEASE_M


def read_scene(text: str, *, safe_m: float = SAFE_M, release_m: float = RELEASE_M) -> Scene:
    """Return the state that a text tells; the distances are the prompt's.

    Raises:
        ValueError: it does not tell where the hand is.
    """
    things: dict[str, Described] = {}
    for found in _THING.finditer(text):
        things[found["name"]] = Described(
            found["name"],
            _vector(found["position"]),
            _vector(found["turns"])[2],
            float(found["length"]),
            float(found["width"]),
            float(found["height"]),
            found["colour"],
            unsure=bool(_UNSURE.search(found["note"] or "")),
        )
    hand = _HAND.search(text)
    if hand is None:
        raise ValueError(f"no line 'End-effector position: [x, y, z]' in {text[:200]!r}")
    held = _HELD.search(text)
    return Scene(things, _vector(hand[1]), held[1] if held else None, safe_m, release_m)


def _vector(text: str) -> Vector:
    x, y, z = (float(value) for value in text.split(","))
    return x, y, z
