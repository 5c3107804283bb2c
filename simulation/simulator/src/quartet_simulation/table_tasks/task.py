"""A task at a table with several arms: texts for the robots, checks of their plans, execution, success."""

from __future__ import annotations

import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from quartet_simulation.table_arms import (
    ArmAt,
    Goal,
    GoalCheck,
    HandPose,
    MotionPlan,
    PlanFailure,
    Scene,
    check_goals,
    execute,
    plan_motion,
)
from quartet_simulation.table_arms.plan import SPEED
from quartet_simulation.table_arms.poses import Vector
from quartet_simulation.table_tasks.handling import above, point_text, yaw_of
from quartet_teams import Complaint, Stage, check_in_order
from quartet_teams.roco import Action, Form, JointPlan, Verb, sub_plans

Range = tuple[float, float]
Box = tuple[Range, Range, Range]
"""Ranges of x, y and z [m]."""
PATH_POINTS = 4
"""Points of each PATH."""


@dataclass(frozen=True)
class Phase:
    """A part of an action: a motion of one arm, and then its hand."""

    goal: Goal
    """Pose of the tip, or joint positions; None: the arm stays."""
    then: Literal["", "grasp", "release"] = ""
    object: str = ""
    """Body that the hand grasps or releases."""
    allow: tuple[tuple[str, str], ...] = ()
    """Pairs of bodies that may touch in this motion; an arm's name stands for its hand."""
    waypoints: tuple[HandPose, ...] = ()
    """Stops on the way to the goal."""
    straight: bool = False
    """Whether the tip must move in a straight line and turn evenly; no other way is searched then."""
    level: bool = False
    """Whether the hand must not lean on the way, as with something on a dustpan."""
    speed: float = SPEED
    """Share of the speed limits; the slowest phase counts for all arms that move at the same time."""


@dataclass(frozen=True)
class Outcome:
    """Result of a step."""

    failure: str = ""
    """Why the plan could not be executed, after which the scene is as before. Empty: it was executed."""
    plan_cpu_s: tuple[float, ...] = ()
    """Processor time of each motion plan [s]."""
    arm_contacts: int = 0
    """Contacts between arms during execution."""


@dataclass(frozen=True)
class _Goals:
    """Poses of a sub-plan that the checks look at."""

    poses: Mapping[str, HandPose]
    allow: tuple[tuple[str, str], ...] = ()


