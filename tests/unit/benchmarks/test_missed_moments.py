"""What did not happen is in the figures: presses that stopped nothing, kills and faults that never came."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from quartet_benchmarks import BenchParameters, Rate
from quartet_benchmarks.chaos import stops
from quartet_benchmarks.chaos.crashes import MOMENTS, Crash, CrashRun
from quartet_benchmarks.chaos.frozen_holders import FrozenRun
from quartet_benchmarks.chaos.hangs import HangRun
from quartet_benchmarks.chaos.job import Score
from quartet_benchmarks.chaos.stops import FROZEN, KINDS, LAPSED, Figures
from quartet_benchmarks.chaos.stops import _result as stops_result
from quartet_benchmarks.chaos.suite import Runs
from quartet_benchmarks.chaos.suite import _result as chaos_result
from quartet_benchmarks.faults.kinds import FAULTS
from quartet_benchmarks.faults.suite import MISSES, Quota
from quartet_benchmarks.faults.suite import _result as faults_result
from quartet_benchmarks.faults.trial import Case, Outcome, cases
from quartet_contracts import State
from quartet_deployment import Stack


def press(code: str, stop_ms: float | None = 10.0) -> dict[str, Any]:
    return {
        "hung": "nothing",
        "kind": "base turning",
        "tool": "spin_robot",
        "stop_ms": stop_ms,
        "standstill": True,
        "code": code,
    }


def test_a_press_that_stopped_nothing_is_a_failure() -> None:
    """Also one before which an obstacle had ended the drive."""
    ends = [press("STOPPED"), press("NONE"), press(LAPSED), press("STOPPED", None), press("NAVIGATION_FAILED")]
    assert stops_result(Figures(stops=ends), BenchParameters()).metrics["motions_stopped"] == Rate(1, 5)


def test_each_kind_of_motion_is_stopped_with_each_process_frozen() -> None:
    pressed = {(FROZEN[number % len(FROZEN)], KINDS[number % len(KINDS)]) for number in range(stops.STOPS)}
    assert len(pressed) == len(FROZEN) * len(KINDS)


async def test_a_motion_that_was_over_before_the_kill_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """And another one is drawn; what its old grant could do afterwards counts all the same."""
    row = {"gone": "caller killed", "tool": "spin_robot", "stop_ms": 90.0, "by": "guard", "stale_accepted": False}
    rows = iter([row | {"missed": True, "stale_accepted": True}, None, row | {"missed": False}])

    class Played:
        false_lapses = 0

        async def orphan(self, *_: object) -> dict[str, Any] | None:
            return next(rows)

    @contextlib.asynccontextmanager
    async def opened(*_: object) -> AsyncGenerator[Played]:
        yield Played()

    monkeypatch.setattr(stops, "open_trial", opened)
    figures = await stops._measure(cast(Stack, None), BenchParameters(), 0, 1, 0)
    metrics = stops_result(figures, BenchParameters()).metrics
    assert metrics["orphans_that_were_over"] == Rate(1, 2)
    assert metrics["orphans_stopped"] == Rate(1, 1)
    assert metrics["stale_calls_accepted"] == Rate(1, 2)


def test_a_kill_whose_moment_never_came_is_reported() -> None:
    crashes = tuple(Crash(("pick",), moment, MOMENTS[moment]) for moment in ("pick started", "pick done"))
    score = Score(status=None, delivered=False, grasps=0, releases=0, disturbed=[], at_rest=True)
    runs = Runs(kills=[CrashRun(crashes, 1, score, [1.0], [], 2.0), CrashRun(crashes[:1], 1, score, [], [], 2.0)])
    assert chaos_result(runs, BenchParameters()).metrics["kills_that_never_came"] == Rate(2, 3)


def test_a_hang_whose_moment_never_came_is_reported_and_counts_in_no_other_figure() -> None:
    score = Score(status=None, delivered=False, grasps=0, releases=0, disturbed=[], at_rest=True)
    hangs = [HangRun("disk full", "fingers closing", 1, score, happened) for happened in (True, False)]
    frozen = FrozenRun("pick", "pick started", 1, score, happened=False, calls=0, accepted=[])
    result = chaos_result(Runs(hung=hangs, frozen=[frozen]), BenchParameters())
    metrics = result.metrics
    assert metrics["hangs_that_never_came"] == Rate(2, 3)
    assert metrics["tasks_lost"] == Rate(1, 1)
    assert [(row["what"], row["runs"]) for row in result.rows] == [("for a while: disk full", 1)]


def test_a_base_is_left_moving_only_where_the_simulation_said_so() -> None:
    scores = [
        Score(status=None, delivered=False, grasps=0, releases=0, disturbed=[], at_rest=at_rest)
        for at_rest in (True, False, None)
    ]
    hangs = [HangRun("disk full", "fingers closing", 1, score, happened=True) for score in scores]
    assert chaos_result(Runs(hung=hangs), BenchParameters()).metrics["left_moving"] == Rate(1, 2)


def test_a_case_whose_fault_never_came_is_reported_and_counts_in_no_other_figure() -> None:
    case = Case(name="hang", seat="pick", turn=3, times=None, seed=1, timeout_s=60.0, job=False)
    hit = Outcome(case, hits=1, state=State.FAILED, codes=["UNKNOWN"], words="the gateway at x")
    missed = Outcome(case, hits=0, state=State.SUCCEEDED, codes=[], words="")
    metrics = faults_result(0, [], [hit, missed], 0, []).metrics
    assert metrics["cases_without_fault"] == Rate(1, 2)
    assert metrics["right_end"] == Rate(1, 1)


def test_a_fault_that_never_comes_is_given_up_and_named() -> None:
    quota, played = Quota(wanted=3), 0
    for case in cases(0):
        if quota.filled:
            break
        if quota.wants(case.name):
            quota.note(case.name, hit=case.name != "hang")
            played += 1
    assert played == 3 * (len(FAULTS) - 1) + MISSES
    assert quota.given_up == ["hang"]
    result = faults_result(0, [], [], 0, quota.given_up)
    assert result.metrics["faults_given_up"] == 1.0
    assert any("in a row: hang" in note for note in result.notes)
