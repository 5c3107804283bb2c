"""The stops suite: the stop button, and motions whose caller or server dies or freezes; the robot in real time."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from quartet_agent_runtime import Toolbox, ToolOutcome, ignore_progress
from quartet_benchmarks.chaos import freeze, program
from quartet_benchmarks.chaos.motion import ACTIONS, Motion, MotionWatch, draw_motion, drive, grip, turn, wrist
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, percentile
from quartet_contracts import Skill, SkillResult, control_url
from quartet_deployment import AGENTS, Stack, StackOptions
from quartet_robot_link import BridgeLink

WORLD = "studio"
STOPS, SHORT_STOPS = 200, 5
ORPHANS, SHORT_ORPHANS = 60, 3
PROGRAMS, SHORT_PROGRAMS = 40, 2
FROZEN = (None, "redis", "orchestrator", "gateway", "scripted_model", "the motion's server")
"""Process that is frozen while stop is pressed, in turn."""
KINDS = ("base turning", "base driving", "arm moving", "gripper closing", "base and gripper")
"""What moves when stop is pressed, in turn; a gripper that is closed opens."""
SHORT_WITHOUT = frozenset({"gateway", "scripted_model"})
"""Processes that the short form has no time to start."""
GONE = (
    ("caller", signal.SIGSTOP),
    ("server", signal.SIGSTOP),
    ("both", signal.SIGSTOP),
    ("caller", signal.SIGKILL),
    ("server", signal.SIGKILL),
    ("both", signal.SIGKILL),
)
STANDSTILL_S = 20.0
LAPSED = "HEARTBEAT_LAPSED"
STOPPED = "STOPPED"
STOP_TOOLS = (
    *("nav2__spin_robot", "nav2__navigate_to_pose", "nav2__get_robot_pose", "moveit__plan_and_execute"),
    *("moveit__open_gripper", "moveit__close_gripper", "moveit__get_grasp_state"),
)
NOT_NEEDED = frozenset({"perception", "ros", *AGENTS}) - {str(Skill.EXECUTOR)}


@dataclass
class Figures:
    """Results of all runs, one row each."""

    stops: list[dict[str, Any]] = field(default_factory=list)
    orphans: list[dict[str, Any]] = field(default_factory=list)
    programs: list[dict[str, Any]] = field(default_factory=list)
    missed: int = 0
    """Orphans whose motion was over by itself before anything was killed or frozen; another one was drawn."""
    false_lapses: int = 0
    stale_calls: int = 0
    stale_accepted: int = 0


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of stops. Raises StackError."""
    stops = parameters.episodes or (SHORT_STOPS if parameters.short else STOPS)
    orphans = SHORT_ORPHANS if parameters.short else min(ORPHANS, max(1, stops))
    programs = SHORT_PROGRAMS if parameters.short else min(PROGRAMS, max(1, stops))
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder:
        options = StackOptions(
            state_dir=Path(folder), world=WORLD, seed=parameters.seed, realtime=True, use_dotenv=False,
            without=NOT_NEEDED | SHORT_WITHOUT if parameters.short else NOT_NEEDED,
        )  # fmt: skip
        with Stack(options) as stack:
            figures = asyncio.run(_measure(stack, parameters, stops, orphans, programs))
    return _result(figures, parameters)


