"""What an agent is (AgentDefinition, CodedAgent), and what its process hands to each request (AgentContext)."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from quartet_agent_runtime._kept_listings import KeptListings
from quartet_agent_runtime._protocols import ApprovalClient, ImageStore, Journal, Routes, TranscriptStore
from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime._settings import AgentSettings
from quartet_agent_runtime._toolbox import Surround
from quartet_agent_runtime.gateway import GatewayClient
from quartet_contracts import ProgramAnswer, ProgramRequest, Skill, SkillArguments
from quartet_procedures import Procedure
from quartet_site import RobotFile, RobotSetup, SiteFile

Facts = Callable[[RobotFile, SiteFile, SkillArguments], dict[str, Any]]
"""Builds the Facts block of the prompt: what a request with these arguments needs to know, and no more."""

Verify = Callable[[RequestContext, Any], Awaitable[Any]]
"""Takes what the model reported (REPORTS of the skill) and returns what the world confirms, of the same type."""

Prepare = Callable[[RequestContext], Awaitable[None]]
"""Runs before the model: brings the robot into a defined state, where an earlier attempt may have left another one."""

Perform = Callable[[RequestContext], Awaitable[dict[str, Any]]]
"""Does a whole request and returns the fields of its result: success, error_code, reason, and those of the skill."""

Calculate = Callable[[ProgramRequest, float], Coroutine[Any, Any, ProgramAnswer]]
"""Runs a program that has no grant and no function to call, within a time [s]."""

RunProcedure = Callable[[dict[str, Any], dict[str, Any]], Procedure]
"""Begins the procedure of a skill, with the request's arguments and the Facts of the prompt."""


Around = Callable[[RequestContext], Surround]
"""Begins a request and returns what makes its calls of one tool, by the model or the agent's own code."""


@dataclass(frozen=True)
class AgentDefinition:
    """An agent: its skill, its prompt, its own code around the loop of the model, and that in place of the model."""

    skill: Skill
    prompt: str
    """Markdown template with `{{ facts }}`."""
    facts: Facts
    verify: Verify
    prepare: Prepare | None = None
    procedure: RunProcedure | None = None
    """Code in place of the model, for requests that ask for it (SkillRequest.coded); None: the agent has none."""
    around: Mapping[str, Around] = field(default_factory=dict[str, Around])
    """By the name of the tool."""
    speaks: bool = False
    """Whether its processes also answer for robots in the discussions of teams."""


@dataclass(frozen=True)
class CodedAgent:
    """An agent without a model: its own code does what a request asks."""

    skill: Skill
    perform: Perform
    calculate: Calculate | None = None
    """Also runs the programs of teams that only calculate; None: the agent runs none."""
    speaks: ClassVar[bool] = False


@dataclass(frozen=True)
class AgentContext:
    """Everything that one process hands to its requests."""

    definition: AgentDefinition | CodedAgent
    robots: Mapping[str, RobotSetup]
    model: GatewayClient
    journal: Journal
    images: ImageStore
    transcripts: TranscriptStore
    settings: AgentSettings
    replica: str
    approvals: ApprovalClient | None = None
    routes: Routes | None = None
    kept: KeptListings = field(default_factory=KeptListings)
    """Tools of its MCP servers."""

    def robots_in_same_place(self, robot: str) -> tuple[str, ...]:
        """Return the robots with the same site file as `robot`, itself included, sorted; others are elsewhere."""
        here = self.robots[robot].site
        return tuple(sorted(name for name, setup in self.robots.items() if setup.site == here))
