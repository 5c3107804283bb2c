"""Asks the person: the task pauses until the answer comes or the time is over."""

import secrets
import time

from quartet_bus import Bus, Question
from quartet_contracts import State
from quartet_contracts.journal import Answered, Asked
from quartet_orchestrator.progress import TaskRecord
from quartet_orchestrator.settings import OrchestratorSettings


class Person:
    def __init__(self, record: TaskRecord, bus: Bus, settings: OrchestratorSettings) -> None:
        self._record = record
        self._bus = bus
        self._settings = settings

    async def ask(self, text: str) -> str | None:
        """The answer, or None when nobody answered in time."""
        task = self._record.task
        expires_at = min(time.time() + self._settings.question_timeout_s, task.deadline)
        question = Question(f"q-{secrets.token_hex(4)}", text, expires_at)
        await self._record.write(Asked(question_id=question.question_id, text=text, expires_at=expires_at))
        await self._bus.questions.put(task.task_id, question)
        await self._record.move(State.PAUSED, "waits for a person's answer", question=text)
        answer = await self._bus.questions.wait(task.task_id, question)
        if answer is not None:
            await self._record.write(Answered(question_id=question.question_id, text=answer))
        reason = "the person answered" if answer is not None else "nobody answered in time"
        await self._record.move(State.INITIALIZING, reason)
        await self._record.move(State.RUNNING)
        return answer
