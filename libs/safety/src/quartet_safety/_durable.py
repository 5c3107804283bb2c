"""Small files that outlast a crash of the process or of the machine."""

import os
from pathlib import Path


def write_durably(path: Path, text: str) -> None:
    """Replace the content of `path` by `text`: whole or not at all, and on disk before this returns.

    File and folder are synchronised. Missing folders are made, for the owner alone.

    Raises:
        OSError: the file cannot be written; what it held before is still there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "w", encoding="utf-8", opener=_only_for_the_owner) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _only_for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
