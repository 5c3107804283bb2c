"""What an agent process is told by its environment."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

import quartet_process
from quartet_contracts import ANY_ROBOT, TEAM_QUEUE
from quartet_process import AnswerSeconds, HttpSettings, PatientSettings
from quartet_site import RobotFiles, RobotSetup, load_robots

Url = Annotated[str, Field(pattern=r"^https?://")]


class AgentSettings(PatientSettings, HttpSettings):
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
    model_timeout_s: AnswerSeconds = 120.0
    """Time limit of one answer of the model; above the gateway's retries.total_s."""
    bridge_wait_s: AnswerSeconds = 15.0
    """Time for which a call that only reads waits for a bridge that is away; one that restarts is back in seconds."""
    tool_timeout_s: Annotated[float, Field(gt=0)] = 240.0
    """Wall time that one tool call may take; longer than the longest motion."""
    grace_s: Annotated[float, Field(ge=2)] = 8.0
    """Wall time between SIGTERM and the end of the process."""

    def known_robots(self) -> dict[str, RobotSetup]:
        """Robot and site file of every robot that has servers. Raises SiteFileError."""
        return load_robots(self.servers, self.robots, self.robot_file, self.site_file)

    @model_validator(mode="after")
    def _files_for_all(self) -> Self:
        for name, whose in ((ANY_ROBOT, "whichever robot is free first"), (TEAM_QUEUE, "all robots together")):
            if name in self.servers:
                raise ValueError(
                    f"QUARTET_SERVERS: no robot may be called '{name}': a task for '{name}' is for {whose}; give it "
                    "another name"
                )
        missing = sorted(self.servers.keys() - self.robots.keys())
        unset = [name for name in ("robot_file", "site_file") if getattr(self, name) is None]
        if missing and unset:
            raise ValueError(
                f"{' and '.join(f'QUARTET_{name.upper()}' for name in unset)} is not set, and QUARTET_ROBOTS has no "
                f"files for {', '.join(missing)}; set one or the other"
            )
        return self


_EXAMPLE = '{"summit": {"nav2": "http://127.0.0.1:8002/mcp", "moveit": "http://127.0.0.1:8001/mcp"}}'


def load_settings() -> AgentSettings:
    """Return the settings of the environment. Raises SettingsError naming each wrong variable."""
    return quartet_process.load_settings(AgentSettings, {"servers": _EXAMPLE})
