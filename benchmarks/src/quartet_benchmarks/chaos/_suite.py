"""Runs the parts of the suite and sums them up."""

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from quartet_benchmarks._result import BenchParameters, BenchResult, Rate
from quartet_benchmarks.chaos import stops
from quartet_benchmarks.chaos.crashes import Outcome, crashes, play, storm
from quartet_benchmarks.chaos.job import Score, asking_policy
from quartet_benchmarks.chaos.repeats import Repeated, cancel_moment, repeat
from quartet_benchmarks.chaos.wire import Wire
from quartet_benchmarks.chaos.zombies import Awoken, awaken, sleepers
from quartet_cli.stack import AGENTS, Stack, StackOptions

RUNS = 300
SHARE = 10
"""One lease holder that sleeps, and one job whose messages are repeated, for so many kills."""
SEEDS = 12
"""Placements of the small world, in turn."""
WORLD = "studio"
SHORT_SLEEPERS = (("orchestrator", "pick started"), ("pick", "fingers to close"))
SHORT_REPEATS = ("", "fingers closed")
"""Of both the tests play all; within the 50 s of the short form there is time for the first."""
SHORT_WITHOUT = frozenset({"ros"})
"""Has no part in the jobs, and its start takes time."""
LATE_S = 2.0
START_S = 180.0


@dataclass
class Ran:
    """What came of each job."""

    kills: list[Outcome] = field(default_factory=list[Outcome])
    awoken: list[Awoken] = field(default_factory=list[Awoken])
    repeated: list[Repeated] = field(default_factory=list[Repeated])

    @property
    def scores(self) -> list[Score]:
        """Of all jobs in which something went wrong."""
        return [run.score for run in (*self.kills, *self.awoken) if run.happened] + [r.score for r in self.repeated]


def run(parameters: BenchParameters) -> BenchResult:
    """The suite. `episodes` is the number of jobs in which something is killed, and of stops. Raises StackError."""
    if parameters.short:
        # Side by side: the jobs wait for leases most of the time. It costs the stops some milliseconds.
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


def _jobs(parameters: BenchParameters) -> Ran:
    ran, dice = Ran(), random.Random(parameters.seed)
    kills = parameters.episodes or RUNS
    few = max(1, kills // SHARE)
    planned = storm(parameters.seed) if parameters.short else islice(crashes(parameters.seed), kills)
    asleep = SHORT_SLEEPERS[:1] if parameters.short else islice(cycle(sleepers(parameters.seed)), few)
    again = SHORT_REPEATS[:1] if parameters.short else [cancel_moment(dice) for _ in range(few)]
    seeds = (1 + (parameters.seed + number) % SEEDS for number in cycle(range(SEEDS)))
    with small_world(parameters.seed, SHORT_WITHOUT if parameters.short else frozenset()) as (stack, wire):
        for crash in planned:
            _tell(parameters, ran.kills, play(stack, crash, next(seeds)))
        for who, moment in asleep:
            _tell(parameters, ran.awoken, awaken(stack, wire, who, moment, next(seeds)))
        for canceled_at in again:
            _tell(parameters, ran.repeated, repeat(stack, wire, next(seeds), canceled_at))
    return ran


def _tell(parameters: BenchParameters, done: list[Any], one: Any) -> None:
    done.append(one)
    parameters.say(", ".join(f"{key} {value}" for key, value in one.row().items()))


@contextlib.contextmanager
def small_world(seed: int = 0, without: frozenset[str] = frozenset()) -> Iterator[tuple[Stack, Wire]]:
    """A whole deployment in the small world that asks a person about every grasp; all of its messages go over a wire.
    Raises StackError.
    """
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder, Wire(seed, late_s=LATE_S) as wire:
        policy, store = Path(folder) / "policy.yaml", {"QUARTET_REDIS_URL": wire.url}
        options = StackOptions(
            state_dir=Path(folder) / "stack", world=WORLD, use_dotenv=False, start_timeout_s=START_S,
            without=without,
            env_of={
                "moveit": {"QUARTET_POLICY_FILE": str(policy)},
                **dict.fromkeys(("orchestrator", *AGENTS), store),
            },
        )  # fmt: skip
        stack = Stack(options)
        policy.write_text(asking_policy(stack.site_dir))
        wire.lead_to(urlsplit(stack.url_of("redis")).port or 0)
        with stack:
            yield stack, wire


def _result(ran: Ran, parameters: BenchParameters) -> BenchResult:
    scores = ran.scores
    resumed = [seconds for outcome in ran.kills for seconds in outcome.resumed_s]
    calls = sum(one.calls for one in ran.awoken)
    return BenchResult(
        "chaos",
        {
            "kills": len(ran.kills),
            "lease holders frozen": len(ran.awoken),
            "jobs with every message three times": len(ran.repeated),
            "seed": parameters.seed,
            "world": WORLD,
        },
        {
            "runs": float(len(scores)),
            "tasks_lost": Rate(sum(score.lost for score in scores), len(scores)),
            "double_motions": Rate(sum(score.double_motions > 0 for score in scores), len(scores)),
            "false_successes": Rate(sum(score.false_success for score in scores), len(scores)),
            "succeeded": Rate(sum(score.succeeded for score in scores), len(scores)),
            "resume_s_max": max(resumed, default=float("nan")),
            "stale_calls_accepted": Rate(sum(len(one.accepted) for one in ran.awoken), calls),
            "repeats_done_once": Rate(sum(one.right for one in ran.repeated), len(ran.repeated)),
        },
        [*_killed_rows(ran.kills), *_row("frozen, then woken", ran.awoken), *_row("every message x 3", ran.repeated)],
        details=[one.row() for one in (*ran.kills, *ran.awoken, *ran.repeated)],
        notes=[
            "One task each in the small world. Killed: with signal 9, and started again at once. Frozen: whoever holds "
            "the lease sleeps until another replica has gone on; the stale calls are its own and such as its grant "
            "covered. Every message x 3: tasks, requests, results, cancels, approvals, journal and status, copies up "
            f"to some seconds late ({sum(sum(one.copied.values()) for one in ran.repeated)} in all). double_motions: "
            "tasks with a second pick or drop, counted by the simulation. resume_s: from the kill to the first word "
            "of who went on with the task, with the time that the process took to start."
        ],
    )


def _killed_rows(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """By what was killed first."""
    rows: list[dict[str, object]] = []
    hit = [outcome for outcome in outcomes if outcome.happened]
    for victims in sorted({outcome.victims for outcome in hit}):
        some = [outcome for outcome in hit if outcome.victims == victims]
        resumed = [seconds for outcome in some for seconds in outcome.resumed_s]
        rows += _row(f"killed: {victims}", some)
        rows[-1]["resume_s_max"] = round(max(resumed), 2) if resumed else None
    return rows


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
