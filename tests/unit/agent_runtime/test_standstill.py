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


@pytest.mark.parametrize(
    ("base", "rests"),
    [
        (RESTS, True),
        ({"ok": True, "canceled": ["/spin"]}, False),
        ({"ok": False, "error_code": "TIMEOUT", "standstill": False}, False),
        ({"ok": False, "error_code": "BRIDGE_UNAVAILABLE"}, False),
    ],
    ids=["measured", "no odometry", "moves", "no bridge"],
)
async def test_rest_is_measured_and_not_assumed(base, rests):
    servers: Any = Servers(nav2=base, moveit=RESTS)
    assert await bring_to_standstill(servers, Journal()) is rests
