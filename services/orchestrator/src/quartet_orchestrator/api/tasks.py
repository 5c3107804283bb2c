"""Routes of tasks."""

import asyncio
import hashlib
import logging
import re
import time
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse
from opentelemetry.trace import SpanKind

from quartet_bus import Bus, BusError
from quartet_bus.journal import START
from quartet_contracts import (
    ANY_ROBOT,
    TERMINAL,
    Answer,
    Cancellation,
    DirectStep,
    JournalEvent,
    Pause,
    Skill,
    State,
    Task,
    TaskStatus,
    TaskSubmission,
)
from quartet_contracts.journal import Ordered
from quartet_orchestrator.api.access import current_caller
from quartet_orchestrator.api.events import event_stream, narrator_behind, past_events
from quartet_orchestrator.api.images import image_response
from quartet_orchestrator.api.problems import Problem
from quartet_orchestrator.fleet import Fleet
from quartet_orchestrator.runner import end_unbegun
from quartet_orchestrator.words import new_task_id
from quartet_process import tracing

log = logging.getLogger(__name__)

POSITION = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
"""An id of a Redis stream: two numbers of 64 bits."""

KEY = re.compile(r"[\x21-\x7e]{1,255}")
IdempotencyKey = Annotated[str | None, Header(description="Submissions with the same key are one task.")]


class TaskDesk:
    """What the routes do; one per process."""

    def __init__(self, bus: Bus, fleet: Fleet) -> None:
        self.bus = bus
        self.fleet = fleet

    async def accept(
        self, submission: TaskSubmission, step: DirectStep | None = None, key: str | None = None
    ) -> TaskStatus:
        """The task once it is on its stream; with the idempotency key of an earlier submission, the task of that."""
        now = time.time()
        with tracing.span("accept task", kind=SpanKind.SERVER):
            # Of the replica that takes the task, and of those that take it over, this is the parent.
            origin = tracing.traceparent()
        budget = submission.budget
        if "wall_s" not in budget.model_fields_set:
            budget = budget.model_copy(update={"wall_s": submission.timeout_s})
        task = Task(
            task_id=new_task_id(),
            sentence=submission.sentence,
            robot=self._robot(submission.robot, step),
            created_at=now,
            deadline=now + submission.timeout_s,
            budget=budget,
            step=step,
            traceparent=origin,
            submission=_digest(_checked(key)) if key is not None else None,
        )
        body = submission.model_dump_json() + (step.model_dump_json() if step else "")
        status = await self.bus.tasks.submit(task, _digest(body))
        if status.task.task_id == task.task_id:
            await self._note_order(task.task_id, "submit")
        return status

    async def _note_order(self, task_id: str, order: Literal["submit", "pause", "resume", "cancel", "answer"]) -> None:
        """Who asked for it, where the credential has an owner.

        An order is not refused for want of the note: who gives a task that is on its stream would give it again, and
        who cancels one must not wait for a store that is full.
        """
        if by := current_caller.get():
            event = Ordered(order=order, by=by)
            noted = JournalEvent(task_id=task_id, actor="orchestrator", at=time.time(), event=event)
            try:
                await self.bus.journal.append(noted)
            except BusError as error:
                log.warning("who ordered '%s' of task %s is not in its journal: %s", order, task_id, error)

    def _robot(self, wanted: str | None, step: DirectStep | None) -> str:
        try:
            robot = self.fleet.resolve(wanted)
        except KeyError:
            valid = ", ".join(self.fleet.names)
            detail = f"robot: there is no robot '{wanted}'; valid: {valid}, or none for whichever is free first"
            raise Problem(422, "Unknown robot", detail) from None
        if robot == ANY_ROBOT and step is not None and step.skill is not Skill.APPROACH:
            valid = ", ".join(self.fleet.names)
            detail = f"robot: a {step.skill} is done where a robot stands already, so name which: {valid}"
            raise Problem(422, "Robot missing", detail)
        return robot

    async def status(self, task_id: str) -> TaskStatus:
        status = await self.bus.statuses.get(task_id)
        if status is None:
            raise Problem(
                404,
                "No such task",
                f"there is no task '{task_id[:80]}' (any more); `quartet list` and GET /tasks name those there are",
            )
        return status

    async def cancel(self, task_id: str, cancellation: Cancellation) -> TaskStatus:
        """Ask for the end; a task that waits in the queue ends at once."""
        status = await self.status(task_id)
        if status.state in TERMINAL:
            return status
        await self._note_order(task_id, "cancel")
        await self.bus.tasks.cancel(task_id, cancellation.reason)
        if status.state is State.QUEUED:
            await end_unbegun(self.bus, status)
        return await self.status(task_id)

    async def pause(self, task_id: str, pause: Pause) -> TaskStatus:
        """Ask for a pause; it comes before the task's next step."""
        await self._unended(task_id, "it cannot be paused")
        await self._note_order(task_id, "pause")
        await self.bus.tasks.pause(task_id, pause.reason)
        return await self.status(task_id)

    async def resume(self, task_id: str) -> TaskStatus:
        """Let a paused task go on."""
        await self._unended(task_id, "it does not go on")
        await self._note_order(task_id, "resume")
        await self.bus.tasks.resume(task_id)
        return await self.status(task_id)

    async def _unended(self, task_id: str, so: str) -> TaskStatus:
        status = await self.status(task_id)
        if status.state in TERMINAL:
            raise Problem(409, "Task has ended", f"task '{task_id}' has ended as {status.state}; {so}")
        return status

    async def answer(self, task_id: str, answer: Answer) -> TaskStatus:
        await self._unended(task_id, "it asks nothing")
        await self._note_order(task_id, "answer")
        await self.bus.questions.answer(task_id, answer)
        return await self.status(task_id)


