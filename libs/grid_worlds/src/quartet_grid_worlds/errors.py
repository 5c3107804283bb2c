"""Errors of the grid worlds.

GridWorldError
├── UnknownWorldError   there is no world of this name
├── SizeError           the world has no instance with this number of robots
├── StateError          a text or an object is no state of the world
└── IllegalPlanError    a plan names a robot or an action that there is not, or the episode has ended
"""


class GridWorldError(Exception):
    """Base of every error of the grid worlds."""


class UnknownWorldError(GridWorldError, LookupError):
    """There is no world of this name."""


class SizeError(GridWorldError, ValueError):
    """The world has no instance with this number of robots."""


class StateError(GridWorldError, ValueError):
    """A text or an object is no state of the world."""


class IllegalPlanError(GridWorldError, ValueError):
    """A plan names a robot or an action that there is not, or the episode has ended."""
