"""Metrics of the orchestrator and their labels."""

from prometheus_client import Counter, Gauge, Histogram

from quartet_process import REGISTRY

STATE, ROBOT, AGENT, STREAM, REPLICA = "state", "robot", "agent", "stream", "replica"
SECONDS = (1, 2, 5, 10, 20, 60, 120, 300, 600, 1800)

TASKS = Counter("quartet_tasks_total", "Tasks ended, by state", (STATE,), registry=REGISTRY)
TASK_SECONDS = Histogram("quartet_task_seconds", "Accepted to ended", (STATE,), buckets=SECONDS, registry=REGISTRY)
RUNNING = Gauge("quartet_tasks_running", "Tasks that run now", (ROBOT,), registry=REGISTRY)
FALSE_CLAIMS = Counter(
    "quartet_false_claims_total", "Claims of success that the record did not bear out", registry=REGISTRY
)
