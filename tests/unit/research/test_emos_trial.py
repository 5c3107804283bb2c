"""Whole episodes of EMOS in a building, with bodies that need no package."""

import math
from dataclasses import replace

import pytest

from quartet_research.emos import trial as trials
from quartet_research.emos.generate import Made
from quartet_research.emos.goals import AnyAt, At
from quartet_research.emos.instance import Instance
from quartet_research.emos.proof import Proof
from quartet_research.emos.speakers import Rates, Speakers
from quartet_research.emos.stage import EpisodeStage
from quartet_research.emos.study import STUDY
from quartet_research.emos.trial import AT_OBJECT, AT_RECEPTACLE, PLACED
from quartet_research.harness.study import Case
from quartet_simulation.buildings import Stand, Thing
from quartet_teams import SilentError
from quartet_teams.emos import MOST_REPLANS, ROBOT_FUNCTIONS, Call, CallError

pytestmark = pytest.mark.slow
FLOOR = "ground floor"
INSTANCE = Instance(
    family="mobility",
    seed=0,
    building="bungalow",
    robots={"agent_0": "rover", "agent_1": "lifter"},
    starts={"agent_0": Stand(FLOOR, 3.0, 1.5), "agent_1": Stand(FLOOR, 3.0, 4.5)},
    things={
        "red tin": Thing(FLOOR, (3.85, 2.6, 0.81)),
        "blue mat": Thing(FLOOR, (0.4, 1.4, 0.86), "spot"),
        "black jar": Thing(FLOOR, (6.6, 4.3, 0.51)),
    },
    goals=[At(thing="red tin", place="blue mat"), AnyAt(thing="black jar", within_m=2)],
    subtasks={"red tin": [0], "black jar": [1]},
    step_limit=3000,
)
PAIRS = {(robot, at): True for robot in INSTANCE.robots for at in range(2)}
MADE = Made(INSTANCE, Proof(PAIRS, [("agent_0", "agent_1")], {}, None, True, 3000, 0.0))


@pytest.fixture(autouse=True)
def made(monkeypatch):
    monkeypatch.setattr(trials, "made_of", lambda _task, _seed: MADE)
    trials.play_baseline.cache_clear()


async def play(framework, model=None, **about):
    speakers = model or Speakers(Rates(), 0)
    return await STUDY.play(Case({"framework": framework}, {"task": "mobility", "seed": 0, **about}), speakers, len)


@pytest.mark.parametrize("framework", ["emos", "faithful"])
async def test_a_team_does_its_task_and_is_counted(framework):
    played = await play(framework)
    assert (played.succeeded, played.reason, played.rounds, played.refusals) == (True, "", 1, 0)
    assert played.subgoals == played.reached == (AT_OBJECT, AT_RECEPTACLE, PLACED, AT_OBJECT)
    assert 0 < played.discussion_tokens < played.tokens
    assert 0 < played.steps < INSTANCE.step_limit
    assert not played.false_success


async def test_baselines_play_on_the_same_stage():
    team, oracle = await play("emos"), await play("oracle")
    assert (oracle.succeeded, oracle.calls, oracle.steps) == (True, 0, team.steps)
    alone = await play("all-to-one", robot="lifter")
    assert alone.steps > oracle.steps


class Silent:
    """Speakers of whom some do not answer."""

    def __init__(self, *silent):
        self.silent, self.speakers = silent, Speakers(Rates(), 0)

    async def __call__(self, participant, prompt):
        if participant in self.silent:
            raise SilentError("gone")
        return await self.speakers(participant, prompt)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Silent("leader"), "the leader is silent: gone"),
        (Silent("agent_0", "agent_1"), "dropped out: agent_"),
        (Speakers(Rates(malformed=1.0), 0), "no assignment: leader gave no valid plan in 3 answers"),
        (Speakers(Rates(forgotten=1.0), 0), "no assignment: leader gave no valid plan"),
    ],
)
async def test_a_group_that_falls_apart_is_a_failed_trial_with_a_reason(model, reason):
    played = await play("emos", model)
    assert played.reason.startswith(reason)
    assert (played.succeeded, played.claimed) == (False, False)


