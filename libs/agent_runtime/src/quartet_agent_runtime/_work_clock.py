"""Time that a request has left for work: it stands still while a person is waited for."""

import contextlib
import time
from collections.abc import Callable, Generator

from quartet_contracts import SkillRequest


class WorkClock:
    """Time for work of `left_s` [s] from now on, which grows by what persons were waited for, to `most_s` at most.

    It is counted on the monotonic clock: no wall clock that is set, or that differs from another one, moves its end.
    """

    def __init__(self, left_s: float, most_s: float) -> None:
        began = time.monotonic()
        self._end, self._latest = began + left_s, began + most_s
        self._waited_s = 0.0
        self._since: float | None = None
        self.changed: Callable[[], None] = lambda: None
        """Called when a wait begins and when it ends."""

    @classmethod
    def of(cls, request: SkillRequest, age_s: float = 0.0) -> "WorkClock":
        """Return the clock of a request that was made `age_s` [s] ago: its budget's time, to its deadline at most."""
        most_s = request.deadline - request.created_at
        return cls(min(most_s, request.budget.wall_s) - age_s, most_s - age_s)

    @property
    def waits(self) -> bool:
        """Whether a person is waited for now."""
        return self._since is not None

    @property
    def waited_s(self) -> float:
        """How long persons were waited for so far [s]."""
        return self._waited_s + (0.0 if self._since is None else time.monotonic() - self._since)

    @property
    def left_s(self) -> float:
        """Time that is left for work as it is now [s]; negative when it is over."""
        return min(self._latest, self._end + self.waited_s) - time.monotonic()

    @property
    def most_s(self) -> float:
        """Time that is left at most, with whatever is still waited for persons [s]."""
        return self._latest - time.monotonic()

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
