"""Programs in the sandbox: what they can call, what they print, and how they end."""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from quartet_sandbox import (
    Ending,
    FunctionError,
    Limits,
    ProgramResult,
    SandboxUnavailableError,
    require_confinement,
    run_program,
)
from quartet_sandbox import _confinement as confinement


async def add(x: float, y: float = 1) -> float:
    """Add two numbers."""
    return x + y


async def refuse() -> None:
    """Refuse."""
    raise FunctionError("the pose is out of reach")


def test_the_first_programs_of_a_process_may_start_together():
    code = (
        "import asyncio; from quartet_sandbox import run_program\n"
        "async def main(): return await asyncio.gather(*(run_program('pass', {}) for _ in range(12)))\n"
        "print(sum(one.exit_code == 0 for one in asyncio.run(main())))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "12\n", done.stderr


def programs() -> list[psutil.Process]:
    """Return the programs that run; other tests of this process have started other things."""

    def runs(one: psutil.Process) -> bool:
        try:
            return one.status() != psutil.STATUS_ZOMBIE and "_child" in " ".join(one.cmdline())
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            return False

    return [one for one in psutil.Process().children(recursive=True) if runs(one)]


async def _run(code: str, **limits: float) -> ProgramResult:
    return await run_program(code, {"add": add, "refuse": refuse}, Limits.model_validate(limits))


async def _wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)


async def test_a_program_calls_functions_and_prints() -> None:
    result = await _run("import math\nprint(add(1, y=2))\nprint(add(math.pi))")
    assert result == ProgramResult(
        exit_code=0, ending=Ending.EXITED, output="3.0\n4.141592653589793\n", calls=("add", "add")
    )


async def test_arrays_of_numpy_are_sent_as_lists() -> None:
    async def show(value: object) -> str:
        return repr(value)

    code = "import numpy as np\nprint(show(np.array([1.5, 2])), show(np.float64(3)), show((1, 2)))"
    result = await run_program(code, {"show": show})
    assert (result.exit_code, result.output) == (0, "[1.5, 2.0] 3.0 [1, 2]\n")


async def test_what_is_printed_past_python_keeps_its_place() -> None:
    result = await _run("import os\nprint('a')\nos.write(1, b'b\\n')\nprint('c')\nos.write(2, b'd\\n')")
    assert result.output == "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("code", "last", "exit_code"),
    [
        ("x = 1\nprint(cube)", "NameError: name 'cube' is not defined", 1),
        ("def f(:", "SyntaxError: invalid syntax", 1),
        ("refuse()", "FunctionFailed: the pose is out of reach", 1),
        ("add()", "FunctionFailed: add(x: float, y: float = 1) -> float: missing a required argument: 'x'", 1),
        ("add(object())", "TypeError: an argument of type object cannot be sent; use numbers, strings and lists", 1),
        ("add(float('nan'))", "ValueError: Out of range float values are not JSON compliant", 1),
        ("raise SystemExit('stop')", "", 1),
        ("import sys; sys.exit(3)", "", 3),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1),
    ],
)
async def test_an_error_is_told_with_the_program_s_own_lines(code: str, last: str, exit_code: int) -> None:
    result = await _run(code)
    assert (result.exit_code, result.ending) == (exit_code, Ending.EXITED)
    assert result.output.rstrip().rsplit("\n", 1)[-1].removesuffix(" (<program>, line 1)") == last
    assert "quartet" not in result.output
    assert "json" not in result.output


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("go(['block'], 0)", "position[0]: Input should be a valid number, unable to parse string as a number"),
        ("go([1, 10**400], 0)", "position[1]: Input should be a valid number"),
        ("go([1], 10**400)", "yaw: Input should be a valid number"),
        ("go([1], yaw=[0])", "yaw: Input should be a valid number"),
        ("go(1e308, 0)", "position: Input should be a valid list"),
        ("go([1], 0, {'a': 1})", "name: Input should be a valid string"),
    ],
)
async def test_arguments_of_another_type_are_the_program_s_error(call: str, wrong: str) -> None:
    async def go(position: list[float], yaw: float, name: str = "") -> None:
        raise AssertionError("called")

    result = await run_program(call, {"go": go})
    assert (result.exit_code, result.ending) == (1, Ending.EXITED)
    assert result.output.endswith(
        f"FunctionFailed: go(position: list[float], yaw: float, name: str = '') -> None: {wrong}\n"
    )


async def test_numbers_without_end_in_a_raw_call_are_the_program_s_error() -> None:
    code = 'import os\nos.write(4, b\'{"call": "add", "args": [%s], "kwargs": {}}\\n\')\nprint(os.read(3, 999))'
    for number in ("1e999", "NaN", "-Infinity"):
        result = await _run(code % number)
        assert "x: Input should be a finite number" in result.output
    assert (await _run(code % ("9" * 5000))).ending is Ending.CALLS


async def test_an_error_shows_the_line_that_raised_it() -> None:
    result = await _run("def f():\n    return missing\nf()")
    assert '  File "<program>", line 2, in f\n    return missing\n' in result.output


