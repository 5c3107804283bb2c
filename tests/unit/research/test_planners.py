"""Reference speakers solve every world without faults, and what they do wrong shows."""

import pytest

from quartet_benchmarks.result import BenchParameters, Rate
from quartet_research.planners.grid_worlds import PUBLISHED_ROBOTS, WORLDS, make, reference
from quartet_research.planners.published import PUBLISHED
from quartet_research.planners.speakers import Faults, Speakers
from quartet_research.planners.suite import run
from quartet_research.planners.trial import Trial, play
from quartet_teams import PLANNER, TEAMS, Answer, HistoryMode, Window, make_team

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


async def test_who_remembers_no_failure_lifts_in_vain_more_often() -> None:
    forgot = [await trial("boxlift", "cmas", seed=seed, mode=HistoryMode.NONE) for seed in range(12)]
    remembered = [await trial("boxlift", "cmas", seed=seed) for seed in range(12)]
    assert all(one.succeeded for one in (*forgot, *remembered))
    assert sum(one.steps for one in forgot) > sum(one.steps for one in remembered)


@pytest.mark.parametrize("world", WORLDS)
async def test_without_faults_nobody_objects(world: str) -> None:
    """Planner and critics judge by the same rules, so that only faults make them differ."""
    speakers, judged = Speakers(SOUND, 1), list[str]()

    async def ask(participant: str, prompt: str) -> Answer:
        answer = await speakers(participant, prompt)
        if participant != PLANNER:
            judged.append(answer.text)
        return answer

    size = PUBLISHED_ROBOTS[world][1]
    assert (await play(make(world, size, 1), make_team("hmas2", world), ask, Window())).succeeded
    assert set(judged) == {"I Agree"}


async def test_who_ends_a_discussion_in_which_nobody_would_act_proposes_a_plan() -> None:
    """A fault makes the only robot with something to do say that it waits; the others have nothing to add."""
    played = [
        await play(make("boxnet1", 4, seed), make_team("dmas"), Speakers(Faults(wrong_action=0.5), seed), Window())
        for seed in range(12)
    ]
    assert not [one.reason for one in played if one.reason.startswith("NoPlanError")]


async def test_lifters_without_a_box_help_the_others() -> None:
    """A hundred lifters leave a prompt no room for the past; boxes heavier than they look are lifted, too."""
    for seed in (3, 6):
        instance = make("boxlift", 100, seed)
        steps = reference(instance, tries=1).steps
        played = await play(instance, make_team("cmas"), Speakers(SOUND, seed), Window())
        assert played.succeeded, played.reason
        assert played.steps <= 1.5 * steps


async def says(text: str, team: str) -> Trial:
    async def model(participant: str, prompt: str) -> Answer:
        return Answer(text, 10, 2)

    return await play(make("boxnet1", 4, 0), make_team(team, "boxnet1"), model, Window())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Let them do what they like.", "there is no JSON object"),
        ("{}", "No robot acts in it, and the task is not done."),
        ('{"Agent[0.5, 0.5]": "wait"}', "No robot acts in it"),
        ('{"Agent[0.5, 0.5]": "wait", "Agent[0.5, 0.5]": "jump"}', "has two actions"),
        ('{"Agent[0.5, 0.5]": ["wait"]}', "an action is a string"),
    ],
)
async def test_a_model_without_a_usable_plan_fails_its_trial_with_the_reason(text: str, why: str) -> None:
    played = await says(text, "cmas")
    assert not played.succeeded
    assert played.reason.startswith("NoPlanError: planner gave no valid plan in 7 answers")
    assert why in played.reason
    assert (played.steps, played.calls, played.tokens) == (0, 7, 84)


async def test_a_discussion_without_an_end_lets_nobody_act_and_the_next_begins() -> None:
    """As in the code of the paper."""
    prompts: list[str] = []

    async def model(participant: str, prompt: str) -> Answer:
        prompts.append(prompt)
        return Answer("PROCEED")

    played = await play(make("boxnet1", 4, 0), make_team("dmas"), model, Window())
    assert (played.succeeded, played.steps, played.calls) == (False, 30, 30 * 4 * 4)
    assert played.reason == "not done in 30 steps: in 30 of them the robots did not agree"
    assert "Nobody acted: no robot said EXECUTE in 4 rounds of 4 robots." in prompts[16]


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
