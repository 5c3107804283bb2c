"""A good next step of each world, and the fewest steps that any plan needs.

The step comes from an assignment (Kuhn 1955). A variant is a seed of what may be chosen freely, so that several
variants give several plans. None of them sees more than the state.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from quartet_research.harness.world import WAIT, World
from quartet_research.planners.grid_worlds.boxlift import BoxLift
from quartet_research.planners.grid_worlds.boxnet1 import BoxNet1, Cell, arm, centre
from quartet_research.planners.grid_worlds.boxnet2 import BoxNet2, Corner, corners_of
from quartet_research.planners.grid_worlds.warehouse import TO_TARGET, Place, Robot, Shelf, Warehouse, after, shelf_name

Plan = dict[str, str]


def good_step(world: World, variant: int = 0) -> Plan:
    """Return a plan of the next step that brings the goal nearer and collides nowhere.

    The same state and variant give the same plan.
    """
    rng = np.random.default_rng([variant, world.steps])
    match world:
        case BoxNet1():
            return _boxnet1(world, rng)
        case BoxNet2():
            return _boxnet2(world, rng)
        case Warehouse():
            return _warehouse(world, variant)
        case BoxLift():
            return lift_step(world, {name: box.weight for name, box in world.boxes.items()}, rng)
        case _:
            raise TypeError(f"no heuristic for {type(world).__name__}")


def fewest_steps(world: World) -> int:
    """Return a number of steps that no plan can do with less."""
    match world:
        case BoxNet1():
            return _boxnet1_bound(world)
        case BoxNet2():
            return _boxnet2_bound(world)
        case Warehouse():
            return _warehouse_bound(world)
        case BoxLift():
            return _boxlift_bound(world)
        case _:
            raise TypeError(f"no bound for {type(world).__name__}")


def _assign(costs: NDArray[Any]) -> list[tuple[int, int]]:
    """Return the pairs of rows and columns with the smallest sum of costs."""
    rows, columns = linear_sum_assignment(costs)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


# --- BoxNet1 ----------------------------------------------------------------------------------------------------------
def _colours(world: BoxNet1) -> list[str]:
    """Return the colours of the boxes, in the order in which random numbers are drawn for them."""
    return sorted({colour for found in world.boxes.values() for colour in found})


def _distance(one: Cell, other: Cell) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _spread(where: Mapping[Cell, Counter[str]], colour: str) -> list[Cell]:
    return [cell for cell, found in where.items() for _ in range(found[colour])]


def _costs(boxes: list[Cell], targets: list[Cell]) -> NDArray[np.int_]:
    return np.array([[_distance(box, target) for target in targets] for box in boxes])


def _boxnet1(world: BoxNet1, rng: np.random.Generator) -> Plan:
    jobs: dict[Cell, list[tuple[int, float, str, Cell]]] = {}
    for colour in _colours(world):
        boxes, targets = _spread(world.boxes, colour), _spread(world.targets, colour)
        # Squares prefer two middling ways to a short and a long one.
        for row, column in _assign(_costs(boxes, targets) ** 2):
            box, target = boxes[row], targets[column]
            jobs.setdefault(box, []).append((_distance(box, target), float(rng.random()), colour, target))
    plan: Plan = {}
    waiting = {cell: len(found) for cell, found in jobs.items()}
    for cell, found in jobs.items():
        distance, _, colour, target = max(found)
        if distance == 0:
            plan[arm(cell)] = f"move(box_{colour}, target_{colour})"
            continue
        nearer = [near for near in world.neighbours(cell) if _distance(near, target) < distance]
        to = min(nearer, key=lambda near: (waiting.get(near, 0), rng.random()))
        waiting[to] = waiting.get(to, 0) + 1
        plan[arm(cell)] = f"move(box_{colour}, square[{centre(to)}])"
    return plan


def _boxnet1_bound(world: BoxNet1) -> int:
    if world.done:
        return 0
    longest = 0
    for colour in _colours(world):
        costs = _costs(_spread(world.boxes, colour), _spread(world.targets, colour))
        longest = max(longest, _bottleneck(costs) + 1)
    # An arm touches every box that starts in its cell and every one that ends there, one in a step.
    work = 0
    for cell in world.cells:
        boxes, targets = world.boxes.get(cell, Counter()), world.targets.get(cell, Counter())
        work = max(work, boxes.total() + targets.total() - (boxes & targets).total())
    return max(longest, work)


def _bottleneck(costs: NDArray[np.int_]) -> int:
    """Return the smallest greatest cost of an assignment."""
    for limit in np.unique(costs):
        if not any(costs[pair] > limit for pair in _assign(costs > limit)):
            return int(limit)
    raise AssertionError("the greatest cost itself is always enough")


# --- BoxNet2 ----------------------------------------------------------------------------------------------------------
def _hops(corner: Corner, target: Cell) -> int:
    """Moves of a box until it is on its target when no other is in its way; diagonal moves within a cell are one."""
    return min(max(abs(corner[0] - row), abs(corner[1] - column)) for row, column in corners_of(target)) + 1


def _cells_at(world: BoxNet2, corner: Corner) -> list[Cell]:
    row, column = corner
    near = [(row - 1, column - 1), (row - 1, column), (row, column - 1), (row, column)]
    return [(r, c) for r, c in near if 0 <= r < world.shape[0] and 0 <= c < world.shape[1]]


def _boxnet2(world: BoxNet2, rng: np.random.Generator) -> Plan:
    plan: Plan = {}
    taken = set(world.boxes.values())
    order = sorted(world.boxes, key=lambda c: (_hops(world.boxes[c], world.targets[c]), rng.random()), reverse=True)
    for colour in order:
        corner, target = world.boxes[colour], world.targets[colour]
        here = _hops(corner, target)
        options: list[tuple[int, float, str, Corner | None]] = []
        for cell in _cells_at(world, corner):
            if arm(cell) in plan:
                continue
            if cell == target:
                options.append((-1, 0.0, arm(cell), None))
            options += [
                (_hops(to, target), float(rng.random()), arm(cell), to)
                for to in corners_of(cell)
                if to not in taken and _hops(to, target) < here
            ]
        if not options:
            continue
        _, _, robot, to = min(options, key=lambda option: option[:3])
        if to is None:
            plan[robot] = f"move(box_{colour}, target_{colour})"
        else:
            # Its own corner stays taken for this step: whoever came there would have to trust that this arm succeeds.
            taken.add(to)
            plan[robot] = f"move(box_{colour}, corner[{to[0]}, {to[1]}])"
    return plan or _sidestep(world, rng)


def _sidestep(world: BoxNet2, rng: np.random.Generator) -> Plan:
    """One box to any free corner: boxes stand in each other's way."""
    taken = set(world.boxes.values())
    options = [
        (arm(cell), f"move(box_{colour}, corner[{to[0]}, {to[1]}])")
        for colour, corner in world.boxes.items()
        for cell in _cells_at(world, corner)
        for to in corners_of(cell)
        if to not in taken
    ]
    robot, action = options[int(rng.integers(len(options)))]
    return {robot: action}


