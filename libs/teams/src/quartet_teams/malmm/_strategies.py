"""How one, two or three agents let an arm do a task: SA, MA and MALMM.

"MALMM: Multi-Agent Large Language Models for Zero-Shot Robotics Manipulation", whose prompts and limits these follow.
"""

import functools
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from string import Template

from quartet_teams._chat import Chat, code_blocks
from quartet_teams._discussion import Discussion
from quartet_teams.errors import UnknownTeamError
from quartet_teams.malmm._arm import Arm, Execution

PLANNER, CODER, SUPERVISOR, SINGLE, RUNNER = "planner", "coder", "supervisor", "single", "runner"
MOST_ERRORS = 5
"""Errors of code or plan in a row after which a team gives up (the paper's Coder prompt)."""
MOST_PROGRAMS, MOST_CALLS = 100, 500
"""Programs and calls of the model for one task; the paper states no limit."""
NO_PROGRAM = "There is no program between ```python and ``` in the last answer."
NO_SPEAKER = "The last answer names neither planner nor coder."


class Ending(StrEnum):
    """How a task ended for the team; whether it is done, the world knows."""

    COMPLETED = "completed"
    """A program called task_completed()."""
    GAVE_UP = "gave up"
    """`MOST_ERRORS` errors in a row."""
    CALLS = "too many calls"
    PROGRAMS = "too many programs"
    NOT_CLAIMED = "not claimed"
    """Without feedback: the programs ended, and none called task_completed()."""


@dataclass(frozen=True)
class Outcome:
    """What a team did."""

    ending: Ending
    executions: int
    failed_executions: int


class _Limit(Exception):  # noqa: N818 - a way out of the conversation, not an error
    def __init__(self, ending: Ending) -> None:
        super().__init__(ending)
        self.ending = ending


class Team:
    """A team at work on one task.

    Args:
        arm: the arm and its table.
        discussion: asks the model and keeps every turn.
        feedback: whether the team hears what its programs do; else it plans all and runs it once.
        most_calls: calls of the model.
    """

    def __init__(self, arm: Arm, discussion: Discussion, *, feedback: bool, most_calls: int = MOST_CALLS) -> None:
        self.arm = arm
        self.feedback = feedback
        self.chat = Chat()
        self._discussion = discussion
        self._most_calls = most_calls
        self._state_at_start = arm.state()
        self._errors_in_a_row = 0
        self._executions: list[Execution] = []

    async def speak(self, participant: str) -> str:
        """Let a participant speak; return what it says."""
        if len(self._discussion.turns) >= self._most_calls:
            raise _Limit(Ending.CALLS)
        return await self._discussion.ask(participant, self._prompt(participant))

    async def say(self, participant: str) -> str:
        """Let a participant speak to all; return what it says."""
        text = await self.speak(participant)
        self.chat.say(participant, text)
        return text

    async def run(self, answer: str) -> None:
        """Run the programs of an answer until one fails, and tell what came of them."""
        programs = code_blocks(answer)
        if not programs:
            self.refuse(NO_PROGRAM)
        for program in programs:
            if len(self._executions) >= MOST_PROGRAMS:
                raise _Limit(Ending.PROGRAMS)
            result = await self.arm.execute(program)
            self._executions.append(result)
            self.chat.say(RUNNER, f"exit code: {result.exit_code}\noutput:\n{result.output}")
            if self.arm.completed:
                raise _Limit(Ending.COMPLETED)
            if result.exit_code:
                self._count_error()
                return
            self._errors_in_a_row = 0

    def refuse(self, wrong: str) -> None:
        """Tell what is wrong with an answer and count it as an error."""
        self.chat.say(RUNNER, wrong)
        self._count_error()

    def outcome(self, ending: Ending) -> Outcome:
        """Return what was done until this ending."""
        failed = sum(execution.exit_code != 0 for execution in self._executions)
        return Outcome(ending, len(self._executions), failed)

    def _count_error(self) -> None:
        self._errors_in_a_row += 1
        if self._errors_in_a_row >= MOST_ERRORS:
            raise _Limit(Ending.GAVE_UP)

    def _prompt(self, participant: str) -> str:
        facts = self.arm.facts
        pace = _template("pace_feedback" if self.feedback else "pace_once").template.strip()
        return _template(participant).substitute(
            axes=facts.axes,
            table_z=facts.table_z,
            x_low=facts.x_range[0],
            x_high=facts.x_range[1],
            y_low=facts.y_range[0],
            y_high=facts.y_range[1],
            safe_m=facts.safe_m,
            release_m=facts.release_m,
            hand_position=list(facts.hand_position),
            hand_yaw=facts.hand_yaw,
            most_errors=MOST_ERRORS,
            pace=pace,
            task=self.arm.instruction,
            state=self._state_at_start,
            talk=self.chat.tell(),
        )


async def single_agent(team: Team) -> None:
    """One agent plans, writes the programs and checks what they do."""
    await team.run(await team.say(SINGLE))


async def multi_agent(team: Team) -> None:
    """Planner, Coder and runner take turns in a fixed order."""
    await team.say(PLANNER)
    await team.run(await team.say(CODER))


async def malmm(team: Team) -> None:
    """The Supervisor chooses who speaks next; what the Coder says is run."""
    chosen = speaker_of(await team.speak(SUPERVISOR))
    if chosen is None:
        team.refuse(NO_SPEAKER)
    elif chosen == CODER:
        await team.run(await team.say(CODER))
    else:
        await team.say(PLANNER)


ROUNDS: dict[str, Callable[[Team], Awaitable[None]]] = {"sa": single_agent, "ma": multi_agent, "malmm": malmm}
"""One round of each framework."""


def speaker_of(answer: str) -> str | None:
    """Return the only one of planner and coder whom an answer names, None where that is not clear."""
    named = {name for name in (PLANNER, CODER) if re.search(rf"\b{name}\b", answer.lower())}
    return named.pop() if len(named) == 1 else None


async def work(
    framework: str, arm: Arm, discussion: Discussion, *, feedback: bool = True, most_calls: int = MOST_CALLS
) -> Outcome:
    """Let a team do the task of an arm until it claims to be done, gives up or reaches a limit.

    Args:
        framework: `sa`, `ma` or `malmm`.
        arm: the arm and its table.
        discussion: asks the model.
        feedback: whether the team hears what its programs do. Without, the plan is made at once and run once.
        most_calls: calls of the model.

    Raises:
        UnknownTeamError: there is no such framework.
    """
    if framework not in ROUNDS:
        raise UnknownTeamError(f"there is no framework '{framework}'; valid: {', '.join(ROUNDS)}")
    take_turns = ROUNDS[framework]
    team = Team(arm, discussion, feedback=feedback, most_calls=most_calls)
    try:
        while feedback or not team.outcome(Ending.NOT_CLAIMED).executions:
            await take_turns(team)
    except _Limit as limit:
        return team.outcome(limit.ending)
    return team.outcome(Ending.NOT_CLAIMED)


@functools.cache
def _template(name: str) -> Template:
    return Template((files("quartet_teams.malmm") / "prompts" / f"{name}.md").read_text("utf-8"))
