"""Process that imports once what most processes of a stack import, and forks each of them.

Started by the supervisor as `python -m quartet_deployment._fork_server FD`, with FD one end of a socket of whole
messages (SOCK_SEQPACKET), JSON each:

- {"start": true} with two file descriptors: where the new process writes its output, and a file with its Launch. The
  answer is {"started": pid}, or {"failed": reason}.
- {"signal": number, "to": pid} for a process and its children. Without an answer.
- {"ended": pid, "status": number} is sent when a process has ended, the status as subprocess.Popen has it.

It ends when the supervisor closes the socket. It never reads a Launch, so it holds no key that one process could find
in the memory that it got from here.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any, TypedDict, cast

from setproctitle import setproctitle

from quartet_deployment._starting import end_with_parent

PRELOADED = (
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "fastmcp",
    "httpx2",
    "jwt",
    "mcp.client.streamable_http",
    "mcp.server.streamable_http_manager",
    "opentelemetry.trace",
    "prometheus_client",
    "pydantic_settings",
    "redis.asyncio",
    "starlette.applications",
    "uvicorn",
    "yaml",
)
"""Third-party modules that many processes import and that take long.

Of our own only quartet_process and quartet_contracts are imported here, by this package; every process uses them.
Others register metrics when they are imported, which a process that does not use them would show too.
"""
LARGEST_MESSAGE = 4096


class Launch(TypedDict):
    """What a new process is to be."""

    module: str
    """Run as `python -m` runs it."""
    arguments: list[str]
    env: dict[str, str]
    """Its whole environment."""


def main() -> None:
    """Serve the supervisor until it closes the socket; in a forked process, run its module."""
    control = socket.socket(fileno=int(sys.argv[1]))
    for name in PRELOADED:
        importlib.import_module(name)
    # So that a collection in one process does not write to, and so copy, the pages that all share.
    gc.collect()
    gc.freeze()
    launch = _serve(control)
    if launch is not None:
        sys.argv = [launch["module"], *launch["arguments"]]
        runpy.run_module(launch["module"], run_name="__main__", alter_sys=True)


def _serve(control: socket.socket) -> Launch | None:
    """Serve the supervisor. Returns None at the end, and its Launch in each forked process."""
    children: set[int] = set()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    # A handler, whatever it does: without one no signal writes to the pipe.
    signal.signal(signal.SIGCHLD, _nothing)
    while True:
        ready, _, _ = select.select([control, ended], [], [])
        if ended in ready:
            os.read(ended, LARGEST_MESSAGE)
            _tell_ended(control, children)
        if control not in ready:
            continue
        message, files, _, _ = socket.recv_fds(control, LARGEST_MESSAGE, 2)
        if not message:
            return None
        wanted = cast("dict[str, Any]", json.loads(message))
        if "signal" in wanted:
            # Only while it has not been waited for: afterwards another process may have its number.
            if wanted["to"] in children:
                _signal(wanted["to"], wanted["signal"])
            continue
        server = os.getpid()
        try:
            output, launch_file = files
            pid = os.fork()
        except (OSError, ValueError) as error:
            _close(files)
            _tell(control, {"failed": str(error)})
            continue
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _close((ended, wake))
            control.close()
            return _become(output, launch_file, server)
        _close(files)
        children.add(pid)
        _tell(control, {"started": pid})


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


def _tell_ended(control: socket.socket, children: set[int]) -> None:
    for pid in sorted(children):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            children.remove(pid)
            _tell(control, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    # The supervisor is gone when nobody reads; the next read of the socket says so.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        control.send(json.dumps(message).encode())


def _signal(pid: int, number: int) -> None:
    """Send a signal to a process that runs, and to its children."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        # It has not come to making its group, and has no children.
        os.kill(pid, number)


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)


def _become(output: int, launch_file: int, server: int) -> Launch:
    """Make the forked process what its Launch says, up to running its module."""
    os.setsid()
    end_with_parent()
    if os.getppid() != server:
        os._exit(1)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    with open(launch_file, encoding="utf-8") as file:
        launch = cast("Launch", json.load(file))
    # Before the environment is another: it looks for the command line next to that of the start.
    setproctitle(" ".join([sys.executable, "-m", launch["module"], *launch["arguments"]]))
    os.environ.clear()
    os.environ.update(launch["env"])
    return launch


if __name__ == "__main__":
    main()
