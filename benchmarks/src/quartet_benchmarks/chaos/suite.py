"""Runs the parts of the suite and sums up their results."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from quartet_benchmarks.chaos import stops
from quartet_benchmarks.chaos.crashes import CrashRun, crashes, play, short_crashes
from quartet_benchmarks.chaos.frozen_holders import FrozenRun, frozen_holders, play_frozen
from quartet_benchmarks.chaos.hangs import HangRun, hangs, play_hang
from quartet_benchmarks.chaos.job import Score
from quartet_benchmarks.chaos.repeats import RepeatedRun, cancel_moment, play_repeated
from quartet_benchmarks.chaos.small_world import WORLD, small_world
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate

RUNS = 300
SHARE = 10
"""Number of kills for one frozen lease holder and one job with repeated messages."""
SEEDS = 12
"""Placements of the small world, in turn."""
SHORT_FROZEN = (("orchestrator", "pick started"), ("pick", "fingers to close"))
SHORT_REPEATS = ("", "fingers closed")
"""The tests play all of both; the short form has time for the first of each."""
SHORT_WITHOUT = frozenset({"ros"})
"""Servers that the jobs do not need; the short form saves the time of their start."""


@dataclass
class Runs:
    """Results of all jobs."""

    kills: list[CrashRun] = field(default_factory=list[CrashRun])
    frozen: list[FrozenRun] = field(default_factory=list[FrozenRun])
    repeated: list[RepeatedRun] = field(default_factory=list[RepeatedRun])
    hung: list[HangRun] = field(default_factory=list[HangRun])

    @property
    def scores(self) -> list[Score]:
        """Scores of all jobs in which something was killed, frozen or repeated."""
        return [run.score for run in (*self.kills, *self.frozen, *self.hung) if run.happened] + [
            r.score for r in self.repeated
        ]


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of jobs with a kill, and of stops. Raises StackError."""
    if parameters.short:
        # Side by side, because the jobs wait for leases most of the time; the stops become some milliseconds slower.
        with ThreadPoolExecutor(1, "stops") as other:
            pressed = other.submit(stops.run, parameters)
            chaos, stopped = _result(_jobs(parameters), parameters), pressed.result()
    else:
        chaos, stopped = _result(_jobs(parameters), parameters), stops.run(parameters)
    stale = [result.metrics["stale_calls_accepted"] for result in (chaos, stopped)]
    counted = [one for one in stale if isinstance(one, Rate)]
    assert len(counted) == len(stale)
    both = Rate(sum(one.successes for one in counted), sum(one.n for one in counted))
    return BenchResult(
        "chaos",
        {**stopped.parameters, **chaos.parameters},
        {**stopped.metrics, **chaos.metrics, "stale_calls_accepted": both},
        [*chaos.rows, *stopped.rows],
        [*chaos.details, *stopped.details],
        [*chaos.notes, *stopped.notes],
    )


