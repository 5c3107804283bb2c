"""History of a task that another process, or an earlier try of this one, had begun: read from its journal."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from quartet_bus import taken_at
from quartet_contracts import ARGUMENTS, RESULTS, JournalEvent, Skill, SkillArguments, SkillResult, State, Usage, move
from quartet_contracts.journal import (
    Answered,
    Asked,
    ModelTurn,
    SkillFinished,
    SkillRequested,
    SkillSettled,
    StateChanged,
    TeamTurn,
    ToolCalled,
    ToolReturned,
)

LOOP = (ModelTurn, ToolCalled, ToolReturned)
"""Events of a model loop."""
LOOK = "look"
"""Name of the tool with which the model looks."""


@dataclass
class Attempt:
    """One attempt at one skill, as far as the journal tells."""

    requested: SkillRequested
    event: JournalEvent
    """With which it was requested."""
    finished: SkillFinished | None = None
    settled: SkillSettled | None = None
    returned: bool = False
    """The model has read the result."""

    @property
    def skill(self) -> Skill:
        """The skill that was requested."""
        return Skill(self.requested.skill)

    @property
    def arguments(self) -> SkillArguments:
        """Arguments of the request."""
        arguments = ARGUMENTS[self.skill].model_validate(self.requested.arguments)
        assert isinstance(arguments, SkillArguments)
        return arguments

    @property
    def is_over(self) -> bool:
        """Whether a result that the model reads now is this attempt's: within its own work it reads those of tools."""
        return self.finished is not None or not self.requested.own

    @property
    def started(self) -> bool:
        """False when it is known that no agent took the request."""
        return self.finished is None or self.finished.state is not State.RETRIABLE

    @property
    def open(self) -> bool:
        """Whether the outcome is not known and nobody has looked at what it left behind."""
        return self.finished is None or (self.finished.state is State.UNCERTAIN and self.settled is None)

    @property
    def states(self) -> list[State]:
        """States that the attempt went through. Raises IllegalTransitionError for an impossible transition."""
        states = [State.INITIALIZING]
        if self.finished is None:
            return states
        if self.finished.state is State.RETRIABLE:
            # Withdrawn: it turned out that no agent had taken it.
            later = [State.UNCERTAIN, State.RETRIABLE]
        else:
            canceling = [State.CANCELING] if self.finished.state is State.CANCELED else []
            later = [State.RUNNING, *canceling, self.finished.state]
        if self.settled is not None:
            later.append(self.settled.state)
        for state in later:
            states.append(move(states[-1], state, f"step {self.requested.request_id}"))
        return states

    def result(self, task_id: str) -> SkillResult:
        """Return what the agent answered, as the model reads it."""
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
    """What a process needs to know to go on with a task."""

    attempts: list[Attempt] = field(default_factory=list[Attempt])
    loop: list[JournalEvent] = field(default_factory=list[JournalEvent])
    """Events of the orchestrator's own loop."""
    started: bool = False
    """The task had left the queue."""
    question: JournalEvent | None = None
    """With which the model asked a person, while its call has no result."""
    answer: Answered | None = None
    asked: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    """Questions without an answer, approvals among them, by id: text, and end of its time by Redis' clock [s]."""
    answers: list[str] = field(default_factory=list[str])
    """All answers of persons, in order."""
    turns: list[TeamTurn] = field(default_factory=list[TeamTurn])
    """What the participants of a team have said that writes programs for the robot."""
    looks: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    """Looks of the model: number of attempts before, and whether the look succeeded."""

    @property
    def last(self) -> Attempt | None:
        """The attempt whose result the model has not read; None when there is none."""
        if self.attempts and self.attempts[-1].started and not self.attempts[-1].returned:
            return self.attempts[-1]
        return None

    def unanswered(self, at: float) -> dict[str, str]:
        """Return the questions whose time is over without an answer `at` a time of Redis' clock [s], by id."""
        return {name: text for name, (text, end) in self.asked.items() if end <= at}

    @property
    def stops(self) -> dict[str, int]:
        """Stops that each motion server had counted when the task began, as far as the journal tells."""
        return dict(self.attempts[0].requested.stops) if self.attempts else {}

    @property
    def usage(self) -> Usage:
        """Sum over the sub-agents."""
        total = Usage()
        for attempt in self.attempts:
            if attempt.finished is not None:
                total = total.plus(attempt.finished.usage)
        return total


def read_history(events: Iterable[JournalEvent]) -> History:  # noqa: C901 - one case per kind of event
    """Return the history of one task from its whole journal."""
    history = History()
    by_id: dict[str, Attempt] = {}
    for event in events:
        what = event.event
        if isinstance(what, Asked):
            history.asked[what.question_id] = what.text, taken_at(event) + what.expires_at - event.at
        elif isinstance(what, Answered):
            history.asked.pop(what.question_id, None)
        if event.request_id is not None:
            continue
        if isinstance(what, LOOP):
            history.loop.append(event)
        match what:
            case StateChanged():
                history.started = True
            case SkillRequested():
                by_id[what.request_id] = Attempt(what, event)
                history.attempts.append(by_id[what.request_id])
            case SkillFinished() if what.request_id in by_id:
                by_id[what.request_id].finished = by_id[what.request_id].finished or what
            case SkillSettled() if what.request_id in by_id:
                by_id[what.request_id].settled = what
            case Asked():
                history.question, history.answer = event, None
            case TeamTurn():
                history.turns.append(what)
            case Answered():
                history.answer = what
                history.answers.append(what.text)
            case ToolReturned():
                history.question = history.answer = None
                if history.attempts and history.attempts[-1].is_over:
                    history.attempts[-1].returned = True
                if what.tool == LOOK:
                    history.looks.append((len(history.attempts), what.ok))
            case _:
                pass
    return history
