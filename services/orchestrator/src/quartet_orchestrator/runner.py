"""Takes tasks from the stream: one at a time per robot, several robots side by side."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from quartet_bus import Bus, BusUnavailable, LeaseLost, RobotTasks, TaskDelivery
from quartet_contracts import TERMINAL, State, TaskReport, TaskStatus
from quartet_orchestrator import metrics
from quartet_orchestrator.context import Context
from quartet_orchestrator.progress import TaskRecord, close_journal
from quartet_orchestrator.task_run import TaskRun
from quartet_process import tracing, work

log = logging.getLogger(__name__)
RETRY_S = 0.5
FAULTS = 3
"""After so many faults of the orchestrator itself the task ends as failed."""
OVERDUE_S = 1.0


class Runner:
    """Serves every robot of the settings until `stop` is set."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def serve(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            for robot in self._context.settings.servers:
                group.create_task(self._serve_robot(robot, stop), name=f"robot-{robot}")
            group.create_task(self._end_overdue(stop), name="overdue")

    async def _serve_robot(self, robot: str, stop: asyncio.Event) -> None:
        tasks = self._context.bus.robot_tasks(robot)
        metrics.RUNNING.labels(robot)
        while not stop.is_set():
            delivery = await _unless(stop, tasks, lambda: self._context.fleet.can_work(robot))
            if delivery is None:
                return
            with (
                work(task_id=delivery.task.task_id, robot=robot, agent="orchestrator"),
                tracing.span(
                    "invoke_agent orchestrator",
                    parent=delivery.task.traceparent,
                    attributes={tracing.OPERATION: "invoke_agent", tracing.CONVERSATION: delivery.task.task_id},
                ),
                metrics.RUNNING.labels(robot).track_inprogress(),
            ):
                await self._handle(tasks, delivery, stop)

    async def _handle(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event) -> None:
        """Run a delivery to its end; a store that is away or full, for however long, must not lose it."""
        task_id = delivery.task.task_id
        faults = 0
        while not delivery.lost.is_set():
            try:
                if await self._run(tasks, delivery, stop, faults):
                    await tasks.finish(delivery)
                else:
                    await tasks.hand_over(delivery)
                return
            except LeaseLost as error:
                log.error("%s", error)
                tasks.release(delivery)
                return
            except BusUnavailable as error:
                log.error("task %s: %s", task_id, error)
                if stop.is_set():
                    return
            except Exception:
                log.exception("task %s", task_id)
                faults += 1
                if faults > FAULTS:
                    # Not even its end could be written: for another replica, or to be buried by the stream's own cap.
                    tasks.release(delivery)
                    return
            await asyncio.sleep(RETRY_S)

    async def _run(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event, faults: int) -> bool:
        """Whether the task has ended; False when another replica is to go on with it."""
        bus, task = self._context.bus, delivery.task
        status = await bus.statuses.get(task.task_id)
        if status is None:
            status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        if status.state in TERMINAL:
            await close_journal(bus, status)
            return True
        if status.state is State.QUEUED and await end_unbegun(bus, status):
            return True
        tenure = await tasks.mark_started(delivery)
        if status.state is State.QUEUED:
            metrics.TASK_WAIT.observe(max(0.0, time.time() - task.created_at))
        if faults >= FAULTS:
            text = (
                f"The orchestrator failed {faults} times at this task; its log has the details. Look before you go on."
            )
            await TaskRecord(bus, status, tenure).end(State.FAILED, TaskReport(success=False, summary=text))
        else:
            await TaskRun(self._context, tasks, delivery, status, tenure).run(stop)
        ended = await bus.statuses.get(task.task_id)
        if ended is not None and ended.state not in TERMINAL:
            return False
        if ended is not None:
            metrics.TASKS.labels(ended.state).inc()
            tracing.note({tracing.STATE: str(ended.state)})
            metrics.TASK_SECONDS.labels(ended.state).observe(ended.updated_at - task.created_at)
        return True

    async def _end_overdue(self, stop: asyncio.Event) -> None:
        """End the tasks whose time is over while they wait for a robot."""
        tasks = self._context.bus.tasks
        while not stop.is_set():
            try:
                for task_id in await tasks.overdue():
                    status = await self._context.bus.statuses.get(task_id)
                    if status is None or not await end_unbegun(self._context.bus, status):
                        await tasks.no_longer_waits(task_id)
            except BusUnavailable as error:
                log.debug("overdue tasks: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERDUE_S):
                    await stop.wait()


async def end_unbegun(bus: Bus, status: TaskStatus) -> bool:
    """End a task that nobody has begun and that was canceled or is overdue; whether it has ended."""
    reason = await bus.tasks.cancellation(status.task.task_id)
    if reason is not None:
        state, reason = State.CANCELED, f"{reason}. It had not been begun."
    elif status.task.deadline <= time.time():
        state, reason = State.FAILED, "The task's time was over before the robot was free. Nothing was done."
    else:
        return False
    report = TaskReport(success=False, summary=reason)
    ended = status.model_copy(update={"state": state, "report": report, "updated_at": time.time()})
    if await bus.statuses.put(ended, expected=State.QUEUED):
        await TaskRecord(bus, status).tell_end(state, report)
        return True
    return False


async def _unless(
    stop: asyncio.Event, tasks: RobotTasks, may_share: Callable[[], Awaitable[bool]]
) -> TaskDelivery | None:
    """The next delivery, or None when `stop` is set first."""
    taking = asyncio.create_task(tasks.take(may_share))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return taking.result() if taking.done() else None
    finally:
        for task in (taking, stopping):
            task.cancel()
        await asyncio.gather(taking, stopping, return_exceptions=True)
