"""What follows a loss of Redis' data: each robot is brought to rest and looked at before it works again."""

import asyncio
import logging
import secrets

from quartet_bus import Bus, BusError
from quartet_contracts import STANDSTILL_TOOLS
from quartet_orchestrator.errors import FenceRefusedError
from quartet_orchestrator.observation import ObserverSessions
from quartet_orchestrator.recovery.fencing import FenceClient

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Time limit of one look at whether a robot rests."""


class StoreLossRecovery:
    """Knows which robots have not been looked at since Redis lost its data; one per process.

    An agent may still work for a task of which nothing is known any more. A newer fence ends its motions and its
    grant; the robot counts as settled once its servers have measured that it rests.
    """

    def __init__(self, bus: Bus, fences: FenceClient, sessions: ObserverSessions) -> None:
        self._bus = bus
        self._fences = fences
        self._sessions = sessions
        self._settled: dict[str, int] = {}
        """By robot, the losses after which it was found at rest."""

    def problem(self, robot: str) -> str:
        """Return why `robot` may not work yet, '' when it may."""
        if self._settled.get(robot, 0) == self._bus.losses:
            return ""
        return "Redis has lost its data; what the robot did last is not known, and it is brought to rest first"

    async def settle(self, robot: str) -> bool:
        """Return whether `robot` may work; after a loss, bring it to rest first. A failure is logged."""
        losses = self._bus.losses
        if not self.problem(robot):
            return True
        try:
            await self._fences.raise_fence(robot, f"loss-{secrets.token_hex(4)}")
            rests = await self._rests(robot)
        except (FenceRefusedError, BusError) as error:
            log.error("robot '%s' is not settled after the loss of Redis' data: %s", robot, error)
            return False
        if rests:
            log.warning("robot '%s' stands still after the loss of Redis' data and takes tasks again", robot)
            self._settled[robot] = losses
        else:
            log.error("robot '%s' was not found at rest after the loss of Redis' data; looking again", robot)
        return rests

    async def _rests(self, robot: str) -> bool:
        async with await self._sessions.open(robot, STANDSTILL_TOOLS, lasts_s=6 * LOOK_S) as toolbox:
            outcomes = await asyncio.gather(
                *(toolbox.call(tool, {}, _ignore, timeout_s=LOOK_S) for tool in STANDSTILL_TOOLS)
            )
        return all(outcome.ok and outcome.content.get("standstill") is True for outcome in outcomes)


async def _ignore(_fraction: float | None, _message: str) -> None:
    return None
