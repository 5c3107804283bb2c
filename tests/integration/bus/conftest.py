"""Requests, results and tasks to send around."""

import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from quartet_bus import Bus, BusOptions
from quartet_contracts import (
    Budget,
    PickArguments,
    PickResult,
    Skill,
    SkillRequest,
    State,
    Task,
)


def make_request(request_id: str = "r1", **fields: Any) -> SkillRequest:
    now = time.time()
    return SkillRequest(
        **{
            "request_id": request_id,
            "task_id": "t1",
            "robot": "summit",
            "skill": Skill.PICK,
            "created_at": now,
            "deadline": now + 60,
            "arguments": PickArguments(object_name="red coke can"),
            "grant": "token",
            "reply_to": "quartet:replies:pick:tester",
            **fields,
        }
    )


def make_result(request: SkillRequest, **fields: Any) -> PickResult:
    return PickResult(
        **{
            "request_id": request.request_id,
            "task_id": request.task_id,
            "success": True,
            "error_code": "NONE",
            "reason": "held",
            "state": State.SUCCEEDED,
            "held_object_height_m": 0.12,
            **fields,
        }
    )


def make_task(task_id: str = "t1", **fields: Any) -> Task:
    now = time.time()
    return Task(
        **{
            "task_id": task_id,
            "sentence": "bring the can",
            "robot": "summit",
            "created_at": now,
            "deadline": now + 60,
            "budget": Budget(),
            **fields,
        }
    )


@pytest.fixture
def a_request() -> Callable[..., SkillRequest]:
    return make_request


@pytest.fixture
def a_result() -> Callable[..., PickResult]:
    return make_result


@pytest.fixture
def a_task() -> Callable[..., Task]:
    return make_task


@pytest.fixture
async def other(redis_url: str, bus_options: BusOptions) -> AsyncIterator[Bus]:
    """A second process on the same bus."""
    async with await Bus.connect(redis_url, bus_options) as opened:
        yield opened
