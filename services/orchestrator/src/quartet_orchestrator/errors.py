"""Errors of the orchestrator.

OrchestratorError
├── SetupError              the process cannot start; the text names variable, value and remedy
├── RequestError            a request of a client is refused; carries HTTP status, title and detail
├── ParticipantLostError    a robot's participant in a team does not answer
├── StopServiceError        the stop service was not reached, or refused
└── TaskAbortedError        a task cannot go on, whatever the model does; the text says why and what to do
    └── FenceRefusedError   the fence could not be installed at every motion server, so nothing may move
"""


class OrchestratorError(Exception):
    """Base of everything that this package raises."""


class SetupError(OrchestratorError):
    """The process cannot start."""


class RequestError(OrchestratorError):
    """A request of a client is refused."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        """`status` is the HTTP status; `title` and `detail` are those of RFC 9457."""
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail


class StopServiceError(OrchestratorError):
    """The stop service was not reached, or refused; the message says what a person can do."""


class TaskAbortedError(OrchestratorError):
    """Ends a task as FAILED with this text as the reason."""


class ParticipantLostError(OrchestratorError):
    """The participant of a robot does not answer; the team goes on without that robot."""

    def __init__(self, robot: str, reason: str) -> None:
        super().__init__(reason)
        self.robot = robot


class FenceRefusedError(TaskAbortedError):
    """Not every motion server knows the newest fence."""
