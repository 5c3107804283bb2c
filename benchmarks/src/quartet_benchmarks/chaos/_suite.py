"""Runs the parts of the suite and sums them up."""

import itertools
import tempfile
import time
from pathlib import Path

from quartet_benchmarks._result import BenchParameters, BenchResult, Rate
from quartet_benchmarks.chaos import stops
from quartet_benchmarks.chaos.crashes import Outcome, crashes, play
from quartet_cli.stack import Stack, StackOptions

RUNS, SHORT_S = 300, 12.0
"""The short form plays what it comes to in so long; two stacks start and end, and stops are pressed, in the rest of its
50 s."""
SEEDS = 12
"""Placements of the small world, in turn."""
WORLD = "studio"


def run(parameters: BenchParameters) -> BenchResult:
    """The suite. `episodes` is the number of tasks in which something is killed, and of stops. Raises StackError."""
    killed, stopped = _kill(parameters), stops.run(parameters)
    return BenchResult(
        "chaos",
        {**killed.parameters, **stopped.parameters},
        {**killed.metrics, **stopped.metrics},
        [*killed.rows, *stopped.rows],
        [*killed.details, *stopped.details],
        [*killed.notes, *stopped.notes],
    )


def _kill(parameters: BenchParameters) -> BenchResult:
    wanted = parameters.episodes or (None if parameters.short else RUNS)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder:
        options = StackOptions(state_dir=Path(folder), world=WORLD, use_dotenv=False)
        with Stack(options) as stack:
            end = time.monotonic() + SHORT_S
            for number, crash in enumerate(crashes(parameters.seed)):
                if number == wanted or (wanted is None and time.monotonic() > end):
                    break
                outcome = play(stack, crash, 1 + (parameters.seed + number) % SEEDS)
                outcomes.append(outcome)
                parameters.say(", ".join(f"{key} {value}" for key, value in outcome.row().items()))
    hit = [outcome for outcome in outcomes if outcome.happened]
    resumed = [outcome.resume_s for outcome in hit if outcome.resume_s is not None]
    return BenchResult(
        "chaos",
        {"runs": len(outcomes), "seed": parameters.seed, "world": WORLD},
        {
            "runs": float(len(hit)),
            "tasks_lost": Rate(sum(outcome.lost for outcome in hit), len(hit)),
            "double_motions": Rate(sum(outcome.double_motions > 0 for outcome in hit), len(hit)),
            "false_successes": Rate(sum(outcome.false_success for outcome in hit), len(hit)),
            "succeeded": Rate(sum(outcome.succeeded for outcome in hit), len(hit)),
            "resume_s_max": max(resumed, default=float("nan")),
        },
        _rows(hit),
        details=[outcome.row() for outcome in outcomes],
        notes=[
            "One task each in the small world; a process is killed with signal 9 and started again at once. "
            "double_motions: tasks with a second pick or drop, counted by the simulation. resume_s: from the kill to "
            "the first word of who went on with the task, with the time that the process took to start."
        ],
    )


def _rows(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """By what was killed."""
    rows: list[dict[str, object]] = []
    ordered = sorted(outcomes, key=lambda outcome: outcome.crash.victims)
    for victims, group in itertools.groupby(ordered, key=lambda outcome: outcome.crash.victims):
        some = list(group)
        resumed = [outcome.resume_s for outcome in some if outcome.resume_s is not None]
        rows.append(
            {
                "killed": "+".join(victims),
                "runs": len(some),
                "succeeded": sum(outcome.succeeded for outcome in some),
                "lost": sum(outcome.lost for outcome in some),
                "second pick or drop": sum(outcome.double_motions > 0 for outcome in some),
                "false success": sum(outcome.false_success for outcome in some),
                "resume_s_max": round(max(resumed), 2) if resumed else None,
            }
        )
    return rows
