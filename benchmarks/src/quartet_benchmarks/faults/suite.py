"""Runs all cases on one stack, first loops alone, then skills and whole jobs, and sums up their results."""

import asyncio
import itertools
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from quartet_benchmarks.faults.endpoint import Plans, endpoint
from quartet_benchmarks.faults.kinds import FAULTS, HABITS, MISREADINGS
from quartet_benchmarks.faults.loops import LoopOutcome, loop_cases, play_loops
from quartet_benchmarks.faults.trial import Outcome, cases, lasting_cases, play
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_contracts import State
from quartet_deployment import Stack, StackOptions

RUNS, SHORT_RUNS = 100, 3
"""Number of loops with each fault."""
TASKS = 0.2
"""Number of tasks with each fault, as a share of its loops."""
MISSES = 12
"""Tasks in a row that end before a fault comes, after which that fault is given up: it may never come."""
SHORT_S = 20.0
"""Time that the short form has for tasks [s]; start and end of the stack take the rest of its 50 s."""
WORLD = "studio"
LATE_S = 10.0
"""Latest end of a task after its deadline [s], in which the robot comes to rest and is looked at."""
GATEWAY_FILE = """
models:
  scripted: {model: hosted_vllm/scripted, api_base_env: QUARTET_SCRIPTED_MODEL_URL, takes_images: false}
agents:
  orchestrator: {model: scripted}
  approach: {model: scripted}
  pick: {model: scripted}
  place: {model: scripted}
  perception: {model: scripted}
retries: {attempts: 2, timeout_attempts: 1, timeout_s: 5, total_s: 10, rest_s: 1}
"""
"""deploy/gateway.yaml with shorter time limits."""


@dataclass(frozen=True)
class FaultyStack:
    """Stack of the small world whose model is an endpoint of this process."""

    stack: Stack
    plans: Plans
    key: str
    """Key of the gateway that is valid for every agent."""

    async def loops(self, seed: int, runs: int) -> list[LoopOutcome]:
        """Run `runs` loops with each fault."""
        return await play_loops(
            self.stack.url_of("gateway"),
            self.key,
            lambda task: self.stack.grant([], name="pick", task=task),
            self.plans,
            loop_cases(seed, runs),
        )


@contextmanager
def faulty_stack(folder: Path, start_timeout_s: float = 60.0) -> Iterator[FaultyStack]:
    """Start a stack of the small world whose model is an endpoint of this process. Raises StackError."""
    file, key = folder / "gateway.yaml", secrets.token_urlsafe(24)
    file.write_text(GATEWAY_FILE)
    with endpoint() as (url, plans):
        gateway = {
            "QUARTET_GATEWAY_FILE": str(file),
            "QUARTET_SCRIPTED_MODEL_URL": url,
            "QUARTET_GATEWAY_KEY": key,
        }
        options = StackOptions(
            state_dir=folder / "stack",
            world=WORLD,
            use_dotenv=False,
            without=frozenset({"scripted_model"}),
            env_of={"gateway": gateway},
            start_timeout_s=start_timeout_s,
        )
        with Stack(options) as stack:
            yield FaultyStack(stack, plans, key)


