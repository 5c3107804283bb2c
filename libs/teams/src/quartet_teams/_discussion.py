"""One decision of a team: who was asked what, what it answered, and the plan that came of it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from quartet_teams._answers import Plan, parse_plan
from quartet_teams.errors import AnswerError, NoPlanError

MOST_REPROMPTS = 6
"""Answers that may be refused for one plan (Chen et al. 2024)."""


class Scene(Protocol):
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

    def complaints(self, plan: Plan) -> Sequence[str]:
        """Return what is wrong with a plan, in words for the model."""
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


Refused = Callable[[str, str], Awaitable[None]]
"""Told of a refused answer: (participant, what was wrong)."""


async def _keep_silent(_participant: str, _wrong: str) -> None:
    """Tell nobody."""


@dataclass
class Discussion:
    """Asks a model in the name of the participants and keeps every turn."""

    model: Model
    refused: Refused = _keep_silent
    turns: list[Turn] = field(default_factory=list[Turn])

    async def ask(self, participant: str, prompt: str) -> str:
        """Return the answer of a participant."""
        answer = await self.model(participant, prompt)
        self.turns.append(Turn(participant, prompt, answer))
        return answer.text

    async def plan(self, scene: Scene, participant: str, prompt: str, answer: str | None = None) -> Plan:
        """Return a plan that passes the checks; what was wrong with an answer goes back with the prompt.

        Args:
            scene: checks the plan.
            participant: who is asked.
            prompt: what it is asked.
            answer: its first answer, where it has been asked already.

        Raises:
            NoPlanError: after `MOST_REPROMPTS` refused answers.
        """
        complaint, wrong = "", ""
        for _ in range(MOST_REPROMPTS + 1):
            if answer is None:
                answer = await self.ask(participant, prompt + complaint)
            try:
                plan = parse_plan(answer)
                wrong = " ".join(scene.complaints(plan))
            except AnswerError as error:
                wrong = str(error)
            else:
                if not wrong:
                    return plan
            await self.refused(participant, wrong)
            complaint = f"\n\nYour last answer was:\n{answer}\n\nIt was refused: {wrong}\nGive a corrected plan."
            answer = None
        raise NoPlanError(f"{participant} gave no valid plan in {MOST_REPROMPTS + 1} answers; the last: {wrong}")
