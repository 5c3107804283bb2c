"""Questions of a task to a person, and the answers."""

import time
from dataclasses import dataclass

from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_bus.errors import BusUnavailable, QuestionProblem
from quartet_bus.options import BusOptions
from quartet_bus.signals import Signals
from quartet_contracts import Answer
from quartet_process import redact


@dataclass(frozen=True)
class Question:
    question_id: str
    text: str
    expires_at: float
    approval: bool = False
    """It asks for a person's word on a call that a site's policy puts off, which no model may give."""


class Questions:
    def __init__(self, store: Store, keys: Keys, options: BusOptions, signals: Signals) -> None:
        self._store = store
        self._keys = keys
        self._options = options
        self._signals = signals

    async def put(self, task_id: str, question: Question) -> None:
        """Open a question; it is the task's only open one."""
        key = self._keys.question(task_id)
        fields = ("id", question.question_id, "text", redact(question.text), "expires_at", repr(question.expires_at))
        fields += ("approval", "1" if question.approval else "0")
        expiry = max(1, round((question.expires_at - time.time()) * 1000))
        await self._store.transaction(("DEL", key), ("HSET", key, *fields), ("PEXPIRE", key, expiry))

    async def wait(self, task_id: str, question: Question) -> str | None:
        """The answer's text, or None when the question expires first. Closes the question."""
        async with self._signals.listen(f"answer:{question.question_id}") as bell:
            while True:
                left = question.expires_at - time.time()
                try:
                    answer = await self._store.call("GET", self._keys.answer(question.question_id))
                    if answer is not None or left <= 0:
                        await self._store.call("DEL", self._keys.question(task_id))
                        return None if answer is None else answer.decode()
                except BusUnavailable:
                    if left <= 0:
                        raise
                await bell.wait(min(max(left, 0.01), 2.0))

    async def close(self, task_id: str, question: Question) -> None:
        """Nobody waits for the answer any more."""
        current = await self.current(task_id)
        if current is not None and current.question_id == question.question_id:
            await self._store.call("DEL", self._keys.question(task_id))

    async def current(self, task_id: str) -> Question | None:
        """The question that is open now."""
        fields = await self._store.call("HGETALL", self._keys.question(task_id))
        if not fields:
            return None
        return Question(
            fields[b"id"].decode(),
            fields[b"text"].decode(),
            float(fields[b"expires_at"]),
            approval=fields.get(b"approval") == b"1",
        )

    async def answer(self, task_id: str, answer: Answer) -> Question:
        """Answer the open question. Raises QuestionProblem: there is none, another one, or it has an answer."""
        question = await self.current(task_id)
        if question is None:
            raise QuestionProblem(f"task '{task_id}' asks nothing now, so there is nothing to answer")
        if answer.question_id not in {None, question.question_id}:
            raise QuestionProblem(
                f"question '{answer.question_id}' is not open; "
                f"the open one is '{question.question_id}': {question.text}"
            )
        expiry = round(self._options.results_s * 1000)
        key = self._keys.answer(question.question_id)
        if not await self._store.call("SET", key, answer.text, "NX", "PX", expiry):
            raise QuestionProblem(f"question '{question.question_id}' was answered already")
        await self._signals.send(f"answer:{question.question_id}")
        return question
