"""Errors of the bus.

BusError
├── BusUnavailable   Redis cannot be reached; the text names the URL and the remedy
│   ├── BusRefused   Redis is there, and does not let this process in: waiting changes nothing
│   └── StoreFull    Redis has next to no memory left; new work is refused, running work goes on
├── QueueFull        too much is waiting already; nothing was put on the stream
├── JournalFull      a task has more events than are kept; its sub-agents may write no more of them
├── KeyReused        the idempotency key stands for a submission that asked for something else
├── LeaseLost        another consumer took the entry over: what it asked for must not be done here any more
├── NoAnswer         a request got no result: never taken, or taken and not answered in time
└── QuestionProblem  there is no such open question, or it was answered already
"""


class BusError(Exception):
    """Base of everything this package raises."""


class BusUnavailable(BusError):
    """Redis did not answer, also not after retries."""


class BusRefused(BusUnavailable):
    """Redis does not know the user or its password, or gives it no rights."""


class StoreFull(BusUnavailable):
    """Redis is so full that what is left is kept for running work."""


class JournalFull(BusError):
    """The task has as many events as are kept for one."""


class KeyReused(BusError):
    """The idempotency key came before, with another body."""


class QueueFull(BusError):
    """The stream holds as much as it may; what waits there is kept."""


class LeaseLost(BusError):
    """The entry belongs to another consumer now."""


class NoAnswer(BusError):
    """No result came. `taken` and `started` tell how far the request got."""

    def __init__(self, reason: str, *, taken: bool, started: bool) -> None:
        super().__init__(reason)
        self.taken = taken
        self.started = started


class QuestionProblem(BusError):
    """The answer fits no open question."""
