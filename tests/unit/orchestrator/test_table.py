"""What a RoCo team sees of a table in a deployment, what it may plan there, and how the scripted model plans."""

from pathlib import Path

import pytest

from quartet_agent_runtime import ToolOutcome
from quartet_contracts.journal import TeamErrands, TeamStep, TeamStepEnded
from quartet_contracts.tools.perception import Detection
from quartet_orchestrator.tasks.briefs import make_briefs
from quartet_orchestrator.tasks.errands import ErrandSplit
from quartet_orchestrator.tasks.table import DETECT, GRIPPER, TableScene, TableState, View, observe
from quartet_scripted_model.policies.table_team import answer
from quartet_site import RobotSetup, SiteFile, load_robot
from quartet_teams import Answer, Discussion, NoPlanError
from quartet_teams.roco import Past, Roco, parse_reply

TABLETOP = Path(__file__).parents[3] / "deploy" / "sites" / "tabletop"
FEET = {"ur5": (0.0, 1.0), "panda": (1.2, -1.0)}
"""x of each foot on the map [m], and the direction that it faces along x."""
PLACES = {
    "yellow square": (0.4, 0.2),
    "cyan square": (0.6, -0.16),
    "magenta square": (0.6, 0.16),
    "green square": (0.8, -0.2),
}


@pytest.fixture(scope="module")
def briefs():
    surface = {"area": "table", "appearance": {"colours": ["red"], "shape": "surface", "size_m": [0.16, 0.16, 0.75]}}
    top = {"area": "table", "appearance": {"colours": ["wood"], "shape": "surface", "size_m": [1.6, 1.5, 0.75]}}
    block = {"appearance": {"colours": ["red"], "shape": "box", "size_m": [0.05, 0.05, 0.05]}}
    area = {"name": "table", "entry": {"x": 0, "y": 0, "yaw": 0}, "outline": [[-1, -1], [2, -1], [2, 1], [-1, 1]]}
    site = SiteFile.model_validate(
        {
            "name": "tabletop",
            "areas": [area],
            "surfaces": [*({"name": name, **surface} for name in PLACES), {"name": "table top", **top}],
            "containers": [],
            "objects": [{"name": name, **block} for name in ("red block", "blue block")],
        }
    )
    robots = {name: load_robot(TABLETOP / file) for name, file in (("ur5", "ur5.yaml"), ("panda", "robot.yaml"))}
    return make_briefs({name: RobotSetup(robot, site) for name, robot in robots.items()})


def detection(robot, name, x, y, z=0.78):
    foot, facing = FEET[robot]
    base = (facing * (x - foot), facing * y, z)
    return Detection(
        label=name, score=1.0, box_xyxy=(0, 0, 1, 1), camera="front", position_base=base, position_map=(x, y, z)
    )


def view(robot, things, held="", **unreachable):
    seen = {name: detection(robot, name, *at) for name, at in {**PLACES, **things}.items() if name != held}
    return View(seen, held, {name.replace("_", " "): why for name, why in unreachable.items()})


@pytest.fixture
def state(briefs):
    split = ErrandSplit("put the red block on the green square and the blue block on the yellow square", briefs["ur5"])
    state = TableState(split)
    state.apply(
        TeamErrands(errands={"red block": "anywhere -> green square", "blue block": "anywhere -> yellow square"})
    )
    return state


def scene(state, briefs, things, held=None, **of_ur5):
    held = held or {}
    views = {robot: view(robot, things, held.get(robot, ""), **(of_ur5 if robot == "ur5" else {})) for robot in FEET}
    return TableScene(state, briefs, views)


def complaints(scene, **actions):
    lines = [f"NAME {robot} ACTION {actions.get(robot, 'WAIT')}" for robot in scene.robots]
    return scene.check(parse_reply("\n".join(["EXECUTE", *lines]), scene))


START = {"red block": (0.4, -0.2), "blue block": (0.8, 0.2)}


