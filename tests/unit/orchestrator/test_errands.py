"""Checks of what a team's planner says: the list of errands, and the plan of a step."""

from pathlib import Path

import pytest

from quartet_contracts import TaskCode
from quartet_contracts.journal import RobotLeft, TeamErrands, TeamStep, TeamStepEnded
from quartet_orchestrator.tasks import make_briefs
from quartet_orchestrator.tasks.errands import MAX_ATTEMPTS, ErrandSplit, TeamState, park
from quartet_orchestrator.tasks.scene import HomeScene
from quartet_site import RobotSetup, load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SENTENCE = "bring the red coke can, the blue mug and the tennis ball where they belong"
ERRANDS = {
    "red coke can": "kitchen -> toy basket",
    "blue mug": "kids' room -> kitchen counter",
    "tennis ball": "anywhere -> toy basket",
}


SITE = load_site(HOME / "site.yaml")


def at(area):
    """Where a robot stands at the entry of an area."""
    entry = SITE.area(area).entry
    return entry.x, entry.y


def reasons(scene, plan):
    found = scene.check(plan)
    assert {stage for stage, _ in found} <= {"constraints"}
    return [text for _, text in found]


@pytest.fixture(scope="module")
def brief():
    return make_briefs({"ada": RobotSetup(load_robot(HOME / "robot.yaml"), load_site(HOME / "site.yaml"))})["ada"]


@pytest.fixture
def state(brief):
    made = TeamState(ErrandSplit(SENTENCE, brief))
    made.apply(TeamErrands(errands=ERRANDS))
    return made


@pytest.fixture
def complaints(state, brief):
    def check(**plan):
        said = {
            robot: state.errands[thing].action if thing in state.errands else thing for robot, thing in plan.items()
        }
        return " ".join(reasons(HomeScene(state, ["ada", "bob"], brief), said))

    return check


def test_a_list_of_errands_takes_names_and_aliases_of_the_site(brief):
    split = ErrandSplit(SENTENCE, brief)
    assert reasons(split, ERRANDS) == []
    assert [errand.action for errand in split.errands(ERRANDS).values()] == [
        "move(red coke can, kitchen, toy basket)",
        "move(blue mug, kids' room, kitchen counter)",
        "move(tennis ball, anywhere, toy basket)",
    ]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"red coke can": "the moon -> toy basket"}, "'red coke can': 'the moon -> toy basket' is not of the form"),
        ({"red coke can": "kitchen -> throne"}, "is not of the form"),
        ({"red coke can": "toy basket"}, "is not of the form"),
        ({"can, of worms": "kitchen -> toy basket"}, "is not of the form"),
        ({"thing that says open all the windows now": "kitchen -> toy basket"}, "at most 4 are allowed"),
    ],
)
def test_a_wrong_errand_is_refused_with_the_reason(brief, change, told):
    assert told in " ".join(reasons(ErrandSplit(SENTENCE, brief), {**ERRANDS, **change}))


def test_a_list_without_a_thing_that_the_task_names_is_refused(brief):
    some = {thing: way for thing, way in ERRANDS.items() if thing != "blue mug"}
    assert reasons(ErrandSplit(SENTENCE, brief), some) == ["The task names 'blue mug', which no errand carries."]
    assert reasons(ErrandSplit(SENTENCE, brief), {}) == ["There is no errand in it."]


def test_a_plan_without_conflict_passes(complaints):
    assert complaints(ada="blue mug", bob="tennis ball") == ""
    assert complaints(ada="red coke can") == "", "bob has to wait, for which there is time"


def test_a_plan_with_a_conflict_is_refused_with_the_reason(complaints):
    assert complaints(ada="red coke can", bob="red coke can") == "ada and bob would both take the red coke can."
    assert "both put something down at the toy basket" in complaints(ada="red coke can", bob="tennis ball")


def test_a_plan_of_other_names_or_of_nothing_is_refused(complaints):
    assert "There is no robot 'eve' that is free; valid: ada, bob." in complaints(eve="blue mug")
    assert "'fly(away)' is no action of ada" in complaints(ada="fly(away)")
    assert "No robot acts in it" in complaints()


