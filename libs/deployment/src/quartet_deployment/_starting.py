"""How each process of a stack is started, by the supervisor or by fork, and its log."""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import IO

PR_SET_PDEATHSIG = 1


class ProcessLog:
    """The log file of a process, which goes on after what an earlier process wrote. Only its owner reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began_at = 0

    @contextlib.contextmanager
    def begin(self) -> Generator[IO[bytes]]:
        """Open it for the output of a new process."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.path, "ab", opener=_only_for_the_owner) as output:
            self._began_at = output.seek(0, os.SEEK_END)
            yield output

    def tail(self, lines: int = 15) -> str:
        """Return the last lines, without those of an earlier process."""
        text = self.path.read_bytes()[self._began_at :].decode(errors="replace") if self.path.exists() else ""
        return "\n".join(f"  {line}" for line in text.splitlines()[-lines:]) or "  (it wrote nothing)"


def start_process(
    argv: Sequence[str], env: Mapping[str, str], output: IO[bytes], pass_fds: Collection[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own. Raises FileNotFoundError for a program that is not there.

    The thread that calls this must live as long as the process: Linux ties the death signal to it.
    """
    return subprocess.Popen(
        argv,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        pass_fds=pass_fds,
        start_new_session=True,
        preexec_fn=end_with_parent,
    )


def end_with_parent() -> None:
    """In a new process: be terminated when the parent is killed, and write files that only their owner reads."""
    os.umask(0o077)
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _only_for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
