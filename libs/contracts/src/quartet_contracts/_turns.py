"""Turns of a discussion: what a robot's participant in a team is asked and answers, and the programs that it runs."""

from typing import Annotated, Literal

from pydantic import Field

from quartet_contracts._budgets import Usage
from quartet_contracts.messages import Identifier, Message, Seconds
from quartet_contracts.skills import MAX_PROGRAM

MAX_PROMPT = 32_000
MAX_SPOKEN = 8_000
"""Characters of an answer; the rest of a longer one is cut off."""

MAX_CALCULATED = 2_000
"""Characters of the output of a program that only calculates."""

TEAM_QUEUE = "team"
"""Name of the queue of tasks that a team of robots does together. No robot may have this name."""


class TeamRequest(Message):
    """Base of what the orchestrator asks on behalf of a team. It moves nothing."""

    request_id: Identifier
    task_id: Identifier
    robot: Identifier
    """In whose name the answer is."""
    created_at: Seconds
    deadline: Seconds
    reply_to: Annotated[str, Field(max_length=300)]
    traceparent: str | None = None


class TurnRequest(TeamRequest):
    """One question to the participant of a robot."""

    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT)]
    grant: Annotated[str, Field(repr=False)]
    """Signed token for asking the model for this task, and for nothing else."""


class TurnAnswer(Message):
    """What the participant of a robot has answered."""

    request_id: Identifier
    error_code: Literal["NONE", "MODEL_UNAVAILABLE", "EXPIRED", "UNKNOWN"] = "NONE"
    text: Annotated[str, Field(max_length=MAX_SPOKEN)] = ""
    """The answer, or the reason why there is none."""
    usage: Usage = Usage()


class ProgramRequest(TeamRequest):
    """A program of a robot's participant that only calculates: it has no grant, and no function to call."""

    code: Annotated[str, Field(max_length=MAX_PROGRAM)]


class ProgramAnswer(Message):
    """What a program has printed."""

    request_id: Identifier
    error_code: Literal["NONE", "NO_CONFINEMENT", "EXPIRED", "UNKNOWN"] = "NONE"
    """NONE also for a program that ended with an error or at a limit; the output says so."""
    text: Annotated[str, Field(max_length=MAX_CALCULATED)] = ""
    """The output, or the reason why the program did not run."""
