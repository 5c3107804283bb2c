"""One attempt at one skill: fence, grant, request, result, picture."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from quartet_bus import Bus, BusUnavailable, NoAnswer, QueueFull, Replies
from quartet_contracts import (
    ApproachResult,
    Budget,
    PickResult,
    Skill,
    SkillArguments,
    SkillRequest,
    SkillResult,
    State,
    granted_tools,
)
from quartet_contracts.journal import Note, Observation, SkillFinished, SkillRequested, SkillSettled
from quartet_contracts.rescue import unknown_result
from quartet_orchestrator.approvals import ApprovalDesk
from quartet_orchestrator.errors import TaskAborted
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.history import Attempt, History
from quartet_orchestrator.inspection import Inspector
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings

log = logging.getLogger(__name__)
T = TypeVar("T")
RETRY_S = 0.5


@dataclass(frozen=True)
class Step:
    """One attempt at one skill: what was asked, what was answered, what was seen where that left it open."""

    arguments: SkillArguments
    result: SkillResult
    settled: SkillSettled | None = None


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
        self._progressed = progressed
        self._desk = ApprovalDesk(record, bus, signer, settings)
        self._inspector = Inspector(record, bus, signer, settings)
        self._attempts: dict[SkillArguments, int] = {}
        self._count = 0
        self._uncertain: set[Skill] = set()
        """Skills whose last attempt left nobody knowing what it did."""
        self._taken_up: Attempt | None = None
        self._ready: Step | None = None
        self._picture: asyncio.Task[None] | None = None
        self.handing_over = False
        """Set before the caller is canceled: what runs is left running, for the replica that takes the task over."""
        self.interrupted: Step | None = None
        """The step that was running when the task was canceled or ran out of time."""

    def take_up(self, history: History) -> None:
        """Count from where the journal ends; its last attempt is brought to its outcome by `rejoin`."""
        for attempt in history.attempts:
            self._count += 1
            self._attempts[attempt.arguments] = attempt.requested.attempt
            if attempt.finished is not None and attempt.begun:
                self._note_certainty(attempt.skill, attempt.finished.state)
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
            self._ready = await _in_spite_of_cancel(self._look_into(request, result))

    async def call(self, skill: Skill, arguments: SkillArguments) -> Step:
        """One attempt and its outcome. Raises TaskAborted when no attempt can be made.

        When it is canceled it cancels the request, waits until the robot rests, and leaves the step in
        `interrupted`.
        """
        await self._finish_picture()
        ready, self._ready = self._ready, None
        if ready is not None and ready.arguments == arguments:
            step = ready
        else:
            request = await self._prepare(skill, arguments)
            step = await self._outcome(request, self._ask(request))
            assert step is not None
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
            self.interrupted = await self._settle(request, result)

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
                self.interrupted = await _in_spite_of_cancel(self._settle(request, result))
            raise
        finally:
            await _in_spite_of_cancel(_end(answering))
        if result is None:
            return None
        return await _in_spite_of_cancel(self._settle(request, result))

    def picture(self, label: str) -> None:
        """Take pictures for the record while the model thinks; the next skill waits for them."""
        self._picture = asyncio.create_task(self._observe(label))

    async def feel(self) -> tuple[str, str]:
        """What gripper and wrist camera say of what is held: state and name."""
        return await self._inspector.feel(f"{self._record.task.task_id}-end")

    async def close(self) -> None:
        await self._finish_picture()
        await self._eyes.close()

    async def _prepare(self, skill: Skill, arguments: SkillArguments) -> SkillRequest:
        task = self._record.task
        self._count += 1
        attempt = self._attempts[arguments] = self._attempts.get(arguments, 0) + 1
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
                arguments=arguments.model_dump(mode="json"),
                deadline=deadline,
            )
        )
        return SkillRequest(
            request_id=request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=skill,
            attempt=attempt,
            follows_uncertain=skill in self._uncertain,
            created_at=now,
            deadline=deadline,
            arguments=arguments,
            grant=grant,
            reply_to=self._replies.stream,
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
            reply_to=self._replies.stream,
        )

    async def _ask_again(self, request: SkillRequest) -> SkillResult | None:
        """The result of a request that another process had made; None when no agent had begun it."""
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.rejoin(queue, request, absent_after_s=self._settings.agent_absent_s)
        except NoAnswer as error:
            if error.taken:
                return unknown_result(request, str(error), State.UNCERTAIN if error.started else State.FAILED)
            await self._record.write(_not_begun(request, str(error), State.RETRIABLE))
            return None

    async def _ask(self, request: SkillRequest) -> SkillResult:
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.ask(queue, request, absent_after_s=self._settings.agent_absent_s)
        except QueueFull as error:
            raise TaskAborted(f"{error}. Nothing moved in this step.") from error
        except NoAnswer as error:
            if not error.taken:
                await self._record.write(_not_begun(request, str(error), State.FAILED))
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

    async def _settle(self, request: SkillRequest, result: SkillResult) -> Step:
        """Write the result down, and look at the world where it says that its end is not known."""
        self._record.add_usage(result.usage)
        await self._record.write(finished(result))
        self._note_certainty(request.skill, result.state)
        await self._progressed()
        if result.state is State.UNCERTAIN:
            return await self._look_into(request, result)
        return Step(request.arguments, result)

    async def _look_into(self, request: SkillRequest, result: SkillResult) -> Step:
        """Settle an outcome that is not known. A newer fence ends the agent's motions and its grant at the servers:
        whatever still runs of it must not move the robot any more. Then the robot is looked at."""
        sure = await self._fencer.take_back(request.robot, request.request_id, self._record.tenure)
        words = "were ended at the servers, its grant is void" if sure else "could not be ended at the servers"
        seen = await self._inspector.inspect(request.request_id)
        settled = SkillSettled(
            request_id=request.request_id,
            skill=request.skill,
            state=State.RETRIABLE if sure and seen.settled else State.UNCERTAIN,
            reason=f"{result.reason[:1900]}; its motions {words}",
            observed=seen.text if seen.settled else result.observed or seen.text,
            grasp=seen.grasp,
            in_hand=seen.in_hand,
        )
        await self._record.write(settled)
        update = {"reason": settled.reason, "observed": settled.observed[:4000]}
        return Step(request.arguments, result.model_copy(update=update), settled)

    def _note_certainty(self, skill: Skill, state: State) -> None:
        if state is State.UNCERTAIN:
            self._uncertain.add(skill)
        else:
            self._uncertain.discard(skill)
        if skill is Skill.PICK and state is State.SUCCEEDED:
            # What is held now was not put down by an earlier place.
            self._uncertain.discard(Skill.PLACE)

    async def _observe(self, label: str) -> None:
        """A failing look is noted and does no harm."""
        outcome = await self._eyes.look("both")
        if not outcome.ok or not outcome.images:
            await self._record.write(Note(text=f"no pictures {label}: {outcome.error_code} {outcome.message}"[:1000]))
            return
        cameras = [str(name) for name in outcome.content.get("cameras", [])] or ["front", "arm"]
        images: dict[str, str] = {}
        for camera, image in zip(cameras, outcome.images, strict=False):
            images[camera] = await self._bus.images.put(self._record.task.task_id, image.data, image.media_type)
        await self._record.write(Observation(label=label, images=images))

    async def _finish_picture(self) -> None:
        if self._picture is not None:
            picture, self._picture = self._picture, None
            try:
                await picture
            except Exception as error:
                log.warning("pictures of task %s: %s", self._record.task.task_id, error)


def _not_begun(request: SkillRequest, reason: str, state: State) -> SkillFinished:
    """The end of a request that no agent took."""
    return SkillFinished(
        request_id=request.request_id,
        skill=request.skill,
        success=False,
        error_code="UNKNOWN",
        reason=reason,
        state=state,
    )


def finished(result: SkillResult) -> SkillFinished:
    """A skill's end as the journal keeps it."""
    return SkillFinished(
        request_id=result.request_id,
        skill=result.skill,
        success=result.success,
        error_code=str(result.error_code),
        reason=result.reason,
        state=result.state,
        usage=result.usage,
        details=details(result) | ({"observed": result.observed} if result.observed else {}),
    )


def details(result: SkillResult) -> dict[str, Any]:
    """What only this skill reports."""
    if isinstance(result, ApproachResult):
        return {"checks": [check.model_dump(mode="json") for check in result.checks]}
    if isinstance(result, PickResult):
        return {"held_object_height_m": result.held_object_height_m}
    return {}


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
