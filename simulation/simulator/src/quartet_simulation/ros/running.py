"""Goals and observers that run in the simulation for the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.goal import Goal


class Observer(Protocol):
    """Called in the simulation's thread as the world advances."""

    def tick(self, sim: ArmSimulation, moving: bool) -> float | None:
        """Called after each chunk of world time and while the world stands still.

        Returns:
            Wall time until it wants to be called again in a standing world [s], or None.
        """
        ...

    def flush(self, sim: ArmSimulation) -> None:
        """Publish what changed, before results are handed out."""
        ...


@dataclass
class RunningGoal:
    """A goal in the simulation; `done` is its future."""

    done: asyncio.Future[Goal]
    goal: Goal | None = None
    on_feedback: Callable[[dict[str, Any]], None] | None = None
    cancelled: bool = False
    last_feedback: float = 0.0

    def cancel(self) -> None:
        """Ask for a controlled stop; also before the goal has started."""
        self.cancelled = True
        if self.goal is not None:
            self.goal.cancel()


def resolve(future: asyncio.Future[Any], value: object) -> None:
    """Set the result of a future, unless it is done already."""
    if not future.done():
        future.set_result(value)


def fail(future: asyncio.Future[Any], error: BaseException) -> None:
    """Set the error of a future, unless it is done already."""
    if not future.done():
        future.set_exception(error)


def cancel(future: asyncio.Future[Any]) -> None:
    """Cancel a future."""
    future.cancel()