def test_an_errand_that_fails_twice_is_given_up(state):
    action = state.errands["blue mug"].action
    for number in (1, 2):
        assert "blue mug" in [errand.thing for errand in state.open]
        state.apply(TeamStep(step=number, plan={"ada": action}, tasks={"ada": f"t{number}"}))
        state.apply(TeamStepEnded(step=number, outcomes={"ada": "PICK_FAILED"}))
    assert "blue mug" not in [errand.thing for errand in state.open]
    assert "Given up: blue mug (PICK_FAILED)" in state.describe()


def test_what_a_robot_does_counts_for_the_plan_of_the_others(state, brief):
    can, mug, ball = (state.errands[thing] for thing in ERRANDS)
    state.apply(TeamStep(step=1, plan={"ada": can.action}, tasks={"ada": "t1"}))
    scene = HomeScene(state, ["bob"], brief)
    assert "Being moved: red coke can (by ada)" in scene.describe()
    # The ball goes to the can's place.
    assert list(scene.actions("bob")) == [mug.action]
    assert reasons(scene, {"bob": mug.action}) == []
    assert "ada and bob would both put something down" in " ".join(reasons(scene, {"bob": ball.action}))
    assert "is no action of bob" in " ".join(reasons(scene, {"bob": can.action}))
    state.apply(TeamStepEnded(step=1, outcomes={"ada": "NONE"}))
    scene = HomeScene(state, ["bob"], brief)
    assert list(scene.actions("bob")) == [mug.action, ball.action]
    assert reasons(scene, {}) != []
    # Ada stands in the kids' room: the mug is in the same room.
    assert HomeScene(state, ["ada"], brief, {"ada": at("kids' room")}).actions("ada")[0] == mug.action
    assert state.done == {"red coke can"}


def test_a_robot_that_holds_a_thing_brings_that_one_first(state, brief):
    can, mug, _ = (state.errands[thing] for thing in ERRANDS)
    state.apply(TeamStep(step=1, plan={"ada": can.action}, tasks={"ada": "t1"}))
    state.apply(TeamStepEnded(step=1, outcomes={"ada": "PLACE_REACH_EXCEEDED"}, holding={"ada": can.thing}))
    scene = HomeScene(state, ["ada", "bob"], brief, {"ada": at("kids' room"), "bob": at("kitchen")})
    assert list(scene.actions("ada")) == [can.action]
    assert can.action not in scene.actions("bob")
    assert "ada holds the red coke can." in scene.describe()
    assert scene.describe_robot("ada") == "You stand in the kids' room and hold the red coke can."
    assert reasons(scene, {"ada": mug.action}) == ["ada holds the red coke can: it brings that to its place first."]
    assert reasons(scene, {"bob": can.action}) == ["ada holds the red coke can: it brings that to its place first."]
    assert reasons(scene, {"ada": can.action}) == []
    state.apply(RobotLeft(robot="ada", error_code="ROBOT_STOPPED", reason="a person"))
    assert can.action in HomeScene(state, ["bob"], brief).actions("bob"), "nobody else would try it again"


def test_a_task_is_stopped_only_if_a_stopped_robot_could_do_what_is_left(state):
    """The mug is for no robot that was stopped: one is unable, the other one is absent."""
    state.robots, state.done = ["ada", "bob", "eve"], {"red coke can", "tennis ball"}
    state.unable = lambda robot, _: "it has no arm" if robot == "ada" else ""
    assert state.task_code == TaskCode.NONE
    state.apply(RobotLeft(robot="ada", error_code="ROBOT_STOPPED", reason="a person"))
    state.apply(RobotLeft(robot="bob", error_code="ROBOT_ABSENT", reason="ROBOT_STOPPED is not why"))
    assert state.task_code == TaskCode.NONE
    state.apply(RobotLeft(robot="eve", error_code="ROBOT_STOPPED", reason="a person"))
    assert state.task_code == TaskCode.STOPPED
    state.attempts["blue mug"] = MAX_ATTEMPTS
    assert state.task_code == TaskCode.NONE


def test_of_two_that_hold_what_does_not_go_together_one_may_wait(state, brief):
    can, _, ball = (state.errands[thing] for thing in ERRANDS)
    state.done.add("blue mug")
    plan = {"ada": can.action, "bob": ball.action}
    for step, (robot, action) in enumerate(plan.items(), 1):
        state.apply(TeamStep(step=step, plan={robot: action}, tasks={robot: f"t{step}"}))
        thing = state.by_action(action).thing
        state.apply(TeamStepEnded(step=step, outcomes={robot: "PLACE_FAILED"}, holding={robot: thing}))
    scene = HomeScene(state, ["ada", "bob"], brief, {"ada": at("kitchen"), "bob": at("kitchen")})
    assert "both put something down at the toy basket" in " ".join(reasons(scene, plan))
    assert reasons(scene, {"ada": can.action}) == []


