"""Errors of the bus.

BusError
├── BusUnavailableError   Redis cannot be reached; the text names the URL and the remedy
│   ├── BusRefusedError   Redis is there, and does not let this process in: waiting changes nothing
│   └── StoreFullError    Redis has next to no memory left; new work is refused, running work goes on
├── BusServerError        Redis answered a command with an error that waiting does not change
├── QueueFullError        too much is waiting already; nothing was put on the stream
├── JournalFullError      a task has more events than are kept; its sub-agents may write no more of them
├── KeyReusedError        the idempotency key stands for a submission that asked for something else
├── LeaseLostError        another consumer took the entry over: what it asked for must not be done here any more
├── NoAnswerError         a request got no result: never taken, or taken and not answered in time
└── QuestionError         there is no such open question, or it was answered already
"""


class BusError(Exception):
    """Base of all errors of the bus."""


class BusUnavailableError(BusError):
    """Redis did not answer, even after retries."""


class BusRefusedError(BusUnavailableError):
    """Redis does not know the user or its password, or gives it no rights."""


class BusServerError(BusError):
    """Redis answered a command with an error; `code` is its first word, such as WRONGTYPE, or ''."""

    def __init__(self, reason: str, code: str = "") -> None:
        super().__init__(reason)
        self.code = code


class StoreFullError(BusUnavailableError):
    """Redis is so full that the rest of its memory is reserved for running work."""


class JournalFullError(BusError):
    """The journal of the task has reached its limit of events."""


class KeyReusedError(BusError):
    """The idempotency key was used before with another body."""


class QueueFullError(BusError):
    """The stream has reached its limit of entries; no waiting entry is dropped."""


class LeaseLostError(BusError):
    """Another consumer owns the entry now."""


class NoAnswerError(BusError):
    """No result came. `taken` and `started` say how far the request got."""

    def __init__(self, reason: str, *, taken: bool, started: bool) -> None:
        super().__init__(reason)
        self.taken = taken
        self.started = started


class QuestionError(BusError):
    """There is no open question with this id, or it does not allow the answer."""
