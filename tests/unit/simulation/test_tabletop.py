"""The Panda at its table: kinematics, grasps by friction, the nine tasks and what counts as their success."""

import math

import numpy as np
import pytest

from quartet_research.malmm.arm import TabletopArm
from quartet_simulation.robot import panda
from quartet_simulation.tabletop import (
    TABLE_Z,
    TASKS,
    CollisionError,
    NoPlacementError,
    Tabletop,
    UnknownObjectError,
    UnknownTaskError,
    UnreachableError,
)
from quartet_simulation.tabletop.body import TableBody
from quartet_simulation.tabletop.kinematics import top_down
from quartet_simulation.tabletop.placing import Places


@pytest.fixture(scope="module")
def table():
    return Tabletop.generate("put-block", 0, 0)


def carry(world, thing, place, yaw, up=0.2):
    """Bring a thing to `place` as the paper's routine does."""
    x, y, z = world.position(thing)
    world.execute_trajectory((x, y, z + up), yaw)
    world.execute_trajectory((x, y, z), yaw)
    assert world.close_gripper(thing) == thing
    world.execute_trajectory((x, y, z + up), yaw)
    world.execute_trajectory((*place[:2], place[2] + up), yaw)
    world.execute_trajectory(place, yaw)


def state_of(world):
    """The state as a team is told it."""
    return TabletopArm(world).state()


def yaw_of(world, thing):
    """The turn that the state tells."""
    return float(state_of(world).split(f"**{thing}**")[1].split("Orientation: [")[1].split("]")[0].split(",")[2])


def test_the_hand_goes_where_it_is_sent_and_points_down(table):
    for position, yaw in (((0.2, 0.3, 0.95), 0.7), ((0.15, -0.3, 1.1), -1.2), ((0.3, 0.0, 0.9), 0.0)):
        table.execute_trajectory(position, yaw)
        assert math.dist(table.hand, position) < 0.002
        assert table.hand_yaw == pytest.approx(yaw, abs=0.01)


def test_an_arm_with_another_foot_reaches_what_is_drawn_for_it():
    foot = (-0.2, 0.12, TABLE_Z + 0.05)
    for seed in range(2):
        world = Tabletop.generate("put-block", 0, seed, foot)
        assert world.data.body(panda.MOUNT).xpos.tolist() == pytest.approx(foot)
        x, y, z = world.position("block")
        world.execute_trajectory((x, y, z + 0.1), 0.3)
        assert math.dist(world.hand, (x, y, z + 0.1)) < 0.002
        assert 0.36 <= math.dist((x, y), foot[:2]) <= 0.64
    body = TableBody(world)
    in_base = body.arm.forward(body.arm_positions())[:3, 3] + (*foot[:2], 0.0)
    assert in_base == pytest.approx(world.data.body(panda.TOOL).xpos, abs=1e-4)


def test_the_closed_form_holds_the_published_limits():
    rng = np.random.default_rng(0)
    for x, y, z, yaw in rng.uniform((-0.05, -0.4, 0.76, -2.0), (0.55, 0.4, 1.2, 2.0), (500, 4)):
        try:
            joints = top_down((x, y, z), yaw)
        except UnreachableError:
            continue
        assert ((np.array(panda.LOWER) <= joints) & (joints <= np.array(panda.UPPER))).all()


@pytest.mark.parametrize(
    ("position", "yaw", "error", "words"),
    [
        ((0.9, 0.0, 0.8), 0.0, UnreachableError, "does not reach"),
        ((0.3, 0.0, 0.7), 0.0, CollisionError, "would meet the table"),
        ((0.3, math.nan, 0.9), 0.0, UnreachableError, "finite"),
    ],
)
def test_what_the_arm_cannot_do_is_refused_and_nothing_moves(table, position, yaw, error, words):
    table.execute_trajectory((0.3, 0.0, 0.9), 0.0)
    before = table.hand
    with pytest.raises(error, match=words):
        table.execute_trajectory(position, yaw)
    assert table.hand == before


def test_a_block_is_grasped_by_friction_and_falls_when_the_gripper_opens():
    world = Tabletop.generate("put-block", 0, 1)
    assert not world.succeeded
    x, y, _ = world.position("target area")
    carry(world, "block", (x, y, TABLE_Z + 0.045), yaw_of(world, "block"))
    assert world.held == "block"
    assert "Grasped object: block" in state_of(world)
    assert not world.succeeded, "it is still in the gripper"
    world.open_gripper()
    assert world.held is None
    assert world.succeeded


def test_a_gripper_that_closes_beside_an_object_holds_nothing():
    world = Tabletop.generate("put-block", 0, 2)
    x, y, z = world.position("block")
    world.execute_trajectory((x, y, z + 0.1), 0.0)
    assert world.close_gripper("block") is None
    assert "No object grasped" in state_of(world)
    with pytest.raises(UnknownObjectError, match="objects: block, target area"):
        world.close_gripper("cube")


def test_a_cap_comes_off_only_when_it_was_turned():
    world = Tabletop.generate("open-bottle", 0, 0)
    x, y, z = world.position("bottle cap")
    for turn in (0.0, 2.1):
        world.execute_trajectory((x, y, z + 0.1), -1.0)
        world.open_gripper()
        world.execute_trajectory((x, y, z), -1.0)
        world.close_gripper("bottle cap")
        world.execute_trajectory((x, y, z), -1.0 + turn)
        world.execute_trajectory((x, y, z + 0.1), -1.0 + turn)
        assert world.succeeded == (turn > 0)


def test_three_blocks_on_the_square_are_no_stack_of_four():
    world = Tabletop.generate("stack-blocks", 2, 0)
    assert world.instruction == "stack 4 red blocks on the target square"
    x, y, _ = next(world.position(name) for name in world.things if name.endswith("square"))
    for level in range(1, 5):
        assert not world.succeeded
        name = f"red block {level}"
        carry(world, name, (x, y, TABLE_Z + 0.05 * level - 0.005), yaw_of(world, name), up=0.3)
        world.open_gripper()
    assert world.succeeded


@pytest.mark.parametrize("name", TASKS)
def test_every_episode_is_drawn_by_its_seed_at_rest_and_not_done(name):
    task = TASKS[name]
    for seed in range(3):
        variation = seed * 7 % task.variations
        world = Tabletop.generate(name, variation, seed)
        assert not world.succeeded
        assert world.held is None
        assert all(thing in state_of(world) for thing, one in world.things.items() if one.told)
        for thing, one in world.things.items():
            assert math.dist(world.position(thing), one.position) < 0.03, f"{thing} has moved by itself"
    assert state_of(world) == state_of(Tabletop.generate(name, variation, seed))
    assert state_of(world) != state_of(Tabletop.generate(name, variation, seed + 1))


def test_what_there_is_not_is_refused():
    with pytest.raises(UnknownTaskError, match="valid: basketball-in-hoop"):
        Tabletop.generate("juggle", 0, 0)
    with pytest.raises(UnknownTaskError, match="valid: 0 to 59"):
        Tabletop.generate("stack-blocks", 60, 0)
    places = Places(np.random.default_rng(0))
    with pytest.raises(NoPlacementError, match="no place for a circle"):
        assert places.draw(2.0) != places.draw(2.0)


def test_both_cameras_see_the_table(table):
    for camera in ("front", "arm"):
        picture = table.picture(camera, 64, 48)
        assert picture.shape == (48, 64, 3)
        assert picture.std() > 5
