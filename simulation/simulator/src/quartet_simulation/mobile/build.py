"""How a simulated robot is built: its base, its arm, its cameras, and where they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from quartet_simulation.arm.kind import ArmKind, Position
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.mobile.arms import ARMS
from quartet_simulation.robot import dimensions as dim

OPTICAL = {"front": "front_camera_color_optical_frame", "arm": "arm_camera_color_optical_frame"}
"""Optical frame of each camera."""


@dataclass(frozen=True)
class Base:
    """A mobile base. Its frame is base_footprint: x ahead, y left, z up, origin on the floor [m]."""

    length: float = dim.BASE_LENGTH
    width: float = dim.BASE_WIDTH
    height: float = 0.45
    """Of its body's top."""
    clearance: float = 0.07
    """Between its body and the floor."""
    mass: float = 60.0
    """[kg]"""
    differential: bool = False
    """Two driven wheels beside its middle, so that it cannot drive sideways; else it drives into every direction."""
    wheel_radius: float = 0.11
    wheel_track: float = 0.52
    """Between left and right wheels."""
    wheel_base: float = 0.46
    """Between front and rear wheels of a base that has four."""
    linear_speed: float = 0.70
    """[m/s]"""
    angular_speed: float = 1.2
    """[rad/s]"""

    def driven(self, twist: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return what the wheels make of a wanted twist (m/s, m/s, rad/s).

        A differential drive has no motion sideways, and no wheel turns faster than for driving straight at full speed:
        the twist is slowed down as a whole, so that the curve stays the same.
        """
        if not self.differential:
            return twist
        forward, _, turn = twist
        fastest = abs(forward) + abs(turn) * self.wheel_track / 2
        share = min(1.0, self.linear_speed / fastest) if fastest > 0 else 1.0
        return share * forward, 0.0, share * turn

    @property
    def radius(self) -> float:
        """About the circle around the body: how other robots mark it [m]."""
        return round(math.hypot(self.length, self.width) / 2 - 0.05, 2)


@dataclass(frozen=True)
class CameraMount:
    """Where a camera is and where it looks."""

    position: Position
    """The front camera in base_footprint, the wrist camera in the arm's tool frame [m]."""
    tilt: float
    """The front camera looks so far below the horizon, the wrist camera leans so far towards the fingers [rad]."""
    fovy: float
    """Vertical field of view [degrees]."""


@dataclass(frozen=True)
class RobotBuild:
    """A simulated robot. The defaults are the Summit XL with a UR5-like arm and a 2F-140-like gripper."""

    base: Base = field(default_factory=Base)
    kind: ArmKind = ARMS["ur5"]
    mount: Position = dim.ARM_MOUNT
    """Foot of the arm in base_footprint [m]."""
    mount_yaw: float = dim.ARM_MOUNT_YAW
    arm: ArmModel = ARMS["ur5"].arm
    """The arm as it stands there."""
    folded: tuple[float, ...] = dim.LOOK_FORWARD
    """The arm's joints as it drives [rad]."""
    pick_standoff: float = dim.PICK_STANDOFF
    """From base_footprint to what is picked up [m]."""
    front_camera: CameraMount = CameraMount(dim.MAST, dim.MAST_PITCH, dim.FRONT_FOVY_DEG)
    arm_camera: CameraMount = CameraMount(dim.ARM_CAMERA, dim.ARM_CAMERA_TILT, dim.ARM_FOVY_DEG)
    laser_height: float = dim.LASER_HEIGHT

    @property
    def brings_base(self) -> bool:
        """Whether the arm's model has a mobile base, which is seen in place of the box that drives."""
        return self.mount[2] == 0

    @property
    def hand(self) -> GripperModel:
        """The gripper."""
        return self.kind.hand


SUMMIT = RobotBuild()