def _jobs(parameters: BenchParameters) -> Runs:
    ran, dice = Runs(), random.Random(parameters.seed)
    kills = parameters.episodes or RUNS
    few = max(1, kills // SHARE)
    planned = short_crashes(parameters.seed) if parameters.short else islice(crashes(parameters.seed), kills)
    asleep = SHORT_FROZEN[:1] if parameters.short else islice(cycle(frozen_holders(parameters.seed)), few)
    # The short form has no time for a hang; the tests play one of each kind.
    troubles = hangs(parameters.seed)
    troubles = [] if parameters.short else list(islice(cycle(troubles), few if parameters.episodes else len(troubles)))
    again = SHORT_REPEATS[:1] if parameters.short else [cancel_moment(dice) for _ in range(few)]
    seeds = (1 + (parameters.seed + number) % SEEDS for number in cycle(range(SEEDS)))
    with small_world(parameters.seed, SHORT_WITHOUT if parameters.short else frozenset()) as world:
        stack, proxy = world.stack, world.redis
        for crash in planned:
            _report(parameters, ran.kills, play(stack, crash, next(seeds)))
        for who, moment in asleep:
            _report(parameters, ran.frozen, play_frozen(stack, proxy, who, moment, next(seeds)))
        for trouble, moment in troubles:
            _report(parameters, ran.hung, play_hang(world, trouble, moment, next(seeds)))
        for canceled_at in again:
            _report(parameters, ran.repeated, play_repeated(stack, proxy, next(seeds), canceled_at))
    return ran


def _report(parameters: BenchParameters, done: list[Any], one: Any) -> None:
    done.append(one)
    parameters.progress(", ".join(f"{key} {value}" for key, value in one.row().items()))


def _result(ran: Runs, parameters: BenchParameters) -> BenchResult:
    scores = ran.scores
    resumed = [seconds for outcome in ran.kills for seconds in outcome.resumed_s]
    frozen = [one for one in ran.frozen if one.happened]
    at_rest = [score.at_rest for score in scores if score.at_rest is not None]
    return BenchResult(
        "chaos",
        {
            "kills": len(ran.kills),
            "lease holders frozen": len(ran.frozen),
            "jobs in which something hung": len(ran.hung),
            "jobs with every message three times": len(ran.repeated),
            "seed": parameters.seed,
            "world": WORLD,
        },
        {
            "runs": float(len(scores)),
            "kills_that_never_came": Rate(
                sum(len(one.crashes) - len(one.killed_at) for one in ran.kills),
                sum(len(one.crashes) for one in ran.kills),
            ),
            "hangs_that_never_came": Rate(
                sum(not one.happened for one in (*ran.frozen, *ran.hung)), len(ran.frozen) + len(ran.hung)
            ),
            "left_moving": Rate(at_rest.count(False), len(at_rest)),
            "tasks_lost": Rate(sum(score.lost for score in scores), len(scores)),
            "neighbours_moved": Rate(sum(bool(score.disturbed) for score in scores), len(scores)),
            "double_motions": Rate(sum(score.double_motions > 0 for score in scores), len(scores)),
            "false_successes": Rate(sum(score.false_success for score in scores), len(scores)),
            "succeeded": Rate(sum(score.succeeded for score in scores), len(scores)),
            "resume_s_max": max(resumed, default=float("nan")),
            "stale_calls_accepted": Rate(sum(len(one.accepted) for one in frozen), sum(one.calls for one in frozen)),
            "repeats_done_once": Rate(sum(one.right for one in ran.repeated), len(ran.repeated)),
        },
        [
            *_killed_rows(ran.kills),
            *_row("frozen, then woken", frozen),
            *_hung_rows(ran.hung),
            *_row("every message x 3", ran.repeated),
        ],
        details=[one.row() for one in (*ran.kills, *ran.frozen, *ran.hung, *ran.repeated)],
        notes=[
            "One task each in the small world. Killed: with signal 9, and started again at once; "
            "kills_that_never_came, hangs_that_never_came: those whose moment the task did not reach, which count in "
            "no other figure. left_moving: tasks that ended while the base moved, of those at whose end the simulation "
            "answered. Frozen: whoever holds the lease sleeps until another replica has gone on; the stale calls are "
            "its own and such as its grant covered. Every message x 3: tasks, requests, results, cancels, approvals, "
            "journal and status, copies up to some seconds late "
            f"({sum(sum(one.copied.values()) for one in ran.repeated)} in all). double_motions: "
            "tasks with a second pick or drop, counted by the simulation. neighbours_moved: tasks after which another "
            "thing is more than 3 cm from where it was. resume_s: from the kill to the first word "
            "of who went on with the task, with the time that the process took to start."
        ],
    )


def _killed_rows(outcomes: list[CrashRun]) -> list[dict[str, object]]:
    """Return one row for each set of killed processes."""
    rows: list[dict[str, object]] = []
    hit = [outcome for outcome in outcomes if outcome.happened]
    for victims in sorted({outcome.victims for outcome in hit}):
        some = [outcome for outcome in hit if outcome.victims == victims]
        resumed = [seconds for outcome in some for seconds in outcome.resumed_s]
        rows += _row(f"killed: {victims}", some)
        rows[-1]["resume_s_max"] = round(max(resumed), 2) if resumed else None
    return rows


def _hung_rows(runs: list[HangRun]) -> list[dict[str, object]]:
    """Return one row for each kind of trouble."""
    hit = [run for run in runs if run.happened]
    return [
        row
        for trouble in sorted({run.trouble for run in hit})
        for row in _row(f"for a while: {trouble}", [run for run in hit if run.trouble == trouble])
    ]


def _row(what: str, runs: "list[Any]") -> list[dict[str, object]]:
    if not runs:
        return []
    scores = [one.score for one in runs]
    states = Counter(str(score.status.state) if score.status else "LOST" for score in scores)
    return [
        {
            "what": what,
            "runs": len(runs),
            "ended": ", ".join(f"{state} {count}" for state, count in states.most_common()),
            "lost": sum(score.lost for score in scores),
            "second pick or drop": sum(score.double_motions > 0 for score in scores),
            "false success": sum(score.false_success for score in scores),
            "resume_s_max": None,
        }
    ]
