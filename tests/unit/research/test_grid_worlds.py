"""The discrete worlds: rules, collisions, renderings that lose nothing, instances that can be solved."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from quartet_research.planners.grid_worlds import (
    PUBLISHED_ROBOTS,
    WAIT,
    WORLDS,
    Box,
    BoxLift,
    BoxNet1,
    BoxNet2,
    IllegalPlanError,
    Robot,
    SizeError,
    StateError,
    UnknownWorldError,
    Warehouse,
    World,
    fewest_steps,
    from_state,
    make,
    reference,
)

SIZES = [(world, robots) for world, sizes in PUBLISHED_ROBOTS.items() for robots in sizes]
LIMIT = {"step_limit": 9}


@pytest.mark.parametrize(("world", "robots"), SIZES)
def test_every_instance_is_solved_by_its_reference_within_the_published_limit(world: str, robots: int) -> None:
    for seed in range(5):
        instance = make(world, robots, seed)
        assert len(instance.robots) == robots
        found = reference(instance, tries=5)
        for plan in found.plans:
            assert not instance.step(plan).collision
        assert instance.done
        assert found.bound <= found.steps == instance.steps <= instance.step_limit


@pytest.mark.parametrize("world", WORLDS)
def test_a_hundred_robots(world: str) -> None:
    instance = make(world, 100, 0)
    assert len(instance.robots) == 100
    assert instance.actions(instance.robots[-1])[-1] == WAIT


@pytest.mark.parametrize(("world", "robots"), SIZES)
def test_no_plan_is_shorter_than_the_bound(world: str, robots: int) -> None:
    """In any state of a good plan: the rest of that plan is one that solves it."""
    for seed in range(3):
        instance = make(world, robots, seed)
        plans = reference(instance, tries=5).plans
        for taken, plan in enumerate(plans):
            assert fewest_steps(instance) <= len(plans) - taken
            instance.step(plan)
        assert fewest_steps(instance) == 0


@pytest.mark.parametrize("world", WORLDS)
def test_text_and_json_tell_the_whole_state(world: str) -> None:
    instance = make(world, 8, 2)
    instance.step(reference(instance, tries=1).plans[0])
    assert from_state(json.loads(json.dumps(instance.state()))).state() == instance.state()
    told = type(instance).parse(instance.describe())
    assert told.describe() == instance.describe()
    assert [told.actions(robot) for robot in told.robots] == [instance.actions(robot) for robot in instance.robots]
    assert all(instance.describe_robot(robot).startswith(robot) for robot in instance.robots)


@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_is_one_instance_and_another_is_another(world: str) -> None:
    assert make(world, 8, 5).state() == make(world, 8, 5).state() != make(world, 8, 6).state()


def test_a_plan_is_the_same_in_every_process() -> None:
    """Python orders sets of strings otherwise in each process, so that a run that goes on would differ."""
    program = (
        "from quartet_research.planners.grid_worlds import WORLDS, good_step, make\n"
        "print([good_step(make(world, 8, seed), 1) for world in WORLDS for seed in range(4)])"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": str(number)}, capture_output=True, text=True, check=True, timeout=60,
        ).stdout
        for number in (1, 2, 3)
    }  # fmt: skip
    assert len(told) == 1


def test_bad_input_names_what_is_valid() -> None:
    with pytest.raises(UnknownWorldError, match="no world 'boxnet3'; valid: boxnet1, boxnet2, warehouse, boxlift"):
        make("boxnet3", 4, 0)
    with pytest.raises(SizeError, match="from 2 to 100"):
        make("boxlift", 101, 0)
    with pytest.raises(SizeError, match="one row"):
        make("boxnet1", 7, 0)
    with pytest.raises(StateError, match="'world' is 'x'"):
        from_state({"world": "x"})
    with pytest.raises(StateError, match="no state of boxnet1"):
        from_state({"world": "boxnet1", "shape": [2]})
    for world in WORLDS.values():
        with pytest.raises(StateError):
            world.parse("nothing of this kind")


@pytest.mark.parametrize("world", WORLDS)
def test_an_illegal_plan_changes_nothing(world: str) -> None:
    instance = make(world, 4, 0)
    before = instance.state()
    with pytest.raises(IllegalPlanError, match="There is no nobody"):
        instance.step({"nobody": WAIT})
    with pytest.raises(IllegalPlanError, match=r"cannot fly; available are: .*wait"):
        instance.step({instance.robots[0]: "fly"})
    assert instance.state() == before


def test_an_ended_episode_takes_no_step() -> None:
    instance = make("boxnet1", 4, 0)
    instance.step_limit = 1
    instance.step({})
    assert instance.ended
    assert not instance.done
    with pytest.raises(IllegalPlanError, match="ended after 1 steps"):
        instance.step({})


@pytest.mark.parametrize("world", WORLDS)
def test_a_plan_in_which_nobody_acts_is_a_complaint_and_a_legal_step(world: str) -> None:
    instance = make(world, 4, 0)
    for plan in ({}, {instance.robots[0]: WAIT}):
        assert instance.check(plan) == [("constraints", "No robot acts in it, and the task is not done.")]
        instance.step(plan)
    assert instance.steps == 2


def test_weights_and_capabilities_are_drawn_as_published() -> None:
    """A weight is the volume with Gaussian noise of a tenth; one in 20 differs by half of the volume in addition."""
    worlds = [make("boxlift", 10, seed) for seed in range(200)]
    drawn = [box for world in worlds if isinstance(world, BoxLift) for box in world.boxes.values()]
    boxes = [box for box in drawn if box.volume > 2]
    shares = np.array([box.weight / box.volume - 1 for box in boxes])
    odd = np.abs(shares) > 0.3
    assert 0.03 < odd.mean() < 0.07
    assert shares[~odd].std() == pytest.approx(0.1, abs=0.01)
    assert np.abs(shares[odd]).mean() == pytest.approx(0.5, abs=0.03)


def test_capabilities_are_raised_alike_until_they_lift_the_heaviest_box() -> None:
    beyond: list[float] = []
    for seed in range(50):
        world = BoxLift.generate(2, np.random.default_rng(seed), 20)
        heaviest = max(box.weight for box in world.boxes.values())
        strongest = max(world.lifters.values())
        assert sum(world.lifters.values()) >= heaviest
        if strongest > 7.5:
            beyond.append(sum(world.lifters.values()) - heaviest)
    # Each raise adds 0.5 W to both of them.
    assert 0.5 < max(beyond) < 2 * 0.5


def test_the_warehouse_of_four_robots_has_the_published_size() -> None:
    worlds = [world for seed in range(100) if isinstance(world := make("warehouse", 4, seed), Warehouse)]
    assert {(world.tracks, world.columns) for world in worlds} == {(3, 5)}
    assert np.mean([len(world.boxes) for world in worlds]) == pytest.approx(5, abs=0.5)
    assert any(robot.place is None for world in worlds for robot in world.where.values())


def collision(world: World, plan: dict[str, str]) -> str:
    result = world.step(plan)
    assert world.collision == result.collision
    assert world.ended or not result.collision
    return result.collision


def test_boxnet1_hands_a_box_on_and_puts_it_on_its_target() -> None:
    world = BoxNet1((1, 2), {(0, 0): ["blue", "red"]}, {(0, 1): ["blue"], (0, 0): ["red"]}, **LIMIT)
    assert world.actions("Agent[0.5, 0.5]") == (
        "move(box_blue, square[0.5, 1.5])",
        "move(box_red, target_red)",
        "move(box_red, square[0.5, 1.5])",
        "wait",
    )
    world.step({"Agent[0.5, 0.5]": "move(box_blue, square[0.5, 1.5])"})
    world.step({"Agent[0.5, 0.5]": "move(box_red, target_red)", "Agent[0.5, 1.5]": "move(box_blue, target_blue)"})
    assert world.done
    assert world.steps == 2


def test_boxnet2_two_boxes_on_a_corner_collide_and_a_corner_that_is_left_is_free() -> None:
    def world() -> BoxNet2:
        return BoxNet2((1, 2), {"blue": (0, 0), "red": (0, 2)}, {"blue": (0, 1), "red": (0, 0)}, **LIMIT)

    left, right = "Agent[0.5, 0.5]", "Agent[0.5, 1.5]"
    both = {left: "move(box_blue, corner[0, 1])", right: "move(box_red, corner[0, 1])"}
    assert collision(world(), both) == "two boxes at corner[0, 1]"
    one = world()
    assert not collision(one, {left: "move(box_blue, corner[0, 1])"})
    assert collision(one.copy(), {right: "move(box_red, corner[0, 1])"})
    moved = {left: "move(box_blue, corner[0, 0])", right: "move(box_red, corner[0, 1])"}
    assert not collision(one.copy(), moved)
    two_arms = {left: "move(box_blue, corner[1, 0])", right: "move(box_blue, target_blue)"}
    assert "move box_blue" in collision(one.copy(), two_arms)


def test_warehouse_robots_collide_at_a_place_and_at_a_box_but_not_in_the_target_region() -> None:
    where = {"agent0": Robot((0, 0)), "agent1": Robot((0, 2)), "agent2": Robot((1, 2))}
    world = Warehouse(2, 4, where, frozenset({(0, 2)}), **LIMIT)
    meet = {"agent0": "move right", "agent1": "move left"}
    assert collision(world.copy(), meet) == "2 robots at track_0, column 1"
    both = {"agent1": "pick box[0.5, 2]", "agent2": "pick box[0.5, 2]"}
    assert "pick box[0.5, 2]" in collision(world.copy(), both)
    world.step({"agent0": "move to the target region and drop", "agent1": "pick box[0.5, 2]"})
    assert "pick box[0.5, 2]" not in world.actions("agent2")
    for _ in range(2):
        assert not world.done
        world.step({"agent1": "move left"})
    world.step({"agent1": "move to the target region and drop"})
    assert world.done


def test_boxlift_tells_success_and_failure_and_hides_the_weight() -> None:
    world = BoxLift({"lifter0": 2.0, "lifter1": 1.0}, {"box0": Box(2.0, 2.5), "box1": Box(2.0, 1.0)}, **LIMIT)
    assert "2.5" not in world.describe()
    assert world.step({"lifter0": "lift box0"}).feedback == "box0 was not lifted by lifter0 (2.0W)."
    assert world.step({"lifter0": "lift box0", "lifter1": "lift box0"}).feedback == (
        "box0 was lifted by lifter0, lifter1 (3.0W)."
    )
    assert set(world.boxes) == {"box1"}
