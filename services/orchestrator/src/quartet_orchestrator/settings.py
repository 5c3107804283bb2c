"""Settings of the orchestrator, from its environment."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr

from quartet_agent_runtime import AgentSettings
from quartet_contracts import Architecture, ResultForm
from quartet_process import AnswerSeconds, load_settings

Url = Annotated[str, Field(pattern=r"^https?://")]
Positive = Annotated[float, Field(gt=0)]


class OrchestratorSettings(AgentSettings):
    """Environment of the orchestrator, prefix QUARTET_, in addition to that of every agent."""

    api_token: SecretStr | None = None
    """Bearer token of the HTTP API. This or the file is required, unless anonymous callers are allowed."""
    api_token_file: Path | None = None
    """File with one token a line, each followed by a space and the name of its owner."""
    assistant_token: SecretStr | None = None
    """Bearer token of `quartet mcp`, which gives tasks and stops, but neither approves nor resets."""
    assistant_token_file: Path | None = None
    grant_private_key: SecretStr | None = None
    """Ed25519 private key, PEM. This or the file is required."""
    grant_private_key_file: Path | None = None
    architecture: Architecture = Architecture.MULTI
    """multi: approach, pick and place have models of their own. single: the orchestrator's model does their work.
    skill: their own code does it."""
    results: ResultForm = ResultForm.TYPED
    """How the orchestrator's model reads what approach, pick and place give back."""
    task_timeout_s: AnswerSeconds = 1800.0
    """Time limit of the work of a task that names none."""
    skill_timeout_s: AnswerSeconds = 420.0
    """Wall time limit of one attempt at one skill."""
    question_timeout_s: AnswerSeconds = 600.0
    """Time for which a task waits for a person's answer."""
    pause_limit_s: Annotated[float, Field(gt=0, le=43_200)] = 43_200.0
    """Time in PAUSED after which a task ends, since its robot waits too; well below that for which Redis keeps it."""
    agent_absent_s: Positive = 15.0
    """Time without a living replica of the agent after which a request fails."""
    cancel_wait_s: Positive = 20.0
    """Time for which a canceled task waits for its sub-agent to bring the robot to rest."""
    fence_timeout_s: Positive = 20.0
    """Time limit for a motion server to install a fence, restarts included."""
    outcome_patience_s: AnswerSeconds = 15.0
    """Time for which an outcome that is not known is looked for again while the robot or a server is silent."""
    look_timeout_s: AnswerSeconds = 15.0
    """Time limit of one read-only call, in which a vision LLM may have to answer."""
    stop_url: Url | None = None
    """Stop service for the tool `stop` of MCP clients; the credential below may stop and cannot reset."""
    stop_button_token: SecretStr | None = None
    stop_button_token_file: Path | None = None
    page_stop_url: Annotated[str, Field(pattern=r"^(https?://[^/]+|:[0-9]{1,5})/?$")] | None = None
    """Address of the stop service for a browser: a URL, or `:PORT` for that port of the host of the page."""
    session_s: Positive = 43_200.0
    """Life of a browser's session."""
    shutdown_s: Positive = 8.0
    """Wall time between SIGTERM and the end of the process."""

    def servers_of(self, robot: str) -> dict[str, str]:
        """Return the URL of each MCP server of `robot`, by server name."""
        return dict(self.servers[robot])


EXAMPLE = '{"summit": {"nav2": "http://127.0.0.1:8002/mcp", "moveit": "…", "perception": "…"}}'


def load_orchestrator_settings() -> OrchestratorSettings:
    """Return the settings of the environment. Raises SettingsError naming each wrong variable."""
    return load_settings(OrchestratorSettings, {"servers": EXAMPLE})
