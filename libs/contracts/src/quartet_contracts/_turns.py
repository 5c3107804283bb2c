"""Turns of a discussion: what a robot's participant in a team is asked, and what it answers."""

from typing import Annotated, Literal

from pydantic import Field

from quartet_contracts._budgets import Usage
from quartet_contracts.messages import Identifier, Message, Seconds

MAX_PROMPT = 32_000
MAX_SPOKEN = 8_000
"""Characters of an answer; the rest of a longer one is cut off."""

TEAM_QUEUE = "team"
"""Name of the queue of tasks that a team of robots does together. No robot may have this name."""


class TurnRequest(Message):
    """One question to the participant of a robot."""

    request_id: Identifier
    task_id: Identifier
    robot: Identifier
    """In whose name the participant answers."""
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT)]
    grant: Annotated[str, Field(repr=False)]
    """Signed token for asking the model for this task, and for nothing else."""
    created_at: Seconds
    deadline: Seconds
    reply_to: Annotated[str, Field(max_length=300)]
    traceparent: str | None = None


class TurnAnswer(Message):
    """What the participant of a robot has answered."""

    request_id: Identifier
    error_code: Literal["NONE", "MODEL_UNAVAILABLE", "EXPIRED", "UNKNOWN"] = "NONE"
    text: Annotated[str, Field(max_length=MAX_SPOKEN)] = ""
    """The answer, or the reason why there is none."""
    usage: Usage = Usage()
