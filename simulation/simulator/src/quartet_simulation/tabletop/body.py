"""An arm at its table as the controllers of arm and gripper see it."""

from __future__ import annotations

from quartet_simulation.arm.body import TICK, ArmBody
from quartet_simulation.mobile.arms import ARMS
from quartet_simulation.tabletop.world import Tabletop


class TableBody(ArmBody):
    """Reads the state of an episode and writes set points.

    Args:
        table: the episode.
        number: of the arm, from 0.
    """

    def __init__(self, table: Tabletop, number: int = 0) -> None:
        self.table, self.model, self.data = table, table.model, table.data
        self.placed = table.placed[number]
        kind = ARMS[self.placed.kind]
        self.arm, self.hand = kind.at((0.0, 0.0, self.placed.foot[2]), 0.0), kind.hand
        self._external = table.external
        self._ticks = 0
        self.find_parts()

    @property
    def time(self) -> float:
        """World time [s]."""
        return self._ticks * TICK

    def name(self, part: str) -> str:
        """Return the name of a part of this arm in the model."""
        return self.placed.prefix + part

    def tick(self, *others: TableBody) -> None:
        """Advance by one tick with the present set points, of all arms of the table."""
        self.table.step(TICK)
        for body in (self, *others):
            body._ticks += 1

    def held_object(self) -> str | None:
        """Return the thing that both fingers press, None without one."""
        return self.table.held_by(self.placed.name)
