"""Takes tasks from their streams: one at a time for each robot, several robots side by side."""

import asyncio
import contextlib
import functools
import logging
import time

from quartet_bus import BusUnavailableError, LeaseLostError, RobotTasks, TaskDelivery
from quartet_contracts import TEAM_QUEUE, TERMINAL, ContractError, State, Task, TaskReport, TaskStatus
from quartet_orchestrator import metrics
from quartet_orchestrator.recovery.record import TaskRecord, close_journal, end_unstarted
from quartet_orchestrator.tasks.abilities import unable_to_follow, unable_to_step
from quartet_orchestrator.tasks.group_run import GroupRun
from quartet_orchestrator.tasks.interruptions import FORGOTTEN
from quartet_orchestrator.tasks.run import RunContext, TaskRun
from quartet_orchestrator.tasks.table_run import TableRun
from quartet_orchestrator.tasks.team import TeamRun
from quartet_process import BACKGROUND, correlation_ids, tracing, unless_stopped

log = logging.getLogger(__name__)
RETRY_S = 0.5
FAULTS = 3
"""Number of faults of the orchestrator itself after which the task ends as failed."""
OVERDUE_S = 1.0
"""Period in which waiting tasks are checked for their deadline."""
JUDGED = 20_000
"""Number of pairs of a robot and a sentence for which it is remembered whether the robot can do it."""


