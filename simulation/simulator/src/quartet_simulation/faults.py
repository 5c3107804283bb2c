"""Faults of real bridges, each behind its own switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from quartet_simulation import metrics

FAULTS = {
    "zombie": "the websocket accepts, and nothing is ever answered",
    "dead_executor": "the bridge refuses calls and ends late ones, but its executor serves no topic, service or goal",
    "first_goal_unavailable": "the first goal of each action after start fails with 'No action server available'",
    "wrong_type_poisons": "a goal with a wrong action_type makes that action unusable until the bridge restarts",
    "rosapi_dies": "requests that kill rosapi 2.7.1 kill it here too; its services are gone afterwards",
    "rosapi_silent": "rosapi is in the graph and answers nothing, as one that has just died or hangs",
    "no_clock": "nothing comes on /clock, as on a robot",
    "silent_action": "goals run, but no result is ever sent",
    "cancels_refused": "no cancel is taken; the answer is rclpy's: no error, and no goal that is canceling",
    "slow_services": "every service answers two seconds late",
}
"""Kind to what it does."""


class Faults:
    """The faults that are switched on now; may be changed while the process runs."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self._kinds: frozenset[str] = frozenset()
        self._listeners: list[Callable[[str], None]] = []
        self.set(kinds)

    def when_ended(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the kind of each fault that is switched off from now on."""
        self._listeners.append(listener)

    def set(self, kinds: Iterable[str]) -> None:
        """Replace what is on. Raises ValueError for an unknown kind."""
        wanted = frozenset(kinds)
        unknown = sorted(wanted - FAULTS.keys())
        if unknown:
            raise ValueError(f"unknown fault {', '.join(unknown)}; valid: {', '.join(sorted(FAULTS))}")
        ended, self._kinds = self._kinds - wanted, wanted
        for kind in sorted(ended):
            for listener in self._listeners:
                listener(kind)

    def strikes(self, kind: str) -> bool:
        """Whether a fault is on; to be asked last, where it then does what it does: it is counted."""
        if kind not in self._kinds:
            return False
        metrics.FAULTS.labels(kind).inc()
        return True

    @property
    def active(self) -> list[str]:
        """Names of the faults that are on, sorted."""
        return sorted(self._kinds)
