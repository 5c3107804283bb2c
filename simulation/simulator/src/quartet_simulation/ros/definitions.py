"""Reads ROS 2 interface definitions, written once in definitions/<package>.txt.

A line is `msg Name: type field, ...`, `srv Name: request --- response` or
`action Name: goal --- result --- feedback`; types are spelled as in .msg files, without constants; # begins a comment.
Source: the packages' interface files as released for ROS 2 Jazzy; those that no type store of PyPI has (nav2_msgs,
moveit_msgs, control_msgs) say in their first lines what they were compared with.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

PRIMITIVES = {
    "bool": "?",
    "byte": "B",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
    "string": "",
}
"""Primitive type to its struct format; a string has none."""

_PARTS = {"msg": ("",), "srv": ("_Request", "_Response"), "action": ("_Goal", "_Result", "_Feedback")}
_FIELD = re.compile(r"^(?P<base>[A-Za-z0-9_/]+)(?P<array>\[(?:<=)?\d*\])? (?P<name>[a-z][a-z0-9_]*)$")


@dataclass(frozen=True)
class Field:
    """One field. `length` is None for a single value, 0 for any length, n for exactly n values."""

    name: str
    base: str
    length: int | None = None
    bound: int | None = None

    @property
    def primitive(self) -> bool:
        """Whether the type is a primitive."""
        return self.base in PRIMITIVES

    @property
    def binary(self) -> bool:
        """Whether the type is uint8[] or char[], which is encoded as base64."""
        return self.length is not None and self.base in ("uint8", "char")

    @property
    def spelled(self) -> str:
        """The type as message definitions spell it."""
        if self.length is None:
            return self.base
        inside = f"<={self.bound}" if self.bound else (str(self.length) if self.length else "")
        return f"{self.base}[{inside}]"


@dataclass(frozen=True)
class Definition:
    """A message, or one part of a service or action: `std_srvs/Trigger_Request`."""

    name: str
    fields: tuple[Field, ...]

    @property
    def by_name(self) -> dict[str, Field]:
        """Fields by name."""
        return {field.name: field for field in self.fields}

    @property
    def text(self) -> str:
        """The fields as a .msg file spells them."""
        return "\n".join(f"{field.spelled} {field.name}" for field in self.fields)


def _field(text: str, where: str) -> Field:
    match = _FIELD.match(text)
    if match is None:
        raise ValueError(f"{where}: cannot read the field {text!r}")
    inside = match["array"][1:-1] if match["array"] else None
    if inside is None:
        return Field(match["name"], match["base"])
    if inside.startswith("<="):
        return Field(match["name"], match["base"], 0, int(inside[2:]))
    return Field(match["name"], match["base"], int(inside or 0))


def _parse(package: str, text: str) -> dict[str, tuple[str, tuple[Definition, ...]]]:
    types: dict[str, tuple[str, tuple[Definition, ...]]] = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        head, _, body = line.partition(":")
        kind, name = head.split()
        where = f"{package}/{name}"
        sections = [section.strip() for section in body.split("---")]
        suffixes = _PARTS[kind]
        if len(sections) != len(suffixes):
            raise ValueError(f"{where}: a {kind} has {len(suffixes)} parts, found {len(sections)}")
        parts = tuple(
            Definition(
                where + suffix, tuple(_field(item.strip(), where) for item in section.split(",") if item.strip())
            )
            for suffix, section in zip(suffixes, sections, strict=True)
        )
        types[f"{package}/{kind}/{name}"] = (kind, parts)
    return types


@cache
def load() -> dict[str, tuple[str, tuple[Definition, ...]]]:
    """All interfaces by full name (`std_srvs/srv/Trigger`): kind and definitions of its parts."""
    types: dict[str, tuple[str, tuple[Definition, ...]]] = {}
    for file in sorted((resources.files("quartet_simulation.ros") / "definitions").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".txt"):
            types |= _parse(file.name[:-4], file.read_text())
    return types