class TaskRunner:
    """Serves every robot of the settings until `stop` is set."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._unable = functools.lru_cache(maxsize=JUDGED)(self._find_unable)

    async def serve(self, stop: asyncio.Event) -> None:
        """Run tasks until `stop` is set; running ones are then left for another replica."""
        # An error with one robot is told and ends no other robot's tasks.
        await asyncio.gather(
            *(BACKGROUND.start("robot", functools.partial(self._serve_robot, robot, stop)) for robot in self._queues()),
            BACKGROUND.start("overdue", lambda: self._end_overdue(stop)),
        )

    def _queues(self) -> list[str]:
        """Return the queues of the robots, and that of the team where there are several."""
        robots = list(self._context.settings.servers)
        return [*robots, *([TEAM_QUEUE] if len(robots) > 1 else [])]

    async def _serve_robot(self, robot: str, stop: asyncio.Event) -> None:
        tasks = self._context.bus.robot_tasks(robot)
        metrics.RUNNING.labels(robot)
        while not stop.is_set():
            delivery = await unless_stopped(stop, self._next(tasks, robot))
            if delivery is None:
                return
            with (
                correlation_ids(task_id=delivery.task.task_id, robot=robot, agent="orchestrator"),
                tracing.span(
                    "invoke_agent orchestrator",
                    parent=delivery.task.traceparent,
                    attributes={tracing.OPERATION: "invoke_agent", tracing.CONVERSATION: delivery.task.task_id},
                ),
                metrics.RUNNING.labels(robot).track_inprogress(),
            ):
                await self._handle(tasks, delivery, stop)

    async def _next(self, tasks: RobotTasks, robot: str) -> TaskDelivery:
        if robot == TEAM_QUEUE:
            return await tasks.take()
        return await tasks.take(
            may_share=lambda task: self._may_take(robot, task),
            ready=lambda: self._context.loss_recovery.settle(robot),
            giving_up=self._end_grants,
        )

    async def _may_take(self, robot: str, task: Task) -> bool:
        """Return whether a task that names no robot may go to this one now."""
        if task.step:
            unable = unable_to_step(self._context.briefs[robot], task.step.arguments)
        else:
            unable = self._unable(robot, task.sentence)
        return not unable and await self._context.fleet.can_work(robot)

    def _find_unable(self, robot: str, sentence: str) -> str:
        return unable_to_follow(self._context.briefs[robot], sentence)

    async def _handle(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event) -> None:
        """Run a delivery to its end. While the store is away or full it is tried again, so that no task is lost."""
        task_id = delivery.task.task_id
        faults = 0
        while delivery.forgotten or not delivery.lost.is_set():
            try:
                if await self._run(tasks, delivery, stop, faults):
                    await tasks.finish(delivery)
                else:
                    await tasks.hand_over(delivery)
                return
            except LeaseLostError as error:
                log.error("%s", error)
                tasks.release(delivery)
                return
            except BusUnavailableError as error:
                log.error("task %s: %s", task_id, error)
                if stop.is_set():
                    return
            except Exception:
                log.exception("task %s", task_id)
                faults += 1
                if faults > FAULTS:
                    # Not even its end could be written: left to another replica, or to the limit of deliveries.
                    tasks.release(delivery)
                    return
            await asyncio.sleep(RETRY_S)

    async def _run(self, tasks: RobotTasks, delivery: TaskDelivery, stop: asyncio.Event, faults: int) -> bool:
        """Run the task; return whether it has ended, False when another replica is to go on with it."""
        bus, task = self._context.bus, delivery.task
        status = await bus.statuses.get(task.task_id)
        if status is None:
            status = TaskStatus(task=task, state=State.QUEUED, updated_at=time.time())
        if status.state in TERMINAL:
            await close_journal(bus, status)
            return True
        if status.state is State.QUEUED and await end_unstarted(bus, status):
            return True
        lease_epoch = await tasks.mark_started(delivery)
        if status.state is State.QUEUED:
            metrics.TASK_WAIT.observe(max(0.0, time.time() - task.created_at))
        if delivery.forgotten:
            await self._end_grants(task)
            await TaskRecord(bus, status, lease_epoch).end(
                State.FAILED, TaskReport(success=False, summary=f"{FORGOTTEN}.")
            )
        elif faults >= FAULTS:
            text = (
                f"The orchestrator failed {faults} times at this task; its log has the details. Look before you go on."
            )
            await self._end_grants(task)
            await TaskRecord(bus, status, lease_epoch).end(State.FAILED, TaskReport(success=False, summary=text))
        else:
            if task.robot == TEAM_QUEUE:
                team = {"roco": TableRun, "emos": GroupRun}.get(task.team or "", TeamRun)
                await team(self._context, delivery, status, lease_epoch).run(stop)
            else:
                await TaskRun(self._context, tasks, delivery, status, lease_epoch).run(stop)
        ended = await bus.statuses.get(task.task_id)
        if ended is not None and ended.state not in TERMINAL:
            return False
        if ended is not None:
            metrics.TASKS.labels(ended.state).inc()
            tracing.add_attributes({tracing.STATE: str(ended.state)})
            metrics.TASK_SECONDS.labels(ended.state).observe(ended.updated_at - task.created_at)
        return True

    async def _end_grants(self, task: Task) -> bool:
        """Void every grant of a task that ends without a run of its own; return whether the servers know it."""
        if task.robot == TEAM_QUEUE:
            # Its robots have grants for tasks of their own only.
            return True
        return await self._context.fences.revoke(task.robot, task.task_id)

    async def _end_overdue(self, stop: asyncio.Event) -> None:
        """End the tasks whose deadline passes while they wait for a robot."""
        while not stop.is_set():
            try:
                for task_id in await self._context.bus.tasks.overdue():
                    await self._end_one_overdue(task_id)
            except BusUnavailableError as error:
                log.debug("overdue tasks: %s", error)
            except Exception:
                log.exception("overdue tasks cannot be listed; trying again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERDUE_S):
                    await stop.wait()

    async def _end_one_overdue(self, task_id: str) -> None:
        """End a waiting task. Raises BusUnavailableError; every other error concerns this task only and is logged."""
        bus = self._context.bus
        try:
            status = await bus.statuses.get(task_id)
            if status is None or not await end_unstarted(bus, status):
                await bus.tasks.remove_waiting(task_id)
        except BusUnavailableError:
            raise
        except ContractError as error:
            log.error("overdue task %s has a status that cannot be read: %s", task_id, error)
            await bus.tasks.remove_waiting(task_id)
        except Exception:
            log.exception("overdue task %s cannot be ended; trying again", task_id)
