"""What the orchestrator is told by its environment."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, SecretStr, ValidationError

from quartet_agent_runtime import AgentSettings, SettingsProblem
from quartet_process import shown

Url = Annotated[str, Field(pattern=r"^https?://")]
Positive = Annotated[float, Field(gt=0)]


class OrchestratorSettings(AgentSettings):
    """Environment of the orchestrator, prefix QUARTET_, beside what every agent reads."""

    api_token: SecretStr | None = None
    """Bearer token of the HTTP API. This or the file is needed, unless anonymous callers are allowed."""
    api_token_file: Path | None = None
    """One a line, each with the name of its owner behind a space."""
    grant_private_key: SecretStr | None = None
    """Ed25519 private key, PEM. This or the file is needed."""
    grant_private_key_file: Path | None = None
    skill_timeout_s: Positive = 420.0
    """Wall time that one attempt at one skill may take."""
    question_timeout_s: Positive = 600.0
    """How long a task waits for a person's answer."""
    agent_absent_s: Positive = 15.0
    """A request fails when no replica of the agent lives for so long."""
    cancel_wait_s: Positive = 20.0
    """How long a canceled task waits for its sub-agent to bring the robot to rest."""
    fence_timeout_s: Positive = 20.0
    """How long a motion server may take to install a fence, restarts included."""
    look_timeout_s: Positive = 15.0
    stop_url: Url | None = None
    """The stop service, for the tool `stop` of MCP clients; with it comes a credential that stops and cannot reset."""
    stop_button_token: SecretStr | None = None
    stop_button_token_file: Path | None = None
    page_stop_url: Annotated[str, Field(pattern=r"^(https?://[^/]+|:[0-9]{1,5})/?$")] | None = None
    """Where a browser reaches the stop service: a URL, or `:PORT` for that port of the host that the page came from."""
    session_s: Positive = 43_200.0
    """How long a browser stays signed in."""
    shutdown_s: Positive = 8.0
    """Wall time between SIGTERM and the end of the process."""

    def servers_of(self, robot: str) -> dict[str, str]:
        return dict(self.servers[robot])


def load_orchestrator_settings() -> OrchestratorSettings:
    """The settings from the environment. Raises SettingsProblem naming each wrong variable."""
    try:
        return OrchestratorSettings()  # pyright: ignore[reportCallIssue]
    except ValidationError as error:
        faults = (_fault(fault) for fault in error.errors())
        raise SettingsProblem("\n".join(faults)) from error
    except ValueError as error:
        raise SettingsProblem(f"{error}: {error.__cause__}. QUARTET_SERVERS is JSON: {EXAMPLE}") from error


EXAMPLE = '{"summit": {"nav2": "http://127.0.0.1:8002/mcp", "moveit": "…", "perception": "…"}}'


def _fault(fault: Any) -> str:
    if not fault["loc"]:
        return str(fault["msg"]).removeprefix("Value error, ")
    path = [str(part) for part in fault["loc"]]
    name = f"QUARTET_{path[0].upper()}" + "".join(f".{part}" for part in path[1:])
    if fault["type"] == "missing":
        hint = f", such as {EXAMPLE}" if path[0] == "servers" else ""
        return f"{name} is not set; set it{hint}"
    return f"{name}: {fault['msg']} (got {shown(path[0], fault['input'])})"
