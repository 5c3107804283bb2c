"""Errors of the simulation.

SimulationError
├── UnknownName     a world, camera, object, joint or planner that is not there; the message lists the valid ones
└── InvalidCommand  a command whose values make no sense (wrong length, not finite, times that go back)
"""

from collections.abc import Iterable


class SimulationError(Exception):
    """Base of everything this package raises."""


class UnknownName(SimulationError):
    """A name that is not registered."""

    def __init__(self, what: str, name: object, valid: Iterable[str]) -> None:
        super().__init__(f"unknown {what} {name!r}; valid: {', '.join(sorted(valid))}")


class InvalidCommand(SimulationError):
    """A command that cannot be carried out because its values make no sense."""
