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

from quartet_deployment._fork_server import LARGEST_MESSAGE, Launch
from quartet_deployment._starting import ProcessLog, start_process
from quartet_deployment.errors import ProcessDiedError, StackError

READ_AT_START = (
    *("PYTHON", "LD_", "MALLOC_", "GLIBC_", "TZ", "LC_", "LANG", "OPENSSL_"),
    *("FASTMCP_", "OTEL_PYTHON_", "PROMETHEUS_", "PYDANTIC_"),
)
"""How the names of variables begin that a program reads when it starts or imports: too late in a forked process."""
END_GRACE_S = 5.0
LONGEST_WAIT_S = 0.05
"""Between two looks for what another thread has read [s]."""


class ForkServer:
    """A process that starts others by fork, so that they do not import again what it has imported.

    It is started with the constructor and imports while the supervisor goes on. Safe to use from several threads; the
    thread that makes it must live as long as its processes: Linux ties the death signal to it.
    """

    def __init__(self, env: Mapping[str, str], log: Path) -> None:
        self._log = ProcessLog(log)
        self._lock = threading.Lock()
        self._statuses: dict[int, int] = {}
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = [sys.executable, "-m", "quartet_deployment._fork_server", str(theirs.fileno())]
        with theirs, self._log.begin() as output:
            self._popen = start_process(argv, env, output, pass_fds=[theirs.fileno()])

    @property
    def pid(self) -> int:
        return self._popen.pid

    def start(self, launch: Launch, output: int) -> "ForkedProcess":
        """Start a process that writes to the file descriptor `output`; waits until the imports are done.

        Raises ProcessDiedError if the fork server is gone, StackError if it cannot fork.
        """
        try:
            return self._start(launch, output)
        except (KeyboardInterrupt, SystemExit):
            # It may start something that nobody knows of.
            self._popen.kill()
            raise

    def _start(self, launch: Launch, output: int) -> "ForkedProcess":
        with open(os.memfd_create("launch"), "w", encoding="utf-8") as file:
            json.dump(launch, file)
            file.seek(0)
            with self._lock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(self._socket, [b'{"start": true}'], [output, file.fileno()])
                while (answer := self._receive(None)) is not None:
                    if "failed" in answer:
                        raise StackError(f"{launch['module']} cannot be started: {answer['failed']}")
                    if "started" in answer:
                        # Of an earlier process with this number.
                        self._statuses.pop(int(answer["started"]), None)
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
        # It may be importing still.
        self._popen.terminate()
        try:
            self._popen.wait(END_GRACE_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()

    def status(self, pid: int) -> int | None:
        """Return the exit status of a process that it started, None while that is not known."""
        with self._lock, contextlib.suppress(ConnectionResetError):
            while pid not in self._statuses and self._receive(0) is not None:
                pass
        return self._statuses.get(pid)

    def wait_for_message(self, timeout_s: float) -> None:
        """Return when there may be something new about a process, after `timeout_s` at the latest."""
        with contextlib.suppress(ValueError):
            select.select([self._socket], [], [], max(0.0, min(timeout_s, LONGEST_WAIT_S)))
        if self.is_dead:
            time.sleep(min(max(0.0, timeout_s), LONGEST_WAIT_S))

    def signal(self, pid: int, number: int) -> None:
        """Send a signal to a process that it started, and to the children of that; nothing happens when it is dead."""
        with self._lock, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.send(json.dumps({"signal": number, "to": pid}).encode())

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
        return ProcessDiedError("the fork server", self._popen.wait(), self._log.path, self._log.tail())


class ForkedProcess:
    """A process that the fork server started, with the parts of subprocess.Popen that the supervisor uses."""

    def __init__(self, server: ForkServer, pid: int, module: str) -> None:
        self.pid = pid
        self._server = server
        self._module = module
        self._last_signal: int | None = None
        self._status: int | None = None
        # Knows it by its start too, should another process have its number one day.
        self._process: psutil.Process | None = None
        with contextlib.suppress(psutil.NoSuchProcess):
            self._process = psutil.Process(pid)

    def poll(self) -> int | None:
        """Return its exit status, None while it runs; that of SIGTERM where the fork server died before it."""
        if self._status is None:
            dead = self._server.is_dead
            # After that question: what the fork server has told before it died is read first.
            self._status = self._server.status(self.pid)
            if self._status is None and dead and not self._runs():
                self._status = -signal.SIGTERM
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            left = LONGEST_WAIT_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(self._module, timeout or 0.0)
            if self._server.is_dead and self._last_signal is not None:
                # It may have died before it passed the signal on.
                self.signal_group(self._last_signal)
            self._server.wait_for_message(left)
        return status

    def signal_group(self, number: int) -> None:
        """Send a signal to it and its children."""
        self._last_signal = number
        if self._server.is_dead:
            with contextlib.suppress(ProcessLookupError):
                if self._runs():
                    os.killpg(self.pid, number)
        else:
            self._server.signal(self.pid, number)

    def _runs(self) -> bool:
        try:
            process = self._process
            return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
