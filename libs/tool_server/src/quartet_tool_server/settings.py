"""Settings of a tool server process, from the environment."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_contracts import Identifier
from quartet_process import HttpSettings
from quartet_site import RobotFiles


class ServerSettings(HttpSettings):
    """QUARTET_ROBOT_FILE, QUARTET_SITE_FILE, QUARTET_BRIDGE_URL, QUARTET_HOST, QUARTET_PORT and so on."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", env_ignore_empty=True, extra="ignore")

    robot_file: Path | None = None
    site_file: Path | None = None
    policy_file: Path | None = None
    """Policy file; None: the policy.yaml beside the site file, if there is one, else the defaults."""
    bridge_url: Annotated[str, Field(pattern=r"^wss?://")] | None = None
    """Instead of the robot file's."""
    bridge_token: SecretStr | None = None
    """Bearer token of the bridge proxy in front of rosbridge, where there is one."""
    bridge_token_file: Path | None = None
    robots: dict[Identifier, RobotFiles] = {}
    """Several robots in place of the one of the four settings above, as JSON: robot -> {robot_file, site_file,
    policy_file, bridge_url}. Each is served at /<robot>/mcp."""
    upstreams_file: Path | None = None
    """Mapping file of third-party MCP servers that do this server's work; None: it does it itself."""
    upstream_urls: dict[str, Annotated[str, Field(pattern=r"^https?://")]] = {}
    """Instead of the mapping file's, by name of the upstream."""
    allowed_hosts: list[str] = []
    """Names with a dot by which clients call this server, such as robot.example.org, as JSON. Addresses and names
    without a dot are valid anyway; a request for any other host may come from a web page and is refused."""
    state_dir: Path = Path("state")
    grant_public_key: str | None = None
    grant_public_key_file: Path | None = None
    stop_public_key: str | None = None
    """The stop service's, which may stop this server and reset it."""
    stop_public_key_file: Path | None = None
    heartbeat_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """In place of both time-outs of the robot file's heartbeat section: for a simulation that is not in real time."""
    require_beats: bool = False
    """Whether every caller must send heartbeats while it moves the robot; else those whose grant says so."""

    def files(self) -> dict[str, RobotFiles]:
        """By robot; the only robot of a process has its name from its file, here it is ''. {}: no robot is named."""
        if self.robots or self.robot_file is None or self.site_file is None:
            return dict(self.robots)
        one = RobotFiles(
            robot_file=self.robot_file,
            site_file=self.site_file,
            policy_file=self.policy_file,
            bridge_url=self.bridge_url,
        )
        return {"": one}
