"""Assignments of subtasks to robots: which succeed, and by which chance."""

import itertools
from collections.abc import Collection, Mapping, Sequence

Assignment = tuple[str, ...]
"""Robot of each subtask, in the order of the subtasks."""


def all_assignments(robots: Sequence[str], subtasks: int) -> list[Assignment]:
    """Return all n^k assignments of k subtasks to n robots."""
    return list(itertools.product(robots, repeat=subtasks))


def all_to(robot: str, subtasks: int) -> Assignment:
    """Return the assignment of all subtasks to one robot."""
    return (robot,) * subtasks


def swapped(assignment: Assignment, robots: Sequence[str]) -> Assignment:
    """Return the twin of an assignment, in which each subtask goes to the next robot of the list."""
    return tuple(robots[(robots.index(robot) + 1) % len(robots)] for robot in assignment)


def combined(pairs: Mapping[tuple[str, int], bool], stays: Collection[int], assignment: Assignment) -> bool:
    """Return whether an assignment succeeds, by the outcomes of its pairs of robot and subtask.

    Args:
        pairs: whether a robot succeeds with a subtask alone.
        stays: subtasks that end with the robot at the thing; one robot can do one of these, as its last.
        assignment: robot of each subtask.
    """
    if not all(pairs[robot, at] for at, robot in enumerate(assignment)):
        return False
    stayed = [robot for at, robot in enumerate(assignment) if at in stays]
    return len(stayed) == len(set(stayed))


def succeeding(pairs: Mapping[tuple[str, int], bool], stays: Collection[int]) -> list[Assignment]:
    """Return the assignments that succeed, by the outcomes of all pairs of robot and subtask."""
    robots = list(dict.fromkeys(robot for robot, _ in pairs))
    subtasks = 1 + max(at for _, at in pairs)
    return [one for one in all_assignments(robots, subtasks) if combined(pairs, stays, one)]


def exactly_one_of_twins(pairs: Mapping[tuple[str, int], bool], stays: Collection[int], plan: Assignment) -> bool:
    """Return whether the published rule keeps an instance: either a plan or its swapped twin succeeds."""
    robots = list(dict.fromkeys(robot for robot, _ in pairs))
    return combined(pairs, stays, plan) != combined(pairs, stays, swapped(plan, robots))
