"""Errors of the stack.

StackError
├── NotInstalled   a program that is needed is not there
├── PortTaken      a port that was asked for is in use
├── FolderInUse    another stack runs in the same state folder
├── ProcessDied    a process ended by itself; has its last lines
└── StartTimeout   a process did not become ready in time; has its last lines
"""

from pathlib import Path


class StackError(Exception):
    """Base of everything the stack raises."""


class NotInstalled(StackError):
    """A program that is needed is not there."""


class PortTaken(StackError):
    """A port that was asked for is in use."""


class FolderInUse(StackError):
    """Another stack runs in the same state folder."""


class ProcessDied(StackError):
    """A process ended by itself."""

    def __init__(self, name: str, status: int, log: Path, tail: str) -> None:
        self.name = name
        self.status = status
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        super().__init__(f"{name} {how}. Last lines of {log}:\n{tail}")


class StartTimeout(StackError):
    """A process did not become ready in time."""

    def __init__(self, name: str, seconds: float, log: Path, tail: str) -> None:
        self.name = name
        super().__init__(f"{name} was not ready after {seconds:.0f} s. Last lines of {log}:\n{tail}")