async def test_a_program_can_catch_the_error_of_a_function() -> None:
    result = await _run("try:\n    refuse()\nexcept Exception as error:\n    print('caught:', error)")
    assert (result.exit_code, result.output) == (0, "caught: the pose is out of reach\n")


async def test_nothing_of_a_program_is_there_for_the_next() -> None:
    assert (await _run("left = 1\nimport builtins\nbuiltins.also = 2")).exit_code == 0
    assert "NameError: name 'left' is not defined" in (await _run("print(left)")).output
    assert "NameError: name 'also' is not defined" in (await _run("print(also)")).output


@pytest.mark.parametrize(
    ("code", "limits", "ending", "said"),
    [
        ("while True: pass", {"own_s": 0.3}, Ending.TIME, "it computed for more than 0.3 s without a call"),
        ("import time; time.sleep(60)", {"own_s": 0.3}, Ending.TIME, "more than 0.3 s"),
        ("while True: print('x')", {"output_bytes": 100}, Ending.OUTPUT, "it printed more than 100 bytes"),
        ("while True: add(1)", {"calls": 3}, Ending.CALLS, "it made more than 3 calls"),
        ("add('x' * 1000)", {"call_bytes": 100}, Ending.CALLS, "a call had more than 100 bytes"),
        ("import ctypes; ctypes.string_at(0)", {"memory_mb": 200}, Ending.MEMORY_OR_SIGNAL, "more than 200 MiB or"),
        ("import os; os.abort()", {}, Ending.MEMORY_OR_SIGNAL, "or crashed"),
        ("import os; os.write(4, b'[]\\n')", {}, Ending.CALLS, "it sent something that is no call"),
    ],
)
async def test_a_limit_ends_a_program_and_says_so(
    code: str, limits: dict[str, float], ending: Ending, said: str
) -> None:
    result = await _run(code, **limits)
    assert (result.exit_code, result.ending) == (1, ending), result
    assert said in result.output.rsplit("\n", 1)[-1]


async def test_what_a_program_printed_before_its_limit_is_kept() -> None:
    result = await _run("print('first')\nwhile True: pass", own_s=0.3)
    assert result.output.startswith("first\n\nThe program was ended")


async def test_a_program_that_is_too_long_is_not_run() -> None:
    result = await _run("add(1)" + " " * 20, code_chars=20)
    assert (result.exit_code, result.calls) == (1, ())
    assert "has 26 characters; at most 20 are allowed" in result.output


async def test_the_time_of_a_function_is_not_the_program_s(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        ahead = 0.0

        def monotonic(self) -> float:
            return time.monotonic() + self.ahead

    clock = Clock()
    monkeypatch.setattr("quartet_sandbox._program.time", clock)

    async def move() -> None:
        clock.ahead += 1000

    result = await run_program("move()\nmove()\nprint('moved')", {"move": move})
    assert (result.exit_code, result.output) == (0, "moved\n")


async def test_memory_that_is_spent_bit_by_bit_is_an_error_that_a_program_can_catch() -> None:
    code = "try:\n    x = [bytearray(10**7) for _ in range(100)]\nexcept MemoryError:\n    print('caught')"
    result = await _run(code, memory_mb=200)
    assert (result.exit_code, result.output) == (0, "caught\n")


@pytest.mark.slow
async def test_a_calculation_beside_a_long_call_ends_at_the_limit_of_processor_time() -> None:
    async def move() -> None:
        await _wait_until(lambda: not programs(), "the calculation goes on")

    spin = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\n"
    result = await run_program(spin + "move()", {"move": move}, Limits(own_s=0.5))
    assert (result.exit_code, result.ending) == (1, Ending.MEMORY_OR_SIGNAL)


async def test_an_unexpected_error_of_a_function_ends_the_program_and_is_raised() -> None:
    async def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_program("broken()\nwhile True: pass", {"broken": broken})
    assert not programs()


async def test_answers_that_nobody_reads_leave_no_dead_descriptor() -> None:
    """A later connection that gets its number would never be served."""
    flood = (
        "import os, time\n"
        'line = b\'{"call": "echo", "args": ["\' + b\'x\' * 9000 + b\'"]}\\n\'\n'
        "os.write(4, line * 20 + b'{}\\n')\ntime.sleep(60)"
    )

    async def echo(text: str) -> str:
        return text * 4

    result = await run_program(flood, {"echo": echo})
    assert result.ending is Ending.CALLS

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, asyncio.timeout(20):
        for _ in range(20):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"hello\n")
            assert await reader.readline() == b"hello\n"
            writer.close()
            await writer.wait_closed()


async def test_a_program_cannot_open_its_pipes_again() -> None:
    """With its input open for writing it would outlive its owner."""
    code = (
        "import os\nfor number in (3, 4):\n    for how in (os.O_RDONLY, os.O_WRONLY):\n        try:\n"
        "            os.open(f'/proc/self/fd/{number}', how)\n            print(number, how)\n"
        "        except OSError:\n            pass"
    )
    assert "3 " not in (await _run(code)).output


