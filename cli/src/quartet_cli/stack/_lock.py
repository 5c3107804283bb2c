"""One stack per state folder: a second one would take the files of the first away."""

import fcntl
from pathlib import Path
from typing import IO

from quartet_cli.stack.errors import FolderInUse


def lock_folder(folder: Path) -> IO[str]:
    """A lock on `folder` until the returned file is closed or the process ends. Raises FolderInUse.

    The lock is a file beside the folder, so that it outlives the folder's content.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = (folder.parent / f".{folder.name}.lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise FolderInUse(
            f"another `quartet {folder.name.partition('-')[0]}` runs in {folder}; wait for its end, or end it"
        ) from error
    return lock
