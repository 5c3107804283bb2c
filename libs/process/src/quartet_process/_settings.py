"""Settings of a process, from environment variables with the prefix QUARTET_."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import pydantic_settings
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings

from quartet_process._logs import LogFormat
from quartet_process._secrets import Secret, find_secret, missing_secret
from quartet_process.errors import SecretError, SettingsError
from quartet_process.redact import displayed_value

Settings = TypeVar("Settings", bound=BaseSettings)
_NO_EXAMPLES: Mapping[str, str] = {}


class ProcessSettings(BaseSettings):
    """Base of the settings of every process: secrets, the token of /metrics, logs."""

    secrets_dir: Path | None = None
    """Folder with one file per secret, of the secret's name."""
    metrics_token: SecretStr | None = None
    """Bearer token of GET /metrics."""
    metrics_token_file: Path | None = None
    allow_anonymous: bool = False
    """Serve callers without a credential on a loopback address where none is configured: for experiments."""

    log_format: LogFormat = "auto"
    """auto: text where stderr is a terminal, JSON elsewhere."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    def secret(self, name: str, *, least: int = 1) -> Secret | None:
        """Return the secret `name` (lower case), or None if it is not set. Raises SecretError for a bad one."""
        return find_secret(self, name, least=least)

    def needed_secret(self, name: str, remedy: str, *, least: int = 1) -> Secret:
        """Return the secret `name`; without one raise SecretError, which ends with `remedy`."""
        found = self.secret(name, least=least)
        if found is None:
            raise SecretError(missing_secret(name, remedy))
        return found


class HttpSettings(ProcessSettings):
    """Settings of a process that serves HTTP on one port."""

    host: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    """0 takes a free one; the readiness file tells which."""
    ready_file: Path | None = None
    """Readiness file: gets {"url": "http://HOST:PORT"} once the port answers."""


def load_settings(kind: type[Settings], examples: Mapping[str, str] = _NO_EXAMPLES) -> Settings:
    """Return the settings of the environment; `examples` has valid values, as texts, by name of the field.

    Raises:
        SettingsError: Variables are missing or wrong; one line for each.
    """
    try:
        return kind()
    except ValidationError as error:
        raise SettingsError("\n".join(_fault(fault, examples) for fault in error.errors())) from error
    except pydantic_settings.SettingsError as error:
        # The JSON of a variable cannot be read.
        hints = [f"QUARTET_{name.upper()} is JSON: {value}" for name, value in examples.items()]
        raise SettingsError(". ".join([f"{error}: {error.__cause__}", *hints])) from error


def _fault(fault: Any, examples: Mapping[str, str]) -> str:
    if not fault["loc"]:
        return str(fault["msg"]).removeprefix("Value error, ")
    path = [str(part) for part in fault["loc"]]
    name = f"QUARTET_{path[0].upper()}" + "".join(f".{part}" for part in path[1:])
    if fault["type"] == "missing":
        hint = f", such as {examples[path[0]]}" if path[0] in examples else ""
        return f"{name} is not set; set it{hint}"
    return f"{name}: {fault['msg']} (got {displayed_value(path[0], fault['input'])})"
