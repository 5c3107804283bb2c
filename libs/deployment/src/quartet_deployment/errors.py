"""Errors of a deployment on this machine and of the clients of its services.

DeploymentError
├── ProjectNotFoundError   no folder here or above holds the project's files
├── SecretsError           a folder of secrets cannot be used
├── StackError             the processes of a stack cannot be started, or one of them is not as it should be
│   ├── OptionError        what the options name is not there, or cannot be had
│   ├── NotInstalledError  a program that is needed is not installed
│   ├── PortTakenError     a port that was asked for is in use
│   ├── FolderInUseError   another stack runs in the same state folder
│   ├── ProcessDiedError   a process ended by itself; has its last log lines
│   └── StartTimeoutError  a process was not ready in time; has its last log lines
└── ClientError            a request to a service of the deployment failed
    ├── UnreachableError   nothing answers, or something else does
    └── RefusedError       the service refused the request (bad input, unknown task, wrong token)
"""

from pathlib import Path


class DeploymentError(Exception):
    """Base of every error of this package; the message says what to do."""


class ProjectNotFoundError(DeploymentError):
    """No folder here or above holds the project's files."""


class SecretsError(DeploymentError):
    """A folder of secrets cannot be used."""


class StackError(DeploymentError):
    """The processes of a stack cannot be started, or one of them is not as it should be."""


class OptionError(StackError):
    """What the options of a stack name is not there, or cannot be had."""


class NotInstalledError(StackError):
    """A program that is needed is not installed."""


class PortTakenError(StackError):
    """A port that was asked for is in use."""


class FolderInUseError(StackError):
    """Another stack runs in the same state folder."""


class ProcessDiedError(StackError):
    """A process ended by itself."""

    def __init__(self, name: str, status: int, log: Path, tail: str) -> None:
        self.name = name
        self.status = status
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        super().__init__(f"{name} {how}. Last lines of {log}:\n{tail}")


class StartTimeoutError(StackError):
    """A process was not ready in time."""

    def __init__(self, name: str, seconds: float, log: Path, tail: str) -> None:
        self.name = name
        super().__init__(
            f"{name} was not ready after {seconds:.0f} s; on a slow or busy machine give it more time with "
            f"--start-timeout. Last lines of {log}:\n{tail}"
        )


class ClientError(DeploymentError):
    """A request to a service of the deployment failed."""


class UnreachableError(ClientError):
    """Nothing answers at the address, or something that is not the service."""


class RefusedError(ClientError):
    """The service refused the request."""
