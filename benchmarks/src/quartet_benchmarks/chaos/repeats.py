"""Every message of a job is delivered three times, late and out of order: each physical action is done once."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.wire import Kind, Wire
from quartet_cli.errors import CliError
from quartet_cli.stack import Stack
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import SkillStarted

COPIES = 2
"""Of each message, beside the message itself."""
CANCEL_AT = ("pick requested", "drive begun", "person asked", "fingers closed", "arm goes down")


@dataclass
class Repeated:
    """One job, every message of which came three times."""

    canceled_at: str
    """'' for a job that was let end."""
    seed: int
    score: Score
    """When the last copy had come, long after the job's end."""
    begun_twice: int
    """Requests that an agent began more than once."""
    told_twice: int
    """Events that the journal tells more than once."""
    copied: Counter[Kind]
    refused: list[str]

    @property
    def right(self) -> bool:
        """Nothing was done or told twice, and the job ended as it should."""
        state = self.score.status.state if self.score.status else None
        # A cancel may also come when the work is done.
        ended = state is State.SUCCEEDED or (bool(self.canceled_at) and state is State.CANCELED)
        twice = self.score.double_motions or self.begun_twice or self.told_twice
        return ended and not twice and not self.score.false_success

    def row(self) -> dict[str, Any]:
        return {
            "repeated": "every message",
            "canceled_at": self.canceled_at,
            "seed": self.seed,
            **self.score.row(),
            "begun_twice": self.begun_twice,
            "told_twice": self.told_twice,
            "copies": {str(kind): count for kind, count in self.copied.items()},
            "copies_refused": self.refused,
        }


def repeat(stack: Stack, wire: Wire, seed: int, canceled_at: str = "") -> Repeated:
    """One job, canceled at a moment or not. The stack's processes reach Redis through `wire`."""
    before, refused = wire.copied.copy(), len(wire.refused)
    wire.copies = COPIES
    try:
        job = Job.begin(stack, seed)
        canceled = False
        try:
            for event in job.follow():
                if canceled_at and not canceled and MOMENTS[canceled_at](event):
                    canceled = True
                    job.cancel()
        except CliError:
            # The journal broke off for good: the score shows it.
            pass
        wire.drain()
    finally:
        wire.copies = 0
    wire.drain()
    with stack.api() as api:
        told = list(api.events(job.task_id))
    starts = Counter(e.event.request_id for e in told if isinstance(e.event, SkillStarted))
    return Repeated(
        canceled_at=canceled_at,
        seed=seed,
        score=job.score(),
        begun_twice=sum(count > 1 for count in starts.values()),
        told_twice=len(job.events) - len(_different(job.events)) + len(told) - len(_different(told)),
        copied=wire.copied - before,
        refused=wire.refused[refused:],
    )


def _different(events: list[JournalEvent]) -> set[str]:
    return {event.model_copy(update={"position": ""}).model_dump_json() for event in events}


def cancel_moment(dice: random.Random) -> str:
    """Every third job is canceled."""
    return dice.choice(CANCEL_AT) if dice.random() < 1 / 3 else ""
