"""Client of the orchestrator's HTTP API."""

import contextlib
import re
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import httpx2

from quartet_contracts import (
    TERMINAL,
    Answer,
    Cancellation,
    JournalEvent,
    MalformedMessageError,
    Pause,
    Skill,
    SkillArguments,
    TaskStatus,
    TaskSubmission,
    decode,
)
from quartet_contracts.journal import StateChanged
from quartet_deployment.errors import ClientError, RefusedError, UnreachableError
from quartet_process.bounded_answers import blocking_client

TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""As Identifier of the contracts."""
CALL_TIMEOUT_S = 30.0
RECONNECT_FOR_S = 30.0
MOST_BYTES = 64 * 1024 * 1024
"""Of an answer, or an event: a transcript may have 8 MB before its pictures are named in it."""
AGREED_S = 5.0
"""The time in an answer's header has whole seconds, and the answer takes a while: less than this is no difference."""


class OrchestratorClient:
    """Client of one orchestrator. Raises UnreachableError and RefusedError with texts for the person."""

    def __init__(self, url: str, token: str | None = None, client: httpx2.Client | None = None) -> None:
        self.url = url
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = client or blocking_client(MOST_BYTES, base_url=url, timeout=CALL_TIMEOUT_S, headers=headers)
        self._ahead_s = 0.0
        """How far this machine's clock is ahead of the orchestrator's."""

    def now(self) -> float:
        """Return the time by the orchestrator's clock [s since the epoch], as its newest answer told it."""
        return time.time() - self._ahead_s

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> "OrchestratorClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, submission: TaskSubmission, key: str | None = None) -> TaskStatus:
        """Submit a task; with the idempotency key of an earlier submission return the task of that."""
        headers = {"Idempotency-Key": key} if key else {}
        # Fields without a value are left out: the orchestrator gives a task without a budget all of its time.
        body = submission.model_dump(mode="json", exclude_unset=True)
        return self._status(self._call("POST", "/tasks", json=body, headers=headers))

    def run_skill(
        self, skill: Skill, arguments: SkillArguments, timeout_s: float | None = None, robot: str | None = None
    ) -> TaskStatus:
        """Start a single skill and return its task."""
        given = {"timeout_s": timeout_s, "robot": robot}
        query = {name: value for name, value in given.items() if value is not None}
        return self._status(
            self._call("POST", f"/skills/{skill}", json=arguments.model_dump(mode="json"), params=query)
        )

    def tasks(self, state: str | None, limit: int) -> list[TaskStatus]:
        """Return the newest tasks, those in `state` only when it is given."""
        query = {"limit": limit, **({"state": state} if state else {})}
        answer = self._call("GET", "/tasks", params=query)
        try:
            rows: Any = answer.json()
            return [TaskStatus.model_validate(row) for row in rows["tasks"]]
        except (ValueError, KeyError, TypeError) as error:
            raise self._not_an_orchestrator(answer) from error

    def robots(self) -> dict[str, Any]:
        """Return `robots` (name, state, why, task, waiting) and `waiting_for_any`, tasks that name no robot."""
        answer = self._call("GET", "/robots")
        try:
            found = answer.json()
            return {"robots": list(found["robots"]), "waiting_for_any": int(found.get("waiting_for_any", 0))}
        except (ValueError, KeyError, TypeError) as error:
            raise self._not_an_orchestrator(answer) from error

    def task(self, task_id: str) -> TaskStatus:
        """Return the status of a task."""
        return self._status(self._call("GET", _path(task_id)))

    def cancel(self, task_id: str, reason: str) -> None:
        """Cancel a task."""
        self._call("POST", _path(task_id, "cancel"), json=Cancellation(reason=reason).model_dump())

    def pause(self, task_id: str, reason: str) -> TaskStatus:
        """Pause a task before its next step."""
        body = Pause(reason=reason).model_dump()
        return self._status(self._call("POST", _path(task_id, "pause"), json=body))

    def resume(self, task_id: str) -> TaskStatus:
        """Let a paused task continue."""
        return self._status(self._call("POST", _path(task_id, "resume")))

    def answer(self, task_id: str, text: str, question_id: str | None = None) -> None:
        """Answer the open question of a task, or the one that is named."""
        body = Answer(text=text, question_id=question_id).model_dump(exclude_none=True)
        self._call("POST", _path(task_id, "answer"), json=body)

    def image(self, task_id: str, reference: str) -> bytes:
        """Return an image of a task as JPEG or PNG."""
        return self._call("GET", _path(task_id, "images", reference)).content

    def transcripts(self, task_id: str) -> list[str]:
        """Return the ids of the loops that have a transcript."""
        return list(self._call("GET", _path(task_id, "transcripts")).json()["transcripts"])

    def transcript(self, task_id: str, loop_id: str) -> Any:
        """Return the transcript of one loop."""
        return self._call("GET", _path(task_id, "transcripts", loop_id)).json()

    def events(self, task_id: str, after: str = "") -> Iterator[JournalEvent]:
        """Yield the task's journal after the event `after` until the task has ended; broken links are resumed."""
        lost_at: float | None = None
        while True:
            begun_after = after
            try:
                for event in self._stream(task_id, after):
                    lost_at, after = None, event.position
                    yield event
                    if isinstance(event.event, StateChanged) and event.event.state in TERMINAL:
                        return
            except httpx2.TransportError as error:
                lost_at = lost_at or time.monotonic()
                if time.monotonic() - lost_at > RECONNECT_FOR_S:
                    raise UnreachableError(
                        f"the link to {self.url} broke while following task {task_id} and did not come back "
                        f"({_cause(error)}); the task may still run: quartet watch {task_id}"
                    ) from error
                time.sleep(0.5)
            else:
                # A stream may also end because its server does: only an empty one of an ended task is the end.
                if after == begun_after and self.task(task_id).state in TERMINAL:
                    return
                time.sleep(0.2)

    def _stream(self, task_id: str, after: str) -> Iterator[JournalEvent]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        path = _path(task_id, "events")
        # Between two events there may be a long drive; the orchestrator's comments keep the link alive.
        with self._http.stream("GET", path, headers=headers, timeout=httpx2.Timeout(10.0, read=120.0)) as answer:
            self._note_time(answer)
            if answer.is_error:
                answer.read()
                self._refuse(answer)
            position, data = "", list[str]()
            for line in answer.iter_lines():
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "id":
                    position = value
                elif field == "data":
                    data.append(value)
                elif not line and data:
                    event = decode(JournalEvent, "\n".join(data))
                    yield event.model_copy(update={"position": position or event.position})
                    data = []

    def _call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        try:
            answer = self._http.request(method, path, **options)
        except httpx2.TransportError as error:
            raise UnreachableError(
                f"no orchestrator answers at {self.url} ({_cause(error)}).\n"
                "Start everything on this machine with: quartet up\n"
                "or name a running one: QUARTET_URL=http://HOST:PORT (or --url)"
            ) from error
        self._note_time(answer)
        if answer.is_error:
            self._refuse(answer)
        return answer

    def _note_time(self, answer: httpx2.Response) -> None:
        with contextlib.suppress(ValueError):
            ahead_s = time.time() - parsedate_to_datetime(answer.headers.get("date", "")).timestamp()
            self._ahead_s = 0.0 if abs(ahead_s) < AGREED_S else ahead_s

    def _refuse(self, answer: httpx2.Response) -> None:
        try:
            problem = answer.json()
            text = str(problem.get("detail") or problem.get("title") or problem)
        except (ValueError, AttributeError) as error:
            raise self._not_an_orchestrator(answer) from error
        if answer.status_code == 401:
            raise RefusedError(
                f"the orchestrator at {self.url} lets in only who has its token, and this command "
                f"{'came with another' if 'Authorization' in self._http.headers else 'came with none'}: set "
                "QUARTET_API_TOKEN or QUARTET_API_TOKEN_FILE (with `quartet up` on this machine it is found by itself)"
            )
        if answer.status_code >= 500:
            raise ClientError(f"the orchestrator at {self.url} answered {answer.status_code}: {text}")
        raise RefusedError(text)

    def _not_an_orchestrator(self, answer: httpx2.Response) -> UnreachableError:
        kind = answer.headers.get("content-type", "no content").split(";")[0]
        return UnreachableError(
            f"what answers at {self.url} is not an orchestrator (status {answer.status_code}, {kind}).\n"
            "Name the right one: QUARTET_URL=http://HOST:PORT (or --url)"
        )

    def _status(self, answer: httpx2.Response) -> TaskStatus:
        try:
            return decode(TaskStatus, answer.content)
        except MalformedMessageError as error:
            raise self._not_an_orchestrator(answer) from error


def _path(task_id: str, *further: str) -> str:
    """Return the path of a task, or of what it has. Raises RefusedError for an id that is none.

    Names of what it has come from its agents: none of them leads elsewhere.
    """
    if not TASK_ID.fullmatch(task_id):
        raise RefusedError(f"'{task_id}' is no id of a task; `quartet list` shows them")
    names = (quote(part, safe="").replace("..", "%2E%2E") for part in further)
    return "/".join(("/tasks", task_id, *names))


def _cause(error: Exception) -> str:
    return str(error) or type(error).__name__
