"""One process of a stack: its start, readiness, log and end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from quartet_deployment._fork_server import Launch
from quartet_deployment._forks import READ_AT_START, ForkedProcess, ForkServer
from quartet_deployment._starting import ProcessLog, start_process
from quartet_deployment.errors import NotInstalledError, ProcessDiedError

TERM_GRACE_S = 5.0
MODULE = [sys.executable, "-m"]


@dataclass(frozen=True)
class ProcessSpec:
    """What to start, and how to tell that it is ready."""

    name: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    """Variables added to the environment of the stack."""
    ready_file: Path | None = None
    """File that the process writes when it listens; its JSON has the url."""
    ready: Callable[[], bool] | None = None
    """Called when there is no ready file; returns whether the process is ready."""
    forked: bool = False
    """Whether the fork server starts it, where there is one; `argv` then runs a module of this Python."""


class ManagedProcess:
    """A running process with its log."""

    def __init__(
        self, spec: ProcessSpec, base_env: dict[str, str], log: Path, fork_server: ForkServer | None = None
    ) -> None:
        self.spec = spec
        self.log = log
        self.started_at = time.monotonic()
        self.ready_after_s: float | None = None
        self.wanted_dead = False
        if spec.ready_file is not None:
            spec.ready_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            spec.ready_file.unlink(missing_ok=True)
        self._log = ProcessLog(log)
        env = {**base_env, **spec.env}
        with self._log.begin() as output:
            if fork_server is not None and spec.forked and not any(name.startswith(READ_AT_START) for name in spec.env):
                assert spec.argv[: len(MODULE)] == MODULE, spec.argv
                module, *arguments = spec.argv[len(MODULE) :]
                launch: Launch = {"module": module, "arguments": arguments, "env": env}
                self._process: ForkedProcess | subprocess.Popen[bytes] = fork_server.start(launch, output.fileno())
            else:
                self._process = _start(spec, env, output)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def status(self) -> int | None:
        """Exit status, None while the process runs."""
        return self._process.poll()

    def tail(self, lines: int = 15) -> str:
        """Return the last lines of its log, without those of an earlier process."""
        return self._log.tail(lines)

    def raise_if_dead(self) -> None:
        """Raise ProcessDiedError when it ended without being asked to."""
        status = self.status
        if status is not None and not self.wanted_dead:
            raise ProcessDiedError(self.name, status, self.log, self.tail())

    def is_ready(self) -> bool:
        """Return whether it is ready. Raises ProcessDiedError."""
        if self.ready_after_s is not None:
            return True
        self.raise_if_dead()
        file, ask = self.spec.ready_file, self.spec.ready
        ready = file.exists() if file is not None else ask is None or ask()
        if ready:
            self.ready_after_s = time.monotonic() - self.started_at
        return ready

    def ready_content(self) -> dict[str, Any]:
        """Return the content of the ready file, {} without one."""
        return json.loads(self.spec.ready_file.read_text()) if self.spec.ready_file else {}

    def signal(self, number: int) -> None:
        """Send a signal to the process and its children."""
        if isinstance(self._process, ForkedProcess):
            self._process.signal_group(number)
        elif self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """Kill it at once (signal 9)."""
        self.wanted_dead = True
        self.signal(signal.SIGKILL)
        self._process.wait()

    def ask_to_end(self) -> None:
        self.wanted_dead = True
        self.signal(signal.SIGTERM)

    def wait_for_end(self, deadline: float) -> None:
        """Wait for its end until the monotonic time `deadline`, then kill it."""
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._process.wait()


def _start(spec: ProcessSpec, env: dict[str, str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return start_process(spec.argv, env, output)
    except FileNotFoundError as error:
        raise NotInstalledError(f"{spec.name} needs the program {spec.argv[0]}, which is not there") from error
