"""Ctrl-C while a task is followed: what is half written is written to its end first."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Interrupts:
    """Takes Ctrl-C over while it is entered: within `held` the first one waits, a second one interrupts at once.

    A line of the story that is interrupted half way would be printed twice, or leave the terminal without a cursor, and
    an event between journal and story would be lost.
    """

    def __init__(self) -> None:
        self._holding = False
        self._waiting = False
        self._before: object = None

    def __enter__(self) -> "Interrupts":
        # What was started in the background ignores Ctrl-C, and only the main thread gets it.
        mine = (
            threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN
        )
        self._before = signal.signal(signal.SIGINT, self._take) if mine else None
        return self

    def __exit__(self, *_: object) -> None:
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Run the block to its end; raise KeyboardInterrupt then if Ctrl-C came."""
        before, self._holding = self._holding, True
        try:
            yield
        finally:
            self._holding = before
            if self._waiting and not before:
                self._waiting = False
                raise KeyboardInterrupt

    def whole(self, notice: Callable[[str], None]) -> Callable[[str], None]:
        """Return `notice`, held."""

        def held(text: str) -> None:
            with self.held():
                notice(text)

        return held

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._holding and not self._waiting:
            self._waiting = True
            return
        self._waiting = False
        raise KeyboardInterrupt
