"""Starts and ends the process that confines itself and runs one program.

The process needs neither root nor namespaces, and uses both if it has them. Alternatives: bubblewrap and nsjail need
namespaces, which the default profile of container engines refuses; Python in WebAssembly has no NumPy.
"""

import contextlib
import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path

from quartet_sandbox.errors import SandboxUnavailableError

CHILD = Path(__file__).with_name("_child")
REMEDY = "Programs are confined with Landlock and seccomp: run them on Linux 6.7 or newer (docs/sandbox.md)."
_MODULES_LOCK = threading.Lock()


def _modules() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder, removed at exit, from which programs import what is not of the interpreter itself: NumPy."""
    # A cache alone lets two threads that begin together make one each, and the one that it drops is removed under
    # the program that starts with it.
    with _MODULES_LOCK:
        folder = _make_modules()
        if not os.path.isdir(folder.name):
            # Something cleans the folder of temporary files.
            _fill(Path(folder.name))
        return folder


@functools.cache
def _make_modules() -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="quartet-modules-")
    _fill(Path(folder.name))
    return folder


def _fill(folder: Path) -> None:
    numpy = importlib.util.find_spec("numpy")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)  # Root's programs run as another user.
    for package in _numpy_folders(Path(numpy.origin).parent) if numpy and numpy.origin else []:
        (folder / package.name).symlink_to(package)


def _numpy_folders(package: Path) -> list[Path]:
    """Return NumPy's package and, where a wheel brought some, the folder of its shared libraries."""
    return [package, *(folder for folder in [package.with_name("numpy.libs")] if folder.is_dir())]


def _readable() -> list[str]:
    """Return the files and folders that a program can read: libraries of the system, of Python and of NumPy."""
    modules = Path(_modules().name)
    libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", sysconfig.get_config_var("LIBDIR")]
    return [
        sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}),
        *(path for path in libraries if path and os.path.exists(path)),
        str(modules),
        *(os.path.realpath(link) for link in modules.iterdir()),
    ]


def start_process(memory_mb: int, cpu_s: int) -> subprocess.Popen[bytes]:
    """Start the process that confines itself and runs one program, which it reads from its standard input.

    Args:
        memory_mb: Memory of the program in MiB, interpreter and NumPy included.
        cpu_s: Processor time, in seconds.

    Raises:
        SandboxUnavailableError: This system is not Linux, or lacks what a process needs.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(f"This system ({sys.platform}) cannot confine a program. {REMEDY}")
    modules = _modules().name
    options = {"modules": modules, "readable": _readable(), "memory_mb": memory_mb, "cpu_s": cpu_s}
    # This Python without its virtual environment.
    arguments = [os.path.realpath(sys.executable), "-I", "-S", "-u", str(CHILD), json.dumps(options)]
    try:
        return subprocess.Popen(
            arguments,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=modules,
            env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailableError(f"A confined program does not start here ({error}). {REMEDY}") from error


def kill_process(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs, as far as this user may; closing its standard input does the rest."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def end_process(process: subprocess.Popen[bytes]) -> int | None:
    """End a process that still runs; return its exit code, or None when a signal ended it."""
    kill_process(process)
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    exit_code = process.wait()
    return exit_code if exit_code >= 0 else None
