"""Routes of tasks."""

import asyncio
import re
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, Response, StreamingResponse

from quartet_bus.journal import START
from quartet_contracts import Answer, Cancellation, Pause, State, TaskStatus, TaskSubmission
from quartet_orchestrator.api.events import event_stream, narrator_behind, past_events
from quartet_orchestrator.api.responses import image_response
from quartet_orchestrator.errors import RequestError
from quartet_orchestrator.tasks import TaskService

POSITION = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
"""An id of a Redis stream: two numbers of 64 bits."""
IdempotencyKey = Annotated[str | None, Header(description="Submissions with the same key are one task.")]


def accepted(status: TaskStatus) -> Response:
    """Return status 202 with the location of the task."""
    return _answer(status, 202, {"Location": f"/tasks/{status.task.task_id}"})


def _answer(status: TaskStatus, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(status.model_dump_json(), status_code=code, headers=headers, media_type="application/json")


def task_routes(service: TaskService, stop: asyncio.Event) -> APIRouter:  # noqa: C901 - a list of small functions
    """Return the routes; open event streams end when `stop` is set."""
    router = APIRouter(prefix="/tasks", tags=["tasks"])

    @router.post("", status_code=202, response_model=TaskStatus)
    async def submit(submission: TaskSubmission, idempotency_key: IdempotencyKey = None) -> Response:
        """Give a task: a sentence. The answer comes when the task is durable, before it is done."""
        return accepted(await service.accept(submission, key=idempotency_key))

    @router.get("")
    async def listing(state: State | None = None, limit: Annotated[int, Query(ge=1, le=500)] = 50) -> Response:
        """Return the newest tasks, of one state or of all."""
        statuses = await service.bus.statuses.list(state, limit)
        return JSONResponse({"tasks": [status.model_dump(mode="json") for status in statuses]})

    @router.get("/{task_id}", response_model=TaskStatus)
    async def show(task_id: str) -> Response:
        """Return a task: its state, its open question and, at its end, its report."""
        return _answer(await service.status(task_id))

    @router.get("/{task_id}/events", response_class=Response)
    async def events(
        task_id: str,
        follow: bool = True,
        told: Annotated[bool, Query(description="Add what `quartet watch` would say of each event.")] = False,
        last_event_id: Annotated[str | None, Header(description="Go on behind this event.")] = None,
    ) -> Response:
        """Return the journal of a task as server-sent events, live unless `follow` is false."""
        await service.status(task_id)
        if last_event_id and not POSITION.fullmatch(last_event_id):
            raise RequestError(
                422,
                "Position not valid",
                f"Last-Event-ID '{last_event_id[:80]}' is not an id of an event, such as 17-0",
            )
        after = last_event_id or START
        narrator = await narrator_behind(service.bus, task_id, after) if told else None
        if follow:
            stream = event_stream(service.bus, task_id, after, stop, narrator)
        else:
            stream = past_events(service.bus, task_id, after, narrator)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    @router.post("/{task_id}/cancel", status_code=202, response_model=TaskStatus)
    async def cancel(task_id: str, cancellation: Cancellation | None = None) -> Response:
        """End a task. The robot is brought to rest first; what it holds is kept."""
        return _answer(await service.cancel(task_id, cancellation or Cancellation()), 202)

    @router.post("/{task_id}/pause", status_code=202, response_model=TaskStatus)
    async def pause(task_id: str, wish: Pause | None = None) -> Response:
        """Let a task wait before its next step."""
        return _answer(await service.pause(task_id, wish or Pause()), 202)

    @router.post("/{task_id}/resume", status_code=202, response_model=TaskStatus)
    async def resume(task_id: str) -> Response:
        """Let a paused task go on."""
        return _answer(await service.resume(task_id), 202)

    @router.post("/{task_id}/answer", response_model=TaskStatus)
    async def answer(task_id: str, given: Answer) -> Response:
        """Answer the question that the task has asked."""
        return _answer(await service.answer(task_id, given))

    @router.get("/{task_id}/images/{reference}", response_class=Response)
    async def image(task_id: str, reference: str) -> Response:
        """Return a picture that an event of the task refers to."""
        found = await service.bus.images.get(task_id, reference)
        if found is None:
            raise RequestError(
                404, "No such image", f"task '{task_id[:80]}' has no image '{reference[:80]}', or not any more"
            )
        data, media_type = found
        return image_response(data, media_type, {"Cache-Control": "max-age=86400, immutable"})

    @router.get("/{task_id}/transcripts")
    async def transcripts(task_id: str) -> Response:
        """Return the names of what the task's models have read and answered."""
        await service.status(task_id)
        return JSONResponse({"transcripts": await service.bus.transcripts.list(task_id)})

    @router.get("/{task_id}/transcripts/{loop_id}")
    async def transcript(task_id: str, loop_id: str) -> Response:
        """Return what one model has read and answered, message by message."""
        found = await service.bus.transcripts.get(task_id, loop_id)
        if found is None:
            valid = ", ".join(await service.bus.transcripts.list(task_id)) or "none"
            raise RequestError(
                404, "No such transcript", f"task '{task_id[:80]}' has no transcript '{loop_id[:80]}'; it has: {valid}"
            )
        return JSONResponse(found)

    return router
