"""Errors of the tabletop.

TabletopError
├── UnknownTaskError      there is no task of this name, or no such variation
├── NoPlacementError      the objects of an episode found no place
├── UnreachableError      the arm does not reach a pose
├── CollisionError        on the way to a pose the arm would meet something that does not move
└── UnknownObjectError    there is no object of this name on the table
"""

from quartet_simulation.errors import SimulationError


class TabletopError(SimulationError):
    """Base of every error of the tabletop; its text is meant for who moves the arm."""


class UnknownTaskError(TabletopError, LookupError):
    """There is no task of this name, or no such variation."""


class NoPlacementError(TabletopError):
    """The objects of an episode found no place."""


class UnreachableError(TabletopError, ValueError):
    """The arm does not reach a pose."""


class CollisionError(TabletopError):
    """On the way to a pose the arm would meet something that does not move."""


class UnknownObjectError(TabletopError, LookupError):
    """There is no object of this name on the table."""
