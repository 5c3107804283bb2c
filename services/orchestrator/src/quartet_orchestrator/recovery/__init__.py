"""What a process needs to go on with a task: its record and history, the fence, the look at an unknown outcome."""

from quartet_orchestrator.recovery.fencing import FenceClient
from quartet_orchestrator.recovery.history import Attempt, History, read_history
from quartet_orchestrator.recovery.inspection import Inspector
from quartet_orchestrator.recovery.outcomes import AttemptOutcome, OutcomeResolver, not_started_event, skill_details
from quartet_orchestrator.recovery.record import TaskRecord, close_journal, end_unstarted
from quartet_orchestrator.recovery.store_loss import StoreLossRecovery

__all__ = [
    "Attempt",
    "AttemptOutcome",
    "FenceClient",
    "History",
    "Inspector",
    "OutcomeResolver",
    "StoreLossRecovery",
    "TaskRecord",
    "close_journal",
    "end_unstarted",
    "not_started_event",
    "read_history",
    "skill_details",
]
