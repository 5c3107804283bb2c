"""One run of a program: what it prints, the functions that it calls, and how it ends."""

import asyncio
import inspect
import json
import math
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from quartet_sandbox._confinement import REMEDY, end_process, kill_process, start_process
from quartet_sandbox.errors import FunctionError, SandboxUnavailableError

START_S = 30.0
"""Time in which the interpreter starts, on a busy machine too; it does not count as the program's own [s]."""
END_S = 5.0
"""Time in which a program exits after it closed the pipe of its calls, on a busy machine too [s]."""

Function = Callable[..., Awaitable[Any]]
"""A function that programs may call: JSON values in, a JSON value out."""


class Limits(BaseModel):
    """Limits of one program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code_chars: int = Field(default=20_000, gt=0)
    own_s: float = Field(default=10.0, gt=0)
    """Wall time in which no function of the caller runs, in seconds."""
    memory_mb: int = Field(default=512, ge=128)
    """Address space in MiB; an interpreter with NumPy needs about 100."""
    output_bytes: int = Field(default=20_000, gt=0)
    calls: int = Field(default=200, gt=0)
    call_bytes: int = Field(default=20_000, gt=0)


class Ending(StrEnum):
    """Why a program ended."""

    EXITED = "exited"
    """By itself, with or without an error."""
    TIME = "time"
    MEMORY_OR_SIGNAL = "memory_or_signal"
    """The kernel or the supervisor ended it: too much memory or processor time, a crash, a forbidden system call."""
    OUTPUT = "output"
    CALLS = "calls"
    """It made too many calls, or one that is not a call."""


class ProgramResult(BaseModel):
    """What a program did."""

    model_config = ConfigDict(frozen=True)

    exit_code: int
    """0, or 1 and more after an error."""
    ending: Ending
    output: str
    """What it printed, with the text of its error and, where a limit ended it, a sentence that says which."""
    calls: tuple[str, ...] = ()
    """Names of the functions that it called, in order."""


_COLLECTING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_FINITE = ConfigDict(allow_inf_nan=False)


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid")

    call: str
    args: list[Any]
    kwargs: dict[str, Any]


async def _called(function: Function, asked: _Call) -> Any:
    """Call a function as the program asked. Raises FunctionError if it does not take these arguments."""
    signature, types = inspect.signature(function), get_type_hints(function)
    name = ""
    try:
        arguments = signature.bind(*asked.args, **asked.kwargs)
        for name, value in arguments.arguments.items():
            if name in types and signature.parameters[name].kind not in _COLLECTING:
                arguments.arguments[name] = TypeAdapter(types[name], config=_FINITE).validate_python(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "".join(f"[{place!r}]" for place in wrong["loc"])
        raise FunctionError(f"{asked.call}{signature}: {name}{where}: {wrong['msg']}") from None
    except TypeError as error:
        raise FunctionError(f"{asked.call}{signature}: {error}") from None
    return await function(*arguments.args, **arguments.kwargs)


class _Ended(Exception):  # noqa: N818 - a way out of the loop, not an error
    def __init__(self, ending: Ending, sentence: str) -> None:
        super().__init__(sentence)
        self.ending = ending


async def run_program(code: str, functions: Mapping[str, Function], limits: Limits | None = None) -> ProgramResult:
    """Run a program in a fresh confined process; cancelling ends the process at once.

    The program sees the names of `functions` as ordinary functions, the standard library and NumPy. It reaches no file,
    network, process or variable of its caller, nor of a program that ran before.

    Args:
        code: Python.
        functions: What the program may call, by name. One call runs at a time, with arguments of the annotated
            types and finite numbers. A `FunctionError` is raised in the program; any other exception of a function
            ends the program and is raised here.
        limits: Limits of the program.

    Raises:
        SandboxUnavailableError: This machine cannot confine a program.
    """
    limits = limits or Limits()
    if len(code) > limits.code_chars:
        text = f"The program has {len(code)} characters; at most {limits.code_chars} are allowed. Send a shorter one."
        return ProgramResult(exit_code=1, ending=Ending.EXITED, output=text)
    return await _Run(code, functions, limits).run()


async def require_confinement() -> None:
    """Run an empty program. Raises SandboxUnavailableError if this machine cannot confine one."""
    result = await run_program("", {})
    if result.exit_code:
        raise SandboxUnavailableError(f"An empty program fails here ({result.output}). {REMEDY}")


class _Run:
    def __init__(self, code: str, functions: Mapping[str, Function], limits: Limits) -> None:
        self._code = code
        self._functions = functions
        self._limits = limits
        self._output = bytearray()
        self._calls: list[str] = []
        self._own_left_s = limits.own_s
        self._confined = self._over = False

    async def run(self) -> ProgramResult:
        process = await self._start()
        ended: _Ended | None = None
        try:
            await self._drive(process)
        except _Ended as end:
            ended = end
        finally:
            exit_code = await asyncio.shield(asyncio.to_thread(end_process, process))
        text = self._output[: self._limits.output_bytes].decode(errors="replace")
        if ended is None and not self._confined:
            raise SandboxUnavailableError(f"A confined program does not start here ({text.strip()}). {REMEDY}")
        if ended is None and exit_code is None:
            ended = _Ended(
                Ending.MEMORY_OR_SIGNAL,
                f"The program was ended: it used more than {self._limits.memory_mb} MiB or more than "
                f"{self._limits.own_s:g} s of processor time, or crashed.",
            )
        if ended is None:
            return self._result(exit_code or 0, Ending.EXITED, text)
        return self._result(1, ended.ending, f"{text}\n{ended}" if text else str(ended))

    def _result(self, exit_code: int, ending: Ending, output: str) -> ProgramResult:
        return ProgramResult(exit_code=exit_code, ending=ending, output=output, calls=tuple(self._calls))

    async def _start(self) -> subprocess.Popen[bytes]:
        """Start the process; when this is cancelled meanwhile, end it before anything of the program runs."""
        cpu_s = math.ceil(self._limits.own_s) + 1
        starting = asyncio.create_task(asyncio.to_thread(start_process, self._limits.memory_mb, cpu_s))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.to_thread(end_process, await starting)
            raise

    async def _drive(self, process: subprocess.Popen[bytes]) -> None:
        """Answer the program's calls and keep what it prints until it ends.

        Raises:
            _Ended: A limit was reached.
        """
        loop = asyncio.get_running_loop()
        calls, printed = asyncio.StreamReader(limit=self._limits.call_bytes), asyncio.StreamReader()
        transports: list[asyncio.BaseTransport] = []
        for reader, pipe in ((calls, process.stdout), (printed, process.stderr)):
            protocol = asyncio.StreamReaderProtocol(reader)
            transports.append((await loop.connect_read_pipe(lambda p=protocol: p, pipe))[0])
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        tasks = [asyncio.create_task(self._answer(calls, writer, process)), asyncio.create_task(self._collect(printed))]
        try:
            try:
                writer.write(json.dumps({"code": self._code, "functions": list(self._functions)}).encode() + b"\n")
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                self._over = True
                kill_process(process)
                if not writer.is_closing():
                    # `close` would wait until the program has read its answers.
                    writer.abort()
            # A function that runs may move something: it ends before the result is given.
            await asyncio.wait(tasks)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for transport in transports:
                transport.close()

    async def _answer(
        self, calls: asyncio.StreamReader, writer: asyncio.WriteTransport, process: subprocess.Popen[bytes]
    ) -> None:
        try:
            async with asyncio.timeout(START_S):
                self._confined = bool(await calls.readline())
        except TimeoutError:
            raise _Ended(Ending.TIME, f"The program did not begin within {START_S:g} s.") from None
        while line := await self._own_time(calls.readline()):
            try:
                asked = _Call.model_validate_json(line)
                function = self._functions[asked.call]
            except (ValidationError, KeyError):
                raise _Ended(Ending.CALLS, "The program was ended: it sent something that is no call.") from None
            if self._over or process.poll() is not None:
                # It wrote the call ahead and did not live to see the answer before it.
                return
            if len(self._calls) == self._limits.calls:
                raise _Ended(Ending.CALLS, f"The program was ended: it made more than {self._limits.calls} calls.")
            self._calls.append(asked.call)
            try:
                answer = {"result": await _called(function, asked)}
            except FunctionError as error:
                answer = {"error": str(error)}
            writer.write(json.dumps(answer).encode() + b"\n")
        try:
            async with asyncio.timeout(END_S):
                await asyncio.to_thread(process.wait)
        except TimeoutError:
            text = f"The program was ended: it closed the pipe of its calls and did not exit within {END_S:g} s."
            raise _Ended(Ending.TIME, text) from None

    async def _own_time(self, line: Awaitable[bytes]) -> bytes:
        """Wait for the program's next call or its end, within what is left of its own time."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._own_left_s):
                return await line
        except TimeoutError:
            text = f"The program was ended: it computed for more than {self._limits.own_s:g} s without a call."
            raise _Ended(Ending.TIME, text) from None
        except ValueError:  # what readline makes of a line longer than the limit
            text = f"The program was ended: a call had more than {self._limits.call_bytes} bytes."
            raise _Ended(Ending.CALLS, text) from None
        finally:
            self._own_left_s = max(0.0, self._own_left_s - (time.monotonic() - began))

    async def _collect(self, printed: asyncio.StreamReader) -> None:
        while chunk := await printed.read(65536):
            self._output += chunk
            if len(self._output) > self._limits.output_bytes:
                text = f"The program was ended: it printed more than {self._limits.output_bytes} bytes."
                raise _Ended(Ending.OUTPUT, text)
