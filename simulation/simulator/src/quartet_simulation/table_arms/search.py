"""RRT-Connect in the joint space of all arms, seeded and limited by collision checks.

OMPL, which plans for single arms, has one seed per process and counts time, so that equal seeds would not give equal
plans here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

RANGE = 0.6
"""How far a tree grows towards a sample at once [m]."""
ROOM = 1.0
"""Samples leave the box around start and goal by up to this much in every joint [rad, m]."""
SHORTCUTS = 120
Free = Callable[[np.ndarray], bool]


class Space:
    """Joint space of several arms; distances are how far the hands, or what else moves most, can move [m].

    Args:
        arms: columns of each arm.
        sweep: how far one unit of each joint moves it (J,) [m].
        lower, upper: limits (J,).
        free: whether nothing collides.
        step: distance between two checks [m].
    """

    def __init__(
        self,
        arms: Sequence[slice],
        sweep: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        free: Free,
        step: float,
    ) -> None:
        self.arms, self.lower, self.upper, self.free, self.step = arms, lower, upper, free, step
        self._sweep = sweep

    def distance(self, one: np.ndarray, other: np.ndarray) -> float:
        """Return how far a point of an arm moves at most, for the arm that moves most."""
        moved = np.abs(other - one) * self._sweep
        return max(float(moved[columns].sum()) for columns in self.arms)

    def line(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return points (N, J) on the straight line, both ends included, at most `step` apart."""
        count = max(2, int(np.ceil(self.distance(one, other) / self.step)) + 1)
        return np.linspace(one, other, count)

    def dense(self, path: np.ndarray) -> np.ndarray:
        """Return a path with points at most `step` apart."""
        return np.vstack([self.line(one, other)[:-1] for one, other in pairwise(path)] + [path[-1:]])

    def all_free(self, points: np.ndarray) -> bool:
        """Return whether all points are free; those far apart are looked at first."""
        return all(self.free(points[index]) for index in _spread(len(points)))

    def nearest(self, nodes: np.ndarray, joints: np.ndarray) -> int:
        """Return the index of the nearest of nodes (N, J)."""
        return int((((nodes - joints) * self._sweep) ** 2).sum(axis=1).argmin())


def _spread(count: int) -> Iterator[int]:
    """Yield 0 to count - 1: ends, middle, quarters and so on."""
    stride = 1 << max(0, count - 1).bit_length()
    yield from range(min(count, 1))
    while stride > 1:
        stride //= 2
        yield from range(stride, count, 2 * stride)


class _Tree:
    def __init__(self, roots: Sequence[np.ndarray]) -> None:
        self.nodes = np.array(roots)
        self.count = len(roots)
        self.parents = [-1] * len(roots)

    def add(self, joints: np.ndarray, parent: int) -> int:
        if self.count == len(self.nodes):
            self.nodes = np.vstack([self.nodes, np.empty_like(self.nodes), np.empty_like(self.nodes)])
        self.nodes[self.count] = joints
        self.parents.append(parent)
        self.count += 1
        return self.count - 1

    def path(self, index: int) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        while index >= 0:
            found.append(self.nodes[index])
            index = self.parents[index]
        return found


def connect(
    space: Space, start: np.ndarray, goals: Sequence[np.ndarray], samples: Iterable[np.ndarray]
) -> np.ndarray | None:
    """Return a path (N, J) from the start to one of the goals, or None when the samples end without one."""
    for goal in goals:
        line = space.line(start, goal)
        if space.all_free(line):
            return line[[0, -1]]
    trees = (_Tree([start]), _Tree(goals))
    growing = 0
    for sample in samples:
        tree, other = trees[growing], trees[1 - growing]
        new = _grow(space, tree, sample, RANGE)
        if new is not None:
            target = tree.nodes[new]
            met = _grow(space, other, target, np.inf)
            if met is not None and np.array_equal(other.nodes[met], target):
                forwards, backwards = (tree, new), (other, met)
                if growing:
                    forwards, backwards = backwards, forwards
                return np.array(forwards[0].path(forwards[1])[::-1] + backwards[0].path(backwards[1])[1:])
        growing = 1 - growing
    return None


def _grow(space: Space, tree: _Tree, target: np.ndarray, most: float) -> int | None:
    """Grow a tree in a straight line towards a target, up to `most` or a collision; return the last new node."""
    nearest = space.nearest(tree.nodes[: tree.count], target)
    points = space.line(tree.nodes[nearest], target)[1:]
    last, since = nearest, 0
    limit = len(points) if most == np.inf else min(len(points), max(1, int(most / space.step)))
    every = max(1, int(RANGE / space.step))
    for number in range(limit):
        if not space.free(points[number]):
            limit = number
            break
        since += 1
        if since == every:
            last, since = tree.add(points[number], last), 0
    if since:
        last = tree.add(points[limit - 1], last)
    return None if last == nearest else last


def samples_between(
    space: Space,
    start: np.ndarray,
    goals: Sequence[np.ndarray],
    home: np.ndarray,
    waypoints: Iterable[np.ndarray],
    lines: Mapping[int, np.ndarray],
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """Yield waypoints first, then random joints without end.

    Half of the arms of a sample are on the line of their own from start to goal, often at one of its ends: an arm lets
    another one pass by waiting. A tenth are near their home, where they are out of the way.

    Args:
        space: the arms.
        start: where they are (J,).
        goals: where they may end.
        home: where they are out of the way (J,).
        waypoints: joints to try first.
        lines: joints (N, J of the arm) between start and goal, by number of the arm; the others' lines are straight.
        rng: source of the samples.
    """
    yield from waypoints
    both = np.array([start, *goals])
    low, high = np.maximum(space.lower, both.min(axis=0) - ROOM), np.minimum(space.upper, both.max(axis=0) + ROOM)
    while True:
        goal = goals[int(rng.integers(len(goals)))]
        sample = rng.uniform(low, high)
        for number, columns in enumerate(space.arms):
            kind = rng.random()
            if kind < 0.5:
                along = float(np.clip(rng.uniform(-0.5, 1.5), 0.0, 1.0))
                line = lines.get(number, np.array([start[columns], goal[columns]]))
                sample[columns] = [np.interp(along, np.linspace(0, 1, len(line)), joint) for joint in line.T]
            elif kind < 0.6:
                near_home = home[columns] + rng.normal(0.0, 0.2, home[columns].shape)
                sample[columns] = np.clip(near_home, space.lower[columns], space.upper[columns])
        yield sample


def shorten(space: Space, path: np.ndarray, rng: np.random.Generator, rounds: int = SHORTCUTS) -> np.ndarray:
    """Return the path with random shortcuts of all arms or of one, its points at most `space.step` apart."""
    dense = space.dense(path)
    choices: list[slice] = [slice(None), *space.arms]
    for number in range(rounds):
        if len(dense) < 4:
            break
        first, last = sorted(int(index) for index in rng.choice(len(dense), 2, replace=False))
        if last - first < 2:
            continue
        columns = choices[number % len(choices)]
        if columns == slice(None):
            between = space.line(dense[first], dense[last])
        else:
            between = dense[first : last + 1].copy()
            between[:, columns] = np.linspace(dense[first, columns], dense[last, columns], len(between))
            between = space.dense(between)
        if space.all_free(between[1:-1]):
            dense = np.vstack([dense[:first], between, dense[last + 1 :]])
    return dense
