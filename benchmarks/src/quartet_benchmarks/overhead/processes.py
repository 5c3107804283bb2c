"""The processes of the suite: clients that do the task for a line of input, and Quartet's own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from quartet_benchmarks.environments import CLIENTS, environment
from quartet_benchmarks.errors import MeasurementError

START_S = 120.0
END_S = 20.0
POLL_S = 0.005
TAIL = 600
"""Characters of a process' log that an error shows."""


@dataclass(frozen=True)
class Run:
    """One time that a client did the task."""

    wall_s: float
    cpu_s: float
    answer: str


class ClientProcess:
    """A client of benchmarks/clients, which does the task when it is told to."""

    def __init__(self, name: str, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        begun = time.perf_counter()
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                list(argv),
                env=dict(environment),
                cwd=CLIENTS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        try:
            self.ready = self._read()
            """The line with which it said that it is ready."""
        except BaseException:
            self.kill()
            raise
        self.start_s = time.perf_counter() - begun
        """From the start of the process until it is connected and knows the tools [s]."""

    def run(self) -> Run:
        """Let it do the task once. Raises MeasurementError."""
        return Run(**self.tell("run"))

    def tell(self, line: str) -> dict[str, Any]:
        """Write a line to its input and return the figures that it answers. Raises MeasurementError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._died() from error
        return self._read()

    def peak_mb(self) -> float:
        """Return the most memory that it has had resident [MB]."""
        return _peak_mb(self._process.pid)

    def kill(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def _read(self) -> dict[str, Any]:
        """Return the next line that is figures; what a library prints is passed over."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise self._died()

    def _died(self) -> MeasurementError:
        return MeasurementError(f"the client {self.name} ended: {_tail(self.log)}")


class OwnProcess:
    """A process of Quartet, which writes a file when it is ready."""

    def __init__(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str], folder: Path, python: str = sys.executable
    ) -> None:
        ready, log = folder / f"{name}.json", folder / f"{name}.log"
        begun = time.perf_counter()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [python, *argv],
                env={**environment, "QUARTET_READY_FILE": str(ready)},
                stdout=output,
                stderr=output,
            )
        while not ready.exists():
            if self._process.poll() is not None or time.perf_counter() - begun > START_S:
                self.end()
                raise MeasurementError(f"{name} did not start: {_tail(log)}")
            time.sleep(POLL_S)
        self.start_s = time.perf_counter() - begun
        self.start_cpu_s = self.cpu_s()
        """Processor time until it was ready [s]."""
        self.url: str = json.loads(ready.read_text())["url"]

    def cpu_s(self) -> float:
        """Return the processor time that it has used [s]."""
        times = psutil.Process(self._process.pid).cpu_times()
        return times.user + times.system

    def peak_mb(self) -> float:
        """Return the most memory that it has had resident [MB]."""
        return _peak_mb(self._process.pid)

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def import_cpu_s(python: Path, modules: str, folder: Path) -> float:
    """Return the processor time in which `python` starts and imports `modules` without compiled bytecode [s].

    Raises MeasurementError when they cannot be imported.
    """
    bytecode = environment(PYTHONPYCACHEPREFIX=str(folder / "no-bytecode"), PYTHONDONTWRITEBYTECODE="1")
    process = subprocess.Popen([python, "-c", f"import {modules}"], env=bytecode)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise MeasurementError(f"{python} cannot import {modules}")
    return used.ru_utime + used.ru_stime


@contextmanager
def tool_server(folder: Path) -> Iterator[str]:
    """Run the MCP server of all clients; yield the URL of its endpoint."""
    server = OwnProcess("tools", ["-m", "quartet_benchmarks.overhead.tools"], environment(), folder)
    try:
        yield server.url
    finally:
        server.end()


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a folder for logs and ready files, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="quartet-overhead-") as folder:
        yield Path(folder)


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6


def _tail(log: Path) -> str:
    return log.read_text(errors="replace").strip()[-TAIL:] or "it wrote nothing"
