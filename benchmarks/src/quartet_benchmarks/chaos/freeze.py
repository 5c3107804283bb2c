"""Processes of a stack that hang for a while."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator

from quartet_deployment import Stack


@contextlib.contextmanager
def frozen(stack: Stack, names: Iterable[str]) -> Iterator[None]:
    """Freeze the processes of these names; at the end those that still live go on."""
    running = stack.pids()
    pids = [running[name] for name in names]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
