"""The supervisor's side of the fork server: start it, let it start processes, know how they ended."""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from quartet_deployment._fork_server import LARGEST_MESSAGE, Launch, end_with_parent
from quartet_deployment.errors import ProcessDiedError

READ_AT_START = ("PYTHON", "LD_", "MALLOC_", "GLIBC_")
"""How the names of variables begin that a program reads when it starts; a forked process reads them too late."""
END_GRACE_S = 5.0
LONGEST_WAIT_S = 0.05
"""Between two looks for what another thread has read [s]."""


class ForkServer:
    """A process that starts others by fork, so that they do not import again what it has imported.

    It is started with the constructor and imports while the supervisor goes on. Safe to use from several threads; the
    thread that makes it must live as long as its processes: Linux ties the death signal to it.
    """

    def __init__(self, env: Mapping[str, str], log: Path) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._statuses: dict[int, int] = {}
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with theirs, open(log, "ab", opener=only_for_the_owner) as output:
            self._log_began_at = output.seek(0, os.SEEK_END)
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "quartet_deployment._fork_server", str(theirs.fileno())],
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def start(self, launch: Launch, output: int) -> "ForkedProcess":
        """Start a process that writes to the file descriptor `output`; waits until the imports are done.

        Raises ProcessDiedError if the fork server is gone.
        """
        with open(os.memfd_create("launch"), "w", encoding="utf-8") as file:
            json.dump(launch, file)
            file.seek(0)
            with self._lock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._socket, [b'{"start": true}'], [output, file.fileno()])
                while (answer := self._receive(None)) is not None:
                    if "started" in answer:
                        return ForkedProcess(self, int(answer["started"]), launch["module"])
        raise self._died()

    @property
    def is_dead(self) -> bool:
        return self._popen.poll() is not None

    def raise_if_dead(self) -> None:
        """Raise ProcessDiedError when it ended without being asked to."""
        if self.is_dead:
            raise self._died()

    def end(self) -> None:
        """Let it end, after its processes."""
        self._socket.close()
        try:
            self._popen.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def status(self, pid: int) -> int | None:
        """Return the exit status of a process that it started, None while that runs."""
        with self._lock, contextlib.suppress(ConnectionResetError):
            while pid not in self._statuses and self._receive(0) is not None:
                pass
        if pid in self._statuses:
            return self._statuses[pid]
        # Its processes get SIGTERM when it is gone, and nobody can tell how they end.
        return None if not self.is_dead or _runs(pid) else -signal.SIGTERM

    def wait_for_message(self, timeout_s: float) -> None:
        """Return when there may be something new about a process, after `timeout_s` at the latest."""
        with contextlib.suppress(ValueError):
            select.select([self._socket], [], [], max(0.0, min(timeout_s, LONGEST_WAIT_S)))
        if self.is_dead:
            time.sleep(min(max(0.0, timeout_s), LONGEST_WAIT_S))

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process that it started, and to the children of that."""
        with self._lock:
            try:
                self._socket.send(json.dumps({"signal": number, "to": pid}).encode())
            except OSError:
                if _runs(pid):
                    os.killpg(pid, number)

    def _receive(self, timeout_s: float | None) -> dict[str, Any] | None:
        """Return the next message, None if there is none in time or it is gone. The lock is held."""
        ready, _, _ = select.select([self._socket], [], [], timeout_s)
        message = self._socket.recv(LARGEST_MESSAGE) if ready else b""
        if not message:
            return None
        got: dict[str, Any] = json.loads(message)
        if "ended" in got:
            self._statuses[int(got["ended"])] = int(got["status"])
        return got

    def _died(self) -> ProcessDiedError:
        status = self._popen.wait()
        lines = self._log.read_bytes()[self._log_began_at :].decode(errors="replace").splitlines()[-15:]
        return ProcessDiedError("the fork server", status, self._log, "\n".join(f"  {line}" for line in lines))


class ForkedProcess:
    """A process that the fork server started, with the parts of subprocess.Popen that the supervisor uses."""

    def __init__(self, server: ForkServer, pid: int, module: str) -> None:
        self.pid = pid
        self._server = server
        self._module = module

    def poll(self) -> int | None:
        """Return its exit status, None while it runs."""
        return self._server.status(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            left = LONGEST_WAIT_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(self._module, timeout or 0.0)
            self._server.wait_for_message(left)
        return status

    def signal_group(self, number: int) -> None:
        """Send a signal to it and its children."""
        self._server.signal(self.pid, number)


def only_for_the_owner(path: str, flags: int) -> int:
    """Opener of files that no other user reads."""
    return os.open(path, flags, 0o600)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
