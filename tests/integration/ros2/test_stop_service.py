"""The project's own stop service at the guard: an order goes over its HTTP port, and standstill comes back."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from quartet_stop.metrics import Metrics
from quartet_stop.robot import make_robot

DRIVE = "/navigate_to_pose"
# The first of these installs rclpy.
pytestmark = pytest.mark.timeout(400)


async def test_the_stop_service_stops_the_robot_and_is_told_its_standstill(
    starter: Any, tmp_path: Path, eventually: Callable[..., Awaitable[Any]]
) -> None:
    guard, robot = starter.guard(), starter.robot()
    robot.wait("found", robot.do("await_guard"))
    robot.wait("runs", robot.do("goal", action=DRIVE), action=DRIVE)
    service = make_robot(
        "fake",
        guard.url,
        {},
        guard_token=lambda: "the guard's token",
        sign=lambda name: name,
        state_dir=tmp_path / "stop",
        metrics=Metrics(),
    )
    try:
        mark = robot.mark
        await service.stop("a person")
        assert robot.wait("result", mark, action=DRIVE)["status"] == 5

        async def rests() -> bool:
            state = await service.look()
            return state["stopped"] and state["standstill"] is True and state["guard"]["reason"] == "a person"

        await eventually(rests, 30)
        state = await service.reset()
        assert (state["latched"], state["stopped"], state["guard"]["reason"]) == (False, False, "running")
    finally:
        await service.close()
    assert guard.end() == 0
