"""The life of a process: settings, logs, signals, readiness file, exit status."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from quartet_process._logs import LogFormat, set_up_logging
from quartet_process.errors import ProcessError
from quartet_process.tracing import set_up_tracing

START_FAILED = 2
"""Exit status of a process that cannot start, or that an expected error ends."""


class LogSettings(Protocol):
    """Settings that say how a process logs, such as ProcessSettings."""

    log_format: LogFormat
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"]


Settings = TypeVar("Settings", bound=LogSettings)
Result = TypeVar("Result")


def run_process(
    name: str,
    load: Callable[[], Settings],
    serve: Callable[[Settings, asyncio.Event], Awaitable[int | None]],
    expected: tuple[type[Exception], ...] = (),
) -> int:
    """Load the settings, set up logs and traces, serve until SIGTERM or SIGINT, and return the exit status.

    `serve` gets the event that a signal sets, and may return an exit status of its own. Only the owner can read what
    the process writes. A ProcessError or an error of `expected` becomes one text on stderr and status 2.
    """

    async def run(settings: Settings) -> int:
        return await serve(settings, stop_on_signals()) or 0

    # What a process writes holds what people said, pictures of their rooms and what agents may do.
    before = os.umask(0o077)
    try:
        settings = load()
        set_up_logging(name, settings.log_format, settings.log_level)
        set_up_tracing(name)
        return asyncio.run(run(settings))
    except (ProcessError, *expected) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return START_FAILED
    except KeyboardInterrupt:
        # Ctrl-C before the signal handlers were in place.
        return 0
    finally:
        os.umask(before)


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set, in place of ending the process."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Return the result of `work`, or None when `stop` was set first, which cancels `work`."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in (task, stopped):
            one.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)


def write_ready_file(path: Path | None, content: Mapping[str, Any]) -> None:
    """Write `content` as one line of JSON to the readiness file, if there is one.

    It is renamed into place, so that a reader sees all of it or no file.
    """
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content) + "\n", encoding="utf-8")
    draft.replace(path)
