"""Errors of the orchestrator.

OrchestratorError
├── SetupProblem     the process cannot start; the text names variable, value and remedy
└── TaskAborted      this task cannot go on, whatever the model does; the text says why and what to do
    └── FenceRefused the fence could not be installed at every motion server, so nothing may move
"""


class OrchestratorError(Exception):
    """Base of everything this package raises."""


class SetupProblem(OrchestratorError):
    """The process cannot start."""


class TaskAborted(OrchestratorError):
    """Ends a task as FAILED with this text as the reason."""


class FenceRefused(TaskAborted):
    """Not every motion server knows the newest fence."""
