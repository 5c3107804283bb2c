"""One attempt at one skill: fence, grant, request, result, picture."""

import asyncio
import logging
import time
from collections.abc import Awaitable
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
from quartet_contracts.journal import Note, Observation, SkillFinished, SkillRequested
from quartet_contracts.rescue import unknown_result
from quartet_orchestrator.errors import TaskAborted
from quartet_orchestrator.eyes import Eyes
from quartet_orchestrator.fencing import Fencer
from quartet_orchestrator.grants import Signer
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings

log = logging.getLogger(__name__)
T = TypeVar("T")
RETRY_S = 0.5


@dataclass(frozen=True)
class Interruption:
    """A skill that was stopped from outside, and what it answered."""

    arguments: SkillArguments
    result: SkillResult


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
    ) -> None:
        self._record = record
        self._bus = bus
        self._replies = replies
        self._signer = signer
        self._fencer = fencer
        self._eyes = eyes
        self._settings = settings
        self._attempts: dict[SkillArguments, int] = {}
        self._count = 0
        self._picture: asyncio.Task[None] | None = None
        self.interrupted: Interruption | None = None
        """The request that was running when the task was canceled or ran out of time."""

    async def call(self, skill: Skill, arguments: SkillArguments) -> SkillResult:
        """The result of one attempt. Raises TaskAborted when no attempt can be made.

        When it is canceled it cancels the request, waits until the robot rests, and leaves the result in
        `interrupted`.
        """
        await self._finish_picture()
        request = await self._prepare(skill, arguments)
        asked = asyncio.create_task(self._ask(request))
        try:
            result = await asyncio.shield(asked)
        except asyncio.CancelledError:
            result = await _in_spite_of_cancel(self._stop(request, asked))
            self.interrupted = Interruption(arguments, await _in_spite_of_cancel(self._settle(request, result)))
            raise
        result = await _in_spite_of_cancel(self._settle(request, result))
        self.picture(f"after {skill}")
        return result

    def picture(self, label: str) -> None:
        """Take pictures for the record while the model thinks; the next skill waits for them."""
        self._picture = asyncio.create_task(self._observe(label))

    async def close(self) -> None:
        await self._finish_picture()
        await self._eyes.close()

    async def _prepare(self, skill: Skill, arguments: SkillArguments) -> SkillRequest:
        task = self._record.task
        self._count += 1
        attempt = self._attempts[arguments] = self._attempts.get(arguments, 0) + 1
        request_id = f"{task.task_id}-{self._count:02d}-{skill}"
        fence = await self._fencer.raise_fence(task.robot, request_id)
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
        )
        await self._record.write(
            SkillRequested(
                request_id=request_id,
                skill=skill,
                attempt=attempt,
                fence=fence,
                arguments=arguments.model_dump(mode="json"),
            )
        )
        return SkillRequest(
            request_id=request_id,
            task_id=task.task_id,
            robot=task.robot,
            skill=skill,
            attempt=attempt,
            created_at=now,
            deadline=deadline,
            arguments=arguments,
            grant=grant,
            reply_to=self._replies.stream,
            budget=Budget(wall_s=max(1.0, deadline - now)),
        )

    async def _ask(self, request: SkillRequest) -> SkillResult:
        queue = self._bus.skills(request.skill)
        try:
            return await self._replies.ask(queue, request, absent_after_s=self._settings.agent_absent_s)
        except QueueFull as error:
            raise TaskAborted(f"{error}. Nothing moved in this step.") from error
        except NoAnswer as error:
            if not error.taken:
                await self._record.write(
                    SkillFinished(
                        request_id=request.request_id,
                        skill=request.skill,
                        success=False,
                        error_code="UNKNOWN",
                        reason=str(error),
                        state=State.FAILED,
                    )
                )
                raise TaskAborted(f"{error}. Nothing moved in this step.") from error
            state = State.UNCERTAIN if error.started else State.FAILED
            return unknown_result(request, str(error), state)

    async def _stop(self, request: SkillRequest, asked: "asyncio.Task[SkillResult]") -> SkillResult:
        """Cancel the request and wait for its end."""
        end = time.monotonic() + self._settings.cancel_wait_s
        await self._tell_to_stop(request, end)
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

    async def _settle(self, request: SkillRequest, result: SkillResult) -> SkillResult:
        """Write the result down. Of an agent that cannot say whether the robot rests, the servers end motions and
        grant: whatever still runs of it must not move the robot any more."""
        if result.state is State.UNCERTAIN:
            sure = await self._fencer.take_back(request.robot, request.request_id)
            words = "were ended at the servers, its grant is void" if sure else "could not be ended at the servers"
            reason = f"{result.reason[:1900]}; its motions {words}"
            result = result.model_copy(update={"reason": reason})
        self._record.add_usage(result.usage)
        await self._record.write(finished(result))
        return result

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