def test_what_is_given_up_keeps_its_robot_from_nothing(state, brief):
    can, mug, ball = (state.errands[thing] for thing in ERRANDS)
    for number in (1, 2):
        state.apply(TeamStep(step=number, plan={"ada": can.action}, tasks={"ada": f"t{number}"}))
        state.apply(TeamStepEnded(step=number, outcomes={"ada": "PLACE_FAILED"}, holding={"ada": can.thing}))
    assert list(HomeScene(state, ["ada"], brief).actions("ada")) == [mug.action, ball.action]


def test_ways_on_which_robots_would_meet_are_refused_also_where_one_has_begun_before(state, brief):
    """Ada brings the can from the kitchen to the kids' room, where a mug lies that goes to the kitchen."""
    errands = {
        "red coke can": "kitchen -> desk",
        "blue mug": "kids' room -> kitchen counter",
        "tennis ball": "kids' room -> kids' nightstand",
    }
    state.apply(TeamErrands(errands=errands))
    can, mug, ball = state.errands.values()
    where = {"ada": at("dining area"), "bob": at("kids' room")}
    met = "ada (kitchen to desk) and bob (kids' room to kitchen counter) would meet on their ways. With it, all"
    scene = HomeScene(state, ["ada", "bob"], brief, where)
    assert met in " ".join(reasons(scene, {"ada": can.action, "bob": mug.action}))
    assert reasons(scene, {"ada": can.action, "bob": ball.action}) == []
    state.apply(TeamStep(step=1, plan={"ada": can.action}, tasks={"ada": "t1"}))
    scene = HomeScene(state, ["bob"], brief, where)
    assert met in " ".join(reasons(scene, {"bob": mug.action}))
    assert reasons(scene, {"bob": ball.action}) == []
    scene = HomeScene(state, ["bob"], brief, {**where, "ada": at("kids' room")}, {"ada"})
    assert reasons(scene, {"bob": mug.action}) == [], "ada has come"


def test_a_plan_by_which_all_is_moved_much_later_is_refused_with_the_better_one(state, brief):
    _, mug, ball = (state.errands[thing] for thing in ERRANDS)
    scene = HomeScene(state, ["ada", "bob"], brief, {"ada": at("kids' room"), "bob": at("kitchen")})
    assert "Metres from ada to where it would begin: red coke can 6.2, blue mug 0.0" in scene.describe()
    better = "ada takes blue mug, then tennis ball; bob takes red coke can"
    assert f"Soonest done, by an estimate (106 s): {better}" in scene.describe()
    (told,) = reasons(scene, {"bob": mug.action})
    assert told == (f"With it, all would be moved after about 121 s; it would be after about 106 s if {better}."), (
        "the mug is where ada stands"
    )
    assert reasons(scene, {"ada": mug.action, "bob": ball.action}) == []
    state.apply(TeamErrands(errands={"blue mug": "kids' room -> kitchen counter"}))
    assert reasons(HomeScene(state, ["ada", "bob"], brief, {"bob": at("kitchen")}), {"bob": mug.action}) == [
        "With it, all would be moved after about 67 s; it would be after about 54 s if ada takes blue mug; bob waits."
    ], "where ada stands is not known: it may be there"


def test_two_robots_exchange_errands_that_begin_with_each_other(state, brief):
    state.apply(TeamErrands(errands={"red coke can": "kitchen -> tv stand", "blue mug": "living room -> bookshelf"}))
    can, mug = state.errands.values()
    scene = HomeScene(state, ["ada", "bob"], brief, {"ada": at("kitchen"), "bob": at("living room")})
    (told,) = reasons(scene, {"ada": mug.action, "bob": can.action})
    assert told == (
        "ada (living room to bookshelf) and bob (kitchen to tv stand) would meet on their ways. With it, all would be "
        "moved after about 78 s; it would be after about 55 s if ada takes red coke can; bob takes blue mug."
    )
    assert reasons(scene, {"ada": can.action, "bob": mug.action}) == []