class TableTask(ABC):
    """One episode. It is a `Scene` of quartet_teams.roco.

    Success is by ground truth. Texts for a robot contain only what it observes.

    Args:
        seed: of the positions of the objects, and of all plans.
    """

    name: ClassVar[str]
    rules: str
    path_rules: str = ""
    equal_paths: bool = False
    most_uneven: ClassVar[float] = 1.0
    """Standard deviation of the segments of a path, from the hand through its points to the goal, at most [m]."""
    arms: ClassVar[tuple[ArmAt, ...]]
    reach: ClassVar[Mapping[str, Box]]
    """Published box in which each robot may act [m]."""
    rests: ClassVar[tuple[str, ...]]
    """Bodies on which objects lie."""
    home_after: ClassVar[tuple[Verb, ...]]
    """Verbs after which an arm goes home."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.steps = 0
        self.scene = self._build(np.random.default_rng(seed))
        self.scene.settle()
        self._home_yaw = {arm.name: yaw_of(self.scene.hand_pose(arm.name).rotation) for arm in self.arms}

    @abstractmethod
    def _build(self, rng: np.random.Generator) -> Scene:
        """Return the table with its objects where `rng` draws them."""

    @property
    def robots(self) -> tuple[str, ...]:
        """Names of the robots, in speaking order."""
        return tuple(arm.name for arm in self.arms)

    @property
    @abstractmethod
    def forms(self) -> Mapping[Verb, Form]:
        """Verbs of the task and their arguments."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the task is done, by ground truth."""

    @abstractmethod
    def capability(self, robot: str) -> str:
        """Return what a robot is, reaches and can do."""

    @abstractmethod
    def describe(self) -> str:
        """Return the whole state."""

    @abstractmethod
    def describe_robot(self, robot: str) -> str:
        """Return what a robot itself observes."""

    def held(self, robot: str) -> Collection[str]:
        """Return the object in a robot's gripper, by what its hand touches."""
        held = self.scene.holds(robot)
        return (self._name_of(held),) if held else ()

    def _holding(self, robot: str) -> str:
        """Return what a robot holds, as texts have it."""
        return ", ".join(self.held(robot)) or "nothing"

    def _holder(self, name: str) -> str:
        """Return the robot that holds an object, "" if none does."""
        return next((robot for robot in self.robots if name in self.held(robot)), "")

    def _gripper(self, robot: str) -> str:
        tip = point_text(self.scene.hand_pose(robot).position)
        return f"Gripper of {robot}: {tip}, holding {self._holding(robot)}"

    def _name_of(self, body: str) -> str:
        """Return the name of a body that is held, as texts have it."""
        return body

    def _touch(self, first: str, second: str) -> bool:
        """Return whether two bodies touch."""
        pair, of = {self.scene.body(first), self.scene.body(second)}, self.scene.model.geom_bodyid
        return any({int(of[geom]) for geom in contact.geom} == pair for contact in self.scene.data.contact)

    @abstractmethod
    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        """Yield the rules of the task that a plan breaks."""

    def _clashes(self, plan: JointPlan) -> Iterable[str]:
        """Yield that all robots wait, or that several take the same object."""
        if all(action.verb == "WAIT" for action in plan.values()):
            yield "all robots wait; at least one has to act."
        moved = [action.object for action in plan.values() if action.object]
        for name in sorted({name for name in moved if moved.count(name) > 1}):
            who = " and ".join(robot for robot, action in plan.items() if action.object == name)
            yield f"{who} take {name}; only one robot can."

    @abstractmethod
    def _goal(self, action: Action) -> HandPose | None:
        """Return the pose of the tip at an action's goal in the present state; None if the robot stays."""

    def _allowed(self, action: Action) -> tuple[tuple[str, str], ...]:
        """Return the pairs of bodies that may touch at an action's goal and where its object lies."""
        resting = ((action.object, body) for body in self.rests if body != action.object)
        return ((action.robot, action.object), *resting)

    def _fingers_down(self, robot: str, position: Vector, yaw: float, period: float = math.pi) -> HandPose:
        """Return the pose of a hand that points down and is turned the least from where it is at home.

        Args:
            robot: whose hand it is.
            position: of its tip [m].
            yaw: horizontal direction along which the fingers close [rad].
            period: turn after which the fingers take the object in the same way [rad].
        """
        turns = round((self._home_yaw[robot] - yaw) / period)
        return HandPose.down(position, yaw + turns * period)

    def _waypoints(self, action: Action, goal: HandPose) -> tuple[HandPose, ...]:
        """Return the poses at the points of a path; the hand turns evenly from where it is to the goal."""
        start, shares = self.scene.hand_pose(action.robot), np.linspace(0, 1, len(action.path) + 2)[1:-1]
        return tuple(start.towards(goal, point, share) for point, share in zip(action.path, shares, strict=True))

    def _phases(self, action: Action) -> list[Phase]:
        """Return the phases of an action: above its goal, or along its path; there; above it; and home.

        After a PICK along a path the hand stays; the next path lifts what it holds.
        """
        goal = self._goal(action)
        if goal is None:
            return []
        high, allowed = above(goal), self._allowed(action)
        hand: Literal["grasp", "release"] = "grasp" if action.verb == "PICK" else "release"
        phases = [] if action.path else [Phase(high)]
        phases.append(Phase(goal, hand, action.object, allowed, self._waypoints(action, goal)))
        if not action.path or hand == "release":
            phases.append(Phase(high, allow=allowed))
        if action.verb in self.home_after:
            phases.append(Phase(self.scene.home[self.scene.arm(action.robot).columns]))
        return phases

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        """Return the complaints about a plan of one valid action for each robot, [] for a valid one."""
        found: list[GoalCheck] = []

        def without_joints(plan: JointPlan) -> Iterable[str]:
            found.extend(check_goals(self.scene, goals.poses, goals.allow) for goals in self._goals(plan))
            for robot, pose in ((robot, pose) for one in found for robot, pose in one.unsolved.items()):
                yield f"{robot} has no joint positions (IK) for {_text(pose)}; take another target or object."

        def collisions(plan: JointPlan) -> Iterable[str]:
            for part, one in zip(sub_plans(plan), found, strict=True):
                for pair, bodies in _by_arms(one.contacts).items():
                    first, second = (f"{name} ({part[name]})" if name in part else name for name in pair)
                    yield f"{first} and {second} would collide at the goals: {bodies}. Let one robot act elsewhere."

        checks: dict[Stage, Callable[[JointPlan], Iterable[str]]] = {
            "constraints": lambda plan: [*self._wrong_lengths(plan), *self._constraints(plan)],
            "reach": self._out_of_reach,
            "ik": without_joints,
            "collision": collisions,
            "waypoints": self._bad_waypoints,
            "spacing": self._uneven_paths,
        }
        return check_in_order(plan, checks)

    def _goals(self, plan: JointPlan) -> Iterable[_Goals]:
        for part in sub_plans(plan):
            found = {robot: self._goal(action) for robot, action in part.items()}
            poses = {robot: pose for robot, pose in found.items() if pose}
            yield _Goals(poses, tuple(pair for robot in poses for pair in self._allowed(part[robot])))

    def _out_of_reach(self, plan: JointPlan) -> Iterable[str]:
        for goals in self._goals(plan):
            for robot, pose in self._beyond_reach(goals):
                yield f"{robot} does not reach {_text(pose)}; let another robot do it, or take another target."

    def _beyond_reach(self, goals: _Goals) -> Iterable[tuple[str, HandPose]]:
        for robot, pose in goals.poses.items():
            ranges = zip(pose.position, self.reach[robot], strict=True)
            if not all(low <= value <= high for value, (low, high) in ranges):
                yield robot, pose

    def _wrong_lengths(self, plan: JointPlan) -> Iterable[str]:
        for robot, action in plan.items():
            if action.path and len(action.path) != PATH_POINTS:
                yield f"the PATH of {robot} has {len(action.path)} points; it must have exactly {PATH_POINTS}."

    def _bad_waypoints(self, plan: JointPlan) -> Iterable[str]:
        """Return the faults of all waypoints."""
        goals = {robot: self._goal(action) for robot, action in plan.items() if action.path}
        ways = {robot: self._waypoints(plan[robot], goal) for robot, goal in goals.items() if goal}
        allow = tuple(pair for robot in ways for pair in self._allowed(plan[robot]))
        for number, poses in enumerate(_steps(ways), 1):
            for text in self._faults(_Goals(poses, allow)):
                yield f"at point {number} of the paths {text}; choose another point."

    def _faults(self, goals: _Goals) -> list[str]:
        """Return why hands cannot be at poses at the same time; [] if they can."""
        if beyond := [f"{robot} does not reach {_text(pose)}" for robot, pose in self._beyond_reach(goals)]:
            return beyond
        found = check_goals(self.scene, goals.poses, goals.allow)
        unsolved = [f"{robot} has no joint positions (IK) for {_text(pose)}" for robot, pose in found.unsolved.items()]
        return unsolved or [f"{first} and {second} would collide" for first, second in found.contacts]

    def _uneven_paths(self, plan: JointPlan) -> Iterable[str]:
        for robot, action in plan.items():
            if not action.path or (goal := self._goal(action)) is None:
                continue
            points = [self.scene.hand_pose(robot).position, *action.path, goal.position]
            segments = sorted((math.dist(*ends), ends) for ends in itertools.pairwise(points))
            spread = float(np.std([length for length, _ in segments]))
            if spread > self.most_uneven:
                (low, shortest), (high, longest) = segments[0], segments[-1]
                yield (
                    f"the PATH of {robot} is uneven. Its longest segment is {point_text(longest[0])} to "
                    f"{point_text(longest[1])} with {high:.2f} m, its shortest {point_text(shortest[0])} to "
                    f"{point_text(shortest[1])} with {low:.2f} m. The standard deviation of its segments is "
                    f"{spread:.2f} m, at most {self.most_uneven} m. Space the points more evenly."
                )

    def step(self, plan: JointPlan) -> Outcome:
        """Execute a plan that passed the checks. If it cannot be executed, the scene is rewound; the step counts."""
        self.steps += 1
        before = self.scene.snapshot()
        spent: list[float] = []
        contacts = 0
        for part in sub_plans(plan):
            phases = {robot: self._phases(action) for robot, action in part.items()}
            for number in range(max(len(own) for own in phases.values())):
                now = {robot: own[number] for robot, own in phases.items() if number < len(own)}
                failure, cpu_s, touched = self._run(now, number)
                spent.append(cpu_s)
                contacts += touched
                if failure:
                    self.scene.restore(before)
                    return Outcome(failure, tuple(spent), contacts)
        self.scene.settle()
        return Outcome("", tuple(spent), contacts)

    def _run(self, phases: Mapping[str, Phase], number: int) -> tuple[str, float, int]:
        """Move all arms at once, then their hands; return why it failed, processor time [s] and contacts of arms.

        Arms that must move straight follow the others where they cannot move at the same time.
        """
        began = time.thread_time()
        plan = self._plan(phases, self.seed + 1000 * self.steps + number)
        spent = time.thread_time() - began
        if isinstance(plan, PlanFailure):
            searched = {robot: phase for robot, phase in phases.items() if not phase.straight}
            straight = {robot: phase for robot, phase in phases.items() if phase.straight}
            if not (searched and straight):
                return f"no motion was found: {plan.text}", spent, 0
            failure, first_s, touched = self._run(searched, number)
            if failure:
                return failure, spent + first_s, touched
            failure, then_s, more = self._run(straight, number)
            return failure, spent + first_s + then_s, touched + more
        done = execute(self.scene, plan)
        if not done.ok:
            return done.text, spent, len(done.arm_contacts)
        for robot, body in done.lost.items():
            return f"{robot} lost {self._name_of(body)} on the way", spent, 0
        wanted = {robot: phase.object for robot, phase in phases.items() if phase.then == "grasp"}
        if wanted:
            self.scene.grasp(*wanted)
        for robot, name in wanted.items():
            if name not in self.held(robot):
                return f"{robot} did not grasp {name}: it holds {self._holding(robot)}", spent, 0
        if opened := [robot for robot, phase in phases.items() if phase.then == "release"]:
            self.scene.release(*opened)
        return "", spent, len(self.scene.arm_contacts())

    def _plan(self, phases: Mapping[str, Phase], seed: int) -> MotionPlan | PlanFailure:
        """Plan the motion of all arms: along waypoints straight, or searched where straight lines collide."""
        goals = {robot: phase.goal for robot, phase in phases.items()}
        ways = {robot: phase.waypoints for robot, phase in phases.items() if phase.waypoints}
        straight = [robot for robot, phase in phases.items() if phase.straight]
        plan_with = partial(
            plan_motion,
            self.scene,
            goals,
            _steps(ways),
            allow=[pair for phase in phases.values() for pair in phase.allow],
            level=[robot for robot, phase in phases.items() if phase.level],
            speed=min(phase.speed for phase in phases.values()),
        )
        if lines := straight or list(ways):
            plan = plan_with(straight=lines)
            if straight or isinstance(plan, MotionPlan):
                return plan
        return plan_with(split=True, seed=seed)

    def ends(self, action: Action) -> tuple[Vector, Vector]:
        """Return where a robot's tip is now, and where an action with a path takes it [m]."""
        goal = self._goal(action)
        assert goal is not None, f"{action} has no goal"
        return self.scene.hand_pose(action.robot).position, goal.position

    def plan_first(self, plan: JointPlan) -> tuple[MotionPlan | PlanFailure, float]:
        """Return the first motion of a plan, which is not executed, and the processor time of its planning [s]."""
        found = {robot: self._phases(action) for robot, action in sub_plans(plan)[0].items()}
        began = time.thread_time()
        motion = self._plan({robot: phases[0] for robot, phases in found.items() if phases}, self.seed)
        return motion, time.thread_time() - began


