"""Exit statuses of the command and the errors that carry them.

CliError
├── Unreachable   no orchestrator answers
├── Refused       the orchestrator refused what was asked (bad input, unknown task, store not there)
└── CannotStart   the processes of this machine cannot be started
"""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What `quartet` exits with; docs/cli.md lists it."""

    DONE = 0
    """The task was completed (or the command did what it says)."""
    FAILED = 1
    """The task ended, and was not completed."""
    USAGE = 2
    """The command line or the input is wrong; nothing was started."""
    UNREACHABLE = 3
    """No orchestrator answers, or the link to it broke and did not come back."""
    CANCELED = 4
    """The task was canceled."""
    CANNOT_START = 5
    """Processes could not be started, or one died."""
    LEFT = 130
    """A second Ctrl-C: the command left while the task was still ending."""


class CliError(Exception):
    """Something to tell the person, with the exit status that goes with it."""

    status = ExitStatus.FAILED


class Unreachable(CliError):
    """No orchestrator answers."""

    status = ExitStatus.UNREACHABLE


class Refused(CliError):
    """The orchestrator refused what was asked."""

    status = ExitStatus.USAGE


class CannotStart(CliError):
    """The processes of this machine cannot be started, or one of them died."""

    status = ExitStatus.CANNOT_START
