"""Errors of the worlds of experiments.

WorldError
├── UnknownWorldError   there is no world of this name
├── SizeError           the world has no instance with this number of robots
├── StateError          a text or an object is no state of the world
└── IllegalPlanError    a plan names a robot or an action that there is not, or the episode has ended
"""


class WorldError(Exception):
    """Base of every error of a world."""


class UnknownWorldError(WorldError, LookupError):
    """There is no world of this name."""


class SizeError(WorldError, ValueError):
    """The world has no instance with this number of robots."""


class StateError(WorldError, ValueError):
    """A text or an object is no state of the world."""


class IllegalPlanError(WorldError, ValueError):
    """A plan names a robot or an action that there is not, or the episode has ended."""
