"""Makes valid messages invalid, in their structure and byte by byte; seeded."""

import copy
import json
import random
from typing import Any

DEEP, DEEPER = "\u0001deep", "\u0001deeper"
"""Placeholders for deeply nested lists, which Python's encoder does not write."""
DEPTHS = {DEEP: 200, DEEPER: 20_000}
LONG = "long " * 20_000
"""Longer than the limit of messages, 64 KB."""
STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**400,
    0.1,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    " ",
    "0",
    "NaN",
    "null",
    "\x00",
    "\ud800",
    "\U0001f916",
    "..",
    "../../etc/passwd",
    "'; DROP TABLE tasks; --",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "%s%n%x",
    "a" * 65,
    "a" * 5000,
    LONG,
    DEEP,
    DEEPER,
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"__proto__": {"x": 1}},
    {"$ref": "#"},
)
TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"\\",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"1e999",
    b"-",
    b"/*",
    b"\r\n",
)


class Mutator:
    """Mutates messages with random numbers of `dice`; the same seed gives the same messages."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def strange(self) -> Any:
        """Return a copy of an unexpected value."""
        return copy.deepcopy(self.dice.choice(STRANGE))

    def value(self, value: Any, most: int = 3) -> Any:
        """Return `value` with one to `most` random changes."""
        changed = copy.deepcopy(value)
        for _ in range(self.dice.randint(1, most)):
            changed = self._change(changed)
        return changed

    def text(self, value: Any, most: int = 3) -> bytes:
        """Return JSON of a changed `value`; one in four is damaged as text too, one in four only as text."""
        kind = self.dice.randrange(4)
        data = dump(value if kind == 0 else self.value(value, most))
        return self.damaged(data) if kind < 2 else data

    def damaged(self, data: bytes) -> bytes:
        """Return `data` cut or doubled, with bytes changed, inserted or removed."""
        found = bytearray(data)
        for _ in range(self.dice.randint(1, 4)):
            at = self.dice.randrange(len(found) + 1)
            match self.dice.randrange(6):
                case 0:
                    del found[at:]
                case 1:
                    del found[at : at + self.dice.randint(1, 20)]
                case 2 if at < len(found):
                    found[at] ^= 1 << self.dice.randrange(8)
                case 3:
                    found[at:at] = self.dice.choice(TOKENS)
                case 4:
                    found[at:at] = found[: self.dice.randint(1, 200)]
                case _:
                    found[at:at] = bytes(self.dice.randrange(256) for _ in range(self.dice.randint(1, 8)))
        return bytes(found)

    def _change(self, value: Any) -> Any:
        """Return `value` with one change at a random place of its tree."""
        places = list(_places(value))
        if not places or self.dice.random() < 0.05:
            return self.strange()
        holder, key = self.dice.choice(places)
        match self.dice.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[f"{key}{self.dice.choice(['_', '2', chr(0), ' '])}"] = holder.pop(key)
            case 2 if isinstance(holder, dict):
                holder[self.dice.choice(["extra", "", "schema_version", "id", "__class__"])] = self.strange()
            case 3:
                holder[key] = [holder[key]] if self.dice.random() < 0.5 else {"value": holder[key]}
            case 4:
                other, name = self.dice.choice(places)
                holder[key] = copy.deepcopy(other[name]) if _has(other, name) else None
            case _:
                holder[key] = self.strange()
        return value


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any) -> Any:
    """Yield every (container, key) of a tree of dicts and lists."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        yield value, key
        yield from _places(entry)


def dump(value: Any) -> bytes:
    """Return JSON with NaN, huge numbers, lone surrogates and deep nesting."""
    text = json.dumps(value)
    for mark, depth in DEPTHS.items():
        text = text.replace(json.dumps(mark), "[" * depth + "]" * depth)
    return text.encode()
