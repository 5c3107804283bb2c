"""The state folder of a stack: its lock, and the description by which another process finds the running stack."""

import fcntl
import json
import os
from pathlib import Path
from typing import IO

from quartet_deployment.errors import FolderInUseError

_DESCRIPTION = "stack.json"


def lock_folder(folder: Path) -> IO[str]:
    """Lock `folder` until the returned file is closed or the process ends. Raises FolderInUseError.

    The lock is a file beside the folder, so that it outlives the folder's content.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = (folder.parent / f".{folder.name}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise FolderInUseError(
            f"another `quartet {folder.name.partition('-')[0]}` runs in {folder}; wait for its end, or end it"
        ) from error
    return lock


def write_description(folder: Path, fields: dict[str, object]) -> None:
    """Write what another process needs to find and use the stack that this process runs in `folder`."""
    file = folder / _DESCRIPTION
    file.touch(mode=0o600)
    file.write_text(json.dumps({"pid": os.getpid(), **fields}, indent=1))


def read_description(folder: Path) -> dict[str, str]:
    """Return what the stack that runs in `folder` wrote about itself, {} when none runs there."""
    try:
        content: dict[str, object] = json.loads((folder / _DESCRIPTION).read_text())
        os.kill(int(str(content["pid"])), 0)
    except (OSError, ValueError, KeyError):
        return {}
    return {name: str(value) for name, value in content.items()}


def remove_description(folder: Path) -> None:
    """Remove what `write_description` wrote."""
    (folder / _DESCRIPTION).unlink(missing_ok=True)