class PathTask(TableTask):
    """A task in which each robot moves something along a path in each step. All robots see the same table."""

    equal_paths: bool = True

    @abstractmethod
    def _describe_table(self) -> str:
        """Return the points of things and targets."""

    def describe(self) -> str:
        """Return the points of things and targets, and all grippers."""
        return "\n".join([self._describe_table(), *map(self._gripper, self.robots)])

    def describe_robot(self, robot: str) -> str:
        """Return the points of things and targets, and a robot's own gripper."""
        return f"{self._describe_table()}\n{self._gripper(robot)}"

    def _constraints(self, plan: JointPlan) -> Iterable[str]:
        return ()


def _steps(ways: Mapping[str, Sequence[HandPose]]) -> list[dict[str, HandPose]]:
    """Return the poses of all hands at their first waypoints, then at their second ones, and so on."""
    count = max(map(len, ways.values()), default=0)
    return [{robot: way[number] for robot, way in ways.items() if number < len(way)} for number in range(count)]


def _by_arms(contacts: Iterable[tuple[str, str]]) -> dict[tuple[str, ...], str]:
    """Return pairs of bodies in words, by the arms or things that they are parts of."""
    found: dict[tuple[str, ...], list[str]] = {}
    for pair in contacts:
        found.setdefault(tuple(name.partition("/")[0] for name in pair), []).append(" with ".join(pair))
    return {arms: ", ".join(pairs) for arms, pairs in found.items()}


def _text(pose: HandPose) -> str:
    return point_text(pose.position)
