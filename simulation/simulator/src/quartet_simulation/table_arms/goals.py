"""Joint positions for goals of several arms, and why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from quartet_simulation.errors import TableError
from quartet_simulation.table_arms.collisions import Collisions
from quartet_simulation.table_arms.ik import Kinematics
from quartet_simulation.table_arms.poses import HandPose
from quartet_simulation.table_arms.scene import Arm, Pairs, Scene

OPTIONS = 5
"""Solutions of each arm that are combined."""
COMBINATIONS = 60
"""Combinations of the arms' solutions that are checked."""
CHOICES = 6
"""Combinations without collision that a search may end at."""

Goal = HandPose | Sequence[float] | np.ndarray | None
"""A pose of the tip, joint positions of the arm, or None: the arm stays."""
Goals = Mapping[str, Goal]
"""By arm; an arm that is left out stays."""


@dataclass(frozen=True)
class GoalCheck:
    """Result of a check of goals: faults, or `choices`."""

    unsolved: dict[str, HandPose] = field(default_factory=dict)
    """Poses that no joints reach, by arm."""
    contacts: Pairs = field(default_factory=list)
    """Names of bodies that collide at the goals, two by two, in the solution with the fewest."""
    choices: list[np.ndarray] = field(default_factory=list)
    """Joint positions of all arms (J,) without collision, the nearest first."""

    @property
    def ok(self) -> bool:
        """Whether the goals can be reached together."""
        return bool(self.choices)


def check_goals(scene: Scene, goals: Goals, allow: Iterable[tuple[str, str]] = ()) -> GoalCheck:
    """Check goals of all arms together: inverse kinematics of each, then collisions. `plan_motion` does the same.

    Args:
        scene: the table in its present state; what hands hold moves with them.
        goals: by arm.
        allow: pairs of bodies that may touch; an arm's name stands for its hand.

    Raises:
        UnknownNameError: unknown arm or body.
        TableError: joint positions of wrong number, or beyond their limits.
    """
    return solve_goals(scene, goals, Collisions(scene, allow), scene.joints)


def solve_goals(scene: Scene, goals: Goals, collisions: Collisions, near: np.ndarray) -> GoalCheck:
    """Check goals with given collisions; prefer joints near `near` (J,)."""
    for name in goals:
        scene.arm(name)
    options = [_options(scene, arm, goals.get(arm.name), collisions, near) for arm in scene.arms.values()]
    unsolved = {
        name: goal
        for (name, goal), own in zip(((name, goals.get(name)) for name in scene.arms), options, strict=True)
        if isinstance(goal, HandPose) and not own
    }
    if unsolved:
        return GoalCheck(unsolved)
    combined = sorted(
        (np.concatenate(parts) for parts in product(*options)),
        key=lambda joints: _seconds(scene, slice(None), joints, near),
    )
    choices: list[np.ndarray] = []
    fewest: Pairs = []
    for joints in combined[:COMBINATIONS]:
        if not (pairs := collisions.pairs(joints)):
            choices.append(joints)
            if len(choices) == CHOICES:
                break
        elif not fewest or len(pairs) < len(fewest):
            fewest = pairs
    return GoalCheck(contacts=[] if choices else fewest, choices=choices)


def _options(scene: Scene, arm: Arm, goal: Goal, collisions: Collisions, near: np.ndarray) -> list[np.ndarray]:
    """Return joint positions of one arm for its goal, the nearest first; if all collide, one of them."""
    now = near[arm.columns]
    if goal is None:
        return [now]
    if not isinstance(goal, HandPose):
        return [_joints(arm.name, goal, arm.lower, arm.upper)]
    free: list[np.ndarray] = []
    colliding: list[np.ndarray] = []
    for joints in Kinematics(scene).solutions(arm, goal, now):
        everything = near.copy()
        everything[arm.columns] = joints
        (free if collisions.alone(arm.name, everything) else colliding).append(joints)
        if len(free) == OPTIONS:
            break
    return sorted(free or colliding[:1], key=lambda joints: _seconds(scene, arm.columns, joints, now))


def _joints(name: str, goal: Sequence[float] | np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    joints = np.asarray(goal, dtype=float)
    if joints.shape != lower.shape or not np.isfinite(joints).all():
        raise TableError(f"{name}: joint positions {goal} must be {len(lower)} finite numbers, the rail's first")
    if (joints < lower).any() or (joints > upper).any():
        raise TableError(f"{name}: joint positions {goal} are beyond their limits {lower.tolist()} to {upper.tolist()}")
    return joints


def _seconds(scene: Scene, columns: slice, joints: np.ndarray, near: np.ndarray) -> float:
    """Return about how long a motion takes: the slowest joint, and a little for the others [s]."""
    times = np.abs(joints - near) / scene.speed[columns]
    return float(times.max(initial=0.0) + 0.1 * times.sum())
