"""What planning, kinematics and controllers need to know of an arm and its gripper, whichever robot has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


def standing(position: tuple[float, float, float], yaw: float = 0.0) -> np.ndarray:
    """Return the pose of what stands at a position [m], turned by yaw about z [rad], 4x4."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = position
    return np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class ArmModel:
    """An arm: its names in /tf, /joint_states and MoveIt, its limits and its kinematics.

    Joint vectors have the order of `joints` [rad, of slides m]. Poses are 4x4 matrices of `tool` in `base` [m]; the
    fingers close along x of `tool` and reach `tip_m` along its z.
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
    """Bodies of the gripper that move against each other."""
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
    palm: tuple[str, ...] = ()
    """Further bodies that move with a joint."""
    follow: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """The solution (1, J) for a pose that continues from the joints that are given second, where `inverse` costs much
    more; None: `inverse` is as good."""

    force_limit: float = 100.0
    """Force at the tip of the fingers on which a motion is stopped [N]. Collision threshold of libfranka's example
    force_control; its examples that touch nothing have 20 N."""

    @property
    def hand(self) -> tuple[str, ...]:
        """Bodies that move with the joints, the gripper's fingers aside."""
        return (*self.links, self.tool, *self.palm)

    def moved(self, by: np.ndarray) -> ArmModel:
        """Return the arm as it stands in another base frame, in which the present one is at the pose `by`, 4x4."""
        back, forward, inverse, follow = np.linalg.inv(by), self.forward, self.inverse, self.follow
        return replace(
            self,
            forward=lambda joints: by @ forward(joints),
            inverse=lambda pose, near: inverse(back @ pose, near),
            follow=None if follow is None else lambda pose, near: follow(back @ pose, near),
        )

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
    finger_joints: tuple[str, ...]
    """Joints of the fingers in the simulation, which move alike [m]."""
    opens: bool
    """Whether these joints grow when the fingers open; else they are 0 when open."""
    pad_half: float
    """Half of the length of the pads, which end where the fingers end [m]."""
    depth: float
    """How far the middle of the pads may go below the top of a thing [m]."""
    gap: float = 0.0
    """Distance between the pads where the finger joints are 0, of fingers that open as they grow [m]."""

    def width_of(self, position: float) -> float:
        """Return the opening between the pads [m] at a position."""
        return self.stroke * (position - self.closed_position) / (self.open_position - self.closed_position)

    def position_of(self, width: float) -> float:
        """Return the position at an opening [m]."""
        return self.closed_position + width / self.stroke * (self.open_position - self.closed_position)

    def opening_at(self, joints: float) -> float:
        """Return the distance between the pads where the finger joints add up to `joints` [m]."""
        return self.gap + joints if self.opens else self.stroke - joints

    def finger_at(self, opening: float) -> float:
        """Return the position of each finger joint at an opening [m]."""
        return (opening - self.gap if self.opens else self.stroke - opening) / len(self.finger_joints)
