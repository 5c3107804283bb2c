"""Subtasks of a group of unlike robots: what is refused, what begins next, and what its prompts say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from quartet_contracts.journal import TeamErrands, TeamStep, TeamStepEnded, TeamSubtasks
from quartet_orchestrator.tasks import make_briefs
from quartet_orchestrator.tasks.abilities import unable_to_move
from quartet_orchestrator.tasks.errands import ErrandSplit
from quartet_orchestrator.tasks.group import GroupState, SubtaskChecker, problem_of
from quartet_orchestrator.tasks.scene import HomeScene
from quartet_site import load_robots
from quartet_teams import MalformedPlanError

DEPLOY = Path(__file__).parents[3] / "deploy"
SITE = DEPLOY / "sites" / "home" / "site.yaml"
ROBOTS = ("rover", "lifter")
SENTENCE = "bring the red coke can, the pink tissue box and the tennis ball where they belong"
ERRANDS = {
    "red coke can": "kitchen -> toy basket",
    "pink tissue box": "parents' bedroom -> desk",
    "tennis ball": "anywhere -> toy basket",
}
CAN = "move(red coke can, kitchen, toy basket)"
BOX = "move(pink tissue box, parents' bedroom, desk)"
BALL = "move(tennis ball, anywhere, toy basket)"


@pytest.fixture(scope="module")
def briefs():
    setups = {name: load_robots([name], {}, DEPLOY / "robots" / name / "robot.yaml", SITE)[name] for name in ROBOTS}
    return make_briefs(setups)


@pytest.fixture
def state(briefs):
    def unable(robot, errand):
        return unable_to_move(briefs[robot], errand.thing, errand.area, errand.target)

    made = GroupState(ErrandSplit(SENTENCE, briefs["rover"]), ROBOTS, unable)
    made.apply(TeamErrands(errands=ERRANDS))
    return made


@pytest.fixture
def scene(state, briefs):
    entry = briefs["rover"].site.area("kitchen").entry
    return lambda *robots: HomeScene(state, robots or ROBOTS, briefs["rover"], {"rover": (entry.x, entry.y)})


def ended(step, **codes):
    return TeamStepEnded(step=step, outcomes=codes, reasons={robot: f"it was {code}" for robot, code in codes.items()})


def begun(step, **plan):
    return TeamStep(step=step, plan=plan, tasks=dict.fromkeys(plan, f"t{step}"))


@pytest.mark.parametrize("spelled", [f"{CAN}; {BALL}", f" {CAN.upper()};{BALL.replace(', ', ',')}.", f"{CAN}; {BALL};"])
def test_a_subtask_is_a_list_of_errands_however_it_is_spelled(state, spelled):
    plan = {"rover": spelled, "lifter": BOX}
    checker = SubtaskChecker(state)
    assert checker.check(plan) == []
    assert checker.read(plan) == {"rover": [CAN, BALL], "lifter": [BOX]}


@pytest.mark.parametrize(
    ("rover", "lifter", "told"),
    [
        (
            f"{CAN}; {BALL}; {BOX}",
            "Nothing to do",
            "rover is not able to move the pink tissue box: the pink",
        ),
        (f"{CAN}; {BALL}", "nothing to do.", f"No robot has {BOX}."),
        (f"{CAN}; {BALL}", f"{BOX}; {CAN}", f"{CAN} is there twice, of rover and lifter; give it to one robot."),
        (f"{CAN}; {CAN}; {BALL}", BOX, f"{CAN} is there twice, of rover and rover"),
    ],
)
def test_what_the_rules_refuse_is_refused_with_the_reason(state, rover, lifter, told):
    ((stage, reason),) = SubtaskChecker(state).check({"rover": rover, "lifter": lifter})
    assert stage == "constraints"
    assert reason.startswith(told)


def test_words_that_are_no_errand_are_refused_with_the_valid_ones(state):
    plan = {"rover": f"{CAN}; juggle", "lifter": BOX}
    told = f"'juggle' of rover is no errand; valid: {CAN}; {BOX}; {BALL}."
    assert SubtaskChecker(state).check(plan) == [("parse", told)]
    with pytest.raises(MalformedPlanError, match="'juggle' of rover is no errand"):
        SubtaskChecker(state).read(plan)


def test_a_robot_brings_what_it_holds_first_and_another_tries_what_it_has_failed_at(state):
    state.apply(begun(1, rover=CAN, lifter=BOX))
    state.apply(ended(1, lifter="NONE").model_copy(update={"holding": {}}))
    state.apply(ended(1, rover="PLACE_FAILED").model_copy(update={"holding": {"rover": "red coke can"}}))
    check = SubtaskChecker(state).check
    assert check({"rover": f"{CAN}; {BALL}", "lifter": "Nothing to do"}) == []
    ((_, told),) = check({"rover": f"{BALL}; {CAN}", "lifter": "Nothing to do"})
    assert told == f"rover holds the red coke can: {CAN} comes first in its subtask."
    state.holding.clear()
    ((_, told),) = check({"rover": f"{CAN}; {BALL}", "lifter": "Nothing to do"})
    assert told == "rover has failed to move the red coke can, so lifter tries it."


def test_robots_begin_what_goes_together_in_the_order_of_their_subtasks(state, scene):
    assert state.next_errands(scene()) == {}
    state.apply(TeamSubtasks(subtasks={"rover": [CAN], "lifter": [BALL, BOX]}, agreed=True, rounds=1))
    assert state.next_errands(scene()) == {"rover": CAN, "lifter": BOX}, "both cannot put into the basket at once"
    state.apply(begun(1, rover=CAN, lifter=BOX))
    assert state.next_errands(scene()) == {}
    state.apply(ended(1, lifter="NONE"))
    assert state.next_errands(scene("lifter")) == {}, "the rover is still on its way to the basket"
    state.apply(ended(1, rover="PICK_FAILED"))
    assert state.next_errands(scene()) == {"lifter": BALL}, "what failed waits until the group plans again"
    assert state.happened == (
        f"lifter: {BOX}: done\nrover: {CAN}: PICK_FAILED\nThe red coke can is not moved: it was PICK_FAILED"
    )


def test_events_of_a_journal_bring_the_same_state_back(state, scene, briefs):
    events = [
        TeamErrands(errands=ERRANDS),
        TeamSubtasks(subtasks={"rover": [CAN], "lifter": [BOX, BALL]}, agreed=True, rounds=2),
        begun(1, rover=CAN, lifter=BOX),
        ended(1, rover="NONE"),
    ]
    again = GroupState(state.split, ROBOTS, state.unable)
    for event in events:
        again.apply(event)
    assert (again.discussions, again.subtasks) == (1, {"rover": [], "lifter": [BALL]})
    assert again.running.keys() == {"lifter"}


def test_prompts_have_the_numbers_that_decide(state, scene, briefs):
    problem = problem_of(state, scene(), briefs)
    assert problem.robots == ["rover", "lifter"]
    assert f"{CAN}\n{BOX}\n{BALL}" in problem.task
    numbers = json.loads(problem.scene.splitlines()[-1])
    assert numbers["objects_description"]["red coke can"]["drive"] == {"rover": 0.0}
    assert numbers["agent_description"] == {
        "rover": {"region": "kitchen", "holds": ""},
        "lifter": {"region": "", "holds": ""},
    }
    desk = numbers["places_description"]["desk"]
    for profile in problem.profiles:
        own, able = json.loads(profile.resume), briefs[profile.name].setup.abilities
        widest = own["manipulation"]["widest_grasp"]
        for thing, known in numbers["objects_description"].items():
            wide = bool(able.no_hold(briefs["rover"].site.object(thing)))
            assert (known["width"] > widest) is wide
        assert desk["hand_height"]["pink tissue box"][profile.name] > desk["height"]
        assert profile.role == able.robot.description
        assert not any(digit in profile.summary.replace(profile.name, "") for digit in "0123456789")


def test_a_place_that_a_robot_cannot_enter_is_infinitely_far(state, briefs):
    site = briefs["rover"].site
    areas = [area.model_copy(update={"step_m": 0.3}) if area.name == "kids' room" else area for area in site.areas]
    steep = site.model_copy(update={"areas": areas})
    high = {name: replace(brief, setup=replace(brief.setup, site=steep)) for name, brief in briefs.items()}
    problem = problem_of(state, HomeScene(state, ROBOTS, high["rover"]), high)
    numbers = json.loads(problem.scene.splitlines()[-1])
    assert numbers["places_description"]["desk"]["horizontal_distance"] == {"rover": "inf", "lifter": "inf"}
