"""Small files that outlast a crash of the process or of the machine."""

import os
from pathlib import Path


def write_durably(path: Path, text: str) -> None:
    """Replace `path` by `text`: whole or not at all, and on the disk before this returns. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
