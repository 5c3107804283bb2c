"""Settings of the stop service's process."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_process import HttpSettings, SettingsError, load_settings

Url = Annotated[str, Field(pattern=r"^https?://")]
_GUARDS = '{"summit": "http://127.0.0.1:9091"}'
_SERVERS = '{"summit": {"moveit": "http://127.0.0.1:8001/mcp"}}'


class Settings(HttpSettings):
    """Environment of `python -m quartet_stop`, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    state_dir: Path = Path("state")
    """Folder that keeps stops across restarts."""
    guards: dict[str, Url]
    """The HTTP port of each robot's guard, by robot."""
    servers: dict[str, dict[str, Url]] = {}
    """MCP endpoints by robot and server, as the orchestrator has them."""
    stop_origins: list[Url] = []
    """Origins of web pages that may press stop, as JSON; none: every port of the requested host, where that is
    an IP address or localhost."""
    stop_token: SecretStr | None = None
    """Bearer token of a person, who may stop and reset. This or the file is needed."""
    stop_token_file: Path | None = None
    stop_button_token: SecretStr | None = None
    """Bearer token that may stop and look but not reset: for processes that press stop for a person."""
    stop_button_token_file: Path | None = None
    guard_token: SecretStr | None = None
    """The guards' own token, where they ask for one."""
    guard_token_file: Path | None = None
    stop_private_key: SecretStr | None = None
    """Ed25519 key (PEM) that signs the stops; the servers have its public part. This or the file is needed."""
    stop_private_key_file: Path | None = None


def load_stop_settings() -> Settings:
    """Return the settings of the environment. Raises SettingsError naming each wrong variable."""
    settings = load_settings(Settings, {"guards": _GUARDS, "servers": _SERVERS})
    if not settings.guards:
        raise SettingsError(f"QUARTET_GUARDS names no robot; valid: {_GUARDS}")
    unknown = sorted(settings.servers.keys() - settings.guards.keys())
    if unknown:
        raise SettingsError(
            f"QUARTET_SERVERS has robot {', '.join(unknown)}, for which QUARTET_GUARDS has no guard; it has: "
            f"{', '.join(sorted(settings.guards))}"
        )
    return settings
