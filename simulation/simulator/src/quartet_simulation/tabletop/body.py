"""The Panda at its table as the controllers of arm and gripper see it."""

from __future__ import annotations

import mujoco

from quartet_simulation.arm.body import STEPS_PER_TICK, TICK, ArmBody
from quartet_simulation.arm.model import standing
from quartet_simulation.arm.panda import PANDA, PANDA_HAND
from quartet_simulation.tabletop.kinematics import FOOT
from quartet_simulation.tabletop.world import Tabletop

ARM = PANDA.moved(standing((0.0, 0.0, FOOT[2])))
"""The arm in base_footprint, on the floor under its foot."""


class PandaBody(ArmBody):
    """Reads the state of an episode and writes set points.

    Args:
        table: the episode.
    """

    arm, hand = ARM, PANDA_HAND

    def __init__(self, table: Tabletop) -> None:
        self.table = table
        self.model: mujoco.MjModel = table.model
        self.data: mujoco.MjData = table.data
        self._external = table.external
        self._ticks = 0
        self.find_parts()

    @property
    def time(self) -> float:
        """World time [s]."""
        return self._ticks * TICK

    def tick(self) -> None:
        """Advance by one tick with the present set points."""
        self.table.advance(STEPS_PER_TICK)
        self._ticks += 1

    def held_object(self) -> str | None:
        """Return the thing that both fingers press, None without one."""
        return self.table.held
