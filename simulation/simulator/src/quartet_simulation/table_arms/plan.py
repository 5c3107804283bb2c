"""Joint plans: goals and waypoints of several arms become one timed path in the joint space of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quartet_simulation.arm.planning import round_corners
from quartet_simulation.arm.trajectory import Trajectory
from quartet_simulation.errors import TableError
from quartet_simulation.table_arms.collisions import ChecksSpentError, Collisions
from quartet_simulation.table_arms.goals import GoalCheck, Goals, solve_goals
from quartet_simulation.table_arms.ik import Kinematics
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

Reason = Literal["ik", "goal_contact", "no_path"]


@dataclass(frozen=True)
class MotionPlan:
    """A path of all arms over time."""

    trajectory: Trajectory
    """Joints are those of the scene: all arms, rails first."""
    start: np.ndarray
    """Joint positions from which it was planned (J,)."""


@dataclass(frozen=True)
class PlanFailure:
    """Reason of a failed plan.

    `ik`: no joints reach a pose. `goal_contact`: bodies collide at the goal. `no_path`: none was found within the
    number of checks.
    """

    reason: Reason
    text: str
    """Names the arms or bodies that it is about."""


@dataclass(frozen=True)
class _Leg:
    """Where a piece of a plan may end, and lines of arms whose tips are to move straight."""

    choices: list[np.ndarray]
    lines: dict[str, np.ndarray]


def plan_motion(
    scene: Scene,
    goals: Goals,
    waypoints: Sequence[Goals] = (),
    *,
    split: bool = False,
    straight: Collection[str] = (),
    level: Collection[str] = (),
    allow: Iterable[tuple[str, str]] = (),
    seed: int = 0,
    checks: int = CHECKS,
    speed: float = SPEED,
) -> MotionPlan | PlanFailure:
    """Plan a motion of all arms from the present state of the scene.

    Args:
        scene: the table; what hands hold moves with them.
        goals: by arm; an arm that is left out, or whose goal is None, stays.
        waypoints: goals on the way, which the search tries first; those that cannot be reached are left out, unless
            arms move straight.
        split: go from waypoint to waypoint, with a stop at each.
        straight: arms whose tips move in straight lines and turn evenly, from stop to stop; nothing is searched then.
        level: arms whose hands must not lean on the way, as with something on a dustpan.
        allow: pairs of bodies that may touch; an arm's name stands for its hand.
        seed: of the search's random choices.
        checks: most collision checks of the search.
        speed: share of the speed limits, in (0, 1].

    Raises:
        UnknownNameError: unknown arm or body.
        TableError: invalid joint positions or speed.
    """
    if not 0 < speed <= 1:
        raise TableError(f"speed {speed} must be a share in (0, 1]")
    for name in straight:
        scene.arm(name)
    collisions = Collisions(scene, allow, checks, level, [name for name in scene.arms if goals.get(name) is None])
    here = start = scene.joints
    ways: list[np.ndarray] = []
    legs = _legs(scene, [*waypoints, goals], collisions, straight, level, split=split or bool(straight))
    if isinstance(legs, PlanFailure):
        return legs
    if not (split or straight):
        ways, legs = [leg.choices[0] for leg in legs[:-1]], legs[-1:]
    lower, upper = scene.lower.copy(), scene.upper.copy()
    for columns in collisions.fixed:
        lower[columns] = upper[columns] = start[columns]
    rng, pieces = np.random.default_rng(seed), list[Trajectory]()
    try:
        for leg in legs:
            if straight:
                path = _side_by_side(scene, here, leg)
                if pairs := collisions.first_pairs(path):
                    return _collision("no_path", "on the straight way", pairs)
                piece = time_joint_path(scene.joint_names, path, scene.speed * speed, scene.acceleration * speed)
            else:
                piece = _search(scene, collisions, here, leg, ways, (lower, upper), rng, speed)
            pieces.append(piece)
            here = piece.positions[-1]
    except ChecksSpentError:
        moving = ", ".join(name for name, goal in goals.items() if goal is not None)
        return PlanFailure("no_path", f"no path of {moving} was found within {checks} collision checks")
    return MotionPlan(_joined(pieces), start)


def _legs(
    scene: Scene,
    stops: Sequence[Goals],
    collisions: Collisions,
    straight: Collection[str],
    level: Collection[str],
    *,
    split: bool,
) -> list[_Leg] | PlanFailure:
    """Return where each piece may end, without waypoints that cannot be reached; a failure when the goal cannot."""
    near = start = scene.joints
    legs: list[_Leg] = []
    for number, goals in enumerate(stops, 1):
        last = number == len(stops)
        needed = last or bool(straight)
        found, lines = _solve(scene, goals, collisions, start if last and not split else near, (*straight, *level))
        bent = [name for name in straight if isinstance(goals.get(name), HandPose) and name not in lines]
        if found.ok and not bent:
            legs.append(_Leg(found.choices if last else found.choices[:1], lines))
            near = found.choices[0]
        elif needed and found.unsolved:
            poses = "; ".join(f"{arm} ({_text(pose)})" for arm, pose in found.unsolved.items())
            return PlanFailure("ik", f"no joint positions reach the goal of {poses}")
        elif needed and found.contacts:
            return _collision("goal_contact", "at the goal", found.contacts)
        elif needed:
            text = f"{', '.join(bent)} cannot move straight to the goal; give a waypoint, or let the way be searched"
            return PlanFailure("ik", text)
    return legs


def _collision(reason: Reason, where: str, contacts: Pairs) -> PlanFailure:
    return PlanFailure(reason, f"{where} these collide: " + "; ".join(" and ".join(pair) for pair in contacts))


def _text(pose: HandPose) -> str:
    return ", ".join(f"{value:.2f}" for value in pose.position)


def _solve(
    scene: Scene, goals: Goals, collisions: Collisions, near: np.ndarray, straight: Collection[str]
) -> tuple[GoalCheck, dict[str, np.ndarray]]:
    """Return joints for goals; arms that reach theirs in a straight line of the tip end where it does."""
    kinematics, lines = Kinematics(scene), dict[str, np.ndarray]()
    for name in straight:
        arm, goal = scene.arm(name), goals.get(name)
        if isinstance(goal, HandPose) and (line := kinematics.line(arm, near[arm.columns], goal)) is not None:
            lines[name] = line
    ends: Goals = {**goals, **{name: line[-1] for name, line in lines.items()}}
    return solve_goals(scene, ends, collisions, near), lines


def _side_by_side(scene: Scene, start: np.ndarray, leg: _Leg) -> np.ndarray:
    """Return a path (N, J) on which arms follow their lines, and others go straight in joint space."""
    goal = leg.choices[0]
    path = np.linspace(start, goal, max(2, *(len(line) for line in leg.lines.values()), 2))
    for name, line in leg.lines.items():
        share = np.linspace(0, 1, len(line))
        columns = scene.arms[name].columns
        path[:, columns] = np.column_stack([np.interp(np.linspace(0, 1, len(path)), share, joint) for joint in line.T])
    return path


def _search(
    scene: Scene,
    collisions: Collisions,
    start: np.ndarray,
    leg: _Leg,
    waypoints: list[np.ndarray],
    limits: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
    speed: float,
) -> Trajectory:
    """Return a collision-free trajectory within lower and upper limits (J,). Raises ChecksSpentError."""
    arms = [arm.columns for arm in scene.arms.values()]
    lines = {list(scene.arms).index(name): line for name, line in leg.lines.items()}
    goals, number = leg.choices, 0
    if lines:
        waypoints = [*waypoints, *_side_by_side(scene, start, leg)]
    while True:
        step = STEPS_M[min(number, len(STEPS_M) - 1)]
        space = Space(arms, scene.sweep, *limits, collisions.free, step)
        fine = Space(arms, scene.sweep, *limits, collisions.free, STEPS_M[-1])
        samples = samples_between(space, start, goals, scene.home, waypoints, lines, rng)
        path = connect(space, start, goals, samples)
        assert path is not None, "the samples do not end"
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
