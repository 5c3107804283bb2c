"""A Redis that the benchmark kills and starts again."""

import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

import psutil

from quartet_deployment import StackError, free_ports, hold_ports

START_S = 30.0


class RedisProcess:
    """Redis on a free port; use it as a context manager.

    `fsync` is Redis' appendfsync, None for no append-only file.
    """

    def __init__(self, fsync: str | None) -> None:
        self._fsync = fsync
        self._folder = tempfile.TemporaryDirectory(prefix="quartet-redis-")
        self._process: subprocess.Popen[bytes] | None = None
        (self.port,) = free_ports(1)
        self._held = hold_ports([self.port])

    @property
    def url(self) -> str:
        """Address of this Redis."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers. Raises StackError."""
        binary = shutil.which("redis-server")
        if binary is None:
            raise StackError("redis-server is not installed; on Debian or Ubuntu: apt-get install redis-server")
        kept = ["--appendonly", "yes", "--appendfsync", self._fsync] if self._fsync else ["--appendonly", "no"]
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(Path(self._folder.name)), *kept]
        self._process = subprocess.Popen(
            [binary, *options, "--save", "", "--maxmemory-policy", "noeviction"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise StackError(f"redis-server at port {self.port} did not come up")
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as link:
                link.sendall(b"PING\r\n")
                return link.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it as a crash would; with an append-only file all acknowledged writes are there after `start`."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def memory_mb(self) -> float:
        """Return its resident memory [MB]."""
        assert self._process is not None
        return float(psutil.Process(self._process.pid).memory_info().rss) / 1e6

    def __enter__(self) -> "RedisProcess":
        try:
            self.start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        self.kill()
        self._held.close()
        self._folder.cleanup()
