"""Settings of the command: where the services are, and where it writes."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_cli.errors import UsageError
from quartet_deployment import (
    EMERGENCY_STOP,
    ProjectNotFoundError,
    StopClient,
    project_root,
    read_description,
    state_folder,
)
from quartet_process import ProcessSettings, SecretError, missing_secret

DEFAULT_URL = "http://127.0.0.1:8000"


class CliSettings(ProcessSettings):
    """Environment variables of the command, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore")

    url: str = ""
    """Address of the orchestrator; empty: the running `quartet up`, else DEFAULT_URL."""
    api_token: SecretStr | None = None
    """Token for the orchestrator; None: that of the running `quartet up`, for its own URL only."""
    api_token_file: Path | None = None
    assistant_token: SecretStr | None = None
    """Token of `quartet mcp`; None: that of the running `quartet up`, for its own URL only."""
    assistant_token_file: Path | None = None
    page_address: str = ""
    """Address of the page as a browser reaches it, where that is not `url`: in a container."""
    overhead_url: str = ""
    """Address of a picture of the world from above, for the contact sheet; only a simulation has one."""
    runs_dir: Path | None = None
    """Folder for the folders of tasks; None: runs/ of the project, or of the working directory outside of it."""

    stop_url: str = ""
    """Address of the stop service; empty: that of the running `quartet up`."""
    servers: dict[str, dict[str, str]] = {}
    """MCP endpoints by robot and server; empty: those of the running `quartet up`."""
    stop_token: SecretStr | None = None
    stop_token_file: Path | None = None

    bridge_token: SecretStr | None = None
    """Token of the bridge proxy in front of a robot's rosbridge, for `quartet doctor`."""
    bridge_token_file: Path | None = None

    def token(self) -> str | None:
        """Return the token for the orchestrator. Raises UsageError."""
        return _token(self, "api_token", self._running_at_url())

    def token_for_assistant(self) -> str | None:
        """Return the token of an assistant; the command's own only if a variable gives it. Raises UsageError."""
        if (token := _token(self, "assistant_token", self._running_at_url())) is not None:
            return token
        return self.token() if self.api_token is not None or self.api_token_file is not None else None

    def _running_at_url(self) -> dict[str, str]:
        running = running_stack()
        return running if self.url == running.get("url") else {}

    def token_for_stop(self) -> str | None:
        """Return the token for the stop service. Raises UsageError."""
        return _token(self, "stop_token", {} if self.stop_url else running_stack())

    def token_for_page(self) -> str | None:
        """Return the stop token for a browser at `url`. Raises UsageError.

        That of the running `quartet up` is for its own page only, so that no other page gets it.
        """
        return _token(self, "stop_token", {} if self.stop_url else self._running_at_url())

    def servers_of(self, robot: str) -> dict[str, str]:
        """Return the MCP endpoint of each server of `robot`; {} when none is known."""
        return (self.servers or json.loads(running_stack().get("servers", "{}"))).get(robot, {})

    def token_for_bridge(self) -> str | None:
        """Return the token for a bridge proxy. Raises UsageError."""
        return _token(self, "bridge_token", {})

    def runs_folder(self) -> Path:
        """Return the folder for the folders of tasks."""
        if self.runs_dir is not None:
            return self.runs_dir
        try:
            return project_root() / "runs"
        except ProjectNotFoundError:
            return Path.cwd() / "runs"


def _token(settings: CliSettings, name: str, running: dict[str, str]) -> str | None:
    folder = settings.secrets_dir
    if folder is None and running.get("secrets_dir"):
        folder = Path(running["secrets_dir"], "cli")
    try:
        secret = settings.model_copy(update={"secrets_dir": folder}).secret(name)
    except SecretError as problem:
        raise UsageError(str(problem)) from problem
    return None if secret is None else secret.first


def require_address(given: str) -> None:
    """Raise UsageError for an address that is none."""
    if urlsplit(given).scheme not in {"http", "https"} or not urlsplit(given).netloc:
        raise UsageError(f"'{given}' is no address of an orchestrator; valid: http://HOST:PORT or https://HOST")


def load_settings(url: str | None = None) -> CliSettings:
    """Return the settings of the environment; what is not set is taken from the running `quartet up`.

    Raises UsageError for an address that is none.
    """
    settings = CliSettings()
    if given := url or settings.url:
        require_address(given)
        return settings.model_copy(update={"url": given.rstrip("/")})
    running = running_stack()
    found = {"url": running.get("url", DEFAULT_URL)}
    if not settings.overhead_url:
        found["overhead_url"] = running.get("overhead_url", "")
    return settings.model_copy(update=found)


def running_stack() -> dict[str, str]:
    """Return what the running `quartet up`, or else `quartet demo`, wrote about itself, {} when none runs."""
    try:
        return read_description(state_folder() / "up") or read_description(state_folder() / "demo")
    except ProjectNotFoundError:
        return {}


def find_stop_service() -> StopClient:
    """Return a client of the stop service of QUARTET_STOP_URL, or of the running `quartet up`. Raises UsageError."""
    settings, running = CliSettings(), running_stack()
    url = settings.stop_url or running.get("stop_url", "")
    if not url:
        raise UsageError(
            f"no `quartet up` runs here and QUARTET_STOP_URL is not set: set it to the stop service. {EMERGENCY_STOP}"
        )
    token = settings.token_for_stop()
    if token is None:
        raise UsageError(f"{missing_secret('stop_token', 'it is what the stop service asks for')}. {EMERGENCY_STOP}")
    return StopClient(url, token)
