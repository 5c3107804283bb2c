"""The arms that a simulated robot can have, by name."""

from __future__ import annotations

from quartet_simulation.arm import panda as panda_arm
from quartet_simulation.arm import summit
from quartet_simulation.arm.kind import ArmKind
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.robot.panda import add_panda
from quartet_simulation.robot.ur5 import add_ur5

ARMS = {
    "ur5": ArmKind(summit.ARM, summit.GRIPPER, (dim.ARM_MOUNT, dim.ARM_MOUNT_YAW), add_ur5),
    "panda": ArmKind(panda_arm.PANDA, panda_arm.PANDA_HAND, ((0.0, 0.0, 0.0), 0.0), add_panda),
}