async def test_a_forgotten_goal_is_a_false_success():
    speakers = [Speakers(Rates(forgotten=0.5), seed) for seed in range(6)]
    played = [await play("emos", one) for one in speakers]
    assert any(one.false_success and one.reason == "goals missed" for one in played)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            Call("nav_to_obj", {"target_obj": "kitchen"}),
            "target_obj is 'kitchen', which is no object or place; valid: red",
        ),
        (
            Call("pick", {"target_obj": "blue mat"}),
            "target_obj is 'blue mat', which is no object; valid: red tin, black",
        ),
        (
            Call("place", {"target_obj": "red tin", "target_location": "black jar"}),
            "target_location is 'black jar', which is no place; valid: blue mat",
        ),
    ],
)
def test_a_call_with_an_unknown_name_is_refused_before_time_passes(call, said):
    stage = EpisodeStage(INSTANCE)
    with pytest.raises(CallError, match=said):
        stage.begin("agent_0", call)
    stage.begin("agent_0", Call("reset_arm"))
    (outcome,) = stage.step()
    assert (str(outcome.call), stage.steps) == ("reset_arm()", 1)


def test_a_robot_observes_how_far_the_thing_of_its_last_call_is_and_whether_it_sees_it():
    high = {**INSTANCE.things, "red tin": Thing(FLOOR, (3.9, 0.23, 2.6))}
    stage = EpisodeStage(INSTANCE.model_copy(update={"things": high}))
    assert stage.observe("agent_0").endswith("hold nothing.")
    for function, thing in (("nav_to_obj", "red tin"), ("pick", "red tin"), ("nav_to_obj", "blue mat")):
        stage.begin("agent_0", Call(function, {"target_obj": thing}))
        (outcome,) = stage.step()
        away = stage._household.distance("agent_0", thing)
        assert f"from your base to '{thing}' is {away:.2f} m" in stage.observe("agent_0")
        assert ("no camera of yours sees it" in stage.observe("agent_0")) == (thing == "red tin")
        assert ("2.60 m high" in outcome.reason) == (function == "pick")
    stage.begin("agent_0", Call("nav_to_obj", {"target_obj": "black jar"}))
    stage.step()
    assert stage.observe("agent_0").endswith(" m, and your cameras see it.")


def test_a_robot_does_not_observe_what_another_has_taken_away():
    stage = EpisodeStage(INSTANCE)
    for robot, *calls in (("agent_0", "nav_to_obj", "pick"), ("agent_1", "nav_to_obj")):
        for function in calls:
            stage.begin(robot, Call(function, {"target_obj": "red tin"}))
            (outcome,) = stage.step()
            assert not outcome.reason
    assert stage.observe("agent_0").endswith("and hold red tin.")
    stage.begin("agent_0", Call("nav_to_obj", {"target_obj": "blue mat"}))
    stage.step()
    stand, (x, y, z) = stage._household.where("agent_1"), INSTANCE.things["red tin"].position
    known = math.dist((stand.x, stand.y, stand.height), (x, y, z))
    assert abs(stage._household.distance("agent_1", "red tin") - known) > 0.1
    said = f"'red tin' is {known:.2f} m if it is where the scene says; no camera of yours sees it."
    assert stage.observe("agent_1").endswith(said)


def test_functions_of_a_body_without_an_arm():
    stage = EpisodeStage(INSTANCE)
    assert list(stage.functions("agent_0")) == list(ROBOT_FUNCTIONS)
    robot = stage._household.robots["agent_0"]
    robot.body = replace(robot.body, arm=None)
    assert list(stage.functions("agent_0")) == ["nav_to_obj", "wait", "send_request"]


async def test_a_group_plans_again_while_robots_still_wait(monkeypatch):
    high = {**INSTANCE.things, "red tin": Thing(FLOOR, (3.9, 0.23, 2.6))}
    made = replace(MADE, instance=INSTANCE.model_copy(update={"things": high}))
    monkeypatch.setattr(trials, "made_of", lambda _task, _seed: made)
    played = await play("no-reflection")
    assert played.rounds == 1 + MOST_REPLANS
    assert played.reason.startswith("pick failed")
    assert (played.reached, played.claimed) == ((AT_OBJECT, AT_OBJECT), False)
