"""Runs the main job: the task that several suites take apart."""

from dataclasses import dataclass

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.home.world import World
from quartet_contracts import JournalEvent, State, TaskStatus, TaskSubmission
from quartet_deployment import Stack

MAIN_JOB = "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room"
TASK_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Job:
    """One run of the main job."""

    status: TaskStatus
    events: list[JournalEvent]

    @property
    def trace(self) -> str:
        """Id of its trace."""
        return (self.status.task.traceparent or "--").split("-")[1]

    @property
    def wall_s(self) -> float:
        """Wall time from its acceptance to its end [s]."""
        return self.status.updated_at - self.status.task.created_at


def run_main_job(stack: Stack, seed: int) -> Job:
    """Run the main job in a fresh world of this seed. Raises MeasurementError when it does not succeed."""
    with World(stack.scoring_url) as world:
        world.reset(seed)
    with stack.api() as api:
        task_id = api.submit(TaskSubmission(sentence=MAIN_JOB, timeout_s=TASK_TIMEOUT_S)).task.task_id
        events = list(api.events(task_id))
        status = api.task(task_id)
    if status.state is not State.SUCCEEDED:
        why = status.report.summary if status.report else ""
        raise MeasurementError(f"the main job ended as {status.state}, so there is nothing to measure: {why}")
    return Job(status, events)
