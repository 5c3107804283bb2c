"""Tasks that run beside the work of a process, none of which ends unseen."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from prometheus_client import Counter

from quartet_process.metrics import REGISTRY

log = logging.getLogger(__name__)

FAILURES = Counter(
    "quartet_background_failures",
    "Background tasks that ended with an error, by name of the task",
    ("background_task",),
    registry=REGISTRY,
)

RESTART_S = 1.0
"""Wall time before a failed task is started again."""
STEADY_S = 10.0
"""A restarted task counts as working again when it has run for so long, or has ended well."""


class BackgroundTasks:
    """Starts background tasks, and logs, counts and remembers each that ends with an error."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()
        self._failed: dict[str, str] = {}

    @property
    def problem(self) -> str | None:
        """What the failed tasks ended with; None while all of them work."""
        return "; ".join(f"{name}: {error}" for name, error in self._failed.items()) or None

    def health(self) -> tuple[int, dict[str, str]]:
        """Return the HTTP status of /health and the fields that say why: `status`, and `problem` if there is one."""
        if (problem := self.problem) is None:
            return 200, {"status": "ok"}
        return 503, {"status": "unavailable", "problem": problem}

    def start(
        self, name: str, work: Callable[[], Coroutine[Any, Any, object]], *, restart_s: float | None = RESTART_S
    ) -> "asyncio.Task[None]":
        """Run `work()` as a task of its own until it ends or is canceled, and return the task.

        Args:
            name: A constant: the label of the metric, and how log and health name the task.
            work: Called once, and again for each restart.
            restart_s: Wall time until a task that failed is started again; None: it is not, and stays a problem.
        """
        task = asyncio.create_task(self._supervise(name, work, restart_s), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def join(self) -> None:
        """Wait until no task runs any more."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)

    async def close(self) -> None:
        """Cancel all that still run, and wait for their end."""
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._failed.clear()

    async def _supervise(
        self, name: str, work: Callable[[], Coroutine[Any, Any, object]], restart_s: float | None
    ) -> None:
        try:
            await self._run_again_and_again(name, work, restart_s)
        except asyncio.CancelledError:
            # Nobody needs it any more: it is no problem that it had failed.
            self._failed.pop(name, None)
            raise

    async def _run_again_and_again(
        self, name: str, work: Callable[[], Coroutine[Any, Any, object]], restart_s: float | None
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            steady = loop.call_later(STEADY_S, self._failed.pop, name, None)
            try:
                await work()
            except Exception as error:
                FAILURES.labels(name).inc()
                self._failed[name] = f"{type(error).__name__}: {error}"
                then = "it is not started again" if restart_s is None else f"started again in {restart_s:g} s"
                log.exception("the background task %s failed; %s", name, then)
                if restart_s is None:
                    return
            else:
                self._failed.pop(name, None)
                return
            finally:
                steady.cancel()
            await asyncio.sleep(restart_s)


BACKGROUND = BackgroundTasks()
"""The background tasks of this process; its health tells their problem."""