def _result(figures: Figures, parameters: BenchParameters) -> BenchResult:
    stop_ms = [row["stop_ms"] for row in figures.stops if row["stop_ms"] is not None]
    orphan_ms = [row["stop_ms"] for row in figures.orphans if row["stop_ms"] is not None]
    program_ms = [row["stop_ms"] for row in figures.programs if row["stop_ms"] is not None]
    ended_ms = [row["ended_ms"] for row in figures.programs]
    still = [row["standstill"] for row in (*figures.stops, *figures.programs)]
    return BenchResult(
        "stops",
        {
            "stops": len(figures.stops),
            "orphans": len(figures.orphans),
            "programs": len(figures.programs),
            "seed": parameters.seed,
            "world": WORLD,
        },
        {
            "stop_ms_p50": percentile(stop_ms, 0.5),
            "stop_ms_p99": percentile(stop_ms, 0.99),
            "stop_ms_max": max(stop_ms, default=float("nan")),
            "motions_stopped": Rate(sum(_stopped(row) for row in figures.stops), len(figures.stops)),
            "standstill_confirmed": Rate(sum(still), len(still)),
            "orphan_stop_ms_p50": percentile(orphan_ms, 0.5),
            "orphan_stop_ms_max": max(orphan_ms, default=float("nan")),
            "orphans_stopped": Rate(len(orphan_ms), len(figures.orphans)),
            "program_stop_ms_p50": percentile(program_ms, 0.5),
            "program_stop_ms_max": max(program_ms, default=float("nan")),
            "program_ended_ms_p50": percentile(ended_ms, 0.5),
            "programs_stopped": Rate(sum(row["code"] == STOPPED for row in figures.programs), len(figures.programs)),
            "stale_calls_accepted": Rate(figures.stale_accepted, figures.stale_calls),
            "orphans_that_were_over": Rate(figures.missed, len(figures.orphans) + figures.missed),
            "false_lapses": float(figures.false_lapses),
        },
        [
            *_rows("stop pressed; hung: ", "hung", figures.stops),
            *_rows("stop pressed; ", "kind", figures.stops),
            *_rows("stop pressed in a team's program; hung: ", "hung", figures.programs),
            *_rows("gone: ", "gone", figures.orphans),
        ],
        details=[*figures.stops, *figures.programs, *figures.orphans],
        notes=[
            "The robot in real time. stop_ms: from the press (a request to the stop service) to its answer that the "
            "guard has commanded standstill. orphan_stop_ms: from the signal to the first word over rosbridge that "
            "the motion's goal is being canceled. Both include the time that the message takes. motions_stopped: "
            "presses that the guard confirmed and that ended all that moved; any other press is a failure. Arm and "
            "base never move at once (policy phases.arm_or_base), so what moves at once is base and gripper. "
            "program_stop_ms: the same as stop_ms while a program that the executor runs moves the arm; "
            "program_ended_ms: until the executor has answered, the program's process gone and the arm seen at rest. "
            f"standstill_confirmed: measured by the guard within {STANDSTILL_S:g} s. stale_calls_accepted: "
            "motion calls with the grant of a caller that was taken for gone, after a newer "
            "attempt. orphans_that_were_over: motions that had ended before anything was killed or frozen; they are "
            "in no other figure but stale_calls_accepted, and another one was drawn for each. false_lapses: motions "
            "that ended for lack of a heartbeat although nothing was killed or frozen."
        ],
    )


def _stopped(row: dict[str, Any]) -> bool:
    """Return whether a press stopped what moved: the guard confirmed it, and each motion ended for it."""
    return row["stop_ms"] is not None and row["code"] == STOPPED


