"""Exit statuses of the command and the errors that carry them.

CliError
├── UsageError        the command line or the input is wrong
├── LeftError         Ctrl-C while a task was being given
└── CannotStartError  the processes of this machine cannot be started, or one of them died
"""

from enum import IntEnum

from quartet_deployment import DeploymentError, RefusedError, UnreachableError


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
    """Ctrl-C left a task that was still running, being given or ending."""


class CliError(Exception):
    """Base of the command's own errors; the message is for the person at the terminal."""


class UsageError(CliError):
    """The command line or the input is wrong; nothing was started."""


class LeftError(CliError):
    """Ctrl-C while a task was being given: it may be there or not."""


class CannotStartError(CliError):
    """The processes of this machine cannot be started, or one of them died."""


def exit_status(error: CliError | DeploymentError) -> ExitStatus:
    """Return the exit status that goes with an error."""
    match error:
        case UsageError() | RefusedError():
            return ExitStatus.USAGE
        case UnreachableError():
            return ExitStatus.UNREACHABLE
        case LeftError():
            return ExitStatus.LEFT
        case CannotStartError():
            return ExitStatus.CANNOT_START
        case _:
            return ExitStatus.FAILED
