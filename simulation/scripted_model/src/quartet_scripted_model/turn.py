"""Turns of a policy, and the results that it is sent."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from quartet_procedures import Call, Result


@dataclass(frozen=True)
class Text:
    """An answer of text alone."""

    say: str


Turn = Call | tuple[Call, ...] | Text
"""One call, several that run in order, or words."""


def calls_of(turn: Turn) -> tuple[Call, ...]:
    """Return the calls of a turn; none for words."""
    return (turn,) if isinstance(turn, Call) else turn if isinstance(turn, tuple) else ()


Policy = Generator[Turn, Any, None]
"""A policy yields turns. It is sent the result of a call, a list of results for several calls.

It is replayed from the messages on every request.
"""

__all__ = ["Call", "Policy", "Result", "Text", "Turn", "calls_of"]
