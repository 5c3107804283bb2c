"""Tools as the loop sees them: specification, outcome, and a set of them that runs in this process or elsewhere."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

FENCED = "FENCED"
Progress = Callable[[float | None, str], Awaitable[None]]
"""Called with the fraction done (0 to 1, or None) and a text while a tool runs."""


async def ignore_progress(_fraction: float | None, _message: str) -> None:
    """Ignore the progress of a tool."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    reads: bool = False
    """Whether it only reads, as its server says; any other one may move the robot."""


@dataclass(frozen=True)
class Image:
    """An image that a tool returned."""

    data: bytes
    media_type: str = "image/jpeg"


@dataclass(frozen=True)
class ToolOutcome:
    """What a call gave; `content` is what the model reads as JSON."""

    content: dict[str, Any]
    images: list[Image] = field(default_factory=list[Image])
    interrupted: bool = False
    """The call began and its end was not seen (time-out, lost server), so its effect on the world is not known."""
    gone: bool = False
    """A server that moves the robot cannot be reached, also after waiting for it."""

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.content.get("ok") is not False

    @property
    def error_code(self) -> str:
        """Code of the result, "NONE" for a success."""
        return str(self.content.get("error_code", "NONE" if self.ok else "UNKNOWN"))

    @property
    def void(self) -> bool:
        """Whether this attempt cannot move the robot any more: its grant is fenced, or a motion server is gone.

        What the attempt has done so far is for the orchestrator to look at.
        """
        return self.error_code == FENCED or self.gone

    @property
    def message(self) -> str:
        """What the tool says about its result, in words."""
        return str(self.content.get("message", ""))


@dataclass(frozen=True)
class CallResult:
    """A call that was journaled: its outcome, and the references under which its images are stored."""

    outcome: ToolOutcome
    references: list[str]


Specs = list[ToolSpec]


def failure(code: str, message: str, *, interrupted: bool = False, **fields: Any) -> ToolOutcome:
    """Return a tool error, in the shape of every tool result.

    People see the first line of `message` only; what the model should do is on further lines.
    """
    return ToolOutcome({"ok": False, "error_code": code, "message": message, **fields}, interrupted=interrupted)


class Tools(Protocol):
    """A set of tools."""

    async def list(self) -> Specs:
        """Return the tools that the model is shown. Raises ToolsUnavailableError."""
        ...

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        """Call a tool with arguments that fit its schema; what goes wrong is a failure outcome, never an exception."""
        ...


Handler = Callable[[dict[str, Any], Progress], Awaitable[ToolOutcome]]


@dataclass(frozen=True)
class LocalTool:
    """A tool that is a callable of this process."""

    spec: ToolSpec
    handler: Handler
    """Called with arguments that fit the schema."""


class LocalTools:
    """Tools that are callables of this process. See Tools."""

    def __init__(self, tools: Iterable[LocalTool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}

    async def list(self) -> Specs:
        """Return all of them."""
        return [tool.spec for tool in self._tools.values()]

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> ToolOutcome:
        """Call the tool `name`."""
        tool = self._tools.get(name)
        if tool is None:
            return failure("UNKNOWN_TOOL", f"there is no tool '{name}'; valid: {', '.join(sorted(self._tools))}")
        return await tool.handler(arguments, progress)
