"""A robot counts as resting only when every server has measured it."""

from typing import Any

import pytest

from quartet_agent_runtime import ToolOutcome, bring_to_standstill


class Servers:
    """Two servers that answer a stop with these fields."""

    def __init__(self, **fields: dict[str, Any]) -> None:
        self._fields = fields

    async def call(self, tool: str, *_: object, **__: object) -> ToolOutcome:
        return ToolOutcome(self._fields[tool.split("__", maxsplit=1)[0]])


class Journal:
    async def called(self, *_: object) -> None: ...

    async def returned(self, *_: object) -> list[str]:
        return []


RESTS = {"ok": True, "standstill": True, "canceled": []}


REFUSED = "/spin was not canceled: the robot refused or goes on; use the stop button"


@pytest.mark.parametrize(
    ("base", "unrest"),
    [
        (RESTS, ""),
        ({"ok": True, "canceled": ["/spin"]}, "no standstill was measured"),
        ({"ok": False, "error_code": "TIMEOUT", "message": "the base still moves"}, "the base still moves"),
        ({"ok": False, "error_code": "ROS_ERROR", "message": REFUSED, "standstill": True}, REFUSED),
        ({"ok": False, "error_code": "BRIDGE_UNAVAILABLE"}, "no standstill was measured"),
    ],
    ids=["measured", "no odometry", "moves", "refused", "no bridge"],
)
async def test_rest_is_measured_and_not_assumed(base, unrest):
    servers: Any = Servers(nav2=base, moveit=RESTS)
    told = await bring_to_standstill(servers, Journal())
    assert told == (f"nav2__cancel_navigation: {unrest}" if unrest else "")
