"""Starts and ends the process that confines itself and runs one program.

Landlock takes away files, seccomp all system calls but a list, a namespace the sight of other processes, each without
root. Where a container's own profile refuses namespaces, the other two hold. Compared with it: bubblewrap and nsjail
need namespaces; a WebAssembly build of Python has no NumPy.
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
REMEDY = (
    "Programs are confined with Landlock and seccomp: run them on Linux 6.7 or newer, with a Python that every user of "
    "the machine can read (docs/sandbox.md)."
)
START_S = 30.0
"""Time in which the interpreter starts, on a busy machine too; it does not count as the program's own [s]."""
_MODULES_LOCK = threading.Lock()


def _modules() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder, removed at exit, from which programs import what is not of the interpreter itself: NumPy."""
    # A cache alone lets two threads that begin together make one each, and the one that it drops is removed under
    # the program that starts with it.
    with _MODULES_LOCK:
        return _make_modules()


@functools.cache
def _make_modules() -> "tempfile.TemporaryDirectory[str]":
    numpy = importlib.util.find_spec("numpy")
    folder = tempfile.TemporaryDirectory(prefix="quartet-modules-")
    os.chmod(folder.name, 0o755)  # Root's programs run as another user.
    for package in _numpy_folders(Path(numpy.origin).parent) if numpy and numpy.origin else []:
        (Path(folder.name) / package.name).symlink_to(package)
    return folder


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
        SandboxUnavailableError: This system is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError(f"This system ({sys.platform}) cannot confine a program. {REMEDY}")
    modules = _modules().name
    options = {"modules": modules, "readable": _readable(), "memory_mb": memory_mb, "cpu_s": cpu_s}
    # This Python without its virtual environment.
    arguments = [os.path.realpath(sys.executable), "-I", "-S", "-u", str(CHILD), json.dumps(options)]
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


def end_process(process: subprocess.Popen[bytes]) -> int | None:
    """End a process that still runs; return its exit code, or None when a signal ended it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    exit_code = process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    return exit_code if exit_code >= 0 else None


@functools.cache
def require_confinement() -> None:
    """Check once that a confined process starts here and cannot read a file that this one can.

    Raises:
        SandboxUnavailableError: It does not start, or the file was read.
    """
    look = f"open({str(Path(__file__).with_name('errors.py'))!r}).read()"
    process = start_process(256, 30)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    end = threading.Timer(START_S, process.kill)
    end.start()
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"code": look, "functions": []}).encode() + b"\n")
        began = process.stdout.readline()
        said = process.stderr.read().decode(errors="replace").strip()[-300:]
    finally:
        end.cancel()
        end_process(process)
    if not began:
        raise SandboxUnavailableError(f"A confined program does not start here ({said}). {REMEDY}")
    if "PermissionError" not in said:
        raise SandboxUnavailableError(f"A confined program could read a file that it may not read. {REMEDY}")
