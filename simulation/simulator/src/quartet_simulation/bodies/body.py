"""A robot's body as one compiled model: chain, hand, cameras and mobility, whichever file describes it."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from quartet_simulation.described.chain import Chain
from quartet_simulation.described.reading import data_of
from quartet_simulation.described.structure import pose_of
from quartet_site import BodyFile

FLOOR = "the floor"
"""Body of the floor in a compiled model."""


@dataclass(frozen=True)
class BodyArm:
    """The chain from the base frame to the grasp point, whose frame reaches along its z."""

    chain: Chain
    joints: tuple[int, ...]
    """In the model."""
    bearing: float = 0.0
    """Of the points about which claims are made [degrees]."""


@dataclass(frozen=True, eq=False)
class Body:
    """A robot. The base frame is on the floor below it: x ahead, y left, z up [m, rad]."""

    file: BodyFile
    """That of a robot file or a model file alone is derived from it."""
    model: mujoco.MjModel
    posture: np.ndarray
    """qpos while the robot stands still."""
    base: np.ndarray
    """Pose of the base frame in the model's world, 4x4."""
    foot: int
    """Body from which the tree of links begins."""
    cameras: dict[str, int]
    """Body that carries each camera of the file."""
    arm: BodyArm | None

    def tip_at(self, joints: np.ndarray) -> np.ndarray:
        """Return the grasp point's frame in the base frame at joints of the arm (J,) by MuJoCo's kinematics, 4x4."""
        assert self.arm is not None
        posture = self.posture.copy()
        posture[self.model.jnt_qposadr[list(self.arm.joints)]] = joints
        link = pose_of(data_of(self.model, posture), int(self.model.jnt_bodyid[self.arm.joints[-1]]))
        return np.linalg.inv(self.base) @ link @ self.arm.chain.tool


def add_floor(spec: mujoco.MjSpec) -> None:
    """Add the floor at height 0 of the model's world."""
    floor = spec.worldbody.add_body(name=FLOOR)
    floor.add_geom(name=FLOOR, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1])
