"""Whatever is killed, sleeps or is told again in the middle of a job: it is done, once. The short form of
`quartet bench chaos`, part by part."""

import itertools

import pytest
import redis

from quartet_benchmarks.chaos import SHORT_FROZEN, SHORT_REPEATS, SmallWorld
from quartet_benchmarks.chaos.crashes import GROUPS, MOMENTS, SINGLES, Crash, crashes, play, short_crashes
from quartet_benchmarks.chaos.frozen_holders import play_frozen
from quartet_benchmarks.chaos.hangs import CLOCKS, EDGES, PASSING, VANISHED, play_hang
from quartet_benchmarks.chaos.redis_proxy import Kind
from quartet_benchmarks.chaos.repeats import COPIES, play_repeated
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import ToolCalled

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

STORM = list(short_crashes(0))


@pytest.mark.parametrize("crash", STORM, ids=lambda crash: "-".join(c.victims[0] for c in crash))
def test_every_kind_of_process_is_killed_and_the_job_is_done_once(
    deployment: SmallWorld, crash: tuple[Crash, ...]
) -> None:
    outcome = play(deployment.stack, crash, seed=1)
    assert len(outcome.killed_at) == len(crash), "every moment came"
    assert outcome.score.succeeded, outcome.score.status.report if outcome.score.status else "it did not end"
    assert outcome.score.delivered
    assert (outcome.score.grasps, outcome.score.releases) == (1, 1)
    if any("orchestrator" in one.victims for one in crash):
        assert outcome.resumed_s, "somebody had to go on in its place"


@pytest.mark.parametrize(("who", "moment"), SHORT_FROZEN)
def test_who_slept_past_its_lease_moves_nothing_more(deployment: SmallWorld, who: str, moment: str) -> None:
    frozen = play_frozen(deployment.stack, deployment.redis, who, moment, seed=2)
    assert frozen.happened
    assert frozen.calls > 0
    assert frozen.accepted == []
    assert frozen.score.succeeded
    assert (frozen.score.grasps, frozen.score.releases) == (1, 1)


@pytest.mark.parametrize(("trouble", "moment"), list(zip(PASSING, itertools.cycle(EDGES[::-1]), strict=False)))
def test_what_hangs_for_a_while_costs_time_only(deployment: SmallWorld, trouble: str, moment: str) -> None:
    hung = play_hang(deployment, trouble, moment, seed=4)
    assert hung.happened
    assert hung.score.succeeded, hung.score.status.report if hung.score.status else "it did not end"
    assert hung.score.delivered
    assert (hung.score.grasps, hung.score.releases) == (1, 1)


@pytest.mark.parametrize(
    ("trouble", "moment"),
    # `quartet bench chaos` plays each of them at both moments.
    [
        *zip(VANISHED, itertools.cycle(EDGES), strict=False),
        *zip(list(CLOCKS)[:4], itertools.cycle(EDGES), strict=False),
    ],
)
def test_whatever_vanishes_and_whatever_a_clock_says_the_end_is_honest(
    deployment: SmallWorld, trouble: str, moment: str
) -> None:
    """The task may fail, since it has a limit of time; it says so, and nothing is done twice."""
    hung = play_hang(deployment, trouble, moment, seed=4)
    assert hung.happened
    assert not hung.score.lost
    assert not hung.score.false_success
    assert hung.score.double_motions == 0
    assert hung.score.at_rest


def test_an_arm_that_was_halted_low_goes_up_before_it_goes_aside(deployment: SmallWorld) -> None:
    """The way to another pose went through a can that stands beside."""
    crash = Crash(("place", "moveit"), "fingers opening", MOMENTS["fingers opening"])
    outcome = play(deployment.stack, (crash,), seed=6)
    assert outcome.happened
    assert outcome.score.succeeded
    assert outcome.score.disturbed == []


def test_a_spin_during_which_nav2_is_started_again_is_settled(deployment: SmallWorld) -> None:
    def spins(event: JournalEvent) -> bool:
        return isinstance(event.event, ToolCalled) and event.event.tool == "nav2__spin_robot"

    outcome = play(deployment.stack, (Crash(("nav2",), "spinning", spins),), seed=6)
    assert outcome.happened
    assert outcome.score.succeeded, outcome.score.status.report if outcome.score.status else "it did not end"
    assert (outcome.score.grasps, outcome.score.releases) == (1, 1)
    assert outcome.score.at_rest


@pytest.mark.parametrize("canceled_at", SHORT_REPEATS)
def test_a_job_whose_messages_come_three_times_is_done_once(deployment: SmallWorld, canceled_at: str) -> None:
    repeated = play_repeated(deployment.stack, deployment.redis, seed=3, canceled_at=canceled_at)
    assert repeated.right, repeated.row()
    assert repeated.refused == []
    kinds = set(Kind) if canceled_at else set(Kind) - {Kind.CANCEL}
    assert {kind for kind, count in repeated.copied.items() if count >= COPIES} == kinds
    if canceled_at:
        assert repeated.score.status is not None
        assert repeated.score.status.state is State.CANCELED


def test_the_store_keeps_what_it_has_acknowledged(deployment: SmallWorld) -> None:
    with redis.Redis.from_url(deployment.stack.redis_url) as store:
        kept = store.config_get("append*") | store.config_get("maxmemory-policy")
    assert kept.items() >= {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}.items()


def test_the_long_form_kills_everything_at_every_edge() -> None:
    jobs = list(itertools.islice(crashes(0), 2 * len(SINGLES + GROUPS) * len(MOMENTS)))
    pairs = {(crash.victims, crash.moment) for job in jobs for crash in job}
    assert set(itertools.product(SINGLES + GROUPS, MOMENTS)) <= pairs
    stormy = {victim for job in STORM for crash in job for victim in crash.victims}
    assert stormy == {"orchestrator", "pick", "place", "nav2", "moveit", "gateway", "redis"}, "every kind of process"
    first, again = (
        [[(c.victims, c.moment) for c in job] for job in itertools.islice(crashes(3), 20)] for _ in range(2)
    )
    assert first == again, "by its seed"
