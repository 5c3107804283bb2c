"""Questions of the orchestrator's model to the person who gave the task."""

import secrets
import time
from collections.abc import Sequence

from quartet_bus import Bus, Question
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import Answered, Asked
from quartet_orchestrator.recovery import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import boot_time


class QuestionService:
    """Asks a person for one task. The task is PAUSED until the answer comes or the time is over."""

    def __init__(self, record: TaskRecord, bus: Bus, settings: OrchestratorSettings) -> None:
        self._record = record
        self._bus = bus
        self._settings = settings
        self._open: Asked | None = None
        self._end = 0.0
        """Of the open question's time, as boot_time() counts."""
        self._given: Answered | None = None

    def restore(self, asked: JournalEvent | None, answered: Answered | None) -> None:
        """Take over a question that is open in the journal: the same `ask` waits for it and does not ask again."""
        if asked is not None and isinstance(asked.event, Asked):
            self._open, self._given = asked.event, answered
            self._end = boot_time() + asked.event.expires_at - asked.at - self._record.age_s(asked)

    async def ask(self, text: str, choices: Sequence[str] = ()) -> str | None:
        """Return the answer, None when nobody answered in time."""
        asked, given, self._open, self._given = self._open, self._given, None, None
        if asked is None or (asked.text, asked.choices) != (text, list(choices)):
            given = None
            left_s = self._settings.question_timeout_s
            self._end, expires_at = boot_time() + left_s, time.time() + left_s
            question_id = f"q-{secrets.token_hex(4)}"
            asked = Asked(question_id=question_id, text=text, choices=list(choices), expires_at=expires_at)
            await self._record.write(asked)
        answer = given.text if given is not None else await self._wait(asked)
        reason = "the person answered" if answer is not None else "nobody answered in time"
        if self._record.state is State.PAUSED:
            await self._record.move(State.INITIALIZING, reason)
            await self._record.move(State.RUNNING)
        return answer

    async def _wait(self, asked: Asked) -> str | None:
        task_id = self._record.task.task_id
        question = Question(asked.question_id, asked.text, asked.expires_at, tuple(asked.choices))
        await self._bus.questions.put(task_id, question, self._end - boot_time())
        if self._record.state is not State.PAUSED:
            await self._record.move(State.PAUSED, "waits for a person's answer", asked=asked)
        answer = await self._bus.questions.wait(task_id, question, self._end - boot_time())
        if answer is None:
            self._record.unanswered[asked.question_id] = asked.text
        else:
            await self._record.write(Answered(question_id=asked.question_id, text=answer))
        return answer