def _boxnet2_bound(world: BoxNet2) -> int:
    if world.done:
        return 0
    longest = max(_hops(corner, world.targets[colour]) for colour, corner in world.boxes.items())
    return max(longest, *Counter(world.targets.values()).values())


# --- Warehouse --------------------------------------------------------------------------------------------------------
def _way(robot: Robot, place: Place) -> int:
    """Steps of a robot to a place: on its own track, or through the target region."""
    if robot.place is None:
        return 1 + place[1]
    if robot.place[0] == place[0]:
        return abs(robot.place[1] - place[1])
    return robot.place[1] + 1 + 1 + place[1]


def _beside(shelf: Shelf) -> tuple[Place, Place]:
    return ((shelf[0], shelf[1]), (shelf[0] + 1, shelf[1]))


def _towards(robot: Robot, place: Place) -> str:
    if robot.place is None:
        return f"move to the start of track_{place[0]}"
    track, column = robot.place
    if track != place[0]:
        return _leave(robot.place)
    return "move left" if column > place[1] else "move right"


def _leave(place: Place) -> str:
    return TO_TARGET if place[1] == 0 else "move left"


def _warehouse(world: Warehouse, variant: int) -> Plan:
    # Of the variant alone: what changed from step to step would let robots turn round on their way.
    far_first = 8.0 * float(np.random.default_rng(variant).random())
    wanted: dict[str, tuple[float, str]] = {}
    free = [name for name, robot in world.where.items() if not robot.carries]
    shelves = sorted(world.boxes)
    if free and shelves:
        # A box far out is fetched first, since its way back is the longest. Squares leave few ties, which would make
        # two robots exchange their boxes in every step.
        costs = np.array([[min(_way(world.where[n], p) for p in _beside(s)) for s in shelves] for n in free])
        bonus = np.array([far_first * shelf[1] for shelf in shelves])
        for row, column in _assign(costs**2 - bonus):
            name, shelf = free[row], shelves[column]
            robot = world.where[name]
            place = min(_beside(shelf), key=lambda place, robot=robot: _way(robot, place))
            action = f"pick {shelf_name(shelf)}" if robot.place in _beside(shelf) else _towards(robot, place)
            wanted[name] = (costs[row, column] + shelf[1], action)
    for name, robot in world.where.items():
        if name not in wanted and robot.place is not None:
            # With a box to the target region; without work there too, where it is in nobody's way.
            wanted[name] = (robot.place[1], _leave(robot.place))
    order = sorted(wanted, key=lambda name: (world.where[name].carries, wanted[name][0]), reverse=True)
    plan = _without_collisions(world, {name: wanted[name][1] for name in order})
    # All block each other: all make way towards the target region, where nobody blocks.
    return plan or {name: _leave(robot.place) for name, robot in world.where.items() if robot.place is not None}


