"""System calls that a program may make; the kernel refuses every other one.

None of them takes another process's id, starts a process or a program, makes a socket or changes a file. A call that
could do more with some argument is allowed with the harmless values only.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

# fmt: off
X86_64, AARCH64 = 0xC000003E, 0xC00000B7
"""AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 (linux/audit.h)."""
ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # Files and pipes that are open, and files that Landlock lets the process open.
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "write": (1, 64), "writev": (20, 66), "lseek": (8, 62),
    "open": (2, None), "openat": (257, 56), "close": (3, 57), "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24),
    "pipe": (22, None), "pipe2": (293, 59), "poll": (7, None), "ppoll": (271, 73), "select": (23, None),
    "pselect6": (270, 72), "stat": (4, None), "fstat": (5, 80), "lstat": (6, None), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17), "getdents64": (217, 61),
    # Memory, threads, time and signals of the process itself.
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "brk": (12, 214), "set_robust_list": (273, 99), "rseq": (334, 293), "sched_yield": (24, 124),
    "exit": (60, 93), "exit_group": (231, 94), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "alarm": (37, None), "setitimer": (38, 103), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "getrandom": (318, 278),
    # Facts about the process and the machine.
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "getrusage": (98, 165), "times": (100, 153),
    "getcpu": (309, 168), "uname": (63, 160), "sysinfo": (99, 179),
}
"""Numbers on x86-64 and ARM64 (asm/unistd_64.h, asm-generic/unistd.h); None: the architecture has no such call."""
# fmt: on
CLOCKS = range(12)
"""Clocks of the machine and of the process; other numbers are the processor time of another process (time.h)."""
THREAD = (0x3D0F00, 0x7D0F00)
"""Flags of `clone` with which glibc and musl start a thread; all others start processes or namespaces."""
FUTEX = [operation | flags for operation in (0, 1, 3, 4, 5, 9, 10) for flags in (0, 128, 256, 384)]
"""Operations of `futex` with and without PRIVATE and CLOCK_REALTIME; those left out lend priority to any thread."""
LIMITED: dict[str, tuple[tuple[int, int], int, Iterable[int]]] = {
    "prlimit64": ((302, 261), 0, (0,)),  # the process itself
    "sched_getaffinity": ((204, 123), 0, (0,)),
    "clone": ((56, 220), 0, THREAD),
    "fcntl": ((72, 25), 1, (*range(5), 1030)),  # F_DUPFD to F_SETFL, F_DUPFD_CLOEXEC; F_SETOWN signals any process
    "futex": ((202, 98), 1, FUTEX),
    "clock_gettime": ((228, 113), 0, CLOCKS),
    "clock_getres": ((229, 114), 0, CLOCKS),
    "clock_nanosleep": ((230, 115), 0, CLOCKS),
}
"""Numbers on x86-64 and ARM64, position of an argument, and its values that are allowed."""
CLONE3 = 435
"""Its flags are in memory, where a filter cannot see them; glibc uses `clone` when it does not exist."""

# linux/bpf_common.h and linux/seccomp.h
LOAD, EQUALS, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _instructions(machine: str, *, threads: bool = True) -> list[tuple[int, int, int, int]]:
    """Return the filter for an architecture as instructions of classic BPF: code, jumps if true and false, value.

    Raises:
        OSError: The architecture is unknown.
    """
    columns = {"x86_64": (X86_64, 0), "aarch64": (AARCH64, 1)}
    if machine not in columns:
        raise OSError(errno.ENOSYS, f"no list of system calls for {machine}; valid: {', '.join(columns)}")
    architecture, column = columns[machine]
    refuse = (RETURN, 0, 0, REFUSE | errno.EPERM)
    allow = (RETURN, 0, 0, ALLOW)
    made = [(LOAD, 0, 0, 4), (EQUALS, 1, 0, architecture), refuse, (LOAD, 0, 0, 0)]
    for numbers in ALLOWED.values():
        if (number := numbers[column]) is not None:
            made += [(EQUALS, 0, 1, number), allow]
    made += [(EQUALS, 0, 1, CLONE3), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    for name, (both, position, values) in LIMITED.items():
        if name == "clone" and not threads:
            continue
        # The kernel reads all of these arguments as 32 bits, the lower half on both architectures.
        checks = [each for value in values for each in ((EQUALS, 0, 1, value), allow)]
        made += [(EQUALS, 0, len(checks) + 2, both[column]), (LOAD, 0, 0, 16 + 8 * position), *checks, refuse]
    return [*made, refuse]


def refuse_other_calls(*, threads: bool) -> None:
    """Let this process make no other system calls from now on, and start threads only with `threads`.

    Raises:
        OSError: The kernel rejects the filter, or the architecture is unknown.
    """
    instructions = _instructions(os.uname().machine, threads=threads)
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
    program = _Filter(len(instructions), ctypes.cast(text, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel rejects a filter of system calls")
