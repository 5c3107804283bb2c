"""What unlike robots can do of a sentence, a call and a team's errand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from quartet_contracts import ApproachArguments, NextAction, PickArguments, PlaceArguments
from quartet_contracts.journal import RobotLeft, TeamErrands, TeamStep, TeamStepEnded
from quartet_orchestrator.tasks import TaskRunner, make_briefs
from quartet_orchestrator.tasks.abilities import refused, unable_to_follow, unable_to_move, unable_to_step
from quartet_orchestrator.tasks.errands import ErrandSplit, TeamState
from quartet_orchestrator.tasks.scene import HomeScene
from quartet_site import Reach, RobotFiles, SiteFile, load_robots
from quartet_site.resume import Band

DEPLOY = Path(__file__).parents[3] / "deploy"


def _with_a_high_shelf(site: SiteFile) -> SiteFile:
    data = site.model_dump(exclude_unset=True)
    look = {"colours": ["wood"], "shape": "surface", "size_m": [0.8, 0.4, 1.05]}
    data["surfaces"].append({"name": "high shelf", "area": "kitchen", "appearance": look})
    data["surfaces"].append({"name": "loft bench", "area": "loft", "appearance": look | {"size_m": [0.8, 0.4, 0.5]}})
    data["areas"].append(
        {"name": "loft", "entry": {"x": 9, "y": 9}, "outline": [[8, 8], [9, 8], [9, 9]], "step_m": 0.2}
    )
    return SiteFile.model_validate(data)


@pytest.fixture(scope="module")
def briefs():
    home = DEPLOY / "sites" / "home" / "site.yaml"
    files = {
        name: RobotFiles(robot_file=DEPLOY / "robots" / name / "robot.yaml", site_file=home)
        for name in ("lifter", "rover")
    }
    known = load_robots(files, files, None, None)
    site = _with_a_high_shelf(known["rover"].site)
    return make_briefs({name: type(one)(one.robot, site, resume=one.resume) for name, one in known.items()})


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("bring the pink tissue box to the desk", "0.100"),
        ("Put the red apple and the tennis ball into the toy basket", "0.074"),
        ("lege den green bowl auf den desk", "0.110"),
        ("take the yellow cereal box from the high shelf and leave it there", "1.05"),
        ("drive to the loft", "0.20"),
        ("bring the tennis ball to the loft", "0.20"),
        ("bring the tennis ball to the desk", ""),
        ("pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room", ""),
        ("go and look whether the pink tissue box is on the desk", ""),
        ("take a look at the pink tissue box", ""),
        ("get to the pink tissue box in the kitchen", ""),
        ("put the tennis ball, but don’t put the pink tissue box, on the desk", ""),
        ("put the tennis ball on the desk and the yellow banana on the high shelf", ""),
        ("drive to the kitchen", ""),
        ("put the frobnicator on the wardrobe", ""),
        ("put the tennis ball next to the pink tissue box on the desk", ""),
        ("put the tennis ball on the desk, but do not touch the pink tissue box", ""),
        ("put the tennis ball on the floor next to the high shelf", ""),
        ("put the pink tissue box next to the tennis ball on the desk", "0.100"),
    ],
)
def test_what_a_sentence_names_tells_whether_a_robot_can_do_it(briefs, sentence, number):
    told = unable_to_follow(briefs["rover"], sentence)
    assert (number in told) if number else not told


def approach(thing, action, area="kitchen"):
    return ApproachArguments(target_area=area, object_name=thing, next_action=action)


@pytest.mark.parametrize(
    ("arguments", "held", "told"),
    [
        (approach("pink tissue box", NextAction.PICK), "", "0.100 m wide"),
        (approach("pink tissue box", NextAction.LOOK), "", ""),
        (approach("yellow cereal box", NextAction.PICK), "", "picked up from it needs the finger tips at"),
        (approach("yellow cereal box", NextAction.PICK, "living room"), "", ""),
        (approach("high shelf", NextAction.SURFACE_PLACE), "yellow cereal box", "put on it needs"),
        (approach("kitchen counter", NextAction.SURFACE_PLACE), "yellow cereal box", ""),
        (approach("high shelf", NextAction.LOOK), "yellow cereal box", ""),
        (approach("loft", NextAction.LOOK, "loft"), "", "a step of 0.20 m"),
        (PickArguments(object_name="the tissues"), "", "0.100 m wide"),
        (PickArguments(object_name="pink tissue box"), "", "0.100 m wide"),
        (PlaceArguments(target_location="floor", object_name="tennis ball"), "", ""),
        (PlaceArguments(target_location="high shelf", object_name="yellow cereal box"), "", "1.05 m"),
    ],
)
def test_a_call_is_refused_before_anything_moves(briefs, arguments, held, told):
    sentence = "take the yellow cereal box from the high shelf"
    found = unable_to_step(briefs["rover"], arguments, sentence, held)
    assert (told in found) if told else not found


async def test_a_waiting_task_is_judged_once_however_often_a_robot_looks(briefs):
    asked: list[str] = []

    class Briefs(dict):
        def __getitem__(self, name):
            asked.append(name)
            return super().__getitem__(name)

    class Fleet:
        async def can_work(self, robot):
            return True

    runner = TaskRunner(SimpleNamespace(briefs=Briefs(briefs), fleet=Fleet()))
    task = SimpleNamespace(sentence="pick up the pink tissue box", step=None)
    found = [await runner._may_take(robot, task) for robot in ("rover", "lifter") * 3]
    assert found == [False, True] * 3
    assert asked == ["rover", "lifter"]
    on_floor = SimpleNamespace(arguments=approach("pink tissue box", NextAction.FLOOR_PLACE))
    step = SimpleNamespace(sentence="go to the pink tissue box to put something on the floor", step=on_floor)
    assert await runner._may_take("rover", step), "the step names what is near, not what is held"


@pytest.mark.parametrize(
    ("sentence", "able"),
    [
        ("Put the purple toy block on the high shelf", False),
        ("Pick up the purple toy block in the kitchen and place it on the high shelf in the kitchen", False),
        ("Take the purple toy block to the high shelf", False),
        ("Put the purple toy block on the high shelf next to the desk", False),
        ("Put the purple toy block on the high shelf from the desk", False),
        ("Bring me the purple toy block on the high shelf", True),
        ("Take the purple toy block from the high shelf to the desk", True),
        ("Put the purple toy block from the high shelf on the desk", True),
    ],
)
def test_a_target_is_told_from_where_a_thing_comes(briefs, sentence, able):
    brief = _reaching(briefs["rover"], pick=1.3, put=1.0)
    assert (not unable_to_follow(brief, sentence)) is able


def test_a_thing_may_be_picked_up_in_the_room_of_a_target_that_is_too_high_for_it(briefs):
    brief = _reaching(briefs["rover"], pick=1.0, put=1.3)
    pick = approach("tennis ball", NextAction.PICK)
    assert not unable_to_step(brief, pick, "pick up the tennis ball in the kitchen and place it on the high shelf")
    assert unable_to_step(brief, pick, "take the tennis ball from the high shelf to the desk")
    assert not unable_to_step(brief, pick, "take the tennis ball from the high shelf or the kitchen counter")


def test_a_drive_to_a_place_needs_no_reach(briefs):
    brief = _reaching(briefs["rover"], pick=1.0, put=1.0)
    assert unable_to_follow(brief, "return the tennis ball to the high shelf")
    assert not unable_to_follow(brief, "return to the high shelf")


@pytest.mark.parametrize(
    ("thing", "area", "target", "told"),
    [
        ("tennis ball", "anywhere", "desk", ""),
        ("pink tissue box", "kitchen", "desk", "0.100 m wide"),
        ("yellow cereal box", "kitchen", "high shelf", "put on it needs"),
        ("tennis ball", "loft", "desk", "a step of 0.20 m"),
        ("tennis ball", "kitchen", "loft bench", "a step of 0.20 m"),
    ],
)
def test_an_errand_asks_for_the_hand_the_reach_and_both_ways(briefs, thing, area, target, told):
    found = unable_to_move(briefs["rover"], thing, area, target)
    assert (told in found) if told else not found


def _reaching(brief, pick: float, put: float):
    """Return the brief of a robot that gets its fingers so high [m] where it picks up, and where it puts down."""
    at, robot = brief.setup.robot.approach.standoff_m, brief.setup.robot
    bands = [
        Band(height=(0, top), from_above=((where - 0.01, where + 0.01),))
        for where, top in ((at.pick, pick), (at.surface_place, put))
    ]
    resume = brief.setup.resume.model_copy(update={"reach": Reach(bearing=0, bands=bands)})
    return make_briefs({robot.name: type(brief.setup)(robot, brief.site, resume=resume)})[robot.name]


def test_the_refusal_says_who_can(briefs):
    def unable(brief):
        return unable_to_step(brief, PickArguments(object_name="pink tissue box"))

    told = refused(briefs, "rover", unable)
    assert told.startswith("rover is not able to do this: the pink tissue box is 0.100 m wide")
    assert told.endswith("rover grasps up to 0.072 m; lifter can do it")
    assert not refused(briefs, "lifter", unable)
    assert refused({"rover": briefs["rover"]}, "rover", unable).endswith("no other robot can")


def test_the_refusal_names_no_robot_of_another_home():
    robots, sites = DEPLOY / "robots", DEPLOY / "sites"
    files = {
        name: RobotFiles(robot_file=robots / name / "robot.yaml", site_file=sites / home / "site.yaml")
        for name, home in (("rover", "home"), ("lifter", "studio"))
    }
    apart = make_briefs(load_robots(files, files, None, None))
    box = PickArguments(object_name="pink tissue box")
    assert refused(apart, "rover", lambda brief: unable_to_step(brief, box)).endswith("no other robot can")


def _team(briefs, errands):
    def unable(robot, errand):
        return unable_to_move(briefs[robot], errand.thing, errand.area, errand.target)

    state = TeamState(ErrandSplit("tidy up", briefs["rover"]), list(briefs), unable)
    state.apply(TeamErrands(errands=errands))
    return state


def test_a_team_gives_each_robot_only_what_it_can_do(briefs):
    both = {"tennis ball": "kitchen -> desk", "pink tissue box": "kitchen -> dresser"}
    state = _team(briefs, both)
    ball, box = (state.errands[name].action for name in both)
    scene = HomeScene(state, ["lifter", "rover"], briefs["rover"])
    assert list(scene.actions("rover")) == [ball]
    assert sorted(scene.actions("lifter")) == sorted([ball, box])
    ((_, wrong),) = scene.check({"rover": box, "lifter": ball})
    assert wrong == (
        "rover is not able to move the pink tissue box: the pink tissue box is 0.100 m wide, and rover grasps up to "
        "0.072 m."
    )
    assert not scene.check({"rover": ball, "lifter": box})
    (told,) = [line for line in scene.describe().splitlines() if "not able" in line]
    assert told.startswith("rover is not able to move the pink tissue box: the pink tissue box is 0.100 m wide, and ")
    alone = HomeScene(state, ["rover"], briefs["rover"]).describe()
    assert alone.endswith("rover takes tennis ball"), "the lifter has neither left nor got an errand"
    state.apply(TeamStep(step=1, plan={"rover": ball}, tasks={"rover": "t1"}, stops={}))
    assert told in HomeScene(state, ["lifter"], briefs["rover"]).describe(), "the box is not left for the rover"


def test_the_estimate_leaves_to_the_able_robot_what_only_that_one_can_do(briefs):
    wide = ["pink tissue box", "green bowl", "blue book"]
    places = ["desk", "dresser", "tv stand", "nightstand"]
    things = [*wide, "tennis ball"]
    state = _team(briefs, {name: f"kitchen -> {place}" for name, place in zip(things, places, strict=True)})
    state.apply(TeamStep(step=1, plan={"lifter": state.errands["green bowl"].action}, tasks={"lifter": "t1"}, stops={}))
    scene = HomeScene(state, ["rover"], briefs["rover"])
    queues = scene._best.queues
    assert "tennis ball" in queues["rover"]
    assert not {*queues["rover"]} & {*wide}
    assert {*queues["lifter"]} >= {"pink tissue box", "blue book"}


def test_what_no_robot_can_do_is_given_up_with_the_numbers(briefs):
    state = _team(briefs, {"tennis ball": "kitchen -> tv stand", "pink tissue box": "kitchen -> desk"})
    assert [errand.thing for errand in state.open] == ["tennis ball", "pink tissue box"]
    state.apply(RobotLeft(robot="lifter", error_code="ROBOT_STOPPED", reason="stopped"))
    assert [errand.thing for errand in state.open] == ["tennis ball"]
    assert state.code("pink tissue box") == "ROBOT_UNABLE"
    assert "0.072 m" in state.no_robot(state.errands["pink tissue box"])
    assert "Given up: pink tissue box (ROBOT_UNABLE)" in state.describe()


def test_a_team_that_cannot_go_on_says_which_robots_are_left(briefs):
    state = _team(briefs, {"tennis ball": "kitchen -> tv stand"})
    assert state.stuck == "None of lifter, rover can go on with what is left."
    for robot in briefs:
        state.apply(RobotLeft(robot=robot, error_code="ROBOT_STOPPED", reason="stopped"))
    assert state.stuck == "No robot of the team is left."


def test_another_robot_tries_what_one_has_failed_at(briefs):
    state = _team(briefs, {"tennis ball": "kitchen -> tv stand", "pink tissue box": "kitchen -> desk"})
    ball, box = state.errands["tennis ball"], state.errands["pink tissue box"]

    def fail(step, robot, errand, holding):
        state.apply(TeamStep(step=step, plan={robot: errand.action}, tasks={robot: f"t{step}"}, stops={}))
        ended = TeamStepEnded(step=step, outcomes={robot: "NAV_DRIVE_FAILED"}, holding=holding)
        state.apply(ended)

    fail(1, "rover", ball, {})
    fail(2, "lifter", box, {})
    scene = HomeScene(state, ["lifter", "rover"], briefs["rover"])
    assert list(scene.actions("rover")) == []
    assert set(scene.actions("lifter")) == {ball.action, box.action}, "no other robot is able to move the box"
    told = "rover has failed to move the tennis ball, so lifter tries it."
    assert told in scene.describe()
    assert (told,) == tuple(text for _, text in scene.check({"rover": ball.action, "lifter": box.action}))
    assert "tennis ball" in scene._best.queues["lifter"]
    state.holding["rover"] = "tennis ball"
    assert list(HomeScene(state, ["rover"], briefs["rover"]).actions("rover")) == [ball.action]
    state.holding.clear()
    state.apply(RobotLeft(robot="lifter", error_code="ROBOT_STOPPED", reason="stopped"))
    assert list(HomeScene(state, ["rover"], briefs["rover"]).actions("rover")) == [ball.action]
