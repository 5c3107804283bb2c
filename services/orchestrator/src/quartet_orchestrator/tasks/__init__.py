"""Tasks: the service that takes orders for them, the runner that serves the robots, one run from start to report."""

from quartet_orchestrator.tasks.briefs import make_briefs
from quartet_orchestrator.tasks.run import RunContext
from quartet_orchestrator.tasks.runner import TaskRunner
from quartet_orchestrator.tasks.service import TaskService

__all__ = ["RunContext", "TaskRunner", "TaskService", "make_briefs"]