def _rows(title: str, key: str, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each process that was frozen or gone."""
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys(row[key] for row in runs):
        times = [row["stop_ms"] for row in runs if row[key] == name and row["stop_ms"] is not None]
        rows.append(
            {
                "what": f"{title}{name}",
                "runs": sum(row[key] == name for row in runs),
                "stop_ms_p50": percentile(times, 0.5),
                "stop_ms_max": max(times, default=float("nan")),
            }
        )
    return rows


async def _measure(stack: Stack, parameters: BenchParameters, stops: int, orphans: int, programs: int) -> Figures:
    dice, figures = random.Random(parameters.seed), Figures()
    frozen = [name for name in FROZEN if not parameters.short or name not in SHORT_WITHOUT]
    async with open_trial(stack, dice) as trial:
        for number in range(stops):
            # Each kind comes with each frozen process: their numbers have no common factor.
            row = await trial.stop(frozen[number % len(frozen)], KINDS[number % len(KINDS)])
            figures.stops.append(row)
            parameters.progress(", ".join(f"{key} {value}" for key, value in row.items()))
        while len(figures.orphans) < orphans:
            row = await trial.orphan(*GONE[len(figures.orphans) % len(GONE)])
            if row is None:
                continue
            figures.stale_calls += 1
            figures.stale_accepted += row.pop("stale_accepted")
            if row.pop("missed"):
                figures.missed += 1
                continue
            figures.orphans.append(row)
            parameters.progress(", ".join(f"{key} {value}" for key, value in row.items()))
        for _ in range(programs):
            row = await trial.stop_program()
            figures.programs.append(row)
            parameters.progress(", ".join(f"{key} {value}" for key, value in row.items()))
        figures.false_lapses = trial.false_lapses
    return figures


@contextlib.asynccontextmanager
async def open_trial(stack: Stack, dice: random.Random) -> "AsyncGenerator[Trial]":
    """Open a client of the stop service and a watch of the robot of a stack in real time."""
    link = await BridgeLink.open(stack.bridge_url, wait_s=30.0)
    watch = MotionWatch(link, ACTIONS)
    trial = Trial(stack, watch, dice)
    try:
        async with trial.service:
            yield trial
    finally:
        watch.close()
        await link.close()


class Trial:
    """Starts motions of the robot of a stack and ends them; `service` is a client of its stop service."""

    def __init__(self, stack: Stack, watch: MotionWatch, dice: random.Random) -> None:
        self._stack, self._watch, self._dice = stack, watch, dice
        # Above those of earlier open_trial on this stack: a fence only grows.
        self._fence = time.time_ns() // 1_000_000
        self.false_lapses = 0
        """Number of motions that ended for lack of a heartbeat although nothing was killed or frozen."""
        self.service = httpx.AsyncClient(
            base_url=stack.url_of("stop"),
            headers={"Authorization": f"Bearer {stack.stop_token}"},
            timeout=20.0,
            trust_env=False,
        )

    async def stop(self, frozen: tuple[str, ...] | str | None, kind: str = KINDS[0]) -> dict[str, Any]:
        """Press stop at a random moment of a motion of a kind while `frozen` processes hang; return the row."""
        motions, call = await self._begin(kind)
        await asyncio.sleep(self._dice.uniform(0.0, min(motion.longest_s for motion in motions)))
        names = (frozen,) if isinstance(frozen, str) else frozen or ()
        servers = dict.fromkeys(motion.server for motion in motions)
        victims = [one for name in names for one in (servers if name == FROZEN[-1] else (name,))]
        with freeze.frozen(self._stack, victims):
            pressed = time.monotonic()
            answer = (await self.service.post("/stop", json={"reason": "bench"})).json()
            took_ms = (time.monotonic() - pressed) * 1e3
            standstill = await self._standstill()
        codes = [outcome.error_code for outcome in await call]
        self.false_lapses += LAPSED in codes
        await self.reset()
        return {
            "hung": ", ".join(names) or "nothing",
            "kind": kind,
            "tool": ", ".join(motion.tool for motion in motions),
            "stop_ms": round(took_ms, 1) if answer["stopped"] else None,
            "standstill": standstill,
            # Of two motions the one that was not stopped, if there is any.
            "code": next((code for code in codes if code != STOPPED), STOPPED),
        }

    async def stop_program(self) -> dict[str, Any]:
        """Press stop at a random moment of a program that moves the arm in the executor; return the row of the run."""
        for _ in range(5):
            async with program.running(self._stack, self._new_grant(*program.TOOLS, name=str(Skill.EXECUTOR))) as call:
                if await self._watch.wait_begun(program.ACTION, call):
                    return await self._stop_during(call)
                outcome = await call
                if LAPSED not in outcome.reason:
                    break
                self.false_lapses += 1
        raise MeasurementError(f"the program does not move the arm: {outcome.error_code} {outcome.reason}")

    async def _stop_during(self, call: "asyncio.Future[SkillResult]") -> dict[str, Any]:
        await asyncio.sleep(self._dice.uniform(0.0, program.LONGEST_S))
        pressed = time.monotonic()
        answer = (await self.service.post("/stop", json={"reason": "bench"})).json()
        took_ms = (time.monotonic() - pressed) * 1e3
        outcome = await call
        ended_ms = (time.monotonic() - pressed) * 1e3
        standstill = await self._standstill()
        lapsed = LAPSED in outcome.reason
        self.false_lapses += lapsed
        await self.reset()
        return {
            "hung": "nothing",
            "tool": "executor's program",
            "stop_ms": round(took_ms, 1) if answer["stopped"] else None,
            "ended_ms": round(ended_ms, 1),
            "standstill": standstill,
            "code": outcome.withdrawn or (LAPSED if lapsed else str(outcome.error_code)),
        }

    async def _begin(self, kind: str) -> "tuple[list[Motion], asyncio.Future[list[ToolOutcome]]]":
        """Return calls whose motions have begun. Raises MeasurementError when the robot does not move."""
        for _ in range(5):
            grant = self._new_grant(*STOP_TOOLS)
            motions = await self._motions(kind, grant)
            call = asyncio.gather(*(self._call(motion, grant) for motion in motions))
            if all([await self._watch.wait_begun(motion.action, call) for motion in motions]):
                return motions, call
            outcomes = await call
            if all(outcome.error_code != LAPSED for outcome in outcomes):
                break
            self.false_lapses += 1
        said = "; ".join(f"{outcome.error_code} {outcome.message}" for outcome in outcomes)
        raise MeasurementError(f"{', '.join(motion.scope for motion in motions)} does not move: {said}")

    async def _motions(self, kind: str, grant: str) -> list[Motion]:
        """Return the motions of one of KINDS that the robot can make from where it is."""
        match kind:
            case "base driving":
                pose = (await self._call(Motion("nav2", "get_robot_pose", {}, "", 0.0), grant)).content["pose"]
                return [drive(pose["x"], pose["y"])]
            case "arm moving":
                return [wrist(self._dice)]
            case "gripper closing":
                held = (await self._call(Motion("moveit", "get_grasp_state", {}, "", 0.0), grant)).content
                return [grip(held["width_m"])]
            case "base and gripper":
                held = (await self._call(Motion("moveit", "get_grasp_state", {}, "", 0.0), grant)).content
                return [turn(self._dice), grip(held["width_m"])]
            case _:
                return [turn(self._dice)]

    async def orphan(self, gone: str, number: signal.Signals) -> dict[str, Any] | None:
        """Kill or freeze caller, server or both at a random moment of a motion.

        Returns the row of the run, `missed` where the motion was over by then; None where it did not begin.
        """
        motion, grant = draw_motion(self._dice), self._new_grant()
        how = "killed" if number == signal.SIGKILL else "frozen"
        async with _caller(self._stack, motion, grant) as caller:
            reading = asyncio.ensure_future(asyncio.to_thread(caller.stdout.readline))
            if not await self._watch.wait_begun(motion.action, reading):
                if LAPSED not in await reading:
                    raise MeasurementError(f"{motion.scope} does not move: {await reading}")
                self.false_lapses += 1
                return None
            await asyncio.sleep(self._dice.uniform(0.0, motion.longest_s))
            at = time.monotonic()
            if gone in {"caller", "both"}:
                caller.send_signal(number)
            if gone in {"server", "both"}:
                self._signal_server(motion.server, number)
            ended = await self._watch.wait_ended()
            if number == signal.SIGSTOP:
                for pid in (caller.pid, self._stack.pids()[motion.server]):
                    os.kill(pid, signal.SIGCONT)
            elif gone in {"server", "both"}:
                await asyncio.to_thread(self._stack.restart, motion.server)
            stale = await self._stale_call(motion, grant)
        return {
            "gone": f"{gone} {how}",
            "tool": motion.tool,
            "stop_ms": None if ended is None else round((ended - at) * 1e3, 1),
            "by": "guard" if self._watch.lapsed else "server",
            "stale_accepted": stale,
            "missed": ended is not None and ended < at,
        }

    def _signal_server(self, server: str, number: signal.Signals) -> None:
        if number == signal.SIGKILL:
            self._stack.kill(server)
        else:
            os.kill(self._stack.pids()[server], number)

    async def _stale_call(self, motion: Motion, grant: str) -> bool:
        """Return whether the old grant still moves the robot after a newer attempt has raised the fence."""
        newer = self._new_grant("control__fence")
        url = control_url(self._stack.servers()[motion.server], "fence")
        async with httpx.AsyncClient(timeout=20.0, trust_env=False) as http:
            (await http.post(url, headers={"Authorization": f"Bearer {newer}"})).raise_for_status()
        outcome = await self._call(motion, grant)
        return outcome.error_code != "FENCED"

    async def _call(self, motion: Motion, grant: str) -> ToolOutcome:
        url = self._stack.servers()[motion.server]
        async with Toolbox({motion.server: url}, grant, (), 60.0) as tools:
            return await tools.call(motion.scope, motion.arguments, ignore_progress)

    async def _standstill(self) -> bool:
        end = time.monotonic() + STANDSTILL_S
        while time.monotonic() < end:
            state = (await self.service.get("/state")).json()["robots"][self._stack.robot]
            if state["standstill"] is not None:
                return bool(state["standstill"])
            await asyncio.sleep(0.02)
        return False

    async def reset(self) -> None:
        """Reset the robot. Raises MeasurementError when not everybody was reached."""
        end = time.monotonic() + 20.0
        while not (answer := (await self.service.post("/reset")).json())["reset"]:
            if time.monotonic() > end:
                raise MeasurementError(f"the robot cannot be reset: {answer}")

    def _new_grant(self, *tools: str, name: str = "bench") -> str:
        self._fence += 1
        wanted = tools or ("nav2__spin_robot", "moveit__plan_and_execute")
        return self._stack.grant(wanted, name=name, fence=self._fence, beats=True)


def _start_caller() -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "quartet_benchmarks.chaos.caller"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@contextlib.asynccontextmanager
async def _caller(stack: Stack, motion: Motion, grant: str) -> AsyncGenerator[Any]:
    """Start a process that calls the tool; it is killed at the end."""
    process = await asyncio.to_thread(_start_caller)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        order = {
            "url": stack.servers()[motion.server],
            "grant": grant,
            "tool": motion.scope,
            "arguments": motion.arguments,
        }
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.communicate()
