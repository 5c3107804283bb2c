"""Runs every program in the sandbox and looks at the bait after each one."""

import asyncio
import sys
import time
from typing import Any

from quartet_benchmarks.escapes.bait import Bait
from quartet_benchmarks.escapes.programs import PROGRAMS
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, percentile
from quartet_sandbox import Ending, Limits, ProgramResult, run_program

LIMITS = Limits(own_s=1.0, output_bytes=5_000, calls=20)
LONGEST_S = 10.0
"""A program that runs longer than this was not held: its own time is 1 s, and a busy machine slows its start."""
AFTER_THE_END = "after the end"
STARTS = 20


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `--short` measures fewer starts, no fewer programs. Raises SandboxUnavailableError."""
    return asyncio.run(_suite(parameters))


async def _suite(parameters: BenchParameters) -> BenchResult:
    rows, details = [], []
    held = 0
    with Bait() as bait:
        for kind, programs in PROGRAMS.items():
            kept = 0
            for name, code in programs.items():
                result, found = await try_program(bait, code)
                kept += not found
                details.append({"kind": kind, "program": name, "ending": result.ending.value, "reached": found})
                if found:
                    parameters.progress(f"NOT HELD: {name}: {', '.join(found)}")
            rows.append({"kind": kind, "programs": len(programs), "held": kept})
            held += kept
    tried = sum(len(programs) for programs in PROGRAMS.values())
    starts = STARTS // 2 if parameters.short else STARTS
    plain_ms = [await _start_ms("greet()") for _ in range(starts)]
    numpy_ms = [await _start_ms("import numpy\ngreet()") for _ in range(starts)]
    bare_ms = [await _bare_start_ms() for _ in range(starts)]
    return BenchResult(
        suite="escapes",
        parameters={"programs": tried, "starts": starts},
        metrics={
            "escapes_held": Rate(held, tried),
            "escapes_tried": tried,
            "start_ms_p50": percentile(plain_ms, 0.5),
            "start_ms_p95": percentile(plain_ms, 0.95),
            "start_with_numpy_ms_p50": percentile(numpy_ms, 0.5),
            "bare_python_ms_p50": percentile(bare_ms, 0.5),
        },
        rows=rows,
        details=details,
        notes=[
            "start: from the order to the program's first call; bare Python: its start and end, unconfined",
        ],
    )


async def try_program(bait: Bait, code: str) -> tuple[ProgramResult, list[str]]:
    """Run one program; return its result and what it reached."""
    late: list[Any] = []

    async def greet(*arguments: Any) -> str:
        await asyncio.sleep(0)
        late.extend(one for one in arguments if one == AFTER_THE_END)
        return "hello"

    async def take(name: str, number: float) -> int:
        await asyncio.sleep(0)
        return {"block": 1}.get(name, round(1.0 * number))

    began = time.monotonic()
    found: list[str] = []
    try:
        result = await run_program(bait.prepare(code), {"greet": greet, "take": take}, LIMITS)
    except Exception as error:
        found.append(f"raised {type(error).__name__} in its caller")
        result = ProgramResult(exit_code=1, ending=Ending.EXITED, output="")
    if time.monotonic() - began > LONGEST_S:
        found.append(f"ran for {time.monotonic() - began:.0f} s")
    if str(bait.names["DONE"]) in result.output:
        found.append("did what is forbidden")
    if len(result.output) > LIMITS.output_bytes + 200:
        found.append(f"printed {len(result.output)} characters")
    if late:
        found.append("called a function after its end")
    return result, found + bait.reached(result.output)


async def _start_ms(code: str) -> float:
    began = time.perf_counter()
    reached = began

    async def greet() -> None:
        nonlocal reached
        reached = time.perf_counter()

    await run_program(code, {"greet": greet})
    return (reached - began) * 1000


async def _bare_start_ms() -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-c", "pass")
    await process.wait()
    return (time.perf_counter() - began) * 1000
