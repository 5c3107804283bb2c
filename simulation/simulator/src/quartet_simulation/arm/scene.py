"""A snapshot of robot and surroundings for inverse kinematics and planning, usable in any one thread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from quartet_simulation.arm import planning
from quartet_simulation.arm.body_points import BodyPoints
from quartet_simulation.arm.collision import CollisionWorld, Octree
from quartet_simulation.arm.model import ArmModel
from quartet_simulation.arm.trajectory import Trajectory, time_path
from quartet_simulation.codes import MoveItCode
from quartet_simulation.errors import UnknownNameError

JUMP = 0.40
"""A Cartesian path ends where a joint would have to move more than this in one step [rad]."""
MAX_TURN = 0.10
"""Largest rotation between two points of a Cartesian path [rad]."""
GRAZE = 0.003
"""A state counts as in collision from this depth on [m]: joints end a little beside their goals, and between two
checked points of a path an arm may come that much nearer. Planning itself looks for no contact at all."""
GOALS_TRIED = 4


@dataclass(frozen=True)
class Plan:
    """Result of planning: `trajectory` is None unless code is SUCCESS."""

    code: MoveItCode
    text: str
    trajectory: Trajectory | None
    planning_time: float


class Scene:
    """A copy of the world for planning: kinematics, collision checks and plans of the arm.

    Poses are 4x4 matrices of the arm's tool in its base frame, joints are in the order of `arm.joints` [rad]. Not
    thread-safe: one Scene, one thread at a time.
    """

    def __init__(
        self,
        arm: ArmModel,
        model: mujoco.MjModel,
        qpos: np.ndarray,
        *,
        octree: Octree | None = None,
        points: BodyPoints | None = None,
        seed: int = 0,
        prefix: str = "",
    ) -> None:
        self.arm = arm
        self._world = CollisionWorld(arm, model, "arm", prefix, octree=octree, points=points)
        self._world.load(qpos)
        self.seed = seed
        self.positions = qpos[self._world.arm_qpos].copy()
        """Arm joints at the time of the snapshot [rad]."""

    # --- kinematics -------------------------------------------------------------------------------
    def fk(self, q: np.ndarray | list[float] | None = None, link: str = "") -> np.ndarray:
        """Pose of `link` (default: the tool) in the base frame at joints `q` (default: the present ones).

        Raises UnknownNameError.
        """
        arm, link = self.arm, link or self.arm.tool
        links = (arm.mount, *arm.hand, *arm.fingers, arm.tip)
        if link not in links:
            raise UnknownNameError("link", link, links)
        joints = self.positions if q is None else np.asarray(q, dtype=float)
        if link in (arm.tool, arm.tip):
            pose = arm.forward(joints)
            if link == arm.tip:
                tip = np.eye(4)
                tip[2, 3] = arm.tip_m
                pose = pose @ tip
            return pose
        world = self._world
        world.set_arm(joints)
        mujoco.mj_kinematics(world.model, world.data)
        base, body = world.pose(arm.base), world.pose(link)
        return np.linalg.inv(base) @ body

    def ik(
        self, pose: np.ndarray, seed: np.ndarray | list[float] | None = None, *, avoid_collisions: bool = True
    ) -> np.ndarray | None:
        """Return the joints nearest to `seed` that bring the tool to `pose`, None without a solution."""
        found = self.ik_all(pose, seed)
        return next((q for q in found if not avoid_collisions or not self.in_collision(q)), None)

    def ik_all(self, pose: np.ndarray, seed: np.ndarray | list[float] | None = None) -> list[np.ndarray]:
        """Return all solutions, nearest to `seed` (default: the present joints) first, without a collision check."""
        near = self.positions if seed is None else np.asarray(seed, dtype=float)
        arm = self.arm
        solutions = [arm.nearest_turns(q, near) for q in arm.inverse(np.asarray(pose, dtype=float), near)]
        return sorted(solutions, key=lambda q: arm.cost(q, near))

    def _onwards(self, pose: np.ndarray, near: np.ndarray) -> list[np.ndarray]:
        """Return solutions that continue a motion from `near`, nearest first."""
        follow = self.arm.follow
        return self.ik_all(pose, near) if follow is None else list(follow(np.asarray(pose, dtype=float), near))

    # --- collisions -------------------------------------------------------------------------------
    def in_collision(self, q: np.ndarray | list[float]) -> bool:
        """Return whether the arm, or what it holds, is in collision at joints `q` by more than GRAZE."""
        slack, self._world.slack = self._world.slack, GRAZE
        self._world.set_arm(np.asarray(q, dtype=float))
        result = self._world.colliding()
        self._world.slack = slack
        return result

    def named_contacts(self, q: np.ndarray | list[float]) -> list[tuple[str, str, float]]:
        """Return the pairs of bodies in contact at joints `q` and their depths [m]."""
        self._world.slack = GRAZE
        self._world.set_arm(np.asarray(q, dtype=float))
        found = self._world.named_contacts()
        self._world.slack = 0.0
        return found

    def _free(self, q: np.ndarray) -> bool:
        self._world.set_arm(q)
        return not self._world.colliding()

    # --- planning ---------------------------------------------------------------------------------
    def plan_joints(
        self,
        q_goal: np.ndarray | Sequence[float],
        planner_id: str = "",
        timeout: float = 5.0,
        *,
        scale: float = 1.0,
        start: np.ndarray | Sequence[float] | None = None,
    ) -> Plan:
        """Plan to joints. `scale` in (0, 1] scales the speed limits. Raises UnknownNameError for the planner."""
        began = time.monotonic()
        planning.planner_name(planner_id)
        goal = np.asarray(q_goal, dtype=float)
        origin = self.positions if start is None else np.asarray(start, dtype=float)
        fault = self._fault_of(origin, goal)
        if fault is not None:
            return Plan(fault[0], fault[1], None, time.monotonic() - began)
        return self._plan_to([goal], origin, planner_id, timeout, scale, began)

    def plan_pose(
        self,
        pose: np.ndarray,
        planner_id: str = "",
        timeout: float = 5.0,
        *,
        scale: float = 1.0,
        start: np.ndarray | Sequence[float] | None = None,
    ) -> Plan:
        """Plan the tool to `pose`: the nearest reachable solution without a collision."""
        began = time.monotonic()
        planning.planner_name(planner_id)
        origin = self.positions if start is None else np.asarray(start, dtype=float)
        solutions = self.ik_all(pose, origin)
        if not solutions:
            x, y, z = np.asarray(pose)[:3, 3]
            text = f"no IK solution for {self.arm.tool} at ({x:.3f}, {y:.3f}, {z:.3f}) in {self.arm.base}"
            return Plan(MoveItCode.NO_IK_SOLUTION, text, None, time.monotonic() - began)
        if self.in_collision(origin):
            return Plan(MoveItCode.START_STATE_IN_COLLISION, self._collision_text("start", GRAZE), None, 0.0)
        free = [q for q in solutions if self._free(q)]
        if not free:
            self._world.set_arm(solutions[0])
            return Plan(MoveItCode.GOAL_IN_COLLISION, self._collision_text("goal"), None, time.monotonic() - began)
        return self._plan_to(free[:GOALS_TRIED], origin, planner_id, timeout, scale, began)

    def _fault_of(self, origin: np.ndarray, goal: np.ndarray) -> tuple[MoveItCode, str] | None:
        arm, count = self.arm, len(self.arm.joints)
        if goal.shape != (count,) or not np.isfinite(goal).all():
            return MoveItCode.INVALID_GOAL_CONSTRAINTS, f"a joint goal needs {count} finite values, got {goal.tolist()}"
        for name, value, a, b in zip(arm.joints, goal, arm.lower, arm.upper, strict=True):
            if not a <= value <= b:
                return MoveItCode.INVALID_GOAL_CONSTRAINTS, f"{name} {value:.3f} is outside [{a:.3f}, {b:.3f}]"
        if self.in_collision(origin):
            return MoveItCode.START_STATE_IN_COLLISION, self._collision_text("start", GRAZE)
        if not self._free(goal):
            return MoveItCode.GOAL_IN_COLLISION, self._collision_text("goal")
        return None

    def _collision_text(self, what: str, slack: float = 0.0) -> str:
        self._world.slack = slack
        text = f"the {what} state is in collision with {self._world.touched()}"
        self._world.slack = 0.0
        return text

    def _plan_to(
        self, goals: list[np.ndarray], origin: np.ndarray, planner_id: str, timeout: float, scale: float, began: float
    ) -> Plan:
        # A motion must be able to leave a start in contact: then all of it is checked with the tolerance of states.
        self._world.slack = 0.0 if self._free(origin) else GRAZE
        try:
            return self._search(goals, origin, planner_id, timeout, scale, began)
        finally:
            self._world.slack = 0.0

    def _search(
        self, goals: list[np.ndarray], origin: np.ndarray, planner_id: str, timeout: float, scale: float, began: float
    ) -> Plan:
        found = 0
        for path in self._paths(goals, origin, planner_id, timeout, began):
            trajectory = time_path(self.arm, path, min(max(scale, 0.01), 1.0))
            if self._valid(trajectory):
                return Plan(MoveItCode.SUCCESS, "", trajectory, time.monotonic() - began)
            found += 1
        spent = time.monotonic() - began
        if found:
            text = f"each of {found} trajectories found in {spent:.1f} s would touch something on its way"
            return Plan(MoveItCode.INVALID_MOTION_PLAN, text, None, spent)
        code = MoveItCode.TIMED_OUT if spent >= timeout else MoveItCode.PLANNING_FAILED
        return Plan(code, f"no collision-free path found in {spent:.1f} s", None, spent)

    def _paths(
        self, goals: list[np.ndarray], origin: np.ndarray, planner_id: str, timeout: float, began: float
    ) -> Iterator[np.ndarray]:
        """Yield paths (N, J) to the goals until the time is spent: the straight motions first."""
        for goal in goals:
            straight = np.array([origin, goal])
            if planning.motion_is_free(straight, self._free):
                yield straight
        for i, goal in enumerate(goals):
            left = timeout - (time.monotonic() - began)
            if left > 0:
                share = left / (len(goals) - i)
                yield from planning.search(self.arm, origin, goal, self._free, planner_id, share)

    def _valid(self, trajectory: Trajectory) -> bool:
        """Return whether no state of a timed trajectory is in collision: it runs between the checked ones of its path.

        As MoveIt's ValidateSolution, whose failure is INVALID_MOTION_PLAN; MoveIt checks the points alone, and leaves
        it to the caller to plan again.
        """
        return not any(self.in_collision(q) for q in trajectory.states(planning.STEP))

    def cartesian(
        self,
        waypoints: list[np.ndarray],
        max_step: float = 0.01,
        *,
        scale: float = 1.0,
        avoid_collisions: bool = True,
        start: np.ndarray | Sequence[float] | None = None,
    ) -> tuple[Trajectory, float]:
        """Straight lines of the tool through `waypoints`; (trajectory, fraction of the length that works)."""
        origin = self.positions if start is None else np.asarray(start, dtype=float)
        poses = line_poses([self.arm.forward(origin), *waypoints], max(max_step, 1e-3))
        path = [origin]
        for pose in poses[1:]:
            found = self._onwards(pose, path[-1])
            step = next((q for q in found if np.abs(q - path[-1]).max() < JUMP), None)
            if step is None or (avoid_collisions and self.in_collision(step)):
                break
            path.append(step)
        fraction = (len(path) - 1) / max(1, len(poses) - 1)
        return time_path(self.arm, np.array(path), min(max(scale, 0.01), 1.0)), fraction


def line_poses(corners: list[np.ndarray], max_step: float) -> list[np.ndarray]:
    """Poses along the straight lines between `corners`, at most max_step [m] and MAX_TURN apart."""
    from scipy.spatial.transform import Rotation, Slerp

    poses = [np.asarray(corners[0], dtype=float)]
    for target in corners[1:]:
        a, b = poses[-1], np.asarray(target, dtype=float)
        turns = Rotation.from_matrix(np.stack([a[:3, :3], b[:3, :3]]))
        angle = float((turns[0].inv() * turns[1]).magnitude())
        length = float(np.linalg.norm(b[:3, 3] - a[:3, 3]))
        count = max(1, int(np.ceil(length / max_step)), int(np.ceil(angle / MAX_TURN)))
        shares = np.linspace(0, 1, count + 1)[1:]
        rotations = Slerp([0, 1], turns)(shares).as_matrix()
        for share, rotation in zip(shares, rotations, strict=True):
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = rotation, (1 - share) * a[:3, 3] + share * b[:3, 3]
            poses.append(pose)
    return poses
