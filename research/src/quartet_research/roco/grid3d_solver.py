"""Paths for several agents in a cubic grid: A* over cells and time, one agent after the other."""

import heapq
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import permutations

Cell = tuple[int, int, int]
Path = tuple[Cell, ...]
HORIZON = 8
"""Longest path, in multiples of the grid's size."""
_STEPS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))


def solve(
    size: int, obstacles: Set[Cell], starts: Mapping[str, Cell], goals: Mapping[str, Cell]
) -> dict[str, Path] | None:
    """Return a path of unit steps for each agent, without collisions; None if no order of planning finds one.

    Starts are apart, and so are goals. An agent stays at the end of its path. Each agent avoids the paths of those
    planned before it, so that an instance in which two have to give way to each other may be missed.
    """
    for order in permutations(starts):
        paths: dict[str, Path] = {}
        for agent in order:
            path = find_path(size, obstacles, starts[agent], goals[agent], list(paths.values()))
            if path is None:
                break
            paths[agent] = path
        else:
            return {agent: paths[agent] for agent in starts}
    return None


def find_path(size: int, obstacles: Set[Cell], start: Cell, goal: Cell, others: Sequence[Path] = ()) -> Path | None:
    """Return the shortest path that avoids obstacles and the other agents at their times; None if there is none."""
    free_after = max((time for path in others for time, cell in enumerate(path) if cell == goal), default=-1)
    queue: list[tuple[int, Path]] = [(_distance(start, goal), (start,))]
    seen = {(start, 0)}
    while queue:
        _, path = heapq.heappop(queue)
        cell, time = path[-1], len(path)
        if cell == goal and time - 1 > free_after:
            return path
        for after in _neighbours(cell, size) if time <= HORIZON * size else ():
            hit = any(_hits(other, cell, after, time) for other in others)
            if after not in obstacles and not hit and (after, time) not in seen:
                seen.add((after, time))
                heapq.heappush(queue, (time + _distance(after, goal), (*path, after)))
    return None


def _neighbours(cell: Cell, size: int) -> Iterator[Cell]:
    for dx, dy, dz in _STEPS:
        x, y, z = cell[0] + dx, cell[1] + dy, cell[2] + dz
        if min(x, y, z) >= 0 and max(x, y, z) < size:
            yield x, y, z


def _hits(path: Path, before: Cell, after: Cell, time: int) -> bool:
    """Return whether a step that ends at a time meets the agent of a path, in a cell or between two."""
    there, then = path[min(time - 1, len(path) - 1)], path[min(time, len(path) - 1)]
    return then == after or (then == before and there == after)


def _distance(one: Cell, other: Cell) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))
