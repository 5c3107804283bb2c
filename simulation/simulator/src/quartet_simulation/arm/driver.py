"""Execution of joint trajectories: follow them, check the path error, abort when something is in the way."""

from __future__ import annotations

import numpy as np

from quartet_simulation.arm.body import TICK, ArmBody
from quartet_simulation.arm.contact_force import ContactForce
from quartet_simulation.arm.trajectory import Trajectory
from quartet_simulation.codes import MoveItCode
from quartet_simulation.goal import Goal

START_TOLERANCE = 0.05
"""As MoveIt's allowed_start_tolerance, with room for a settling arm [rad]."""
PATH_TOLERANCE = 0.12
GOAL_TOLERANCE = 0.02
SETTLE_TIME = 1.0
BRAKE_TIME = 0.25


class ArmDriver:
    """Keeps the arm at its position unless a trajectory runs."""

    def __init__(self, physics: ArmBody) -> None:
        self._physics, self._contact = physics, ContactForce(physics)
        self._goal: Goal | None = None
        self._trajectory: Trajectory | None = None
        self._hold = self._offsets = np.zeros(len(physics.arm.joints))
        self._brake: tuple[float, np.ndarray, np.ndarray] | None = None

    @property
    def goal(self) -> Goal | None:
        """The goal that runs or ran last."""
        return self._goal

    def reset(self, offsets: np.ndarray) -> None:
        """Forget the goal and keep the present position; `offsets` are measured minus true joints [rad], shape (J,)."""
        self._goal = self._trajectory = self._brake = None
        self._offsets = offsets
        self._hold = self._positions()

    def _positions(self) -> np.ndarray:
        return self._physics.arm_positions() + self._offsets

    def _servo(self, positions: np.ndarray, velocities: np.ndarray | None = None) -> None:
        self._physics.servo_arm(positions - self._offsets, velocities)

    def start(self, trajectory: Trajectory, goal: Goal) -> None:
        """Begin to follow a trajectory for a goal."""
        actual = self._positions()
        late = trajectory.times[0] > 0.2
        error = float(np.abs(trajectory.positions[0] - actual).max())
        if error > START_TOLERANCE and not late and len(trajectory.times) > 1:
            goal.finish(
                "ABORTED",
                self._physics.time,
                MoveItCode.INVALID_MOTION_PLAN,
                f"the trajectory starts {error:.3f} rad away from the arm (allowed {START_TOLERANCE}); plan again",
            )
            return
        if late or len(trajectory.times) == 1:
            # A first point later than 0 is reached from the present position.
            times = np.concatenate([[0.0], np.maximum(trajectory.times, 0.05)])
            positions = np.vstack([actual, trajectory.positions])
            velocities = np.vstack([np.zeros_like(actual), trajectory.velocities])
            trajectory = Trajectory(trajectory.joint_names, times, positions, velocities)
        self._goal, self._trajectory, self._brake = goal, trajectory, None

    def hold(self) -> None:
        """Stop at once and keep the present position."""
        self._hold, self._trajectory, self._brake = self._positions(), None, None

    def tick(self) -> None:
        """Advance control by one tick."""
        physics, goal, trajectory = self._physics, self._goal, self._trajectory
        if goal is not None and not goal.done:
            self._stop_when_pushing(goal)
        if self._brake is not None:
            self._slow_down()
            return
        if goal is None or goal.done or trajectory is None:
            self._servo(self._hold)
            return
        elapsed = physics.time - goal.started_at
        wanted, velocity = trajectory.at(elapsed + TICK)
        actual = self._positions()
        desired_now, _ = trajectory.at(elapsed)
        error = desired_now - actual
        goal.feedback.update(
            time_from_start=elapsed,
            duration=trajectory.duration,
            desired=desired_now.tolist(),
            actual=actual.tolist(),
            error=error.tolist(),
        )
        worst = float(np.abs(error).max())
        if goal.cancel_requested:
            self._brake = (physics.time, wanted.copy(), velocity.copy())
            return
        if worst > PATH_TOLERANCE:
            self.hold()
            goal.finish(
                "ABORTED",
                physics.time,
                MoveItCode.CONTROL_FAILED,
                f"the arm is {worst:.2f} rad off its path (allowed {PATH_TOLERANCE}): something blocks it",
            )
            return
        self._servo(wanted, velocity)
        if elapsed >= trajectory.duration:
            self._hold = trajectory.positions[-1]
            end_error = float(np.abs(trajectory.positions[-1] - actual).max())
            if end_error < GOAL_TOLERANCE and np.abs(physics.arm_velocities()).max() < 0.05:
                goal.finish("SUCCEEDED", physics.time, MoveItCode.SUCCESS)
            elif elapsed > trajectory.duration + SETTLE_TIME:
                # What stopped the arm is not pressed on for longer, as by ros2_control's trajectory controller.
                self.hold()
                goal.finish(
                    "ABORTED",
                    physics.time,
                    MoveItCode.CONTROL_FAILED,
                    f"the arm stopped {end_error:.3f} rad from the end of its path (allowed {GOAL_TOLERANCE})",
                )

    def _stop_when_pushing(self, goal: Goal) -> None:
        """Hold the arm and abort its goal where it pushes too hard: the protective stop of a real arm."""
        limit = self._physics.arm.force_limit
        if self._contact.exceeds(limit):
            push = self._contact.newtons()
            self.hold()
            goal.finish(
                "ABORTED",
                self._physics.time,
                MoveItCode.CONTROL_FAILED,
                f"protective stop: the arm pushes with {push:.0f} N (allowed {limit:.0f}): something blocks it",
            )

    def _slow_down(self) -> None:
        assert self._brake is not None
        began, position, velocity = self._brake
        t = min(self._physics.time - began, BRAKE_TIME)
        self._hold = position + velocity * (t - t * t / (2 * BRAKE_TIME))
        self._servo(self._hold, velocity * (1 - t / BRAKE_TIME))
        if t >= BRAKE_TIME and np.abs(self._physics.arm_velocities()).max() < 0.05:
            self._brake = self._trajectory = None
            if self._goal is not None:
                self._goal.finish("CANCELED", self._physics.time, MoveItCode.PREEMPTED, "canceled")