def test_a_plan_passes_or_is_refused_at_the_stage_that_says_why(state, briefs):
    here = scene(state, briefs, START)
    assert complaints(here, ur5="PICK red block", panda="PICK blue block") == []
    assert here.forms["PLACE"].targets == tuple(PLACES), "not somewhere on the whole table"
    assert complaints(here)[0] == ("constraints", "No robot acts in it.")
    (stage, text), *_ = complaints(here, ur5="PICK red block", panda="PICK red block")
    assert (stage, text) == ("constraints", "ur5 and panda would both take the red block.")
    assert complaints(here, panda="PICK red block") == [
        ("reach", "panda does not reach the red block: 0.82 m from its foot, at most 0.7 m.")
    ]
    blocked = scene(state, briefs, START, red_block="no free joint positions")
    assert complaints(blocked, ur5="PICK red block") == [("ik", "ur5: no free joint positions")]
    near = scene(state, briefs, {"red block": (0.6, -0.05), "blue block": (0.6, 0.05)})
    (stage, text), *_ = complaints(near, ur5="PICK red block", panda="PICK blue block")
    assert stage == "collision"
    assert "0.10 m apart" in text
    assert complaints(near, ur5="PICK red block") == []
    lost = scene(state, briefs, {"blue block": (0.6, 0.05)})
    assert complaints(lost, ur5="PICK red block") == [("reach", "ur5 does not see the red block.")]


def test_two_are_not_put_down_at_one_place(state, briefs):
    both = scene(state, briefs, {}, {"ur5": "red block", "panda": "blue block"})
    (stage, text), *_ = complaints(both, ur5="PLACE red block cyan square", panda="PLACE blue block cyan square")
    assert (stage, text) == ("constraints", "ur5 and panda would both put something down at the cyan square.")
    assert complaints(both, ur5="PLACE red block cyan square", panda="PLACE blue block magenta square") == []


def test_a_robot_reads_what_it_observes_and_nothing_of_the_other(state, briefs):
    views = {
        "ur5": view("ur5", {"red block": (0.61, -0.1)}),
        "panda": view("panda", {"blue block": (0.8, 0.2)}, "blue block"),
    }
    here = TableScene(state, briefs, views)
    mine = here.describe_robot("ur5")
    assert "- red block on the cyan square at (0.61, -0.10): you reach it" in mine
    assert "- green square at (0.80, -0.20): ur5 does not reach the green square: 0.82 m from its foot" in mine
    assert "blue block" not in mine
    assert mine.startswith("Your gripper is empty.")
    assert here.describe_robot("panda").startswith("You hold the blue block.")
    assert here.held("panda") == ["blue block"]


def step(state, number, plan, codes):
    state.apply(TeamStep(step=number, plan=plan, tasks={robot: f"task-{robot}" for robot in plan}))
    for robot, code in codes.items():
        state.apply(TeamStepEnded(step=number, outcomes={robot: code}))


def test_a_delivery_is_done_at_its_target_and_open_again_once_picked_up(state):
    step(state, 1, {"ur5": "PICK red block"}, {"ur5": "NONE"})
    step(state, 2, {"ur5": "PLACE red block cyan square"}, {"ur5": "NONE"})
    assert state.done == set()
    step(state, 3, {"panda": "PLACE red block green square"}, {"panda": "PLACE_PLAN_FAILED"})
    assert state.done == set()
    step(state, 4, {"panda": "PLACE red block green square"}, {"panda": "NONE"})
    assert state.done == {"red block"}
    assert [one.thing for one in state.open] == ["blue block"]
    step(state, 5, {"panda": "PICK red block"}, {"panda": "NONE"})
    assert state.done == set()
    assert state.rounds[3] == ["panda: PLACE red block green square: failed (PLACE_PLAN_FAILED)"]


def test_prompts_have_one_round_for_each_joint_plan_and_name_deliveries_that_are_done(state, briefs):
    assert "Done" not in scene(state, briefs, START).rules
    both = {"ur5": "PICK red block", "panda": "PICK blue block"}
    step(state, 1, both, {"panda": "NONE", "ur5": "PICK_PLAN_FAILED"})
    step(state, 2, {"ur5": "PLACE red block green square"}, {"ur5": "NONE"})
    assert state.rounds == {
        1: ["panda: PICK blue block: done", "ur5: PICK red block: failed (PICK_PLAN_FAILED)"],
        2: ["ur5: PLACE red block green square: done"],
    }
    assert "Done: red block.\n" in scene(state, briefs, START).rules


