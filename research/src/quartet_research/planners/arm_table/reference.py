"""A planner of rules for the table: what a reference speaker proposes, and a bound on the number of steps."""

import math
from collections.abc import Mapping

import numpy as np

from quartet_research.planners.arm_table.world import ArmTable


def _left(world: ArmTable, colour: str, ways: Mapping[str, int]) -> int:
    """Return the fewest moves of a box that is anywhere; a large number when it has no way."""
    if world.in_bowl(colour):
        return 0
    layout, here = world.layout, world.place(colour)
    arms = [arm for arm in layout.arms if layout.reaches(arm, here)]
    if any(layout.reaches(arm, world.bowl(colour)) for arm in arms):
        return 1
    near = [moves for name, moves in ways.items() if any(layout.reaches(arm, layout.spots[name]) for arm in arms)]
    return 1 + min(near, default=len(layout.spots))


def lower_bound(world: ArmTable) -> int:
    """Return a number of steps below which the task cannot be done."""
    left = [_left(world, colour, world.hops(colour)) for colour in world.boxes]
    return max(max(left, default=0), math.ceil(sum(left) / len(world.robots)))


def good_step(world: ArmTable, variant: int = 0) -> dict[str, str]:
    """Return a plan whose moves all bring a box nearer to its bowl, without a complaint; arms that wait are left out.

    Args:
        world: the state.
        variant: order in which boxes are looked at; where nothing helps, which box makes room.
    """
    layout, free = world.layout, world.free_spots()
    ways = {colour: world.hops(colour) for colour in world.boxes}
    left = {colour: _left(world, colour, ways[colour]) for colour in world.boxes}
    order = sorted((colour for colour in world.boxes if left[colour]), key=lambda colour: -left[colour])
    order = order[variant % max(len(order), 1) :] + order[: variant % max(len(order), 1)]
    plan: dict[str, str] = {}
    for colour in order:
        if left[colour] == 1:
            goals = [f"bowl_{colour}"]
        else:
            goals = [name for name in free if ways[colour].get(name, left[colour]) < left[colour]]
        _add(world, plan, colour, goals)
    if not plan:
        rng = np.random.default_rng(variant)
        for colour in rng.permutation(order):
            if not plan:
                _add(world, plan, str(colour), [str(name) for name in rng.permutation(free)])
    return {robot: plan[robot] for robot in layout.arms if robot in plan}


def _add(world: ArmTable, plan: dict[str, str], colour: str, goals: list[str]) -> None:
    """Add the first move of a box to `plan` that an idle arm can do and that brings no complaint."""
    for goal in goals:
        action = f"move(box_{colour}, {goal})"
        for robot in world.robots:
            if robot not in plan and action in world.actions(robot) and not world.check({**plan, robot: action}):
                plan[robot] = action
                return
