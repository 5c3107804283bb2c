"""Takes tasks from the stream: one at a time per robot, several robots side by side."""

import asyncio
import logging
import time

from quartet_bus import BusUnavailable, LeaseLost, RobotTasks, TaskDelivery
from quartet_contracts import TERMINAL, State, TaskReport, TaskStatus
from quartet_orchestrator import metrics
from quartet_orchestrator.context import Context
from quartet_orchestrator.progress import TaskRecord, close_journal
from quartet_orchestrator.recovery import end_orphan
from quartet_orchestrator.task_run import TaskRun

log = logging.getLogger(__name__)
RETRY_S = 0.5
ATTEMPTS = 60
"""After so many the task is given back, for another replica or to be given up by the stream's own cap."""


class Runner:
    """Serves every robot of the settings until `stop` is set."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.running: dict[str, str] = {}
        """Task id by robot."""

    async def serve(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            for robot in self._context.settings.servers:
                group.create_task(self._serve_robot(robot, stop), name=f"robot-{robot}")

    async def _serve_robot(self, robot: str, stop: asyncio.Event) -> None:
        tasks = self._context.bus.robot_tasks(robot)
        while not stop.is_set():
            delivery = await _unless(stop, tasks)
            if delivery is None:
                return
            self.running[robot] = delivery.task.task_id
            try:
                with metrics.RUNNING.labels(robot).track_inprogress():
                    await self._handle(tasks, delivery, stop)
            finally:
                del self.running[robot]

    async def _handle(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event) -> None:
        """Run a delivery to its end; a store that is away for a while must not lose it."""
        task_id = delivery.task.task_id
        started = delivery.started
        for _ in range(ATTEMPTS):
            if delivery.lost.is_set():
                return
            try:
                await self._run(tasks, delivery, stop, started=started)
                await tasks.finish(delivery)
                return
            except LeaseLost as error:
                log.error("%s", error)
                return
            except BusUnavailable as error:
                log.error("task %s: %s", task_id, error)
                if stop.is_set():
                    return
                started = True
            except Exception:
                log.exception("task %s", task_id)
                started = True
            await asyncio.sleep(RETRY_S)
        tasks.release(delivery)

    async def _run(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event, *, started: bool) -> None:
        bus, task = self._context.bus, delivery.task
        status = await bus.statuses.get(task.task_id)
        if status is None:
            status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        if status.state in TERMINAL:
            await close_journal(bus, status)
            return
        # One that another replica had started is never run again, however far it got.
        if delivery.started or (started and status.state is not State.QUEUED):
            await end_orphan(bus, self._context.fencer, status, self._context.settings.cancel_wait_s)
        elif not await self._ended_before_start(status):
            await tasks.mark_started(delivery)
            await TaskRun(self._context, delivery, status).run(stop)
        ended = await bus.statuses.get(task.task_id)
        if ended is not None and ended.state in TERMINAL:
            metrics.TASKS.labels(ended.state).inc()
            metrics.TASK_SECONDS.labels(ended.state).observe(ended.updated_at - task.created_at)

    async def _ended_before_start(self, status: TaskStatus) -> bool:
        """Canceled or expired in the queue."""
        reason = await self._context.bus.tasks.cancellation(status.task.task_id)
        if reason is not None:
            state = State.CANCELED
        elif status.task.deadline <= time.time():
            state, reason = State.FAILED, "The task's time was over before the robot was free. Nothing was done."
        else:
            return False
        await TaskRecord(self._context.bus, status).end(state, TaskReport(success=False, summary=reason))
        return True


async def _unless(stop: asyncio.Event, tasks: RobotTasks) -> TaskDelivery | None:
    """The next delivery, or None when `stop` is set first."""
    taking = asyncio.create_task(tasks.take())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return taking.result() if taking.done() else None
    finally:
        for task in (taking, stopping):
            task.cancel()
        await asyncio.gather(taking, stopping, return_exceptions=True)
