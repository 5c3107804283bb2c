"""Run one program that a model wrote in a process that confines itself first, with the standard library only.

Argument: a JSON object with the folder of modules, the readable paths and the limits. Standard input: a JSON line with
the program and the names of its functions, then the answers to its calls. Standard output: a line when the process is
confined, then a JSON line for each call. Standard error: what the program prints, its errors included.
"""

import json
import linecache
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from confinement import confine

NAME = "<program>"


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
        return end.code & 0xFF if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        _print_error(error)
        return 1
    return 0


def main() -> None:
    """Confine this process, read the program, run it and exit, whatever the program left running."""
    options = json.loads(sys.argv[1])
    try:
        confine(options["readable"], options["memory_mb"], options["cpu_s"])
    except OSError as error:
        sys.exit(str(error))
    answers = os.fdopen(os.dup(0), "rb")
    calls = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing, end = os.pipe()
    os.close(end)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    order = json.loads(answers.readline())
    calls.write(b"ready\n")
    sys.argv = [NAME]
    sys.path[0] = options["modules"]
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    names |= {name: _function(name, calls, answers) for name in order["functions"]}
    code = _run(order["code"], names)
    try:
        # The program may have replaced or closed them.
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
