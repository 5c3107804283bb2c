"""Files of secrets: written whole, and readable by their owner alone."""

import os
import re
from pathlib import Path

from quartet_cli.errors import CliError

_PEM = re.compile(r"-----BEGIN [A-Z ]+-----.+?-----END [A-Z ]+-----\n?", re.DOTALL)


class SecretsError(CliError):
    """A folder of secrets cannot be used; the message says what to do."""


def read(file: Path) -> str:
    """Its text, '' where there is none. Raises SecretsError."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SecretsError(f"{file} cannot be read: {error.strerror or error}") from error


def write(file: Path, text: str) -> None:
    """In one step, so that a process that reads it sees the old or the new. Raises SecretsError.

    A file that is replaced keeps its owner and mode, which a deployment may have set; a new one is its owner's alone.
    """
    draft = file.with_name(f".{file.name}.new")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(text)
            if file.exists():
                was = file.stat()
                if (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(out.fileno(), was.st_uid, was.st_gid)
                os.fchmod(out.fileno(), was.st_mode & 0o777)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
    except OSError as error:
        raise SecretsError(f"{file} cannot be written: {error.strerror or error}") from error


def lines(text: str) -> list[str]:
    """The values of a file of tokens, each with its owner."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def blocks(text: str) -> list[str]:
    """The keys of a file of PEM blocks, each ended by a newline."""
    return [match[0].rstrip("\n") + "\n" for match in _PEM.finditer(text)]
