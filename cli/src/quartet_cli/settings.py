"""Where the command finds the orchestrator and puts what it writes."""

import json
import os
from pathlib import Path

from pydantic import SecretStr
from pydantic_settings import SettingsConfigDict

from quartet_cli._root import RootNotFound, project_root
from quartet_cli.errors import Refused
from quartet_process import ProcessSettings, SecretProblem

DEFAULT_URL = "http://127.0.0.1:8000"


class CliSettings(ProcessSettings):
    """Environment of the command, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore")

    url: str = ""
    """Of the orchestrator; empty: the running `quartet up`, else DEFAULT_URL."""
    api_token: SecretStr | None = None
    """What the orchestrator asks for; not set: that of the running `quartet up`, for its own URL alone."""
    api_token_file: Path | None = None
    overhead_url: str = ""
    """Picture of the whole world from above for the contact sheet; only a simulation has one."""
    runs_dir: Path | None = None
    """Where folders of tasks are made; None: runs/ of the project, or of the current folder outside of it."""

    stop_url: str = ""
    """Of the stop service; empty: that of the running `quartet up`."""
    stop_token: SecretStr | None = None
    stop_token_file: Path | None = None

    def token(self) -> str | None:
        """What to present to the orchestrator. Raises Refused."""
        return _present(self, "api_token", running_stack() if self.url == running_stack().get("url") else {})

    def token_for_stop(self) -> str | None:
        """What to present to the stop service. Raises Refused."""
        return _present(self, "stop_token", {} if self.stop_url else running_stack())

    def token_for_page(self) -> str | None:
        """The stop token for a browser at `url`: that of the running `quartet up` for its own page alone, so that no
        other page is handed it. Raises Refused.
        """
        own = not self.stop_url and self.url == running_stack().get("url")
        return _present(self, "stop_token", running_stack() if own else {})

    def runs_folder(self) -> Path:
        if self.runs_dir is not None:
            return self.runs_dir
        try:
            return project_root() / "runs"
        except RootNotFound:
            return Path.cwd() / "runs"


def _present(settings: CliSettings, name: str, running: dict[str, str]) -> str | None:
    folder = settings.secrets_dir
    if folder is None and running.get("secrets_dir"):
        folder = Path(running["secrets_dir"], "cli")
    try:
        secret = settings.model_copy(update={"secrets_dir": folder}).secret(name)
    except SecretProblem as problem:
        raise Refused(str(problem)) from problem
    return None if secret is None else secret.first


def state_folder() -> Path:
    """Where `quartet up` and `quartet demo` keep their state. Raises RootNotFound."""
    return project_root() / ".quartet"


def load_settings(url: str | None = None) -> CliSettings:
    """Settings from the environment; what is not set is taken from the running `quartet up`."""
    settings = CliSettings()
    if url:
        return settings.model_copy(update={"url": url.rstrip("/")})
    if settings.url:
        return settings.model_copy(update={"url": settings.url.rstrip("/")})
    running = running_stack()
    found = {"url": running.get("url", DEFAULT_URL)}
    if not settings.overhead_url:
        found["overhead_url"] = running.get("overhead_url", "")
    return settings.model_copy(update=found)


def running_stack() -> dict[str, str]:
    """What the running `quartet up` wrote about itself, {} when none runs."""
    try:
        content = json.loads((state_folder() / "up" / "stack.json").read_text())
        os.kill(int(content["pid"]), 0)
    except (OSError, ValueError, KeyError, RootNotFound):
        return {}
    return {name: str(value) for name, value in content.items()}
