"""Clocks of the motion servers, compared with this machine's: grants hold for a time that both have to know."""

import logging
import time
from typing import Any

from quartet_orchestrator import metrics
from quartet_process import clock_skew

log = logging.getLogger(__name__)

TOLERATED_S = 1.0
"""Difference that is reported: servers tolerate two seconds, and a robot may not wait for the first refusal."""


class ClockSkews:
    """How far the clock of each server is ahead of this machine's [s], by robot and server; one per process."""

    def __init__(self) -> None:
        self._skews: dict[tuple[str, str], float] = {}

    def note(self, robot: str, server: str, sent_at: float, health: dict[str, Any]) -> None:
        """Measure by an answer of /health, which tells the time at the server; `sent_at` is this machine's."""
        told = health.get("time")
        if not isinstance(told, int | float):
            return
        skew = clock_skew(told, sent_at, time.time())
        before = self._skews.get((robot, server), 0.0)
        self._skews[robot, server] = skew
        metrics.CLOCK_SKEW.labels(robot, server).set(skew)
        if abs(skew) >= TOLERATED_S > abs(before):
            log.warning("%s", self._describe(robot, server))

    def problem(self, robot: str) -> str:
        """Return which server's clock is wrong and what to do, '' when all agree."""
        for (name, server), skew in self._skews.items():
            if name == robot and abs(skew) >= TOLERATED_S:
                return self._describe(robot, server)
        return ""

    def _describe(self, robot: str, server: str) -> str:
        skew = self._skews[robot, server]
        return (
            f"the clock of robot '{robot}', server '{server}', is {abs(skew):.1f} s "
            f"{'ahead of' if skew > 0 else 'behind'} the orchestrator's; beyond 2 s it takes grants for expired. "
            "Synchronise both machines (chrony or another NTP client)"
        )
