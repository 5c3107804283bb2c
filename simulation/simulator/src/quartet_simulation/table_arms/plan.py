"""Joint plans: goals and waypoints of several arms become one timed path in the joint space of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from quartet_simulation.arm.planning import round_corners
from quartet_simulation.arm.trajectory import Trajectory
from quartet_simulation.errors import TableError
from quartet_simulation.table_arms.collisions import ChecksSpentError, Collisions
from quartet_simulation.table_arms.goals import Goals, solve_goals
from quartet_simulation.table_arms.poses import HandPose
from quartet_simulation.table_arms.scene import Pairs, Scene
from quartet_simulation.table_arms.search import Space, connect, samples_between, shorten
from quartet_simulation.table_arms.timing import time_joint_path

CHECKS = 60_000
"""Collision checks of one plan; 25,000 take about a second."""
STEPS_M = (0.04, 0.02, 0.01)
"""Distances between two checks: finer ones after a path that collides between them [m]."""
CORNERS_M = (0.32, 0.12)
"""How far from a corner a path is rounded; the second where the first collides [m]."""
SPEED = 0.5
"""Share of the speed limits, with which fingers and cups keep what they hold."""

Reason = Literal["ik", "goal_contact", "waypoint", "no_path"]


@dataclass(frozen=True)
class JointPlan:
    """A path of all arms over time."""

    trajectory: Trajectory
    """Joints are those of the scene: all arms, rails first."""
    start: np.ndarray
    """Joint positions from which it was planned (J,)."""
    checks: int
    """Collision checks that it took."""


@dataclass(frozen=True)
class PlanFailure:
    """Why there is no plan.

    `ik`: no joints reach a pose. `goal_contact`: bodies collide at the goal. `no_path`: none was found within the
    number of checks.
    """

    reason: Reason
    text: str
    arms: tuple[str, ...] = ()
    """Arms that it is about."""
    bodies: Pairs = field(default_factory=list)
    """Pairs of bodies that collide."""
    checks: int = 0


def plan_motion(
    scene: Scene,
    goals: Goals,
    waypoints: Sequence[Goals] = (),
    *,
    split: bool = False,
    allow: Iterable[tuple[str, str]] = (),
    seed: int = 0,
    checks: int = CHECKS,
    speed: float = SPEED,
) -> JointPlan | PlanFailure:
    """Plan a motion of all arms from the present state of the scene.

    Args:
        scene: the table; what hands hold moves with them.
        goals: by arm; an arm that is left out, or whose goal is None, stays.
        waypoints: goals on the way, which the search tries first; those that cannot be reached are left out.
        split: go from waypoint to waypoint, with a stop at each.
        allow: pairs of bodies that may touch; an arm's name stands for its hand.
        seed: of all random choices.
        checks: most collision checks of the search.
        speed: share of the speed limits, in (0, 1].

    Raises:
        UnknownNameError: there is no such arm or body.
        TableError: joint positions that cannot be, or a speed that is no share.
    """
    if not 0 < speed <= 1:
        raise TableError(f"speed {speed} must be a share in (0, 1]")
    rng = np.random.default_rng(seed)
    collisions = Collisions(scene, allow, limit=checks)
    start = near = scene.joints
    stops: list[list[np.ndarray]] = []
    for waypoint in waypoints:
        found = solve_goals(scene, waypoint, collisions, near, rng)
        if found.ok:
            stops.append(found.choices[:1])
            near = found.choices[0]
    found = solve_goals(scene, goals, collisions, near if split else start, rng)
    if not found.ok:
        return _goal_failure(found.unsolved, found.contacts, collisions.checks)
    targets = [*stops, found.choices] if split else [found.choices]
    ways = [] if split else [stop[0] for stop in stops]
    pieces: list[Trajectory] = []
    try:
        here = start
        for target in targets:
            piece = _search(scene, collisions, here, target, ways, rng, speed)
            pieces.append(piece)
            here = piece.positions[-1]
    except ChecksSpentError:
        moving = tuple(name for name, goal in goals.items() if goal is not None)
        text = f"no path of {', '.join(moving)} was found within {checks} collision checks"
        return PlanFailure("no_path", text, moving, checks=checks)
    return JointPlan(_joined(pieces), start, collisions.checks)


def _goal_failure(unsolved: dict[str, HandPose], contacts: Pairs, checks: int) -> PlanFailure:
    if unsolved:
        poses = "; ".join(
            f"{arm} ({', '.join(f'{value:.2f}' for value in pose.position)})" for arm, pose in unsolved.items()
        )
        return PlanFailure("ik", f"no joint positions reach the goal of {poses}", tuple(unsolved), checks=checks)
    text = "at the goal these collide: " + "; ".join(" and ".join(pair) for pair in contacts)
    arms = sorted({name.partition("/")[0] for pair in contacts for name in pair if "/" in name})
    return PlanFailure("goal_contact", text, tuple(arms), contacts, checks)


def _search(
    scene: Scene,
    collisions: Collisions,
    start: np.ndarray,
    goals: list[np.ndarray],
    waypoints: list[np.ndarray],
    rng: np.random.Generator,
    speed: float,
) -> Trajectory:
    """Return a collision-free trajectory. Raises ChecksSpentError."""
    arms = [arm.columns for arm in scene.arms.values()]
    number = 0
    while True:
        step = STEPS_M[min(number, len(STEPS_M) - 1)]
        space = Space(arms, scene.sweep, scene.lower, scene.upper, collisions.free, step)
        fine = Space(arms, scene.sweep, scene.lower, scene.upper, collisions.free, STEPS_M[-1])
        path = connect(space, start, goals, samples_between(space, start, goals, scene.home, waypoints, rng))
        short = shorten(space, path, rng)
        rounded = (round_corners(short, collisions.free, round(corner / step)) for corner in CORNERS_M)
        for candidate in (*rounded, short, path):
            trajectory = time_joint_path(scene.joint_names, candidate, scene.speed * speed, scene.acceleration * speed)
            if fine.all_free(fine.dense(trajectory.positions)):
                return trajectory
        number += 1


def _joined(pieces: list[Trajectory]) -> Trajectory:
    """Return trajectories one after the other; each begins and ends at rest."""
    times, positions, velocities = [pieces[0].times], [pieces[0].positions], [pieces[0].velocities]
    for piece in pieces[1:]:
        if len(piece.times) > 1:
            times.append(piece.times[1:] + times[-1][-1])
            positions.append(piece.positions[1:])
            velocities.append(piece.velocities[1:])
    return Trajectory(pieces[0].joint_names, np.concatenate(times), np.vstack(positions), np.vstack(velocities))