def test_the_last_errand_waits_for_the_robot_that_will_be_where_it_begins(state, brief):
    """Bob is free in the kids' room; ada is about to put something down in the kitchen, where the last thing is."""
    state.apply(TeamErrands(errands={"red cup": "dining area -> kitchen counter", "blue mug": "kitchen -> tv stand"}))
    cup, mug = state.errands.values()
    state.apply(TeamStep(step=1, plan={"ada": cup.action}, tasks={"ada": "t1"}))
    where = {"ada": at("kitchen"), "bob": at("kids' room")}
    scene = HomeScene(state, ["bob"], brief, where, {"ada"})
    assert scene.describe().endswith("(63 s): bob waits; ada later takes blue mug")
    assert reasons(scene, {}) == []
    # It has not even picked it up: bob is there sooner.
    scene = HomeScene(state, ["bob"], brief, {**where, "ada": at("living room")})
    assert scene.describe().endswith("(77 s): bob takes blue mug")
    assert reasons(scene, {"bob": mug.action}) == []
    (told,) = reasons(scene, {})
    assert told.endswith("if bob takes blue mug.")


def test_a_robot_without_an_errand_waits_in_a_parking_pose_of_its_own(state, brief):
    def parking(robot, **positions):
        return HomeScene(state, [robot], brief, positions).parking(robot)

    assert parking("ada", ada=at("kitchen")) is None, "there are errands left, and it is in nobody's way"
    open_ones, state.errands = state.errands, {}
    assert parking("ada", ada=at("kitchen")) == "kitchen"
    assert parking("ada", ada=at("dining area")) == "hallway", "the nearest, where its own area has none"
    spot = next(pose for pose in SITE.parking if pose.x > 10)
    assert parking("ada", ada=at("kitchen"), bob=(spot.x, spot.y)) == "hallway"
    assert parking("ada", ada=(spot.x + 0.1, spot.y)) is None, "it stands in one"
    assert parking("ada", bob=at("kitchen")) is None, "nobody knows where it stands"
    state.apply(TeamStep(step=1, plan={"bob": park("kitchen")}, tasks={"bob": "t1"}))
    assert parking("ada", ada=at("kitchen"), bob=at("kitchen")) == "hallway", "the other one is on its way there"
    state.errands = open_ones
    assert ("bob" in state.parked, state.carrying, len(state.open)) == (True, {}, 3)
    state.apply(TeamStepEnded(step=1, outcomes={"bob": "NONE"}))
    assert (state.running, state.past, state.done) == ({}, [], set())


def test_a_robot_parks_where_no_other_one_has_to_go(state, brief):
    state.apply(TeamErrands(errands={"blue mug": "kitchen -> tv stand", "red cup": "hallway -> desk"}))
    mug, cup = state.errands.values()
    state.apply(TeamStep(step=1, plan={"bob": mug.action}, tasks={"bob": "t1"}))
    stands = {"ada": at("kitchen"), "bob": at("hallway")}
    assert HomeScene(state, ["ada"], brief, stands).parking("ada") == "hallway", "bob has to go to the kitchen"
    assert HomeScene(state, ["ada"], brief, {**stands, "ada": at("kids' room")}).parking("ada") is None
    state.apply(TeamStep(step=2, plan={"eve": cup.action}, tasks={"eve": "t2"}))
    assert HomeScene(state, ["ada"], brief, stands).parking("ada") == "parents' bedroom", "the hallway is needed, too"


def test_nobody_parks_while_the_others_put_down_what_they_have_brought(state, brief):
    state.apply(TeamErrands(errands={"blue mug": "kitchen -> tv stand"}))
    state.apply(TeamStep(step=1, plan={"bob": state.errands["blue mug"].action}, tasks={"bob": "t1"}))

    def parking(ada, bob, picked=()):
        return HomeScene(state, ["ada"], brief, {"ada": at(ada), "bob": at(bob)}, set(picked)).parking("ada")

    assert parking("kids' room", "living room", ["bob"]) is None, "bob puts it down already and drives nowhere"
    assert parking("living room", "living room", ["bob"]) == "living room", "it may stand before bob"
    assert parking("kids' room", "kitchen", ["bob"]) == "kids' room", "bob may come by"
    assert parking("kitchen", "kitchen", ["bob"]) == "kitchen", "bob does not go back there"
    assert parking("living room", "kitchen", ["bob"]) == "hallway", "bob has to go there"
    assert parking("living room", "kitchen") == "hallway", "bob has not even picked it up"
