"""What makes an agent: its prompt, its facts and its check in code."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from quartet_agent_runtime.verification import Verification
from quartet_contracts import Skill
from quartet_site import RobotFile, SiteFile

Facts = Callable[[RobotFile, SiteFile], dict[str, Any]]
"""Builds the Facts block of the prompt."""
Verify = Callable[[Verification, Any], Awaitable[Any]]
"""Takes what the model reported (REPORTS of the skill) and returns what the world confirms, of the same type."""

Prepare = Callable[[Verification], Awaitable[None]]
"""Brings the robot into a state to begin from, after an attempt of which nobody knows how it ended."""


@dataclass(frozen=True)
class AgentDefinition:
    skill: Skill
    prompt: str
    """Markdown template with `{{ facts }}`."""
    facts: Facts
    verify: Verify
    prepare: Prepare | None = None
