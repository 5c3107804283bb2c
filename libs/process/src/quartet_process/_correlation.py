"""Correlation ids: the ids of task, request, robot and agent that logs and spans carry."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_NONE: Mapping[str, str] = {}
_work: ContextVar[Mapping[str, str]] = ContextVar("quartet_work", default=_NONE)


@contextmanager
def correlation_ids(
    *, task_id: str | None = None, request_id: str | None = None, robot: str | None = None, agent: str | None = None
) -> Generator[None]:
    """Add these ids to everything that is logged or traced inside the block.

    They are added to the ids of blocks around this one; asyncio tasks that are started inside inherit them.
    """
    given = {"task_id": task_id, "request_id": request_id, "robot": robot, "agent": agent}
    token = _work.set({**_work.get(), **{name: value for name, value in given.items() if value is not None}})
    try:
        yield
    finally:
        _work.reset(token)


def current_ids() -> Mapping[str, str]:
    """Return the correlation ids of the current context."""
    return _work.get()
