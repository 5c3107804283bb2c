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


@dataclass(frozen=True)
class AgentDefinition:
    skill: Skill
    prompt: str
    """Markdown template with `{{ facts }}`."""
    facts: Facts
    verify: Verify
