"""What is told of one event."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Tone = Literal["plain", "strong", "quiet", "good", "bad", "notice", "question", "answer"]
"""How words are meant; whoever shows them has a colour or a weight for each."""


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True)


class Span(_Shown):
    text: str
    tone: Tone = "plain"


class Line(_Shown):
    """One line of the story."""

    actor: str
    at: float
    """Seconds since the epoch."""
    spans: tuple[Span, ...]
    tone: Tone = "plain"
    """Of the whole line; a span's own comes on top."""
    body: str = ""
    """Text below the line, its line breaks kept."""
    body_tone: Tone = "plain"


class Now(_Shown):
    """What somebody does at the moment."""

    actor: str
    text: str


class Told(_Shown):
    lines: tuple[Line, ...] = ()
    now: Now | None = None
