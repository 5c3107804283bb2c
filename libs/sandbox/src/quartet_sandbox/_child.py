"""Run one program that a model wrote; started inside the sandbox, with the standard library only.

Standard input: a JSON line with the program and the names of its functions, then the answers to its calls. Standard
output: a line when the program begins, then a JSON line for each call. Standard error: what the program prints, its
errors included.
"""

import ctypes
import json
import linecache
import os
import resource
import struct
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

NAME = "<program>"

SOCKET_CALL = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""AUDIT_ARCH value and number of the system call `socket`, from linux/audit.h and asm/unistd.h."""
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2


class FunctionFailed(Exception):  # noqa: N818 - the program's author reads the name
    """A function could not do what the program asked."""


def _plain(value: Any) -> Any:
    """Return an array or number of NumPy as lists and numbers of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"an argument of type {type(value).__name__} cannot be sent; use numbers, strings and lists")


def _function(name: str, calls: BinaryIO, answers: BinaryIO) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        line = json.dumps({"call": name, "args": args, "kwargs": kwargs}, default=_plain, allow_nan=False)
        calls.write(line.encode() + b"\n")
        answer = json.loads(answers.readline())
        if "error" in answer:
            raise FunctionFailed(answer["error"])
        return answer["result"]

    call.__name__ = call.__qualname__ = name
    return call


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _refuse_sockets() -> None:
    """Refuse the system call `socket` from now on.

    sandlock refuses connections but lets sockets be made, of netlink for instance, and cannot be told otherwise. The
    filter is classic BPF (linux/filter.h): the architecture must be this one, x32 numbers and `socket` are refused.

    Raises:
        OSError: The kernel does not take the filter, or the architecture is not known.
    """
    architecture, socket = SOCKET_CALL.get(os.uname().machine, (0, 0))
    refuse = 0x00050000 | 1  # SECCOMP_RET_ERRNO, EPERM
    instructions = (
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 1, 0, architecture),
        (0x06, 0, 0, refuse),
        (0x20, 0, 0, 0),  # load the number
        (0x35, 1, 0, 0x40000000),
        (0x15, 0, 1, socket),
        (0x06, 0, 0, refuse),
        (0x06, 0, 0, 0x7FFF0000),  # SECCOMP_RET_ALLOW
    )
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
    program = _Filter(len(instructions), ctypes.cast(text, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    if not architecture or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), f"sockets cannot be refused on {os.uname().machine}")


def _print_error(error: BaseException) -> None:
    """Print an error as Python does, with the program's own lines only."""
    shown = traceback.TracebackException.from_exception(error)
    one: traceback.TracebackException | None = shown
    while one is not None:
        one.stack = traceback.StackSummary.from_list([frame for frame in one.stack if frame.filename == NAME])
        one = one.__cause__ or one.__context__
    sys.stderr.write("".join(shown.format()))


def _run(code: str, names: dict[str, Any]) -> int:
    """Run the program and return its exit code, as `python program.py` would."""
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        exec(compile(code, NAME, "exec"), names)  # This is what the process is for.
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        _print_error(error)
        return 1
    return 0


def main() -> None:
    """Read the program, run it and leave, whatever it left running."""
    modules, memory_mb, cpu_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    answers = os.fdopen(os.dup(0), "rb")
    calls = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing, end = os.pipe()
    os.close(end)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    # An allocation that fails is an error that the program's author can read; the supervisor only ends the process.
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    _refuse_sockets()
    order = json.loads(answers.readline())
    calls.write(b"ready\n")
    sys.argv = [NAME]
    sys.path.insert(0, modules)
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    names |= {name: _function(name, calls, answers) for name in order["functions"]}
    code = _run(order["code"], names)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
