"""The state folder of a stack: its lock, and the description by which another process finds the running stack."""

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import IO

import psutil

from quartet_deployment.errors import FolderInUseError

_DESCRIPTION = "stack.json"
_PROCESSES = "processes"
"""File with the id and start time of each process of a stack, one a line. It remains when the stack is killed."""


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


def note_process(folder: Path, pid: int) -> None:
    """Note a process that was started for the stack in `folder`."""
    (folder / _PROCESSES).touch(mode=0o600)
    with contextlib.suppress(psutil.NoSuchProcess), (folder / _PROCESSES).open("a") as file:
        file.write(f"{pid} {psutil.Process(pid).create_time()}\n")


def left_processes(folder: Path) -> list[psutil.Process]:
    """Return the processes that still run of a stack that was killed in `folder`."""
    found: list[psutil.Process] = []
    lines = (folder / _PROCESSES).read_text().splitlines() if (folder / _PROCESSES).exists() else []
    for line in lines:
        with contextlib.suppress(psutil.NoSuchProcess, ValueError):
            pid, _, began = line.partition(" ")
            process = psutil.Process(int(pid))
            # Another process may have the id by now.
            if process.create_time() == float(began) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_left_processes(folder: Path, grace_s: float) -> None:
    """Wait until all processes have ended of a stack that was killed in `folder`.

    They hold ports and files, and end by themselves within seconds of the death of their parent. One that still runs
    after `grace_s` [s] is asked to end, after twice that time it is killed.
    """
    left = left_processes(folder)
    for end in (psutil.Process.terminate, psutil.Process.kill):
        left = psutil.wait_procs(left, timeout=grace_s)[1]
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                end(process)
    psutil.wait_procs(left, timeout=grace_s)
    (folder / _PROCESSES).unlink(missing_ok=True)


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
    """Remove what `write_description` and `note_process` wrote."""
    (folder / _DESCRIPTION).unlink(missing_ok=True)
    (folder / _PROCESSES).unlink(missing_ok=True)
