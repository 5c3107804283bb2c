"""Confine this process, or fail: another user, own namespaces, limits, no capability, Landlock, few system calls."""

import contextlib
import ctypes
import os
import resource
import select
import signal
import struct
from collections.abc import Iterable

from system_calls import refuse_other_calls

FIRST_USER, USERS = 65_520, 14
"""User ids that no distribution gives away (https://systemd.io/UIDS-GIDS), also there in a container's own range."""
NEW_USER, OTHERS = 0x10000000, 0x20000000 | 0x40000000 | 0x08000000
"""Namespaces of `unshare`: of users, and of processes, the network and IPC (linux/sched.h)."""
OPEN_FILES, THREADS = 64, 64
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 23, 24, 38
CAPABILITY_VERSION = 0x20080522
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls, on every architecture; rights and versions: linux/landlock.h."""
READ_FILE, READ_DIR = 1 << 2, 1 << 3
LOWEST_LANDLOCK = 4
"""Version of Landlock with limits on TCP, of Linux 6.7."""

_libc = ctypes.CDLL(None, use_errno=True)


def confine(readable: list[str], memory_mb: int, cpu_s: int) -> None:
    """Go on as a confined process; this process watches it, and ends as it ends.

    Args:
        readable: Files and folders that stay readable.
        memory_mb: Address space in MiB.
        cpu_s: Processor time in seconds.

    Raises:
        OSError: The kernel lacks what confines a program, or does not do what it accepts.
    """
    # A program that opened its own input for writing would hide that the caller has closed it.
    os.fchmod(0, 0)
    root = os.geteuid() == 0
    apart = _unshare(OTHERS)
    other = root and _become_other(readable)
    if not apart:
        apart = _unshare(NEW_USER | OTHERS)
    elif not other:
        _unshare(NEW_USER)
    own = apart or other
    if root and not own:
        raise PermissionError("root may change neither its user id nor its namespaces here; use another user")
    os.close(os.pidfd_open(os.getpid()))  # If the kernel refuses it, no process starts that cannot be watched.
    if process := os.fork():
        _watch(process)
    _limit(memory_mb, cpu_s, threads=own)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _drop_bounding_set()
    # Effective, permitted and inheritable; the ambient set follows.
    _require(_libc.capset((ctypes.c_uint32 * 2)(CAPABILITY_VERSION), (ctypes.c_uint32 * 6)()), "capset")
    _prctl(PR_SET_DUMPABLE, 0)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _restrict_files(readable)
    refuse_other_calls(threads=own)
    for forbidden, attempt in (("list /", lambda: os.listdir("/")), ("read a session", lambda: os.getsid(0))):
        with contextlib.suppress(PermissionError):
            attempt()
            raise OSError(f"the kernel lets a confined process {forbidden}")


def _require(result: int, call: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")
    return result


def _prctl(option: int, value: int) -> None:
    _require(_libc.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))), f"prctl {option}")


def _unshare(namespaces: int) -> bool:
    return _libc.unshare(namespaces) == 0


def _become_other(readable: Iterable[str]) -> bool:
    """Change from root to a user without processes; return False where that user could not read the interpreter."""
    user = FIRST_USER + os.getpid() % USERS
    try:
        os.setegid(user)
        os.setgroups([])
        os.seteuid(user)
        for path in readable:
            os.listdir(path) if os.path.isdir(path) else os.close(os.open(path, os.O_RDONLY))
    except OSError:
        os.seteuid(0)
        os.setegid(0)
        return False
    os.seteuid(0)
    _drop_bounding_set()
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    return True


def _drop_bounding_set() -> None:
    """Drop the capabilities that a started program could gain; only a process that has some may, and needs to."""
    capability = 0
    while _libc.prctl(PR_CAPBSET_READ, ctypes.c_ulong(capability), 0, 0, 0) >= 0:
        _libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
        capability += 1


def _watch(process: int) -> None:
    """Wait for the confined process, kill it when the caller closes standard input, and end as it did."""
    os.close(1)
    os.close(2)
    events = select.poll()
    events.register(0, 0)
    ended = os.pidfd_open(process)
    events.register(ended, select.POLLIN)
    if ended not in [file for file, _ in events.poll()]:
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(code)


def _limit(memory_mb: int, cpu_s: int, *, threads: bool) -> None:
    # Only a user of the program's own has no other threads that count.
    limits = {resource.RLIMIT_NPROC: THREADS} if threads else {}
    limits |= {resource.RLIMIT_CORE: 0, resource.RLIMIT_MEMLOCK: 0, resource.RLIMIT_FSIZE: 0}
    limits |= {resource.RLIMIT_NOFILE: OPEN_FILES, resource.RLIMIT_CPU: cpu_s, resource.RLIMIT_AS: memory_mb << 20}
    for name, value in limits.items():
        resource.setrlimit(name, (value, value))


def _restrict_files(readable: Iterable[str]) -> None:
    """Let this process read these files and folders, and open, change, make or connect to nothing else."""
    version = _libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < LOWEST_LANDLOCK:
        raise OSError(
            ctypes.get_errno(), f"Landlock has version {max(version, 0)}, at least {LOWEST_LANDLOCK} is needed"
        )
    files = (1 << (16 if version >= 5 else 15)) - 1
    attributes = struct.pack("QQ", files, 3) + (struct.pack("Q", 3) if version >= 6 else b"")
    rules = _require(_libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "landlock")
    for path in readable:
        rights = READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _require(_libc.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights, beneath), 0), f"landlock {path}")
        os.close(beneath)
    _require(_libc.syscall(RESTRICT_SELF, rules, 0), "landlock")
    os.close(rules)
