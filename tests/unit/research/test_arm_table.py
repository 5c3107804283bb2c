"""Arms at one table: what they reach, what is refused with which reason, and what physics makes of a plan."""

import asyncio
import math

import mujoco
import pytest

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.result import BenchParameters
from quartet_research.planners import study, table_suite
from quartet_research.planners.arm_table import ARM_COUNTS, ArmTable, Layout, good_step, lower_bound
from quartet_research.planners.arm_table import world as world_module
from quartet_research.planners.arm_table.model import MARGIN, lay_table, touching_arms
from quartet_research.planners.arm_table.motion import plan_motion
from quartet_research.planners.arm_table.world import upright
from quartet_research.planners.grid_worlds import IllegalPlanError, SizeError, StateError
from quartet_research.planners.speakers import Faults, Speakers
from quartet_research.planners.trial import Trial, play
from quartet_teams import TEAMS, Window, make_team


def table(arms=3, **spots):
    """A table with a bowl and a box of each colour: `blue=("spot6", "spot7")`."""
    layout = Layout.of(arms)
    bowls = {colour: bowl for colour, (bowl, _) in spots.items()}
    boxes = {colour: upright(layout.spots[box], 0.0) for colour, (_, box) in spots.items()}
    return ArmTable(arms, bowls, boxes, step_limit=20)


@pytest.mark.parametrize("arms", ARM_COUNTS)
def test_every_arm_rests_clear_of_the_others_and_each_drawn_box_has_a_way(arms):
    scene = lay_table(arms, (("blue", (0.35, 0.4)),), {}, MARGIN)
    assert touching_arms(scene) is None
    scene.data.qpos[scene.qpos] = 0.0
    mujoco.mj_forward(scene.model, scene.data)
    assert touching_arms(scene) == ("arm1", "arm2"), "stretched out they meet"
    assert touching_arms(lay_table(arms, (("blue", (0.35, 0.4)),), {}, MARGIN)) is None
    for seed in range(20):
        world = ArmTable.generate(arms, seed)
        assert not world.done
        assert 1 <= lower_bound(world) < world.step_limit
        assert world.describe() == ArmTable.generate(arms, seed).describe()


@pytest.mark.slow
def test_a_box_is_carried_into_its_bowl():
    world = table(blue=("spot5", "spot4"))
    assert "move(box_blue, bowl_blue)" in world.actions("arm2")
    step = world.step({"arm2": "move(box_blue, bowl_blue)"})
    assert (step.feedback, step.collision) == ("", "")
    assert world.done
    assert math.dist(world.place("blue"), world.bowl("blue")) < 0.02


@pytest.mark.slow
def test_a_box_goes_from_hand_to_hand():
    """From the left end to the right one: no single arm reaches both."""
    world = table(blue=("spot7", "spot1"))
    assert lower_bound(world) == 3
    while not world.ended:
        assert world.step(good_step(world)).collision == ""
    assert (world.done, world.steps) == (True, 3)


def test_arms_that_would_meet_are_refused_with_the_reason_and_touch_when_they_do_it():
    """Both go to the middle between them at the same time."""
    world = table(blue=("spot1", "spot3"), red=("spot7", "spot10"))
    plan = {"arm1": "move(box_blue, bowl_blue)", "arm2": "move(box_red, spot5)"}
    ((_, complaint),) = world.check(plan)
    assert "arm1 and arm2 would come nearer than 3 cm" in complaint
    assert all(not world.check({arm: action}) for arm, action in plan.items()), "one after the other they may"
    with pytest.raises(IllegalPlanError, match="would come nearer"):
        world.step(plan)
    assert world.steps == 0
    assert "touched each other" in world._apply(plan).collision


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"arm9": "wait"}, "There is no arm9; the robots are arm1, arm2, arm3"),
        ({"arm1": "move(box_red, bowl_red)"}, "arm1 cannot move"),
        ({"arm1": "move(box_blue, spot10)", "arm2": "move(box_blue, spot5)"}, "arm1 and arm2 take the same box"),
        ({"arm1": "move(box_blue, spot10)", "arm2": "move(box_green, spot10)"}, "put a box on spot10"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(plan, reason):
    world = table(blue=("spot1", "spot3"), red=("spot7", "spot6"), green=("spot12", "spot4"))
    assert any(reason in complaint for _, complaint in world.check(plan)), world.check(plan)


def test_a_box_that_slips_is_told(monkeypatch):
    world = table(blue=("spot5", "spot4"))
    x, y = world.place("blue")
    # The fingers close beside it, on nothing.
    motions = {"arm2": plan_motion(world.layout, "arm2", (x, y + 0.06), 0.0, world.bowl("blue"), 0.07)}
    monkeypatch.setattr(world_module, "motions_of", lambda *_: motions)
    step = world.step({"arm2": "move(box_blue, bowl_blue)"})
    assert "arm2 did not bring box_blue to bowl_blue: it is at spot4" in step.feedback
    assert not world.done


def test_the_state_survives_text_and_json():
    world = ArmTable.generate(6, 4)
    assert ArmTable.from_state(world.state()).state() == world.state()
    assert ArmTable.parse(world.describe()).describe() == world.describe()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"arms": 4}, "4 arms"),
        ({"bowls": {"blue": "spot99"}}, "spot99"),
        ({"bowls": {"pink": "spot1"}}, "pink"),
        ({"boxes": {"blue": [0.0, 0.4]}}, "seven finite numbers"),
        ({"boxes": None}, "no state of armtable"),
    ],
)
def test_a_state_that_cannot_be_is_refused(change, reason):
    with pytest.raises(StateError, match=reason):
        ArmTable.from_state({**table(blue=("spot5", "spot4")).state(), **change})


def test_a_number_of_arms_that_is_not_defined_is_refused():
    with pytest.raises(SizeError, match="valid: 3, 6"):
        ArmTable.generate(4, 0)


def test_what_an_arm_does_not_reach_is_an_error():
    layout = Layout.of(3)
    with pytest.raises(MeasurementError, match="does not reach"):
        plan_motion(layout, "arm1", (1.75, 0.6), 0.0, (0.0, 0.4), 0.07)


@pytest.mark.slow
def test_a_team_sorts_the_boxes_by_its_prompts_alone():
    world = ArmTable.generate(3, 0)
    trial = asyncio.run(play(world, make_team("hmas2", world.name), Speakers(Faults(), seed=0), Window()))
    assert (trial.succeeded, trial.reason) == (True, "")
    assert trial.steps >= lower_bound(ArmTable.generate(3, 0))


def test_a_fault_rate_means_the_same_as_in_the_other_worlds(monkeypatch):
    drawn = []

    async def played(_world, _team, speakers, _window):
        drawn.append(speakers._rates)
        return Trial(True, 1, 1, 1, "", 0.0)

    monkeypatch.setattr(study, "play", played)
    result = table_suite.run(BenchParameters(episodes=1, progress=lambda _line: None))
    assert set(drawn) == {Faults.equal(rate) for rate in table_suite.FAULT_RATES}
    assert {row["robots"] for row in result.details} == set(ARM_COUNTS)
    assert {(row["team"], row["model"], row["success"]) for row in result.rows} == {
        (team, f"reference-speakers/{rate:g}", "2/2") for team in TEAMS for rate in table_suite.FAULT_RATES
    }
