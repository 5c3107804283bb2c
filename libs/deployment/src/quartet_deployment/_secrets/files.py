"""Files of secrets: written atomically, and readable by their owner alone."""

import os
import re
from pathlib import Path

from quartet_deployment.errors import SecretsError

_PEM = re.compile(r"-----BEGIN [A-Z ]+-----.+?-----END [A-Z ]+-----\n?", re.DOTALL)


def read(file: Path) -> str:
    """Return the text of a file, '' when there is none. Raises SecretsError."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SecretsError(f"{file} cannot be read: {error.strerror or error}") from error


def write(file: Path, text: str) -> None:
    """Write a file atomically, so that a reader sees the old or the new text. Raises SecretsError.

    A replaced file keeps its owner and mode, which a deployment may have set; a new file has mode 0600.
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
    """Return the values of a file of tokens, each with its owner."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def blocks(text: str) -> list[str]:
    """Return the keys of a file of PEM blocks, each with a newline at its end."""
    return [match[0].rstrip("\n") + "\n" for match in _PEM.finditer(text)]
