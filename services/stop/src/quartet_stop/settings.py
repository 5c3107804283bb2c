"""Settings of the stop service's process."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from quartet_contracts import describe

Url = Annotated[str, Field(pattern=r"^https?://")]
Secret = Annotated[SecretStr, Field(min_length=16)]


class SetupProblem(Exception):
    """The process cannot start; the message names what to set."""


class Settings(BaseSettings):
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
    stop_token: Secret | None = None
    """Bearer token that a person's stop must carry. This or the file is needed."""
    stop_token_file: Path | None = None
    guard_token: Secret | None = None
    """The guards' own token, where they ask for one."""
    guard_token_file: Path | None = None
    stop_private_key_file: Path
    """Ed25519 key (PEM) that signs this service's stops; the servers have its public part."""

    def token(self) -> str:
        """The token of persons. Raises SetupProblem."""
        found = _secret("QUARTET_STOP_TOKEN", self.stop_token, self.stop_token_file)
        if found is None:
            raise SetupProblem(
                "QUARTET_STOP_TOKEN or QUARTET_STOP_TOKEN_FILE is not set; make one with: openssl rand -hex 24"
            )
        return found

    def guards_token(self) -> str | None:
        """Raises SetupProblem."""
        return _secret("QUARTET_GUARD_TOKEN", self.guard_token, self.guard_token_file)


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


def _secret(variable: str, value: SecretStr | None, file: Path | None) -> str | None:
    if value is not None:
        return value.get_secret_value()
    if file is None:
        return None
    try:
        found = file.read_text().strip()
    except OSError as error:
        raise SetupProblem(f"{variable}_FILE ({file}) cannot be read: {error.strerror or error}") from error
    if len(found) < 16:
        raise SetupProblem(f"{variable}_FILE ({file}) holds {len(found)} characters; valid: at least 16")
    return found
