"""Questions of a task to a person, and the answers."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from quartet_bus._part import Part
from quartet_bus.errors import BusUnavailableError, QuestionError
from quartet_contracts import Answer, chosen
from quartet_process import boot_time, redact


@dataclass(frozen=True)
class Question:
    """Question of a task to a person."""

    question_id: str
    text: str
    expires_at: float
    """End of its time, by the clock of who asks [s since the epoch]: for people to see."""
    choices: tuple[str, ...] = ()
    """Answers that it offers."""
    approval: bool = False
    """Whether it asks a person to approve a call, as the site's policy demands; no model may answer it."""


class Questions(Part):
    """Open questions of tasks and their answers; a task has one open question at most."""

    async def put(self, task_id: str, question: Question, left_s: float) -> None:
        """Open a question, the only open one of the task, for `left_s` [s]."""
        key = self._keys.question(task_id)
        fields = ("id", question.question_id, "text", redact(question.text), "expires_at", repr(question.expires_at))
        fields += ("approval", "1" if question.approval else "0")
        fields += ("choices", json.dumps([redact(choice) for choice in question.choices]))
        expiry = max(1, round(left_s * 1000))
        await self._store.transaction(("DEL", key), ("HSET", key, *fields), ("PEXPIRE", key, expiry))

    async def wait(self, task_id: str, question: Question, left_s: float) -> str | None:
        """Wait for the answer's text, None when there is none within `left_s` [s]. Closes the question."""
        end = boot_time() + left_s
        async with self._notifications.listen(f"answer:{question.question_id}") as wakeup:
            while True:
                left = end - boot_time()
                try:
                    answer = await self._store.call("GET", self._keys.answer(question.question_id))
                    if answer is not None or left <= 0:
                        await self._store.call("DEL", self._keys.question(task_id))
                        return None if answer is None else answer.decode()
                except BusUnavailableError:
                    if left <= 0:
                        raise
                await wakeup.wait(min(max(left, 0.01), 2.0))

    async def close(self, task_id: str, question: Question) -> None:
        """Close a question, because the task waits for its answer no longer."""
        current = await self.current(task_id)
        if current is not None and current.question_id == question.question_id:
            await self._store.call("DEL", self._keys.question(task_id))

    async def current(self, task_id: str) -> Question | None:
        """Return the open question, None without one."""
        fields = await self._store.call("HGETALL", self._keys.question(task_id))
        if not fields:
            return None
        return Question(
            fields[b"id"].decode(),
            fields[b"text"].decode(),
            float(fields[b"expires_at"]),
            choices=tuple(json.loads(fields.get(b"choices", b"[]"))),
            approval=fields.get(b"approval") == b"1",
        )

    async def answer(
        self, task_id: str, answer: Answer, *, check: Callable[[Question], None] | None = None
    ) -> Question:
        """Answer the open question, after `check`, which raises when its answer is not allowed.

        The text or the number of a choice stands for that choice.

        Raises QuestionError when no question is open, another one is, or it has an answer.
        """
        question = await self.current(task_id)
        if question is None:
            raise QuestionError(f"task '{task_id}' asks nothing now, so there is nothing to answer")
        if answer.question_id not in {None, question.question_id}:
            raise QuestionError(
                f"question '{answer.question_id}' is not open; "
                f"the open one is '{question.question_id}': {question.text}"
            )
        if check is not None:
            check(question)
        expiry = round(self._options.results_s * 1000)
        key = self._keys.answer(question.question_id)
        if not await self._store.call("SET", key, chosen(answer.text, question.choices), "NX", "PX", expiry):
            raise QuestionError(f"question '{question.question_id}' was answered already")
        await self._notifications.send(f"answer:{question.question_id}")
        return question
