"""What every process has: logs, metrics, traces, secrets."""

from quartet_process.logs import JsonLines, set_up_logging
from quartet_process.work import current_work, work

__all__ = ["JsonLines", "current_work", "set_up_logging", "work"]
