"""What a confined program may do: compute, and talk over three pipes.

The confinement is sandlock's: Landlock takes away files, TCP and signals, seccomp takes away system calls, and a
supervisor watches memory and processes. It needs neither root nor user namespaces, so that it is the same on a laptop
and in a container (with SYS_PTRACE, for pidfd_getfd). Compared with it: bubblewrap and nsjail need user namespaces,
which the default profile of container engines refuses; a WebAssembly build of Python has no NumPy.
"""

import functools
import importlib.util
import os
import sys
import sysconfig
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from quartet_sandbox.errors import SandboxUnavailableError

CHILD = Path(__file__).with_name("_child.py")
MARGIN_MB = 64
"""Memory between a program's limit, where it gets a MemoryError, and the supervisor's, which ends it, in MiB."""
REMEDY = (
    "Programs are confined with Landlock and seccomp: run them on Linux 6.7 or newer, in a container with the "
    "capability SYS_PTRACE (docs/sandbox.md)."
)

DENIED_CALLS = (
    # Landlock covers neither modes, owners, times nor extended attributes of a file.
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
    *("utime", "utimes", "utimensat", "futimesat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    # Signals and looks at other processes, also on kernels whose Landlock does not cover them (before 6.12).
    *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_open", "pidfd_send_signal"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp"),
    # Ways to more processor time, memory and kernel code than a calculation needs.
    *("setpriority", "ioprio_set", "sched_setscheduler", "sched_setaffinity", "mlock", "mlockall", "memfd_create"),
    *("io_uring_setup", "bpf", "userfaultfd", "keyctl", "perf_event_open", "personality", "unshare", "setns"),
    *("inotify_init1", "fanotify_init", "splice", "vmsplice", "mount", "chroot", "pivot_root", "syslog", "socketpair"),
)
"""System calls that are refused beside those that sandlock refuses always."""
_MODULES_LOCK = threading.Lock()


class ConfinedProcess(Protocol):
    """What `sandlock.sandbox.Process` has, of which the package brings no types."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO

    def kill(self) -> None:
        """End it at once; nothing happens when it has ended."""
        ...

    def wait(self) -> Any:
        """Wait for its end and return sandlock's `Result`."""
        ...


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
    for package in _numpy_folders(Path(numpy.origin).parent) if numpy and numpy.origin else []:
        (Path(folder.name) / package.name).symlink_to(package)
    return folder


def _numpy_folders(package: Path) -> list[Path]:
    """Return NumPy's package and, where a wheel brought some, the folder of its shared libraries."""
    return [package, *(folder for folder in [package.with_name("numpy.libs")] if folder.is_dir())]


def _interpreter() -> str:
    """Return the path of the Python that runs programs: this one, without its virtual environment."""
    return os.path.realpath(sys.executable)


def _make_sandbox(memory_mb: int) -> Any:
    """Return a sandlock `Sandbox` for one program.

    Args:
        memory_mb: Memory of the program in MiB, interpreter and NumPy included.

    Raises:
        SandboxUnavailableError: The system is not Linux, or its kernel lacks Landlock's limits on files and TCP.
    """
    try:
        from sandlock import Protection, Sandbox  # pyright: ignore[reportMissingTypeStubs]
    except (ImportError, OSError) as error:
        raise SandboxUnavailableError(f"This system cannot confine a program ({error}). {REMEDY}") from error
    modules = Path(_modules().name)
    libraries = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", sysconfig.get_config_var("LIBDIR")]
    readable = [
        _interpreter(),
        sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}),
        *(path for path in libraries if path and os.path.exists(path)),
        str(CHILD),
        str(modules),
        *(os.path.realpath(link) for link in modules.iterdir()),
    ]
    return Sandbox(
        fs_readable=readable,
        cwd=str(modules),
        env={"OPENBLAS_NUM_THREADS": "1", "PATH": ""},
        clean_env=True,
        max_memory=f"{memory_mb}M",
        max_processes=1,
        max_open_files=64,
        no_coredump=True,
        extra_deny_syscalls=DENIED_CALLS,
        # Before Linux 6.12, Landlock knows no scopes of signals and sockets; these system calls are refused anyway.
        allow_degraded=[Protection.SIGNAL_SCOPE, Protection.ABSTRACT_UNIX_SOCKET_SCOPE, Protection.FS_IOCTL_DEV],
    )


def start_process(memory_mb: int, cpu_s: int) -> ConfinedProcess:
    """Start the confined process that runs one program, which it reads from its standard input.

    Args:
        memory_mb: Memory of the program in MiB, interpreter and NumPy included.
        cpu_s: Processor time, in seconds.

    Raises:
        SandboxUnavailableError: This machine cannot confine a program.
    """
    from sandlock.sandbox import StdioMode  # pyright: ignore[reportMissingTypeStubs]

    arguments = ["-I", "-S", "-u", str(CHILD), _modules().name, str(memory_mb), str(cpu_s)]
    sandbox = _make_sandbox(memory_mb + MARGIN_MB)
    pipe = StdioMode.PIPED
    try:
        return cast("ConfinedProcess", sandbox.popen([_interpreter(), *arguments], pipe, pipe, pipe))
    except RuntimeError as error:
        raise SandboxUnavailableError(f"A confined program does not start here ({error}). {REMEDY}") from error


def end_process(process: ConfinedProcess) -> int | None:
    """End a process that still runs; return its exit code, or None when a signal or the supervisor ended it."""
    from sandlock import ExitReason  # pyright: ignore[reportMissingTypeStubs]

    process.kill()
    result = process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return result.exit_code if result.reason == ExitReason.EXITED else None


@functools.cache
def require_confinement() -> None:
    """Check once that a confined process starts here and cannot read a file that this one can.

    Raises:
        SandboxUnavailableError: It does not start, or the file was read.
    """
    look = f"open({str(Path(__file__).with_name('errors.py'))!r}).read()"
    try:
        done = _make_sandbox(256).run([_interpreter(), "-I", "-S", "-c", f"print('started'); {look}"], timeout=30)
    except (RuntimeError, OSError, ValueError) as error:
        raise SandboxUnavailableError(f"A confined program does not start here ({error}). {REMEDY}") from error
    if b"started" not in done.stdout:
        said = done.stderr.decode(errors="replace")[-300:]
        raise SandboxUnavailableError(f"A confined program does not start here ({said or done.error}). {REMEDY}")
    if done.success or b"PermissionError" not in done.stderr:
        raise SandboxUnavailableError(f"A confined program could read a file that it may not read. {REMEDY}")
