"""What a tool is to the loop, wherever it runs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

FENCED = "FENCED"
Progress = Callable[[float | None, str], Awaitable[None]]
"""Called with the fraction done (0 to 1, or None) and a text while a tool runs."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""


@dataclass(frozen=True)
class Image:
    data: bytes
    media_type: str = "image/jpeg"


@dataclass(frozen=True)
class ToolOutcome:
    """What a call gave: `content` is what the model reads as JSON."""

    content: dict[str, Any]
    images: list[Image] = field(default_factory=list[Image])
    interrupted: bool = False
    """The call began and its end was not seen (time-out, lost server): its effect on the world is not known."""
    gone: bool = False
    """A server that moves the robot is not there, also after it was waited for."""

    @property
    def ok(self) -> bool:
        return self.content.get("ok") is not False

    @property
    def error_code(self) -> str:
        return str(self.content.get("error_code", "NONE" if self.ok else "UNKNOWN"))

    @property
    def void(self) -> bool:
        """Nothing moves for this attempt any more: a newer one has the robot, its server has started anew, or is gone.

        What the attempt has done so far is for the orchestrator to look at.
        """
        return self.error_code == FENCED or self.gone

    @property
    def message(self) -> str:
        return str(self.content.get("message", ""))


Specs = list[ToolSpec]


def failure(code: str, message: str, *, interrupted: bool = False, **fields: Any) -> ToolOutcome:
    """A tool error in the shape of every tool result."""
    return ToolOutcome({"ok": False, "error_code": code, "message": message, **fields}, interrupted=interrupted)


class Tools(Protocol):
    """A set of tools. `call` never raises for what the model or a server did wrong: that is a failure outcome."""

    async def list(self) -> Specs:
        """What the model is shown. Raises ToolsUnavailable."""
        ...

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome: ...
