"""Tasks whose deadline passes while they wait for a robot."""

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock

from quartet_bus import BusServerError
from quartet_contracts import ContractError
from quartet_orchestrator.tasks import runner
from quartet_orchestrator.tasks.runner import TaskRunner


async def _forgotten(monkeypatch, lists, statuses) -> list[str]:
    """Return the tasks that are no longer listed as waiting after as many rounds as `lists` has."""
    monkeypatch.setattr(runner, "OVERDUE_S", 0.001)
    stop = asyncio.Event()
    rounds = iter(lists)

    async def overdue():
        found = next(rounds, None)
        if found is None:
            stop.set()
            return []
        if isinstance(found, Exception):
            raise found
        return found

    tasks = SimpleNamespace(overdue=overdue, remove_waiting=AsyncMock())
    bus = SimpleNamespace(tasks=tasks, statuses=SimpleNamespace(get=AsyncMock(side_effect=statuses)))
    settings = SimpleNamespace(servers=[])
    async with asyncio.timeout(5):
        await TaskRunner(SimpleNamespace(bus=bus, settings=settings)).serve(stop)
    return [call.args[0] for call in tasks.remove_waiting.await_args_list]


async def test_a_status_that_cannot_be_read_concerns_its_task_only(monkeypatch):
    statuses = [ContractError("no status"), None]
    assert await _forgotten(monkeypatch, [["broken", "gone"]], statuses) == ["broken", "gone"]


async def test_an_error_of_redis_is_tried_again(monkeypatch):
    error = BusServerError("Redis answers: WRONGTYPE", "WRONGTYPE")
    assert await _forgotten(monkeypatch, [error, ["t1", "t2"], ["t1"]], [error, None, None]) == ["t2", "t1"]
