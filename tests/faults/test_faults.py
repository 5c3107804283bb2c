"""Whatever a model answers, and whatever anybody sends: nothing moves of what cannot be read, and nothing crashes.

The long forms are `quartet bench faults` and `quartet bench mutations`.
"""

import itertools
import math
import random
from pathlib import Path

import pytest

from quartet_benchmarks import mutations
from quartet_benchmarks.faults import FAULTS, HABITS, MISREADINGS, Case, FaultyStack, Plan, cases, play
from quartet_benchmarks.faults.loops import LAST_TURN, SHORT_LIMIT_S, loop_cases
from quartet_benchmarks.faults.trial import lasting_cases
from quartet_benchmarks.mutations.mutate import Mutator
from quartet_contracts import State
from quartet_scripted_model.misbehaviour import Kind

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

MESSAGES = 2_000
TASKS = [
    Case("truncated body", "orchestrator", turn=0, times=None, seed=1, timeout_s=200, job=True),
    Case("token limit", "pick", turn=1, times=None, seed=1, timeout_s=200, job=False),
    Case("reset", "approach", turn=1, times=1, seed=1, timeout_s=200, job=False),
]


async def test_no_fault_of_a_model_moves_the_robot_and_each_ends_for_its_reason(faulty: FaultyStack) -> None:
    outcomes = await faulty.loops(seed=1, runs=3)
    assert len(outcomes) == 3 * len(FAULTS)
    for outcome in outcomes:
        # On a slow machine its time may be over before the fault comes.
        assert outcome.hits or outcome.overdue or outcome.case.limit_s == SHORT_LIMIT_S, outcome.row()
        assert outcome.motions == [], outcome.row()
        assert outcome.right, (outcome.row(), outcome.ending.reason)
        assert outcome.overrun_s < 120
    assert sum(outcome.hits > 0 for outcome in outcomes) > len(outcomes) / 2, "the faults are what ended them"


@pytest.mark.parametrize("case", TASKS, ids=lambda case: case.name)
def test_a_task_with_such_a_model_ends(faulty: FaultyStack, case: Case) -> None:
    outcome = play(faulty.stack, faulty.plans, case)
    assert outcome.hits
    assert outcome.right, (outcome.row(), outcome.words)
    assert (outcome.motions, outcome.moved, outcome.false_success) == ([], False, False)
    assert math.isfinite(outcome.overrun_s)
    assert faulty.stack.died() == []


@pytest.mark.parametrize("name", MISREADINGS)
def test_a_job_that_the_orchestrator_misreads_is_no_success(faulty: FaultyStack, name: str) -> None:
    outcome = play(faulty.stack, faulty.plans, Case(name, "orchestrator", 0, None, seed=1, timeout_s=300, job=True))
    assert (outcome.state, outcome.false_success) == (State.FAILED, False), outcome.words
    assert outcome.right, (outcome.row(), outcome.words)


@pytest.mark.parametrize("name", HABITS)
def test_a_habit_of_real_models_ends_as_it_should(faulty: FaultyStack, name: str) -> None:
    case = next(case for case in lasting_cases(1, HABITS) if case.name == name)
    outcome = play(faulty.stack, faulty.plans, case)
    assert outcome.hits
    assert outcome.right, (outcome.row(), outcome.words)
    assert (outcome.motions, outcome.false_success) == ([], False)


def test_every_kind_that_a_model_can_be_told_is_a_fault() -> None:
    """But for those that are no fault of form: an answer that is late or about nothing."""
    faults = (FAULTS | MISREADINGS | HABITS).values()
    assert set(Kind) - {fault.kind for fault in faults} == {Kind.SLOW, Kind.HALLUCINATED_OBJECT}


def test_the_long_form_has_every_fault_in_every_seat() -> None:
    first = list(itertools.islice(cases(0), 4 * len(FAULTS)))
    assert {(case.name, case.seat) for case in first} == {
        (name, seat) for name in FAULTS for seat in ("pick", "orchestrator", "approach", "place")
    }
    assert first == list(itertools.islice(cases(0), 4 * len(FAULTS))), "by its seed"
    loops = list(loop_cases(0, 60))
    assert {case.turn for case in loops} == set(range(LAST_TURN + 1))


async def test_mutated_messages_crash_nothing_and_move_nothing(faulty: FaultyStack, tmp_path: Path) -> None:
    faulty.plans.default = Plan()
    report = await mutations.play(faulty.stack, tmp_path, MESSAGES, seed=1, rounds=3, servers=("nav2", "perception"))
    assert sum(report.sent.values()) == MESSAGES
    assert min(report.sent.values()) >= 300
    assert report.crashes == []
    assert report.complaints == {}, "exceptions that nobody handled"
    assert report.failures == []
    assert report.motions == []
    assert report.works, "a sound request is still served"


def test_mutations_are_many_and_the_same_for_a_seed() -> None:
    message = {"op": "publish", "topic": "/odom", "msg": {"pose": {"x": 1.0, "y": [1, 2, 3]}, "name": "base"}}

    def some(seed: int) -> list[bytes]:
        mutator = Mutator(random.Random(seed))
        return [mutator.text(message) for _ in range(500)]

    assert some(1) == some(1)
    assert some(1) != some(2)
    assert len(set(some(1))) > 450
    assert message["msg"]["pose"]["y"] == [1, 2, 3], "the template stays as it is"
