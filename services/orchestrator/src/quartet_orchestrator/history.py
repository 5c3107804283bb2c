"""What the journal tells of a task that another process, or an earlier try of this one, had begun."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from quartet_contracts import ARGUMENTS, RESULTS, JournalEvent, Skill, SkillArguments, SkillResult, State, Usage, move
from quartet_contracts.journal import (
    Answered,
    Asked,
    ModelTurn,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    StateChanged,
    ToolCalled,
    ToolReturned,
)
from quartet_orchestrator.ledger import Ledger
from quartet_orchestrator.wording import Wording

LOOP = (ModelTurn, ToolCalled, ToolReturned)
LOOK = "look"


@dataclass
class Attempt:
    """One attempt at one skill, as far as it got."""

    requested: SkillRequested
    finished: SkillFinished | None = None
    settled: SkillSettled | None = None
    returned: bool = False
    """The model's call has got its result."""

    @property
    def skill(self) -> Skill:
        return Skill(self.requested.skill)

    @property
    def arguments(self) -> SkillArguments:
        arguments = ARGUMENTS[self.skill].model_validate(self.requested.arguments)
        assert isinstance(arguments, SkillArguments)
        return arguments

    @property
    def begun(self) -> bool:
        """False for one of which it is known that no agent took it."""
        return self.finished is None or self.finished.state is not State.RETRIABLE

    @property
    def open(self) -> bool:
        """Its outcome is not known, or nobody has looked at what an unknown outcome left behind."""
        return self.finished is None or (self.finished.state is State.UNCERTAIN and self.settled is None)

    @property
    def states(self) -> list[State]:
        """What the step has gone through, as far as the journal tells. Raises IllegalMove for what cannot be."""
        way = [State.INITIALIZING]
        if self.finished is None:
            return way
        if self.finished.state is State.RETRIABLE:
            # Withdrawn: that nobody had begun it is what was found out.
            later = [State.UNCERTAIN, State.RETRIABLE]
        else:
            canceling = [State.CANCELING] if self.finished.state is State.CANCELED else []
            later = [State.RUNNING, *canceling, self.finished.state]
        if self.settled is not None:
            later.append(self.settled.state)
        for state in later:
            way.append(move(way[-1], state, f"step {self.requested.request_id}"))
        return way

    def result(self, task_id: str) -> SkillResult:
        """What the agent answered, as the model reads it."""
        finished = self.finished
        assert finished is not None
        seen = self.settled
        observed = seen.observed if seen else str(finished.details.get("observed", ""))
        return RESULTS[self.skill].model_validate(
            {
                **{name: value for name, value in finished.details.items() if name != "observed"},
                "request_id": finished.request_id,
                "task_id": task_id,
                "attempt": self.requested.attempt,
                "success": finished.success,
                "error_code": finished.error_code,
                "reason": (seen.reason if seen else finished.reason)[:2000],
                "tool_calls_used": finished.usage.tool_calls,
                "usage": finished.usage,
                "state": finished.state,
                "observed": observed[:4000],
            }
        )


@dataclass
class History:
    """Everything that a task is taken up with."""

    attempts: list[Attempt] = field(default_factory=list[Attempt])
    loop: list[JournalEvent] = field(default_factory=list[JournalEvent])
    """Events of the orchestrator's own loop."""
    began: bool = False
    """The task had left the queue."""
    question: Asked | None = None
    """What the model asks a person, while its call has no result."""
    answer: Answered | None = None
    answers: list[str] = field(default_factory=list[str])
    """Everything that a person has answered."""
    looks: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    """Looks of the model: after how many attempts, and whether they showed anything."""

    @property
    def last(self) -> Attempt | None:
        """The attempt whose result the model has not got; None when there is none."""
        if self.attempts and self.attempts[-1].begun and not self.attempts[-1].returned:
            return self.attempts[-1]
        return None

    @property
    def usage(self) -> Usage:
        """What the sub-agents used."""
        total = Usage()
        for attempt in self.attempts:
            if attempt.finished is not None:
                total = total.plus(attempt.finished.usage)
        return total

    def fill(self, ledger: Ledger, task_id: str) -> None:
        """Note in `ledger` what the model knows."""
        for index, attempt in enumerate(self.attempts, start=1):
            if attempt.returned and attempt.begun:
                ledger.note(attempt.arguments, attempt.result(task_id), attempt.settled)
            for after, ok in self.looks:
                if after == index:
                    ledger.note_look(ok=ok)
        if any(ok for after, ok in self.looks if after == 0):
            ledger.note_look(ok=True)

    def tell(self, wording: Wording, task_id: str) -> None:
        """Tell `wording` what was said: by the model, which was let through, by a person, and by sub-agents."""
        for answer in self.answers:
            wording.trust(answer)
        for attempt in self.attempts:
            wording.refusal(attempt.arguments)
            if attempt.finished is not None:
                wording.hear(attempt.result(task_id))


def read_history(events: Iterable[JournalEvent]) -> History:
    """The history of one task from its whole journal."""
    history = History()
    by_id: dict[str, Attempt] = {}
    for event in events:
        what = event.event
        if event.request_id is not None:
            continue
        if isinstance(what, LOOP):
            history.loop.append(event)
        match what:
            case StateChanged():
                history.began = True
            case SkillRequested():
                by_id[what.request_id] = Attempt(what)
                history.attempts.append(by_id[what.request_id])
            case SkillFinished() if what.request_id in by_id:
                by_id[what.request_id].finished = by_id[what.request_id].finished or what
            case SkillSettled() if what.request_id in by_id:
                by_id[what.request_id].settled = what
            case Asked():
                history.question, history.answer = what, None
            case Answered():
                history.answer = what
                history.answers.append(what.text)
            case ToolReturned():
                history.question = history.answer = None
                if history.attempts:
                    history.attempts[-1].returned = True
                if what.tool == LOOK:
                    history.looks.append((len(history.attempts), what.ok))
            case _:
                pass
    return history
