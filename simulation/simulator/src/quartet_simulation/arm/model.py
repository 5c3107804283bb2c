"""What planning, kinematics and controllers need to know of an arm and its gripper, whichever robot has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ArmModel:
    """An arm: its names in /tf, /joint_states and MoveIt, its limits and its kinematics.

    Joint vectors have the order of `joints` [rad]. Poses are 4x4 matrices of `tool` in `base` [m]; the fingers close
    along x of `tool` and reach `tip_m` along its z.
    """

    robot: str
    """Name of the robot's description."""
    group: str
    """MoveIt's planning group."""
    base: str
    """Frame on the floor that poses are given in."""
    mount: str
    """First link, which stands still in `base`."""
    joints: tuple[str, ...]
    links: tuple[str, ...]
    """The link after each joint."""
    tool: str
    tip: str
    """Frame between the finger tips."""
    tip_m: float
    fingers: tuple[str, ...]
    """Bodies of the gripper that may touch things."""
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    speed: tuple[float, ...]
    """Greatest speeds [rad/s]."""
    acceleration: tuple[float, ...]
    """[rad/s^2]"""
    weights: tuple[float, ...]
    """How much a joint's motion counts when the nearest of several solutions is chosen."""
    forward: Callable[[np.ndarray], np.ndarray]
    """Pose of `tool` in `base` at joint positions."""
    inverse: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """Joint solutions (N, J) for a pose; of infinitely many those near the joints that are given second."""
    bend: tuple[float, ...] = ()
    """How much a joint's distance from zero counts as well; empty: not at all."""

    @property
    def hand(self) -> tuple[str, ...]:
        """Bodies that move with the joints, the gripper's fingers aside."""
        return (*self.links, self.tool)

    def cost(self, joints: np.ndarray, near: np.ndarray) -> float:
        """Return how far joints are from others, weighted; the least is the solution to take."""
        away = float((np.array(self.weights) * np.abs(joints - near)).sum())
        return away + (float((np.array(self.bend) * np.abs(joints)).sum()) if self.bend else 0.0)

    def nearest_turns(self, joints: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Return joints with whole turns added so that each is nearest to `near` within its limits."""
        turn = 2 * np.pi
        result = joints + turn * np.round((near - joints) / turn)
        result = np.where(result > np.array(self.upper), result - turn, result)
        return np.where(result < np.array(self.lower), result + turn, result)


@dataclass(frozen=True)
class GripperModel:
    """A parallel gripper: names, stroke, and the positions that a GripperCommand gives."""

    action: str
    node: str
    driver: str
    """Node that publishes its state."""
    joint: str
    """Its joint in /joint_states."""
    stroke: float
    """Distance between the pads when fully open [m]."""
    open_position: float
    closed_position: float
    """Positions of the joint and of a GripperCommand, fully open and fully closed."""
    speed: float
    """Rate of change of the opening [m/s]."""
    force: float
    """Of a command that names none [N]."""
    most_force: float

    def width_of(self, position: float) -> float:
        """Return the opening between the pads [m] at a position."""
        return self.stroke * (position - self.closed_position) / (self.open_position - self.closed_position)

    def position_of(self, width: float) -> float:
        """Return the position at an opening [m]."""
        return self.closed_position + width / self.stroke * (self.open_position - self.closed_position)
