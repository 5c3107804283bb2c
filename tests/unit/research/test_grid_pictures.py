"""Pictures of the worlds show what is where, and replays what has moved."""

import numpy as np
import pytest
from PIL import Image, ImageColor

from quartet_research.planners.grid_worlds import (
    WORLDS,
    BoxNet1,
    BoxNet2,
    IllegalPlanError,
    Robot,
    Warehouse,
    make,
    picture,
    reference,
    replay,
)
from quartet_research.planners.grid_worlds.pictures import BROWN, COLOURS, ROBOT

LIMIT = {"step_limit": 9}


def pixels(image: Image.Image, colour: str) -> np.ndarray:
    """Rows and columns of the pixels that have exactly this colour."""
    return np.argwhere((np.asarray(image) == ImageColor.getrgb(colour)).all(axis=2))


@pytest.mark.parametrize("world", WORLDS)
def test_a_replay_goes_from_the_first_state_to_the_last(world: str) -> None:
    instance = make(world, 8, 3)
    plans = reference(instance, tries=1).plans
    frames = list(replay(instance, plans))
    assert len(frames) == len(plans) + 1
    assert len({frame.size for frame in frames}) == 1
    assert instance.steps == 0, "it plays a copy"
    assert frames[0] == picture(instance, plans[0]) != picture(instance)
    drawn = [COLOURS["red"], COLOURS["blue"]] if world.startswith("boxnet") else [BROWN]
    assert all(len(pixels(frames[0], colour)) for colour in drawn)
    assert not any(len(pixels(frames[-1], colour)) for colour in drawn), "no box is left"


def test_a_plan_of_another_instance_is_refused() -> None:
    with pytest.raises(IllegalPlanError, match="There is no lifter0"):
        list(replay(make("boxnet1", 4, 0), [{"lifter0": "wait"}]))


def test_boxes_and_robots_are_drawn_where_they_are() -> None:
    across = BoxNet1((1, 2), {(0, 0): ["blue"]}, {(0, 1): ["red"]}, **LIMIT)
    down = BoxNet2((2, 1), {"blue": (0, 0)}, {"blue": (1, 0)}, **LIMIT)
    track = Warehouse(2, 4, {"agent0": Robot((0, 0))}, frozenset({(0, 3)}), **LIMIT)
    for world, robot, action, colour, towards in [
        (across, "Agent[0.5, 0.5]", "move(box_blue, square[0.5, 1.5])", COLOURS["blue"], (0, 96)),
        (down, "Agent[0.5, 0.5]", "move(box_blue, corner[1, 1])", COLOURS["blue"], (96, 96)),
        (track, "agent0", "move right", ROBOT, (0, 96)),
    ]:
        before = pixels(picture(world), colour).mean(axis=0)
        world.step({robot: action})
        # The ring of a target stays where it is.
        moved = pixels(picture(world), colour).mean(axis=0) - before
        assert (np.sign(np.round(moved)) == np.sign(towards)).all(), (world.name, moved)


def test_a_collision_is_told_in_red() -> None:
    where = {"agent0": Robot((0, 0)), "agent1": Robot((0, 1))}
    world = Warehouse(2, 4, where, frozenset({(0, 3)}), **LIMIT)
    assert not len(pixels(picture(world), COLOURS["red"]))
    world.step({"agent0": "move right"})
    assert world.collision
    assert len(pixels(picture(world), COLOURS["red"]))


def test_a_hundred_robots_fit_into_a_picture() -> None:
    for world in ("boxnet2", "warehouse"):
        assert max(picture(make(world, 100, 0)).size) < 2000
