"""Secrets of a process: from the environment or from files, which may change while it runs.

A secret `x` comes from QUARTET_X, else from the file QUARTET_X_FILE, else from the file `x` in the folder
QUARTET_SECRETS_DIR. A file of tokens may hold several, one a line, each with the name of who has it behind a space;
a file of keys may hold several PEM blocks. The first is the newest and is presented, all are accepted, and the file is
read again when it changes, so that secrets are rotated without a restart. A line that is not valid is ignored: one
person's slip does not lock out the others.
"""

import hmac
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from quartet_process.errors import SecretError
from quartet_process.redact import register_secret

log = logging.getLogger(__name__)

MIN_TOKEN_LENGTH = 16
"""Minimum length of a token [characters]."""
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)


@dataclass(frozen=True)
class SecretValue:
    """One value of a secret."""

    text: str
    owner: str = ""
    """Name of its holder; "": the file names none."""


def _any_owner(_: str) -> str:
    return ""


class Secret:
    """All currently valid values of one secret. Raises SecretError when there is none at the start."""

    def __init__(
        self,
        where: str,
        file: Path | None,
        text: str = "",
        *,
        least: int = 1,
        fault_of: Callable[[str], str] = _any_owner,
    ) -> None:
        """`least`: fewest characters of a value; `fault_of`: returns what is wrong with its owner, "" if nothing."""
        self.where = where
        """Where the secret is set, for messages; never its value."""
        self.ignored: tuple[str, ...] = ()
        """Why lines of the file are ignored, without their content."""
        self._file, self._least, self._fault_of = file, least, fault_of
        self._stamp = _stamp(file)
        self._values = self._parse(_read(file, where) if file is not None else text)

    @classmethod
    def fixed(cls, text: str, where: str = "the given value") -> "Secret":
        """Return a secret that never changes."""
        return cls(where, None, text)

    @property
    def values(self) -> tuple[SecretValue, ...]:
        """The values, the newest first. A file that becomes unusable is logged, and its last values stay valid."""
        stamp = _stamp(self._file)
        if self._file is not None and stamp != self._stamp:
            self._stamp = stamp
            try:
                self._values = self._parse(_read(self._file, self.where))
                log.info("%s has changed: %d in use", self.where, len(self._values))
            except SecretError as problem:
                log.error("%s; its previous values stay in use", problem)
        return self._values

    @property
    def first(self) -> str:
        """The newest value, which is the one to present."""
        return self.values[0].text

    def owner_of(self, given: str) -> str | None:
        """Return the owner of the value `given`, '' for one without a name, None for no value of this secret."""
        found = None
        for value in self.values:
            # All are compared, so that the time taken tells nothing.
            if hmac.compare_digest(value.text.encode(), given.encode()):
                found = value.owner
        return found

    def accepts(self, given: str) -> bool:
        """Return whether `given` is one of the values, in a time that does not depend on its content."""
        return self.owner_of(given) is not None

    def _parse(self, text: str) -> tuple[SecretValue, ...]:
        # An .env file can hold a PEM only in one line.
        found = [SecretValue(match[0]) for match in _PEM.finditer(text.replace("\\n", "\n"))]
        if not found:
            # A variable holds one value, which may have spaces; in a file the owner is behind one.
            found = [_line(line) for line in text.splitlines()] if self._file else [SecretValue(text.strip())]
        values, ignored = list[SecretValue](), list[str]()
        for number, value in enumerate(found, 1):
            if not value.text:
                continue
            if len(value.text) < self._least:
                fault = f"holds {len(value.text)} characters; valid: at least {self._least}"
            else:
                fault = self._fault_of(value.owner)
                if "PUBLIC KEY" not in value.text:
                    register_secret(value.text)
            if fault:
                ignored.append(f"line {number} {fault}" if self._file else fault)
            else:
                values.append(value)
        if not values:
            why = "; ".join(ignored) or "is empty; write the secret into it (quartet secrets init makes one)"
            raise SecretError(f"{self.where}{':' if self._file and ignored else ''} {why}")
        for one in ignored:
            log.error("%s: %s; the line is ignored", self.where, one)
        self.ignored = tuple(ignored)
        return tuple(values)


def missing_secret(name: str, remedy: str) -> str:
    """Return the message about a secret that is not set, with the remedy at its end."""
    variable = f"QUARTET_{name.upper()}"
    return f"{variable} is not set, nor {variable}_FILE, nor is there a file {name} in QUARTET_SECRETS_DIR; {remedy}"


def find_secret(
    settings: Any, name: str, *, least: int = 1, fault_of: Callable[[str], str] = _any_owner
) -> Secret | None:
    """Return the secret `name` of settings with ProcessSettings' fields and another base class, or None."""
    variable = f"QUARTET_{name.upper()}"
    value, file, folder = (getattr(settings, field, None) for field in (name, f"{name}_file", "secrets_dir"))
    if value is not None:
        text = value.get_secret_value() if isinstance(value, SecretStr) else str(value)
        return Secret(variable, None, text, least=least, fault_of=fault_of)
    if file is not None:
        return Secret(f"{variable}_FILE ({file})", Path(file), least=least, fault_of=fault_of)
    if folder is not None and _is_file(Path(folder) / name):
        where = f"QUARTET_SECRETS_DIR ({Path(folder) / name})"
        return Secret(where, Path(folder) / name, least=least, fault_of=fault_of)
    return None


def bearer_token(authorization: str | None) -> str:
    """Return the bearer token of an Authorization header, '' without one."""
    kind, _, given = (authorization or "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def token_source(secret: "Secret | None") -> Callable[[], str | None]:
    """Return a function that returns the value to present now, for clients that ask with every request."""
    return lambda: None if secret is None else secret.first


def _line(line: str) -> SecretValue:
    text, _, owner = line.strip().partition(" ")
    return SecretValue(text, owner.strip())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:
        raise SecretError(
            f"QUARTET_SECRETS_DIR ({path.parent}) cannot be looked into: {error.strerror}; "
            "name a folder that this process may enter"
        ) from error


def _read(file: Path, where: str) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _stamp(file: Path | None) -> tuple[int, int, int] | None:
    """Return what changes with the content or the permissions of a file; None without a file."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino
