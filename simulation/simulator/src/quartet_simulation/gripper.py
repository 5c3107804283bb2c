"""The gripper's action: GripperCommand with stalled and reached_goal, from width and force alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from quartet_simulation.arm.body import TICK, ArmBody
from quartet_simulation.errors import InvalidCommandError
from quartet_simulation.goal import Goal

GOAL_TOLERANCE = 0.004
"""Opening error at which a position counts as reached [m]."""
STALL_SPEED, STALL_TIME = 0.004, 0.20
TIMEOUT = 5.0


class GripperDriver:
    """Moves the fingers towards the commanded opening at a limited speed; force is limited by max_effort.

    `measured` gives their opening [m] and their force [N] as the gripper has them, which its goals are judged by.
    """

    def __init__(self, physics: ArmBody, measured: Callable[[], tuple[float, float]]) -> None:
        self._physics, self._measured = physics, measured
        self._hand = physics.hand
        self.command = self._hand.open_position
        self._target = self._hand.stroke
        self._force = self._hand.force
        self._still = 0.0
        self._goal: Goal | None = None
        self._had: str | None = None
        self.grasps: Counter[str] = Counter()
        """How often each object was taken, for scoring: a pick or a drop must not happen twice by accident."""
        self.releases: Counter[str] = Counter()

    def reset(self, position: float) -> None:
        """Forget the goal and the counts; the fingers are at `position` of a GripperCommand."""
        self.command, self._goal, self._force = position, None, self._hand.force
        self._target = self._hand.width_of(position)
        self._had = self._physics.held_object()
        self.grasps.clear()
        self.releases.clear()

    def _count(self) -> None:
        """Compare what is held with what was held when the fingers last moved."""
        held = self._physics.held_object()
        if held == self._had:
            return
        if self._had is not None:
            self.releases[self._had] += 1
        if held is not None:
            self.grasps[held] += 1
        self._had = held

    @property
    def goal(self) -> Goal | None:
        """The goal that runs or ran last."""
        return self._goal

    def start(self, position: float, max_effort: float, goal: Goal) -> None:
        """Begin to move the fingers to `position` of a GripperCommand with at most `max_effort` [N]."""
        hand = self._hand
        low, high = sorted((hand.open_position, hand.closed_position))
        if not low <= position <= high:
            raise InvalidCommandError(
                f"gripper position {position} is outside {hand.open_position} (open) .. {hand.closed_position} (closed)"
            )
        # A motion that was cut off did not come to its own count.
        self._count()
        self.command, self._goal, self._still = position, goal, 0.0
        self._target = self._physics.opening()
        self._force = min(max_effort if max_effort > 0 else hand.force, hand.most_force)

    def tick(self) -> None:
        """Advance control by one tick."""
        physics = self._physics
        wanted = self._hand.width_of(self.command)
        step = self._hand.speed * TICK
        self._target += max(-step, min(step, wanted - self._target))
        # Once the target has run through, the remaining error would build force only slowly on soft things:
        # pushing the target past the pads' position by a fixed lead makes the force the one that was asked for.
        lead = self._target - 0.06 if self._target < physics.opening() - 0.02 else self._target
        physics.servo_gripper(lead, self._force)
        goal = self._goal
        if goal is None or goal.done:
            return
        opening, _ = self._measured()
        moving = abs(physics.opening_speed()) > STALL_SPEED
        self._still = 0.0 if moving else self._still + TICK
        self.report(goal)
        if goal.cancel_requested:
            self.command = self._hand.position_of(min(max(opening, 0.0), self._hand.stroke))
            goal.finish("CANCELED", physics.time, 0, "gripper stopped")
        elif abs(opening - wanted) < GOAL_TOLERANCE and not moving:
            goal.feedback["reached_goal"] = goal.result["reached_goal"] = True
            goal.finish("SUCCEEDED", physics.time)
        elif self._still > STALL_TIME and abs(self._target - opening) > 5 * GOAL_TOLERANCE:
            goal.feedback["stalled"] = goal.result["stalled"] = True
            # As the gripper controller does with allow_stalling: a stall is how a grasp ends.
            goal.finish("SUCCEEDED", physics.time)
        elif physics.time - goal.started_at > TIMEOUT:
            goal.finish("ABORTED", physics.time, 0, "the fingers did not come to rest")
        if goal.done:
            self._count()

    def report(self, goal: Goal) -> None:
        """Write position, effort and width into a goal."""
        opening, force = self._measured()
        width = min(max(opening, 0.0), self._hand.stroke)
        state = {
            "position": self._hand.position_of(width),
            "effort": abs(force),
            "width": width,
            "stalled": False,
            "reached_goal": False,
        }
        goal.feedback.update(state)
        goal.result.update(state)
