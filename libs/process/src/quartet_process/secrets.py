"""Secrets of a process: from the environment or from files, which may change while it runs.

A secret `x` comes from QUARTET_X, else from the file QUARTET_X_FILE, else from the file `x` in the folder
QUARTET_SECRETS_DIR. A file of tokens may hold several, one a line, each with the name of who has it behind a space;
a file of keys may hold several PEM blocks. The first is the newest and is presented, all are accepted, and the file is
read again when it changes, so that secrets are rotated without a restart.
"""

import hmac
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr
from pydantic_settings import BaseSettings

from quartet_process.redact import remember

log = logging.getLogger(__name__)

LEAST = 16
"""Characters that a token has at least."""
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)


class SecretProblem(Exception):
    """A secret that is needed is missing or cannot be used; the message names what to set."""


@dataclass(frozen=True)
class Value:
    text: str
    owner: str = ""
    """Who has it, where the file says so."""


class Secret:
    """All values of one secret that hold now. Raises SecretProblem when there is none at the start."""

    def __init__(self, where: str, file: Path | None, text: str = "", *, least: int = 1) -> None:
        self.where = where
        """As a person sets it; never a value."""
        self._file, self._least = file, least
        self._stamp = _stamp(file)
        self._values = self._parse(_read(file, where) if file is not None else text)

    @classmethod
    def fixed(cls, text: str, where: str = "the given value") -> "Secret":
        """One that never changes."""
        return cls(where, None, text)

    @property
    def values(self) -> tuple[Value, ...]:
        """The newest first. A file that has become unusable changes nothing but the log: its last values stay."""
        stamp = _stamp(self._file)
        if self._file is not None and stamp != self._stamp:
            self._stamp = stamp
            try:
                self._values = self._parse(_read(self._file, self.where))
                log.info("%s has changed: %d in use", self.where, len(self._values))
            except SecretProblem as problem:
                log.error("%s; what it held before stays in use", problem)
        return self._values

    @property
    def first(self) -> str:
        """The newest, which is the one to present."""
        return self.values[0].text

    def owner_of(self, given: str) -> str | None:
        """The owner of the value `given`, '' where none is named; None: it is no value of this secret."""
        found = None
        for value in self.values:
            # All are compared, so that the time taken tells nothing.
            if hmac.compare_digest(value.text.encode(), given.encode()):
                found = value.owner
        return found

    def accepts(self, given: str) -> bool:
        """Whether `given` is one of the values; takes as long for any text of the same length."""
        return self.owner_of(given) is not None

    def _parse(self, text: str) -> tuple[Value, ...]:
        # An .env file can hold a PEM only in one line.
        blocks = [Value(match[0]) for match in _PEM.finditer(text.replace("\\n", "\n"))]
        lines = [line.strip() for line in (text.splitlines() if self._file is not None else [text]) if line.strip()]
        # A variable holds one value, which may have spaces; in a file the owner is behind one.
        tokens = [_line(line) if self._file is not None else Value(line) for line in lines]
        values = tuple(blocks or tokens)
        if not values:
            raise SecretProblem(f"{self.where} is empty; write the secret into it (quartet secrets init makes one)")
        for value in values:
            if len(value.text) < self._least:
                raise SecretProblem(f"{self.where} holds {len(value.text)} characters; valid: at least {self._least}")
            if "PUBLIC KEY" not in value.text:
                remember(value.text)
        return values


class ProcessSettings(BaseSettings):
    """Base of the settings of every process: where its secrets lie, the token of its /metrics, how much it tells."""

    secrets_dir: Path | None = None
    """Folder with a file per secret, named after it."""
    metrics_token: SecretStr | None = None
    """Bearer token that GET /metrics asks for."""
    metrics_token_file: Path | None = None
    allow_anonymous: bool = False
    """Serve who has no credential, on a loopback address and where none is configured: for experiments."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    def secret(self, name: str, *, least: int = 1) -> Secret | None:
        """The secret `name` (lower case), or None where nothing holds it. Raises SecretProblem."""
        return find_secret(self, name, least=least)

    def needed_secret(self, name: str, remedy: str, *, least: int = 1) -> Secret:
        """The same for what a process cannot do without. Raises SecretProblem, which ends with `remedy`."""
        found = self.secret(name, least=least)
        if found is None:
            raise SecretProblem(missing(name, remedy))
        return found


def missing(name: str, remedy: str) -> str:
    """What a person is told of a secret that nothing holds."""
    variable = f"QUARTET_{name.upper()}"
    return f"{variable} is not set, nor {variable}_FILE, nor is there a file {name} in QUARTET_SECRETS_DIR; {remedy}"


def find_secret(settings: Any, name: str, *, least: int = 1) -> Secret | None:
    """See ProcessSettings.secret; for settings that have the fields and another base."""
    variable = f"QUARTET_{name.upper()}"
    value, file, folder = (getattr(settings, field, None) for field in (name, f"{name}_file", "secrets_dir"))
    if value is not None:
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        return Secret(variable, None, text, least=least)
    if file is not None:
        return Secret(f"{variable}_FILE ({file})", Path(file), least=least)
    if folder is not None and _is_file(Path(folder) / name):
        return Secret(f"QUARTET_SECRETS_DIR ({Path(folder) / name})", Path(folder) / name, least=least)
    return None


def bearer(authorization: str | None) -> str:
    """The token of an Authorization header, '' where it has none."""
    kind, _, given = (authorization or "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def presented(secret: "Secret | None") -> Callable[[], str | None]:
    """What to send, asked for anew with every request."""
    return lambda: None if secret is None else secret.first


def _line(line: str) -> Value:
    text, _, owner = line.strip().partition(" ")
    return Value(text, owner.strip())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise SecretProblem(
            f"QUARTET_SECRETS_DIR ({path.parent}) cannot be looked into: {error.strerror}; "
            "name a folder that this process may enter"
        ) from error


def _read(file: Path, where: str) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretProblem(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Changes when the file does, or who may read it; None where there is none."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino
