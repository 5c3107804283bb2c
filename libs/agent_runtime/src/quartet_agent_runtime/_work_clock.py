"""Time that a request has left for work: it stands still while a person is waited for."""

import contextlib
from collections.abc import Callable, Generator

from quartet_contracts import SkillRequest
from quartet_process import boot_time


class WorkClock:
    """Time for work of `left_s` [s] from now on, which grows by what persons were waited for, to `most_s` at most.

    boot_time() counts it: no wall clock that is set, or that differs from another one, moves its end, and no suspend of
    the machine does.
    """

    def __init__(self, left_s: float, most_s: float) -> None:
        began = boot_time()
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
        return self._waited_s + (0.0 if self._since is None else boot_time() - self._since)

    @property
    def left_s(self) -> float:
        """Time that is left for work as it is now [s]; negative when it is over."""
        return min(self._latest, self._end + self.waited_s) - boot_time()

    @property
    def most_s(self) -> float:
        """Time that is left at most, with whatever is still waited for persons [s]."""
        return self._latest - boot_time()

    @contextlib.contextmanager
    def waiting(self) -> Generator[None]:
        """Stand still within this block."""
        self._since = boot_time()
        self.changed()
        try:
            yield
        finally:
            self._waited_s, self._since = self.waited_s, None
            self.changed()
