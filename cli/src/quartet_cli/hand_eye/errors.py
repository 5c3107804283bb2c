"""What ends a hand-eye check.

HandEyeError
├── BoardNotSeenError      no camera sees the whole board
├── ArmRefusedError        the arm did not move: refused, stopped, or its server is gone
├── BaseMovedError         the base did not stand still
└── DegenerateLooksError   the looks are too few or too much alike
"""

from quartet_cli.errors import CliError


class HandEyeError(CliError):
    """The check came to no result; nothing was written."""


class BoardNotSeenError(HandEyeError):
    """No camera sees the whole board."""


class ArmRefusedError(HandEyeError):
    """The arm did not move."""


class BaseMovedError(HandEyeError):
    """The base did not stand still."""


class DegenerateLooksError(HandEyeError):
    """The looks are too few or too much alike."""
