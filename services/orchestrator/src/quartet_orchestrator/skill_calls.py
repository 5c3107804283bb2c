"""One attempt at one skill: fence, grant, request, result, picture."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from opentelemetry.trace import SpanKind

from quartet_bus import Bus, BusUnavailable, JournalFull, NoAnswer, QueueFull, Replies
from quartet_contracts import (
    Budget,
    Skill,
    SkillArguments,
    SkillRequest,
    SkillResult,
    State,
    granted_tools,
    without_ids,
)
from quartet_contracts.journal import SkillRequested
from quartet_contracts.rescue import unknown_result
from quartet_orchestrator.approvals import ApprovalDesk
from quartet_orchestrator.errors import TaskAborted
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.history import Attempt, History
from quartet_orchestrator.inspection import Inspector
from quartet_orchestrator.pictures import Pictures
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_orchestrator.settling import Settler
from quartet_orchestrator.steps import Step, not_begun
from quartet_process import tracing, work

log = logging.getLogger(__name__)
T = TypeVar("T")
RETRY_S = 0.5


class SkillCaller:
    """Calls the sub-agents for one task, one at a time."""

    def __init__(
        self,
        record: TaskRecord,
        bus: Bus,
        replies: Replies,
        signer: Signer,
        fencer: Fencer,
        eyes: Eyes,
        settings: OrchestratorSettings,
        progressed: Callable[[], Awaitable[None]],
    ) -> None:
        self._record = record
        self._bus = bus
        self._replies = replies
        self._signer = signer
        self._fencer = fencer
        self._eyes = eyes
        self._settings = settings
        self._desk = ApprovalDesk(record, bus, signer, settings)
        self._inspector = Inspector(record, bus, signer, settings)
        self._settler = Settler(record, fencer, self._inspector, progressed)
        self._pictures = Pictures(record, bus, eyes)
        self._attempts: dict[SkillArguments, int] = {}
        self._count = 0
        self._taken_up: Attempt | None = None
        self._ready: Step | None = None
        self.handing_over = False
        """Set before the caller is canceled: what runs is left running, for the replica that takes the task over."""
        self.interrupted: Step | None = None
        """The step that was running when the task was canceled or ran out of time."""

    def take_up(self, history: History) -> None:
        """Count from where the journal ends; its last attempt is brought to its outcome by `rejoin`."""
        for attempt in history.attempts:
            self._count += 1
            self._attempts[without_ids(attempt.arguments)] = attempt.requested.attempt
            if attempt.finished is not None and attempt.begun:
                self._settler.note(attempt.skill, attempt.finished.state)
        self._taken_up = history.last

    async def rejoin(self) -> None:
        """Bring the step that another process had begun to its outcome; the next `call` is answered with it.

        A result that came meanwhile is taken, a running one is waited for, and one of which nobody knows is settled
        by looking. One that no agent had begun is withdrawn, and the next `call` makes a new attempt.
        """
        attempt, self._taken_up = self._taken_up, None
        if attempt is None:
            return
        task_id = self._record.task.task_id
        if not attempt.open:
            self._ready = Step(attempt.arguments, attempt.result(task_id), attempt.settled)
            return
        request = self._request_again(attempt)
        if attempt.finished is None:
            self._ready = await self._outcome(request, self._ask_again(request))
        else:
            result = attempt.result(task_id)
            self._ready = await _in_spite_of_cancel(self._settler.look_into(request, result))

    async def call(self, skill: Skill, arguments: SkillArguments) -> Step:
        """One attempt and its outcome. Raises TaskAborted when no attempt can be made.

        When it is canceled it cancels the request, waits until the robot rests, and leaves the step in
        `interrupted`.
        """
        await self._pictures.finish()
        ready, self._ready = self._ready, None
        if ready is not None and ready.arguments == arguments:
            step = ready
        else:
            about = {tracing.OPERATION: "invoke_agent", tracing.AGENT: str(skill)}
            with tracing.span(f"invoke_agent {skill}", kind=SpanKind.CLIENT, attributes=about):
                request = await self._prepare(skill, arguments)
                with work(request_id=request.request_id):
                    step = await self._outcome(request, self._ask(request))
                assert step is not None
                tracing.note({tracing.CODE: str(step.result.error_code)})
        self.picture(f"after {skill}")
        return step

    def is_ready(self, arguments: SkillArguments) -> bool:
        """Whether this call was made before, and the next one only fetches its outcome."""
        return self._ready is not None and self._ready.arguments == arguments

    async def give_up_taken_up(self) -> None:
        """End the step that another process had begun and that has not been rejoined."""
        attempt, self._taken_up = self._taken_up, None
        if attempt is None or not attempt.open:
            return
        request = self._request_again(attempt)
        asked = asyncio.create_task(self._ask_again(request))
        result = await self._stop(request, asked)
        if result is not None:
            self.interrupted = await self._settler.settle(request, result)

    async def _outcome(self, request: SkillRequest, asking: Coroutine[Any, Any, SkillResult | None]) -> Step | None:
        """What came of a request; None when nobody had begun it."""
        asked = asyncio.create_task(asking)
        answering = asyncio.create_task(self._desk.serve(request), name=f"approvals-{request.request_id}")
        try:
            result = await asyncio.shield(asked)
        except asyncio.CancelledError:
            if self.handing_over:
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
                raise
            result = await _in_spite_of_cancel(self._stop(request, asked))
            if result is not None:
                self.interrupted = await _in_spite_of_cancel(self._settler.settle(request, result))
            raise
        finally:
            await _in_spite_of_cancel(_end(answering))
        if result is None:
            return None
        return await _in_spite_of_cancel(self._settler.settle(request, result))

    def picture(self, label: str) -> None:
        """Take pictures for the record while the model thinks; the next skill waits for them."""
        self._pictures.take(label)

    async def feel(self) -> tuple[str, str]:
        """What gripper and wrist camera say of what is held: state and name."""
        return await self._inspector.feel(f"{self._record.task.task_id}-end")

    async def close(self) -> None:
        await self._pictures.finish()
        await self._eyes.close()

    async def _prepare(self, skill: Skill, arguments: SkillArguments) -> SkillRequest:
        task = self._record.task
        try:
            await self._bus.journal.require_room(task.task_id)
        except JournalFull as error:
            raise TaskAborted(str(error)) from error
        self._count += 1
        asked = without_ids(arguments)
        attempt = self._attempts[asked] = self._attempts.get(asked, 0) + 1
        request_id = f"{task.task_id}-{self._count:02d}-{skill}"
        fence = await self._fencer.raise_fence(task.robot, request_id, self._record.tenure)
        now = time.time()
        deadline = min(task.deadline, now + self._settings.skill_timeout_s)
        if deadline <= now:
            raise TaskAborted("the task's deadline has passed")
        grant = self._signer.sign(
            agent=skill,
            robot=task.robot,
            request_id=request_id,
            fence=fence,
            tools=granted_tools(skill),
            deadline=deadline,
            task_id=task.task_id,
        )
        await self._record.write(
            SkillRequested(
                request_id=request_id,
                skill=skill,
                attempt=attempt,
                fence=fence,
                arguments=arguments.model_dump(mode="json", exclude_none=True),
                deadline=deadline,
            )
        )
        return SkillRequest(
            request_id=request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=skill,
            attempt=attempt,
            follows_uncertain=self._settler.is_uncertain(skill),
            created_at=now,
            deadline=deadline,
            arguments=arguments,
            grant=grant,
            reply_to=self._replies.stream(skill),
            traceparent=tracing.traceparent(),
            budget=Budget(wall_s=max(1.0, deadline - now)),
        )

    def _request_again(self, attempt: Attempt) -> SkillRequest:
        """A request as the journal has it: enough to ask for its result, not to submit it."""
        task, asked = self._record.task, attempt.requested
        now = time.time()
        return SkillRequest(
            request_id=asked.request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=attempt.skill,
            attempt=asked.attempt,
            created_at=now,
            deadline=asked.deadline or task.deadline,
            arguments=attempt.arguments,
            grant="",
            reply_to=self._replies.stream(attempt.skill),
        )

    async def _ask_again(self, request: SkillRequest) -> SkillResult | None:
        """The result of a request that another process had made; None when no agent had begun it."""
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.rejoin(queue, request, absent_after_s=self._settings.agent_absent_s)
        except NoAnswer as error:
            if error.taken:
                return unknown_result(request, str(error), State.UNCERTAIN if error.started else State.FAILED)
            await self._record.write(not_begun(request, str(error), State.RETRIABLE))
            return None

    async def _ask(self, request: SkillRequest) -> SkillResult:
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.ask(queue, request, absent_after_s=self._settings.agent_absent_s)
        except QueueFull as error:
            raise TaskAborted(f"{error}. Nothing moved in this step.") from error
        except NoAnswer as error:
            if not error.taken:
                await self._record.write(not_begun(request, str(error), State.FAILED))
                raise TaskAborted(f"{error}. Nothing moved in this step.") from error
            state = State.UNCERTAIN if error.started else State.FAILED
            return unknown_result(request, str(error), state)

    async def _stop(
        self, request: SkillRequest, asked: "asyncio.Task[SkillResult] | asyncio.Task[SkillResult | None]"
    ) -> SkillResult | None:
        """Cancel the request and wait for its end."""
        end = time.monotonic() + self._settings.cancel_wait_s
        await asyncio.gather(
            self._fencer.end_motions(request.robot, request.request_id, "the task was canceled"),
            self._tell_to_stop(request, end),
        )
        await asyncio.wait({asked}, timeout=max(0.0, end - time.monotonic()))
        if not asked.done():
            asked.cancel()
            return unknown_result(
                request,
                f"the {request.skill} agent did not say within {self._settings.cancel_wait_s:.0f} s that the robot "
                "rests",
                State.UNCERTAIN,
            )
        error = asked.exception()
        if error is not None:
            state = State.FAILED if isinstance(error, TaskAborted) else State.UNCERTAIN
            return unknown_result(request, str(error), state)
        return asked.result()

    async def _tell_to_stop(self, request: SkillRequest, end: float) -> None:
        """Put the cancel where the agent sees it; a store that is away for a moment must not lose it."""
        while True:
            try:
                await self._bus.skills(request.skill).cancel(request.request_id)
                return
            except BusUnavailable as error:
                log.error("cancel of request %s: %s", request.request_id, error)
                if time.monotonic() >= end:
                    return
                await asyncio.sleep(RETRY_S)


async def _end(task: "asyncio.Task[None]") -> None:
    """End what answers the agent's questions; that it failed is told, and refuses nothing else."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("%s: %s: %s", task.get_name(), type(error).__name__, error)


async def _in_spite_of_cancel(work: Awaitable[T]) -> T:
    """The result of short `work`, finished also when the caller is canceled once more meanwhile."""
    task = asyncio.ensure_future(work)
    canceled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            canceled = True
        except Exception:
            break
    if canceled and (current := asyncio.current_task()) is not None:
        current.cancel()
    return task.result()
