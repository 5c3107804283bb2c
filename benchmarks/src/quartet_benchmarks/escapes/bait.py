"""What lies around the sandbox for a program to reach, and whether it was reached."""

import contextlib
import os
import re
import resource
import secrets
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from quartet_benchmarks.escapes.system import PRELUDE

SHARED = (Path("/tmp/quartet-escape"), Path("/dev/shm/quartet-escape"))
_EXITING = 0x4
"""Flag of a process that is on its way out, PF_EXITING (proc(5), /proc/pid/stat)."""


class Bait:
    """A folder with a secret, a secret in the environment, listeners, and a process of the same user."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(16)
        self._folder = tempfile.TemporaryDirectory(prefix="quartet-bait-")
        self._sockets: list[socket.socket] = []
        self._stack = contextlib.ExitStack()
        self._before: dict[str, tuple[object, ...]] = {}
        self._not_ours: set[int] = set()

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(self._folder))
        (folder / "secret").write_text(self.secret)
        # A path of its own, since Unix socket paths are short.
        sockets = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="qb-")))
        abstract = f"\0quartet-bait-{secrets.token_hex(4)}"
        tcp = self._listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self._listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._listener(socket.AF_UNIX, socket.SOCK_STREAM, str(sockets / "s"))
        self._listener(socket.AF_UNIX, socket.SOCK_STREAM, abstract)
        # In a group of its own: what an unconfined program does to its group must not outlast the test.
        sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
        self._victim = subprocess.Popen(sleep, start_new_session=True)
        self._stack.callback(self._end_victim)
        os.environ["QUARTET_SECRET"] = self.secret
        self._stack.callback(os.environ.pop, "QUARTET_SECRET", None)
        self.names: dict[str, object] = {
            "SECRET_FILE": str(folder / "secret"),
            "DONE": secrets.token_hex(8),
            "FOLDER": str(folder),
            "TCP_PORT": tcp.getsockname()[1],
            "UDP_PORT": udp.getsockname()[1],
            "UNIX_PATH": str(sockets / "s"),
            "ABSTRACT_NAME": abstract,
            "VICTIM_PID": self._victim.pid,
            "OWNER_PID": os.getpid(),
        }
        self._before = self._state()
        self._not_ours = {child.pid for child in psutil.Process().children(recursive=True)}
        return self

    def prepare(self, code: str) -> str:
        """Return a program with the constants and functions that it uses."""
        return "".join(f"{name} = {value!r}\n" for name, value in self.names.items()) + PRELUDE + code

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _listener(self, family: int, kind: int, address: object) -> socket.socket:
        one = self._stack.enter_context(socket.socket(family, kind))
        one.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            one.listen()
        one.setblocking(False)
        self._sockets.append(one)
        return one

    def _end_victim(self) -> None:
        self._victim.kill()
        self._victim.wait()

    def _state(self) -> dict[str, tuple[object, ...]]:
        """Return what a program could change: the folder's files, and the process's priority and state."""
        state: dict[str, tuple[object, ...]] = {}
        folder = Path(self._folder.name)
        for path in (folder, *sorted(folder.iterdir())):
            facts = path.lstat()
            content = path.read_text() if stat.S_ISREG(facts.st_mode) else ""
            attributes = tuple(os.listxattr(path)) if hasattr(os, "listxattr") else ()
            state[path.name] = (content, facts.st_mode, facts.st_uid, facts.st_nlink, facts.st_mtime_ns, attributes)
        # On a busy machine it stops when it is next to run.
        stopped = self._is_pending(signal.SIGSTOP) or psutil.Process(self._victim.pid).status() == psutil.STATUS_STOPPED
        state["process"] = (stopped, *_scheduling(self._victim.pid))
        state["owner"] = _scheduling(os.getpid())
        return state

    def reached(self, printed: str) -> list[str]:
        """Return what the program that just ran reached, in words; nothing when it was held.

        Args:
            printed: Everything that the program printed.
        """
        found: list[str] = []
        if self.secret in printed:
            found.append("read the secret")
        if self._is_killed():
            found.append("killed a process")
        elif (now := self._state()) != self._before:
            found.append(f"changed {', '.join(name for name in now.keys() | self._before if self._differs(now, name))}")
            self._before = now
        found += [f"made {path}" for path in SHARED if path.exists()]
        for one in self._sockets:
            with contextlib.suppress(BlockingIOError):
                if one.type == socket.SOCK_STREAM:
                    one.accept()[0].close()
                else:
                    one.recv(100)
                found.append(f"reached a listener ({one.family.name}, {one.type.name})")
        children = psutil.Process().children(recursive=True)
        found += [f"left {child.name()} running" for child in children if child.pid not in self._not_ours]
        return found

    def _is_killed(self) -> bool:
        """Return whether the victim is dead; one that was sent a SIGKILL and has not come to its end is waited for."""
        if self._victim.poll() is not None:
            return True
        flags = int(Path(f"/proc/{self._victim.pid}/stat").read_text().rpartition(")")[2].split()[6])
        if flags & _EXITING or self._is_pending(signal.SIGKILL):
            self._victim.wait()
        return self._victim.poll() is not None

    def _is_pending(self, sent: signal.Signals) -> bool:
        """Return whether the victim was sent this signal and has not been reached by it yet."""
        status = Path(f"/proc/{self._victim.pid}/status").read_text()
        pending = re.findall(r"^S(?:ig|hd)Pnd:\s*(\w+)$", status, re.MULTILINE)
        return any(int(signals, 16) & 1 << sent - 1 for signals in pending)

    def _differs(self, now: dict[str, tuple[object, ...]], name: str) -> bool:
        return now.get(name) != self._before.get(name)


def _scheduling(process: int) -> tuple[object, ...]:
    """Return the priorities, cores and limits of a process."""
    one = psutil.Process(process)
    limits = [resource.prlimit(process, limit) for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)]
    return one.nice(), one.ionice(), tuple(one.cpu_affinity()), os.sched_getscheduler(process), *limits
