"""The filter of system calls, for both architectures, as the kernel's machine for classic BPF runs it."""

import errno
import importlib.util
import re
from pathlib import Path

import pytest

from quartet_sandbox import _confinement as confinement

_SPEC = importlib.util.spec_from_file_location("system_calls", confinement.CHILD / "system_calls.py")
assert _SPEC is not None
assert _SPEC.loader is not None
calls = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(calls)

MACHINES = {"x86_64": 0, "aarch64": 1}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NUMBERS = calls.ALLOWED | {name: limited[0] for name, limited in calls.LIMITED.items()}
WITH_ANOTHER_PID = (
    *("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open", "pidfd_send_signal"),
    *("pidfd_getfd", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"),
    *("setpriority", "getpriority", "ioprio_set", "ioprio_get", "sched_setscheduler", "sched_getscheduler"),
    *("sched_setparam", "sched_getparam", "sched_setattr", "sched_getattr", "sched_setaffinity", "move_pages"),
    *("sched_rr_get_interval", "migrate_pages", "get_robust_list", "perf_event_open", "setpgid", "getpgid", "getsid"),
    *("wait4", "waitid", "capget", "capset", "prctl", "setns", "unshare", "execve", "execveat", "socket", "ioctl"),
)


def verdict(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """Return what the filter answers to a call: the flags and the error number."""
    data = [number, calls.X86_64 if machine == "x86_64" else calls.AARCH64, 0, 0]
    if audit is not None:
        data[1] = audit
    for one in (*arguments, *[0] * (6 - len(arguments))):
        data += [one & 0xFFFFFFFF, one >> 32 & 0xFFFFFFFF]
    program = calls._instructions(machine)
    at = accumulator = 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        if code == calls.RETURN:
            return value
        if code == calls.LOAD:
            accumulator = data[value // 4]
        else:
            assert code == calls.EQUALS
            at += if_true if accumulator == value else if_false


def header(machine: str) -> dict[str, int]:
    """Return the numbers of an architecture from the kernel's header."""
    found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", HEADERS[machine].read_text(), re.MULTILINE)
    numbers = {name: int(number) for name, number in found}
    return numbers | ({"newfstatat": numbers["fstatat"]} if "fstatat" in numbers else {})


REFUSED = calls.REFUSE | errno.EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_the_kernel_s(machine: str) -> None:
    known = header(machine)
    listed = {name: numbers[MACHINES[machine]] for name, numbers in NUMBERS.items()}
    assert listed == {name: known.get(name) for name in NUMBERS}
    assert known["clone3"] == calls.CLONE3


@pytest.mark.parametrize("machine", MACHINES)
def test_only_listed_calls_are_allowed(machine: str) -> None:
    listed = {numbers[MACHINES[machine]] for numbers in calls.ALLOWED.values()} - {None}
    assert {number for number in range(1000) if verdict(machine, number) == calls.ALLOW} >= listed
    argued = {numbers[MACHINES[machine]] for numbers, _, _ in calls.LIMITED.values()}
    for number in {*range(1000), 0x40000000, 0x40000029, 0xFFFFFFFF} - listed - argued - {calls.CLONE3}:
        assert verdict(machine, number) == REFUSED, number
    assert verdict(machine, calls.CLONE3) == calls.REFUSE | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_reaches_another_process(machine: str) -> None:
    known = header(machine)
    for name in WITH_ANOTHER_PID:
        for pid in (0, 1, 4321, 0xFFFFFFFF):
            assert verdict(machine, known[name], pid, pid, pid) == REFUSED, name


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("prlimit64", [(0, 7)], [(1, 7), (4321, 7), (0xFFFFFFFF, 7)]),
        ("sched_getaffinity", [(0,)], [(4321,)]),
        ("fcntl", [(3, 2), (3, 1030)], [(3, 8), (3, 10), (3, 15), (3, 1031), (3, 1026), (3, 6)]),
        ("clone", [(0x3D0F00,)], [(17,), (0x11,), (0x4111,), (0x10000000 | 0x3D0F00,), (0x8011,)]),
        ("futex", [(0, 0), (0, 129), (0, 393)], [(0, 6), (0, 134), (0, 11), (0, 13), (0, 8)]),
        ("clock_gettime", [(0,), (2,)], [((~4321 << 3 | 2) & 0xFFFFFFFF,)]),
    ],
)
def test_an_argument_decides(
    machine: str, name: str, allowed: list[tuple[int, ...]], refused: list[tuple[int, ...]]
) -> None:
    number = calls.LIMITED[name][0][MACHINES[machine]]
    assert {verdict(machine, number, *arguments) for arguments in allowed} == {calls.ALLOW}
    assert {verdict(machine, number, *arguments) for arguments in refused} == {REFUSED}


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_architecture_are_refused(machine: str) -> None:
    assert verdict(machine, calls.ALLOWED["read"][MACHINES[machine]], audit=0x40000003) == REFUSED


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(OSError, match="no list of system calls for riscv64; valid: x86_64, aarch64"):
        calls._instructions("riscv64")
