"""Entry of a tool in its server: arguments, result, and effect on the robot."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastmcp.tools import ToolResult as McpResult

from quartet_contracts.tools import ToolResult
from quartet_robot_link import Message

Function = Callable[..., Awaitable[ToolResult | McpResult]]
Limits = Callable[..., Awaitable[None] | None]
"""Takes a tool's arguments by name and raises InvalidArgumentsError for values that robot.yaml or site.yaml exclude."""
Goal = Callable[..., tuple[str, Message] | None]
"""Takes a tool's arguments by name and returns the action and goal that they amount to; None where nothing moves."""


@dataclass(frozen=True)
class ToolEntry:
    """A tool as it is registered: what it takes, gives, and does to the robot."""

    name: str
    function: Function
    model: type[ToolResult]
    signature: inspect.Signature
    read_only: bool
    moves: str | None
    """Channel that it moves: base, arm or gripper."""
    cancels: str | None
    """Channel whose motions it cancels."""
    limits: Limits | None
    goal: Goal | None

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of its arguments."""
        return tuple(self.signature.parameters)

    @property
    def defaults(self) -> dict[str, Any]:
        """Arguments that may be left out, with what they are then."""
        return {key: item.default for key, item in self.signature.parameters.items() if item.default is not item.empty}
