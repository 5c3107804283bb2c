"""What an agent process is told by its environment."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import SettingsConfigDict

from quartet_agent_runtime.errors import SettingsProblem
from quartet_contracts import ANY_ROBOT
from quartet_process import ProcessSettings, shown
from quartet_site import Known, RobotFiles, load_robots

Url = Annotated[str, Field(pattern=r"^https?://")]


class AgentSettings(ProcessSettings):
    """Environment of an agent process, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    redis_url: str = "redis://127.0.0.1:6379/0"
    redis_username: str | None = None
    """The ACL user; None: the one named after the process, where there is a password."""
    redis_password: SecretStr | None = None
    redis_password_file: Path | None = None
    gateway_url: Url = "http://127.0.0.1:4000"
    gateway_key: SecretStr | None = None
    """The agent's key at the gateway."""
    gateway_key_file: Path | None = None
    gateway_patience_s: Annotated[float, Field(ge=0)] = 60.0
    """How long a gateway that is not there is waited for: it starts again in seconds, in a minute on a busy machine,
    and the robot stands still meanwhile."""
    servers: dict[str, dict[str, Url]]
    """URL of each MCP server by robot and server name, as JSON."""
    robot_file: Path | None = None
    site_file: Path | None = None
    """Of every robot that `robots` does not have."""
    robots: dict[str, RobotFiles] = {}
    """Files of single robots, as JSON: robot -> {robot_file, site_file}."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port of /health and /metrics; 0 takes a free one."""
    ready_file: Path | None = None
    log_format: Literal["json", "text"] = "json"
    model_timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Wall time that one answer of the model may take."""
    tool_timeout_s: Annotated[float, Field(gt=0)] = 240.0
    """Wall time that one tool call may take; longer than the longest motion."""
    grace_s: Annotated[float, Field(ge=2)] = 8.0
    """Wall time between SIGTERM and the end of the process."""

    def known_robots(self) -> dict[str, Known]:
        """Robot and site file of every robot that has servers. Raises FileProblem."""
        return load_robots(self.servers, self.robots, self.robot_file, self.site_file)

    @model_validator(mode="after")
    def _files_for_all(self) -> Self:
        if ANY_ROBOT in self.servers:
            raise ValueError(
                f"QUARTET_SERVERS: no robot may be called '{ANY_ROBOT}': a task for '{ANY_ROBOT}' is for whichever "
                "robot is free first; give it another name"
            )
        missing = sorted(self.servers.keys() - self.robots.keys())
        unset = [name for name in ("robot_file", "site_file") if getattr(self, name) is None]
        if missing and unset:
            raise ValueError(
                f"{' and '.join(f'QUARTET_{name.upper()}' for name in unset)} is not set, and QUARTET_ROBOTS has no "
                f"files for {', '.join(missing)}; set one or the other"
            )
        return self


def load_settings() -> AgentSettings:
    """The settings from the environment. Raises SettingsProblem naming each wrong variable."""
    try:
        return AgentSettings()  # pyright: ignore[reportCallIssue]
    except ValidationError as error:
        raise SettingsProblem("\n".join(_fault(fault) for fault in error.errors())) from error
    except ValueError as error:
        # pydantic-settings raises this for a variable whose JSON cannot be read.
        raise SettingsProblem(f"{error}: {error.__cause__}. QUARTET_SERVERS is JSON: {_EXAMPLE}") from error


_EXAMPLE = '{"summit": {"nav2": "http://127.0.0.1:8002/mcp", "moveit": "http://127.0.0.1:8001/mcp"}}'


def _fault(fault: object) -> str:
    assert isinstance(fault, dict)
    if not fault["loc"]:
        return str(fault["msg"]).removeprefix("Value error, ")  # pyright: ignore[reportUnknownArgumentType]
    path = [str(part) for part in fault["loc"]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    name = f"QUARTET_{path[0].upper()}" + "".join(f".{part}" for part in path[1:])
    if fault["type"] == "missing":
        hint = f", such as {_EXAMPLE}" if path[0] == "servers" else ""
        return f"{name} is not set; set it{hint}"
    return f"{name}: {fault['msg']} (got {shown(path[0], fault['input'])})"  # pyright: ignore[reportUnknownArgumentType]
