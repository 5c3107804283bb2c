"""Settings of the stop service's process."""

from pathlib import Path
from typing import Annotated, Literal, overload

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import SettingsConfigDict, SettingsError

from quartet_contracts import describe
from quartet_process import LEAST, ProcessSettings, Secret, SecretProblem

Url = Annotated[str, Field(pattern=r"^https?://")]


class SetupProblem(Exception):
    """The process cannot start; the message names what to set."""


class Settings(ProcessSettings):
    """Environment of `python -m quartet_stop`, prefix QUARTET_."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_", extra="ignore", env_ignore_empty=True)

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    ready_file: Path | None = None
    """Where to write {"url": ...} as soon as the port listens."""
    log_format: Literal["json", "text"] = "text"
    state_dir: Path = Path("state")
    """Where stops are kept across restarts."""
    guards: dict[str, Url]
    """The HTTP port of each robot's guard, by robot."""
    servers: dict[str, dict[str, Url]] = {}
    """MCP endpoints by robot and server, as the orchestrator has them."""
    stop_origins: list[Url] = []
    """Origins of web pages that may press stop, as JSON; none: every port of the host that the browser asks."""
    stop_token: SecretStr | None = None
    """Bearer token that a person's stop must carry. This or the file is needed."""
    stop_token_file: Path | None = None
    stop_button_token: SecretStr | None = None
    """With this one may stop and look, and not reset: for processes that press stop for somebody."""
    stop_button_token_file: Path | None = None
    guard_token: SecretStr | None = None
    """The guards' own token, where they ask for one."""
    guard_token_file: Path | None = None
    stop_private_key: SecretStr | None = None
    """Ed25519 key (PEM) that signs the stops; the servers have its public part. This or the file is needed."""
    stop_private_key_file: Path | None = None

    @overload
    def held(self, name: str, remedy: str) -> Secret: ...
    @overload
    def held(self, name: str) -> Secret | None: ...
    def held(self, name: str, remedy: str = "") -> Secret | None:
        """The secret `name`; with a `remedy` it is needed. Raises SetupProblem."""
        least = 1 if name.endswith("_key") else LEAST
        try:
            return self.needed_secret(name, remedy, least=least) if remedy else self.secret(name, least=least)
        except SecretProblem as problem:
            raise SetupProblem(str(problem)) from problem


def load_settings() -> Settings:
    """Raises SetupProblem naming each wrong variable."""
    try:
        settings = Settings()  # pyright: ignore[reportCallIssue]
    except ValidationError as error:
        raise SetupProblem(f"settings cannot be used (each is QUARTET_ and its name): {describe(error)}") from error
    except SettingsError as error:
        raise SetupProblem(f"{error}: {error.__cause__}. QUARTET_GUARDS and QUARTET_SERVERS are JSON") from error
    if not settings.guards:
        raise SetupProblem('QUARTET_GUARDS names no robot; valid: {"summit": "http://127.0.0.1:9091"}')
    unknown = sorted(settings.servers.keys() - settings.guards.keys())
    if unknown:
        raise SetupProblem(
            f"QUARTET_SERVERS has robot {', '.join(unknown)}, for which QUARTET_GUARDS has no guard; it has: "
            f"{', '.join(sorted(settings.guards))}"
        )
    return settings
