"""Turns of a policy, and the results that it is sent."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One tool call, with the text `say` beside it."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    say: str = ""


@dataclass(frozen=True)
class Text:
    """An answer of text alone."""

    say: str


Turn = Call | Text


@dataclass(frozen=True)
class Result:
    """Content of a tool message, read as JSON where it is JSON."""

    data: dict[str, Any]

    @property
    def code(self) -> str:
        """The `error_code`; without one NONE for a result that says it is ok, else UNKNOWN."""
        code = self.data.get("error_code")
        if isinstance(code, str) and code:
            return code
        return "NONE" if self.data.get("ok", self.data.get("success", True)) else "UNKNOWN"

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.code == "NONE" and self.data.get("ok", self.data.get("success", True)) is not False

    @property
    def message(self) -> str:
        """The text that explains the code, at most 300 characters."""
        for key in ("message", "reason", "error"):
            if isinstance(self.data.get(key), str) and self.data[key]:
                return self.data[key][:300]
        return ""

    def get(self, key: str) -> Any:
        """Return a field of the result, or None."""
        return self.data.get(key)


Policy = Generator[Turn, Result, None]
"""A policy yields turns and is sent the result of each call; it is replayed from the messages on every request."""