def _without_collisions(world: Warehouse, wanted: Plan) -> Plan:
    """Let those wait whose place another one has, the later of the order first, until all places differ."""
    plan = dict(wanted)
    while True:
        ends = {name: after(robot, plan.get(name, WAIT)).place for name, robot in world.where.items()}
        # Who stays, to pick or to wait, is there already.
        places = {place for name, place in ends.items() if place == world.where[name].place}
        for name in plan:
            place = ends[name]
            if place is None or place == world.where[name].place:
                continue
            if place in places:
                del plan[name]
                break
            places.add(place)
        else:
            return plan


def _warehouse_bound(world: Warehouse) -> int:
    bound = max((r.place[1] + 1 for r in world.where.values() if r.carries and r.place is not None), default=0)
    for shelf in world.boxes:
        # Whoever picks it has come there with empty hands, picks in one step and goes back.
        nearest = min(
            _way(Robot(None), place) + (robot.place[1] + 1 if robot.place else 0)
            if robot.carries
            else _way(robot, place)
            for robot in world.where.values()
            for place in _beside(shelf)
        )
        bound = max(bound, nearest + 1 + shelf[1] + 1)
    # Each robot brings one box at a time, and every later one costs the way there, too.
    robots = len(world.where)
    if len(world.boxes) > robots:
        near = sorted(shelf[1] for shelf in world.boxes)
        later = sum(2 * column + 3 for column in near[: len(near) - robots])
        first = sum(column + 2 for column in near[len(near) - robots :])
        bound = max(bound, math.ceil((later + first) / robots))
    return bound


# --- BoxLift ----------------------------------------------------------------------------------------------------------
def lift_step(world: BoxLift, weights: Mapping[str, float], rng: np.random.Generator) -> Plan:
    """Give each box, the heaviest first, the lifters that are just strong enough for these weights."""
    free = dict(world.lifters)
    plan: Plan = {}
    order = sorted(world.boxes, key=lambda box: weights[box] * (1 + 0.1 * rng.random()), reverse=True)
    for box in order:
        team = _team(free, weights[box])
        for lifter in team:
            del free[lifter]
            plan[lifter] = f"lift {box}"
    return plan


def _team(free: Mapping[str, float], weight: float) -> list[str]:
    """Return lifters whose capabilities sum to the weight with little left over; empty when all are too weak."""
    if sum(free.values()) < weight:
        return []
    team: list[str] = []
    missing = weight
    left = dict(free)
    while missing > 0:
        enough = [name for name, capability in left.items() if capability >= missing]
        name = min(enough, key=left.__getitem__) if enough else max(left, key=left.__getitem__)
        team.append(name)
        missing -= left.pop(name)
    # The last may have made an earlier, weaker one needless.
    spare = sum(free[name] for name in team) - weight
    for name in sorted(team, key=free.__getitem__, reverse=True):
        if free[name] <= spare:
            team.remove(name)
            spare -= free[name]
    return team


def _boxlift_bound(world: BoxLift) -> int:
    if world.done:
        return 0
    weights = sorted((box.weight for box in world.boxes.values()), reverse=True)
    strength = sum(world.lifters.values())
    # Boxes of which no two fit into one step.
    alone = sum(1 for weight in weights if weight > strength / 2)
    return max(math.ceil(sum(weights) / strength), math.ceil(len(weights) / len(world.lifters)), alone, 1)
