"""Metrics of the orchestrator and their labels."""

from prometheus_client import Counter, Gauge, Histogram

SECONDS = (1, 2, 5, 10, 20, 60, 120, 300, 600, 1800)

TASKS = Counter("quartet_tasks_total", "Tasks ended, by state", ["state"])
TASK_SECONDS = Histogram("quartet_task_seconds", "Accepted to ended", ["state"], buckets=SECONDS)
RUNNING = Gauge("quartet_tasks_running", "Tasks that run now", ["robot"])
FALSE_CLAIMS = Counter("quartet_false_claims_total", "Claims of success that the record did not bear out")
