"""Time that a request has left for work: it stands still while a person is waited for."""

import contextlib
import time
from collections.abc import Callable, Generator

from quartet_contracts import SkillRequest


class WorkClock:
    """A deadline [s since the epoch] that moves by what was waited for persons, to `latest` and no further."""

    def __init__(self, deadline: float, latest: float) -> None:
        self._deadline, self._latest = deadline, latest
        self._waited_s = 0.0
        self._since: float | None = None
        self.changed: Callable[[], None] = lambda: None
        """Called when a wait begins and when it ends."""

    @classmethod
    def of(cls, request: SkillRequest) -> "WorkClock":
        """Return the clock of a request: its budget's wall time from its creation on, to its deadline at most."""
        return cls(min(request.deadline, request.created_at + request.budget.wall_s), request.deadline)

    @property
    def waits(self) -> bool:
        """Whether a person is waited for now."""
        return self._since is not None

    @property
    def waited_s(self) -> float:
        """How long persons were waited for so far [s]."""
        return self._waited_s + (0.0 if self._since is None else time.monotonic() - self._since)

    @property
    def deadline(self) -> float:
        """The deadline as it is now [s since the epoch]."""
        return min(self._latest, self._deadline + self.waited_s)

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Stand still within this block."""
        self._since = time.monotonic()
        self.changed()
        try:
            yield
        finally:
            self._waited_s, self._since = self.waited_s, None
            self.changed()
