"""Whatever a model does, nothing moves of an answer that cannot be read, and the work ends in words. The long form is
`quartet bench faults`."""

import itertools
import math

import pytest

from quartet_benchmarks.faults import FAULTS, Case, FaultyStack, cases, play
from quartet_benchmarks.faults.loops import LAST_TURN, SHORT_LIMIT_S, loop_cases
from quartet_scripted_model.misbehaviour import Kind

pytestmark = pytest.mark.timeout(300)

TASKS = [
    Case("truncated body", "orchestrator", turn=0, times=None, seed=1, timeout_s=200, job=True),
    Case("token limit", "pick", turn=1, times=None, seed=1, timeout_s=200, job=False),
    Case("reset", "approach", turn=1, times=1, seed=1, timeout_s=200, job=False),
]


async def test_no_fault_of_a_model_moves_the_robot_and_each_ends_for_its_reason(faulty: FaultyStack) -> None:
    outcomes = await faulty.loops(seed=1, runs=3)
    assert len(outcomes) == 3 * len(FAULTS)
    for outcome in outcomes:
        assert outcome.hits or outcome.case.limit_s == SHORT_LIMIT_S, outcome.row()
        assert outcome.motions == [], outcome.row()
        assert outcome.right, (outcome.row(), outcome.ending.reason)
        assert outcome.overrun_s < 60


@pytest.mark.parametrize("case", TASKS, ids=lambda case: case.name)
def test_a_task_with_such_a_model_ends(faulty: FaultyStack, case: Case) -> None:
    outcome = play(faulty.stack, faulty.plans, case)
    assert outcome.hits
    assert outcome.right, (outcome.row(), outcome.words)
    assert (outcome.motions, outcome.moved, outcome.false_success) == ([], False, False)
    assert math.isfinite(outcome.overrun_s)
    assert faulty.stack.died() == []


def test_every_kind_that_a_model_can_be_told_is_a_fault() -> None:
    """But for those that are no fault of form: an answer that is late or about nothing."""
    assert set(Kind) - {fault.kind for fault in FAULTS.values()} == {Kind.SLOW, Kind.HALLUCINATED_OBJECT}


def test_the_long_form_has_every_fault_in_every_seat() -> None:
    first = list(itertools.islice(cases(0), 4 * len(FAULTS)))
    assert {(case.name, case.seat) for case in first} == {
        (name, seat) for name in FAULTS for seat in ("pick", "orchestrator", "approach", "place")
    }
    assert first == list(itertools.islice(cases(0), 4 * len(FAULTS))), "by its seed"
    loops = list(loop_cases(0, 60))
    assert {case.turn for case in loops} == set(range(LAST_TURN + 1))
