"""Jobs whose every message is delivered three times, late and out of order; each motion must happen once."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_benchmarks.chaos.redis_proxy import Kind, RedisProxy
from quartet_contracts import JournalEvent, State
from quartet_contracts.journal import SkillStarted
from quartet_deployment import ClientError, Stack

COPIES = 2
"""Number of copies of each message, beside the message itself."""
CANCEL_AT = ("pick requested", "drive begun", "person asked", "fingers closed", "arm goes down")


@dataclass
class RepeatedRun:
    """Result of one job whose every message came three times."""

    canceled_at: str
    """Moment of the cancel, '' for a job that was not canceled."""
    seed: int
    score: Score
    """Score after the last copy, long after the end of the job."""
    begun_twice: int
    """Number of requests that an agent began more than once."""
    told_twice: int
    """Number of events that the journal holds more than once."""
    copied: Counter[Kind]
    refused: list[str]

    @property
    def right(self) -> bool:
        """Whether nothing happened or was recorded twice and the job ended as it should."""
        state = self.score.status.state if self.score.status else None
        # A cancel may also come when the work is done.
        ended = state is State.SUCCEEDED or (bool(self.canceled_at) and state is State.CANCELED)
        twice = self.score.double_motions or self.begun_twice or self.told_twice
        return ended and not twice and not self.score.false_success

    def row(self) -> dict[str, Any]:
        """Return the row of this job in the JSON."""
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


def play_repeated(stack: Stack, proxy: RedisProxy, seed: int, canceled_at: str = "") -> RepeatedRun:
    """Run one job, canceled at a moment or not; the stack's processes reach Redis through `proxy`."""
    before, refused = proxy.copied.copy(), len(proxy.refused)
    proxy.copies = COPIES
    try:
        job = Job.begin(stack, seed)
        canceled = False
        try:
            for event in job.follow():
                if canceled_at and not canceled and MOMENTS[canceled_at](event):
                    canceled = True
                    job.cancel()
        except ClientError:
            # The journal broke off for good: the score shows it.
            pass
        proxy.drain()
    finally:
        proxy.copies = 0
    proxy.drain()
    with stack.api() as api:
        told = list(api.events(job.task_id))
    starts = Counter(e.event.request_id for e in told if isinstance(e.event, SkillStarted))
    return RepeatedRun(
        canceled_at=canceled_at,
        seed=seed,
        score=job.score(),
        begun_twice=sum(count > 1 for count in starts.values()),
        told_twice=len(job.events) - len(_different(job.events)) + len(told) - len(_different(told)),
        copied=proxy.copied - before,
        refused=proxy.refused[refused:],
    )


def _different(events: list[JournalEvent]) -> set[str]:
    return {event.model_copy(update={"position": ""}).model_dump_json() for event in events}


def cancel_moment(dice: random.Random) -> str:
    """Return a moment to cancel at for one job in three, else ''."""
    return dice.choice(CANCEL_AT) if dice.random() < 1 / 3 else ""