@dataclass
class Quota:
    """How many tasks each fault has hit, until each has hit `wanted` of them or is given up."""

    wanted: int
    hits: Counter[str] = field(default_factory=Counter[str])
    misses: Counter[str] = field(default_factory=Counter[str])
    """Tasks since its last hit."""

    def note(self, fault: str, *, hit: bool) -> None:
        """Count a task in which `fault` came or did not."""
        self.hits[fault] += hit
        self.misses[fault] = 0 if hit else self.misses[fault] + 1

    def wants(self, fault: str) -> bool:
        """Whether another task with `fault` is to be played."""
        return self.hits[fault] < self.wanted and self.misses[fault] < MISSES

    @property
    def filled(self) -> bool:
        """Whether no fault is wanted any more."""
        return not any(self.wants(fault) for fault in FAULTS)

    @property
    def given_up(self) -> list[str]:
        """Faults that missed too many tasks."""
        return [fault for fault in FAULTS if self.hits[fault] < self.wanted and self.misses[fault] >= MISSES]


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of loops with each fault, a fifth of it of tasks. Raises StackError."""
    runs = parameters.episodes or (SHORT_RUNS if parameters.short else RUNS)
    tasks: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder, faulty_stack(Path(folder)) as faulty:
        loops = asyncio.run(faulty.loops(parameters.seed, runs))
        parameters.progress(f"{len(loops)} loops are done")
        wanted, end = max(1, round(TASKS * runs)), time.monotonic() + SHORT_S
        misread, habits = (1, 2) if parameters.short else (wanted * len(MISREADINGS), wanted * len(HABITS))
        quota = Quota(wanted)
        for case in itertools.chain(
            itertools.islice(lasting_cases(parameters.seed, HABITS), habits),
            itertools.islice(lasting_cases(parameters.seed, MISREADINGS), misread),
            cases(parameters.seed),
        ):
            if quota.filled or (parameters.short and time.monotonic() > end):
                break
            if case.name in FAULTS and not quota.wants(case.name):
                continue
            outcome = play(faulty.stack, faulty.plans, case)
            if case.name in FAULTS:
                quota.note(case.name, hit=outcome.hits > 0)
            tasks.append(outcome)
            parameters.progress(", ".join(f"{key} {value}" for key, value in outcome.row().items()))
        dead = len(faulty.stack.died())
    return _result(parameters.seed, loops, tasks, dead, quota.given_up)


def _result(seed: int, loops: list[LoopOutcome], tasks: list[Outcome], dead: int, given_up: list[str]) -> BenchResult:
    played = len(loops) + len(tasks)
    loops, tasks = [o for o in loops if o.hits], [o for o in tasks if o.hits]
    habits = [o for o in tasks if o.case.name in HABITS]
    both: list[LoopOutcome | Outcome] = [*loops, *tasks]
    return BenchResult(
        "faults",
        {"loops": len(loops), "tasks": len(tasks), "seed": seed, "world": WORLD},
        {
            "runs": float(len(both)),
            "cases_without_fault": Rate(played - len(both), played),
            "faults_given_up": float(len(given_up)),
            "unauthorised_motions": Rate(sum(_moved(o) for o in both), len(both)),
            "right_end": Rate(sum(o.right for o in both), len(both)),
            "false_successes": Rate(sum(o.false_success for o in tasks), len(tasks)),
            "misread_jobs_believed": Rate(
                sum(o.state is State.SUCCEEDED for o in tasks if o.case.misread), sum(o.case.misread for o in tasks)
            ),
            "habits_right": Rate(sum(o.right for o in habits), len(habits)),
            "lost": float(sum(o.state is None for o in tasks)),
            "late": Rate(sum(o.overrun_s > LATE_S for o in both), len(both)),
            "overrun_s_max": max((o.overrun_s for o in both), default=0.0),
            "crashes": float(dead),
        },
        [
            _row(name, [o for o in loops if o.case.name == name], [o for o in tasks if o.case.name == name])
            for name in (*FAULTS, *MISREADINGS, *HABITS)
        ],
        details=[{"kind": "loop" if isinstance(o, LoopOutcome) else "task", **o.row()} for o in both],
        notes=[
            "Loops: the pick agent's loop over the real gateway, with an instant robot that counts its motions; the "
            "fault stays. Tasks: a job or a skill in the small world, in which the model of one agent goes wrong, for "
            "good or once. unasked motion: one that no sound answer asked for, or, where no answer at all was sound, a "
            "robot that moved by ground truth. right_end: without a report, or FAILED with UNKNOWN, for the reason of "
            "the fault; where it passed, also a success that ground truth confirms. misread_jobs_believed: the "
            "orchestrator forgets, drops or renames an object or swaps two targets and reports success, and the task "
            "SUCCEEDED. habits_right: a model with a habit of real ones in the whole task, a success that ground truth "
            "confirms or, where the habit allows none, FAILED for its reason. lost: tasks that did not end. "
            "cases_without_fault: the loop or task was over before its fault came; they count in no other figure. "
            f"late: over {LATE_S:g} s after the deadline. faults_given_up: faults that missed {MISSES} tasks in a row"
            f"{': ' + ', '.join(given_up) if given_up else ''}."
        ],
    )


def _moved(outcome: LoopOutcome | Outcome) -> bool:
    return bool(outcome.motions) or (isinstance(outcome, Outcome) and outcome.moved)


def _row(name: str, loops: list[LoopOutcome], tasks: list[Outcome]) -> dict[str, object]:
    both: list[LoopOutcome | Outcome] = [*loops, *tasks]
    return {
        "fault": name,
        "loops": len(loops),
        "tasks": len(tasks),
        "right": sum(o.right for o in both),
        "succeeded after it": sum(o.state == "SUCCEEDED" for o in tasks),
        "false success": sum(o.false_success for o in tasks),
        "unasked motion": sum(_moved(o) for o in both),
        "gateway's time over": sum(o.overdue for o in both),
        "late": sum(o.overrun_s > LATE_S for o in both),
        "overrun_s_max": round(max((o.overrun_s for o in both), default=0.0), 2),
    }
