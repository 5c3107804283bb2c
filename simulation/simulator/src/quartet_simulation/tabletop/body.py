"""The Panda at its table as the controllers of arm and gripper see it."""

from __future__ import annotations

from quartet_simulation.arm.body import TICK, ArmBody
from quartet_simulation.arm.model import standing
from quartet_simulation.arm.panda import PANDA, PANDA_HAND
from quartet_simulation.tabletop.world import Tabletop


class PandaBody(ArmBody):
    """Reads the state of an episode and writes set points.

    Args:
        table: the episode.
    """

    hand = PANDA_HAND

    def __init__(self, table: Tabletop) -> None:
        self.table, self.model, self.data = table, table.model, table.data
        self.arm = PANDA.moved(standing((0.0, 0.0, table.foot[2])))
        self._external = table.external
        self._ticks = 0
        self.find_parts()

    @property
    def time(self) -> float:
        """World time [s]."""
        return self._ticks * TICK

    def tick(self) -> None:
        """Advance by one tick with the present set points."""
        self.table.step(TICK)
        self._ticks += 1

    def held_object(self) -> str | None:
        """Return the thing that both fingers press, None without one."""
        return self.table.held