def _checked(key: str) -> str:
    if not KEY.fullmatch(key):
        raise Problem(
            422,
            "Idempotency key not valid",
            f"Idempotency-Key: {key[:80]!r}; it is 1 to 255 printable ASCII characters, such as a UUID",
        )
    return key


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def accepted(status: TaskStatus) -> Response:
    """202 and where to look for what becomes of the task."""
    return _answer(status, 202, {"Location": f"/tasks/{status.task.task_id}"})


def _answer(status: TaskStatus, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(status.model_dump_json(), status_code=code, headers=headers, media_type="application/json")


def task_routes(desk: TaskDesk, stop: asyncio.Event) -> APIRouter:
    router = APIRouter(prefix="/tasks", tags=["tasks"])

    @router.post("", status_code=202, response_model=TaskStatus)
    async def submit(submission: TaskSubmission, idempotency_key: IdempotencyKey = None) -> Response:
        return accepted(await desk.accept(submission, key=idempotency_key))

    @router.get("")
    async def listing(state: State | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 50) -> Response:
        statuses = await desk.bus.statuses.list(state, limit)
        return JSONResponse({"tasks": [status.model_dump(mode="json") for status in statuses]})

    @router.get("/{task_id}", response_model=TaskStatus)
    async def show(task_id: str) -> Response:
        return _answer(await desk.status(task_id))

    @router.get("/{task_id}/events")
    async def events(
        task_id: str,
        follow: bool = True,
        told: Annotated[bool, Query(description="Add what `quartet watch` would say of each event.")] = False,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        await desk.status(task_id)
        if last_event_id and not POSITION.fullmatch(last_event_id):
            raise Problem(
                422,
                "Position not valid",
                f"Last-Event-ID '{last_event_id[:80]}' is not an id of an event, such as 17-0",
            )
        after = last_event_id or START
        narrator = await narrator_behind(desk.bus, task_id, after) if told else None
        if follow:
            stream = event_stream(desk.bus, task_id, after, stop, narrator)
        else:
            stream = past_events(desk.bus, task_id, after, narrator)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    @router.post("/{task_id}/cancel", status_code=202, response_model=TaskStatus)
    async def cancel(task_id: str, cancellation: Cancellation | None = None) -> Response:
        return _answer(await desk.cancel(task_id, cancellation or Cancellation()), 202)

    @router.post("/{task_id}/pause", status_code=202, response_model=TaskStatus)
    async def pause(task_id: str, wish: Pause | None = None) -> Response:
        return _answer(await desk.pause(task_id, wish or Pause()), 202)

    @router.post("/{task_id}/resume", status_code=202, response_model=TaskStatus)
    async def resume(task_id: str) -> Response:
        return _answer(await desk.resume(task_id), 202)

    @router.post("/{task_id}/answer", response_model=TaskStatus)
    async def answer(task_id: str, given: Answer) -> Response:
        return _answer(await desk.answer(task_id, given))

    @router.get("/{task_id}/images/{reference}")
    async def image(task_id: str, reference: str) -> Response:
        found = await desk.bus.images.get(task_id, reference)
        if found is None:
            raise Problem(404, "No such image", f"task '{task_id[:80]}' has no image '{reference[:80]}' (any more)")
        data, media_type = found
        return image_response(data, media_type, {"Cache-Control": "max-age=86400, immutable"})

    @router.get("/{task_id}/transcripts")
    async def transcripts(task_id: str) -> Response:
        await desk.status(task_id)
        return JSONResponse({"transcripts": await desk.bus.transcripts.list(task_id)})

    @router.get("/{task_id}/transcripts/{loop_id}")
    async def transcript(task_id: str, loop_id: str) -> Response:
        found = await desk.bus.transcripts.get(task_id, loop_id)
        if found is None:
            valid = ", ".join(await desk.bus.transcripts.list(task_id)) or "none"
            raise Problem(
                404, "No such transcript", f"task '{task_id[:80]}' has no transcript '{loop_id[:80]}'; it has: {valid}"
            )
        return JSONResponse(found)

    return router
