"""What the process works on: the ids that logs and spans carry."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_NONE: Mapping[str, str] = {}
_work: ContextVar[Mapping[str, str]] = ContextVar("quartet_work", default=_NONE)


@contextmanager
def work(
    *, task_id: str | None = None, request_id: str | None = None, robot: str | None = None, agent: str | None = None
) -> Generator[None]:
    """Everything logged inside carries these ids, besides those of the work around it.

    asyncio tasks that are started inside inherit them.
    """
    given = {"task_id": task_id, "request_id": request_id, "robot": robot, "agent": agent}
    token = _work.set({**_work.get(), **{name: value for name, value in given.items() if value is not None}})
    try:
        yield
    finally:
        _work.reset(token)


def current_work() -> Mapping[str, str]:
    """The ids of the work that the caller is part of."""
    return _work.get()