def test_what_a_gripper_holds_follows_from_its_own_actions(state):
    step(state, 1, {"ur5": "PICK red block"}, {"ur5": "NONE"})
    step(state, 2, {"ur5": "PLACE red block cyan square"}, {"ur5": "PLACE_DROP_VERIFY_FAILED"})
    step(state, 3, {"ur5": "PICK blue block"}, {"ur5": "PICK_HOLDING_ALREADY"})
    assert state.grasped == {"ur5": "red block"}, "if the gripper holds anything, it is still that"
    step(state, 4, {"ur5": "PICK blue block"}, {"ur5": "NONE"})
    assert state.grasped == {"ur5": "blue block"}
    step(state, 5, {"ur5": "PLACE blue block cyan square"}, {"ur5": "NONE"})
    step(state, 6, {"panda": "PICK blue block"}, {"panda": "UNKNOWN"})
    assert state.grasped == {"panda": "blue block"}


def test_a_task_has_a_last_step(state):
    for number in range(1, 21):
        assert state.open
        step(state, number, {"ur5": "PICK red block"}, {"ur5": "NONE"})
    assert state.open == []
    assert "Given up: red block (UNKNOWN)" in state.describe()


def servers(detections, gripper):
    """Return what asks a robot's servers, which answer so."""
    answers = {DETECT: {"ok": True, "detections": detections}, GRIPPER: {"ok": True, "state": gripper}}

    async def ask(tool, arguments):
        if tool in answers:
            return ToolOutcome(answers[tool])
        near = arguments["position"][0] < 0.5
        return ToolOutcome({"ok": near, "error_code": "NONE" if near else "OUT_OF_REACH", "message": "no way"})

    return ask


async def test_an_observation_is_what_cameras_and_gripper_tell(briefs):
    seen = [
        detection("ur5", "red block", 0.4, 0.0),
        detection("ur5", "cyan square", 0.6, 0.0),
        detection("ur5", "cat", 0.3, 0),
    ]
    in_hand = detection("ur5", "blue block", 0.3, 0.0).model_copy(update={"in_gripper": True})
    told = [one.model_dump(mode="json") for one in (*seen, in_hand)]
    holding = await observe(servers(told, "HOLDING"), briefs["ur5"], "")
    assert set(holding.seen) == {"red block", "cyan square"}, "what the site does not know is left out"
    assert (holding.held, dict(holding.unreachable)) == ("blue block", {"cyan square": "no way"})
    empty = await observe(servers(told, "EMPTY"), briefs["ur5"], "blue block")
    assert empty.held == "", "the gripper's own sensors decide"
    unknown = await observe(servers(told[:3], "HOLDING"), briefs["ur5"], "blue block")
    assert unknown.held == "blue block", "what it held last, where no camera recognises it"
    assert (await observe(servers("broken", "EMPTY"), briefs["ur5"], "")).seen == {}


async def test_a_robot_whose_cameras_fail_says_why(state, briefs):
    asked = []

    async def ask(tool, _arguments):
        asked.append(tool)
        return ToolOutcome({"ok": False, "error_code": "TIMEOUT", "message": "no picture"})

    views = {"ur5": await observe(ask, briefs["ur5"], ""), "panda": view("panda", START)}
    assert asked == [DETECT, DETECT, GRIPPER], "the cameras are asked twice"
    assert TableScene(state, briefs, views).describe_robot("ur5").endswith("You see: TIMEOUT: no picture")


async def test_scripted_speakers_hand_over_what_one_of_them_cannot_bring(state, briefs):
    """They know their prompts alone; here each action succeeds."""
    where: dict[str, tuple[float, float]] = dict(START)
    held: dict[str, str] = {}
    past, rounds = Past(), 0

    async def model(_participant, prompt):
        return Answer(answer(prompt) or "")

    while state.open:
        rounds += 1
        discussion = Discussion(model)
        decision = await Roco().decide(scene(state, briefs, where, held), past, discussion)
        plan = {}
        for robot, action in decision.plan.items():
            if action.verb == "PICK":
                held[robot] = action.object
                plan[robot] = str(action)
            elif action.verb == "PLACE":
                where[held.pop(robot)] = PLACES[action.target]
                plan[robot] = str(action)
        step(state, rounds, plan, dict.fromkeys(plan, "NONE"))
        past.add_executed(decision.plan, decision.chat)
    assert rounds <= 7
    assert where == {"red block": PLACES["green square"], "blue block": PLACES["yellow square"]}


async def test_speakers_that_name_an_unknown_thing_get_no_plan(state, briefs):
    async def model(_participant, _prompt):
        return Answer("EXECUTE\nNAME ur5 ACTION PICK green cat\nNAME panda ACTION WAIT")

    with pytest.raises(NoPlanError, match="no valid object"):
        await Roco().decide(scene(state, briefs, START), Past(), Discussion(model))