async def test_a_function_that_runs_ends_before_the_result_of_a_program_that_was_ended() -> None:
    ended: list[bool] = []

    async def move() -> None:
        await _wait_until(lambda: not programs(), "the program is not ended")
        ended.append(True)

    flood = "import threading\nthreading.Timer(0.3, lambda: print('x' * 30000)).start()\nmove()"
    assert (await run_program(flood, {"move": move})).ending is Ending.OUTPUT
    assert ended == [True]

    async def lose_track() -> None:
        await move()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_program(flood, {"move": lose_track})


async def test_calls_of_a_program_that_has_crashed_are_not_made() -> None:
    line = '{"call": "move", "args": [], "kwargs": {}}'

    async def move() -> None:
        await _wait_until(lambda: not programs(), "it has crashed")
        await asyncio.sleep(0.2)

    result = await run_program(
        f"import ctypes, os\nos.write(4, b'{line}\\n' * 50)\nctypes.string_at(0)", {"move": move}
    )
    assert 1 <= len(result.calls) <= 2


async def test_a_program_starts_after_its_modules_were_cleaned_away() -> None:
    await _run("pass")
    shutil.rmtree(confinement._modules().name)
    assert (await _run("import numpy\nprint(numpy.sum([1, 2]))")).output == "3\n"


async def test_a_program_without_standard_output_ends_in_order() -> None:
    result = await _run("import sys\nprint('it')\nsys.stdout = None")
    assert (result.exit_code, result.output) == (0, "it\n")


async def test_cancelling_ends_the_program_at_once() -> None:
    reached = asyncio.Event()

    async def move() -> None:
        reached.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(run_program("move()", {"move": move}))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not programs()


async def test_cancelling_during_the_start_leaves_nothing_running() -> None:
    running = asyncio.create_task(run_program("while True: pass", {}))
    await _wait_until(lambda: bool(programs()) or running.done(), "the program did not start")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not programs()


OWNER = """
import asyncio
from quartet_sandbox import Limits, run_program
async def here():
    print("running", flush=True)
async def main():
    await run_program("here()\\nimport time; time.sleep(3600)", {"here": here}, Limits(own_s=3600))
asyncio.run(main())
"""


async def test_a_program_does_not_outlive_an_owner_that_was_killed() -> None:
    owner = await asyncio.create_subprocess_exec(sys.executable, "-c", OWNER, stdout=asyncio.subprocess.PIPE)
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"running\n"
    watch, program = psutil.Process(owner.pid).children(recursive=True)
    owner.kill()
    await owner.wait()
    await _wait_until(lambda: not watch.is_running() and not program.is_running(), "it still runs")


async def test_a_program_does_not_outlive_the_process_that_watches_it() -> None:
    async def here() -> None:
        watch, _ = programs()
        watch.kill()

    result = await run_program("here()\nwhile True: pass", {"here": here})
    assert (result.exit_code, result.ending) == (1, Ending.MEMORY_OR_SIGNAL)
    await _wait_until(lambda: not programs(), "it still runs")


@pytest.mark.parametrize(
    "closed",
    ["os.close(3); os.close(4)", "os.closerange(0, 64)", "os.dup2(0, 3); os.dup2(0, 4)"],
)
async def test_a_program_that_closes_its_pipes_and_sleeps_ends_soon(
    closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quartet_sandbox._program.END_S", 0.3)
    async with asyncio.timeout(10):
        result = await _run(f"import os, time\nprint('first', flush=True)\n{closed}\ntime.sleep(3600)")
    assert (result.exit_code, result.ending) == (1, Ending.TIME)
    assert result.output.startswith("first\n\nThe program was ended: it closed the pipe of its calls")
    assert not programs()


async def test_a_program_that_closes_its_pipe_may_still_print_and_exit() -> None:
    result = await _run("import os, sys, time\nos.close(4)\ntime.sleep(0.2)\nprint('last')\nsys.exit(3)")
    assert (result.exit_code, result.ending, result.output) == (3, Ending.EXITED, "last\n")


async def test_on_another_system_an_error_names_what_programs_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxUnavailableError, match=r"\(darwin\) cannot confine a program.*Linux 6\.7 or newer"):
        await require_confinement()


@pytest.mark.parametrize(("readable", "wrong"), [("/", "lets a confined process list /"), ("/nowhere", "'/nowhere'")])
async def test_a_program_is_not_run_by_a_process_that_is_not_confined(
    readable: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await require_confinement()
    monkeypatch.setattr(confinement, "_readable", lambda: [readable])
    with pytest.raises(SandboxUnavailableError, match=rf"does not start here .*{wrong}.*Linux 6\.7 or newer"):
        await require_confinement()
    with pytest.raises(SandboxUnavailableError, match=rf"does not start here .*{wrong}"):
        await run_program("print('run')", {})
