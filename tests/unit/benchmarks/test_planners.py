"""Reference speakers solve every world without faults, and what they do wrong shows."""

import pytest

from quartet_benchmarks.planners.published import PUBLISHED
from quartet_benchmarks.planners.speakers import Faults, Speakers
from quartet_benchmarks.planners.suite import run
from quartet_benchmarks.planners.trial import Trial, play
from quartet_benchmarks.result import BenchParameters, Rate
from quartet_grid_worlds import PUBLISHED_ROBOTS, WORLDS, make, reference
from quartet_teams import TEAMS, HistoryMode, Window, make_team

SOUND = Faults()


async def trial(
    world: str, team: str, faults: Faults = SOUND, seed: int = 0, mode: HistoryMode = HistoryMode.STATE_ACTION
) -> Trial:
    instance = make(world, PUBLISHED_ROBOTS[world][0], seed)
    return await play(instance, make_team(team, world), Speakers(faults, seed), Window(mode))


@pytest.mark.parametrize("team", TEAMS)
@pytest.mark.parametrize("world", WORLDS)
async def test_without_faults_every_team_solves_every_world(world: str, team: str) -> None:
    for seed in range(2):
        played = await trial(world, team, seed=seed)
        assert played.succeeded, played.reason
        steps = reference(make(world, PUBLISHED_ROBOTS[world][0], seed)).steps
        assert steps <= played.steps <= 2 * steps


@pytest.mark.parametrize(
    ("faults", "reason"), [(Faults(malformed=1.0), "NoPlanError: planner"), (Faults(wrong_action=1.0), "")]
)
async def test_faults_show(faults: Faults, reason: str) -> None:
    played = await trial("boxnet2", "cmas", faults)
    assert not played.succeeded
    assert played.reason.startswith(reason)


async def test_a_needless_objection_costs_calls() -> None:
    agreed, objected = await trial("boxnet1", "hmas2"), await trial("boxnet1", "hmas2", Faults(objection=1.0))
    assert objected.succeeded
    assert objected.calls > agreed.calls


async def test_who_remembers_no_failure_lifts_in_vain() -> None:
    """As in the paper, where HMAS-2 without history never finished BoxLift."""
    played = [await trial("boxlift", "cmas", seed=seed, mode=HistoryMode.NONE) for seed in range(12)]
    remembered = [await trial("boxlift", "cmas", seed=seed) for seed in range(12)]
    assert all(one.succeeded for one in remembered)
    assert not all(one.succeeded for one in played)
    assert {one.reason for one in played} <= {"", "not done in 20 steps"}


def test_the_short_suite_has_the_metrics_and_the_published_table() -> None:
    result = run(BenchParameters(short=True, progress=lambda line: None))
    assert {f"success_rate_{team}" for team in TEAMS} < set(result.metrics)
    for team in TEAMS:
        rate = result.metrics[f"success_rate_{team}"]
        assert isinstance(rate, Rate)
        assert rate.successes == rate.n == 8
    assert result.metrics["env_steps_per_s_min"] > 0
    assert set(PUBLISHED) == {(world, team) for world in WORLDS for team in TEAMS}
    assert len(result.details) == 8 * 4 * 2
