"""Turns of one decision, and agreement on its plan."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quartet_teams._answers import Plan, parse_plan
from quartet_teams._checks import Checker, Complaint, PlanT
from quartet_teams.errors import AnswerError, NoPlanError

MOST_REPROMPTS = 6
"""Answers that may be refused for one plan (Chen et al. 2024)."""


class Scene(Checker[Plan], Protocol):
    """What a team sees of a world."""

    @property
    def rules(self) -> str:
        """Task and rules in words."""
        ...

    @property
    def robots(self) -> Sequence[str]:
        """Names of the robots, in the order in which they speak."""
        ...

    def describe(self) -> str:
        """Return the state as text."""
        ...

    def describe_robot(self, robot: str) -> str:
        """Return what a robot is and sees, as text."""
        ...

    def actions(self, robot: str) -> Sequence[str]:
        """Return what a robot can do now."""
        ...


@dataclass(frozen=True)
class Answer:
    """Answer of a model, with the tokens that it was billed for."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


Model = Callable[[str, str], Awaitable[Answer]]
"""Answers a prompt in the name of a participant: (participant, prompt)."""


@dataclass(frozen=True)
class Turn:
    """One call of the model."""

    participant: str
    prompt: str
    answer: Answer


@dataclass(frozen=True)
class Refusal:
    """An answer that was refused, and why."""

    turn: Turn
    complaints: Sequence[Complaint]

    @property
    def reason(self) -> str:
        """The reasons in words for the model."""
        return " ".join(text for _, text in self.complaints)


Refused = Callable[[str, str], Awaitable[None]]
"""Called with each refused answer: (participant, reason)."""


async def _keep_silent(_participant: str, _wrong: str) -> None:
    """Ignore the refusal."""


@dataclass
class Discussion:
    """Asks a model in the name of the participants and keeps every turn."""

    model: Model
    refused: Refused = _keep_silent
    turns: list[Turn] = field(default_factory=list[Turn])
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    async def turn(self, participant: str, prompt: str) -> Turn:
        """Return the turn of a participant: its prompt and answer."""
        turn = Turn(participant, prompt, await self.model(participant, prompt))
        self.turns.append(turn)
        return turn

    async def ask(self, participant: str, prompt: str) -> str:
        """Return the answer of a participant."""
        return (await self.turn(participant, prompt)).answer.text

    async def agree(
        self,
        attempt: Callable[[Sequence[Refusal]], Awaitable[Turn]],
        parse: Callable[[str], PlanT],
        checker: Checker[PlanT],
        most_attempts: int,
    ) -> PlanT:
        """Return the first plan that passes the checks.

        Args:
            attempt: returns the turn that proposes a plan, given the refusals of the earlier ones.
            parse: reads the plan in an answer; raises AnswerError.
            checker: checks the plan.
            most_attempts: proposals that may be refused.

        Raises:
            NoPlanError: every proposal was refused.
        """
        refusals: list[Refusal] = []
        while True:
            turn = await attempt(refusals)
            complaints: Sequence[Complaint]
            try:
                plan = parse(turn.answer.text)
                complaints = checker.check(plan)
            except AnswerError as error:
                complaints = [("parse", str(error))]
            else:
                if not complaints:
                    return plan
            refusal = Refusal(turn, complaints)
            refusals.append(refusal)
            self.refusals.append(refusal)
            await self.refused(turn.participant, refusal.reason)
            if len(refusals) >= most_attempts:
                count = f"{most_attempts} answers" if most_attempts > 1 else "1 answer"
                raise NoPlanError(f"{turn.participant} gave no valid plan in {count}; the last: {refusal.reason}")

    async def plan(self, scene: Checker[Plan], participant: str, prompt: str, proposal: Turn | None = None) -> Plan:
        """Return a plan that passes the checks; what was wrong with an answer goes back with the prompt.

        Args:
            scene: checks the plan.
            participant: who is asked.
            prompt: what it is asked.
            proposal: its first answer, if it has been asked already.

        Raises:
            NoPlanError: after `MOST_REPROMPTS` refused answers.
        """

        async def attempt(refusals: Sequence[Refusal]) -> Turn:
            if not refusals:
                return proposal or await self.turn(participant, prompt)
            last = refusals[-1]
            return await self.turn(
                participant,
                f"{prompt}\n\nYour last answer was:\n{last.turn.answer.text}\n\n"
                f"It was refused: {last.reason}\nGive a corrected plan.",
            )

        return await self.agree(attempt, parse_plan, scene, MOST_REPROMPTS + 1)
