"""Lines of a story: text in tones, whoever shows it."""

import re
from typing import Literal

from pydantic import ConfigDict

from quartet_contracts.messages import Model

SHORT_TEXT = 280
"""Length above which a text within a line is cut, in characters."""

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal or a browser obeys instead of showing: controls but tab and line feed, and directions."""

Tone = Literal["plain", "strong", "quiet", "good", "bad", "notice", "question", "answer"]
"""Role of a text; a display chooses a colour or weight for each."""


class Shown(Model):
    """Base of what is shown."""

    model_config = ConfigDict(frozen=True)


class Span(Shown):
    """Text in one tone."""

    text: str
    tone: Tone = "plain"


class Line(Shown):
    """One line of the story."""

    actor: str
    at: float
    """Seconds since the epoch."""
    spans: tuple[Span, ...]
    tone: Tone = "plain"
    """Tone of the line; the tone of a span prevails within it."""
    body: str = ""
    """Text below the line, with its line breaks."""
    body_tone: Tone = "plain"


def clip(text: str, limit: int) -> str:
    """Return a text on one line, cut to `limit` characters."""
    flat = flatten(text)
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def flatten(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def printable(text: str) -> str:
    """Return a text that came from elsewhere with the characters shown that a display would obey.

    A model, an agent or a camera's text could otherwise rewrite what a person reads, and answers yes to.
    """
    return _OBEYED.sub(lambda found: f"<U+{ord(found[0]):04X}>", text.replace("\r\n", "\n"))
