"""Servers with a policy, over a real simulation; what they send to the robot can be seen."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastmcp import Client

from quartet_contracts import GrantClaims
from quartet_robot_link import GoalRejectedError, Robot
from quartet_site import PolicyFile, RosWrites, SiteFile
from quartet_tool_server import GrantVerifier, ToolServer, make_server
from support.grants import grant_claims
from support.http_server import serve_app


@dataclass
class Served:
    """An in-memory client of one server with a policy; `grant` may be changed between calls."""

    client: Client[Any]
    server: ToolServer
    grant: dict[str, Any]

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        answer = await self.client.call_tool(tool, {**(arguments or {}), **more}, raise_on_error=False)
        result = answer.structured_content
        assert result is not None, answer
        return result

    async def refused(self, tool: str, code: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        result = await self.call(tool, arguments, **more)
        assert result["error_code"] == code, result
        return result["message"]


@dataclass
class Sent:
    """Goals that reached the robot's door, where each is turned away: nothing moves."""

    goals: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)


@pytest.fixture
def sent(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Every goal is noted and rejected instead of being sent."""
    found = Sent()

    class Rejected:
        async def outcome(self) -> None:
            raise GoalRejectedError("noted by the test")

        async def ended(self) -> None: ...

        def cancel(self, _: str) -> None: ...

    def note(action: str, action_type: str, args: dict[str, Any], **_: Any) -> Rejected:
        found.goals.append((action, action_type, args))
        return Rejected()

    monkeypatch.setattr(robot, "start_motion", note)
    return found


@pytest.fixture
async def serve(robot: Robot, site_file: SiteFile, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """`await serve(quartet_nav2, {"geofence": ...}, agent="approach", writes={...}, keys=...)`."""
    async with AsyncExitStack() as stack:
        count = 0

        async def make(
            package: ModuleType,
            policy: dict[str, Any] | None = None,
            *,
            agent: str = "approach",
            writes: dict[str, Any] | None = None,
            keys: Any = None,
            **client: Any,
        ) -> Served:
            nonlocal count
            count += 1
            site = site_file
            if writes is not None:
                site = site.model_copy(update={"ros_writes": RosWrites.model_validate(writes)})
            grant: dict[str, Any] = {"sub": agent, "tools": []}

            def caller() -> GrantClaims:
                return grant_claims(robot=robot.file.name, **grant)

            server = make_server(
                package.SERVER,
                robot,
                site,
                tmp_path / str(count),
                None if keys is None else GrantVerifier(robot.file.name, [keys.private.public_key()]),
                caller=caller,
                policy=PolicyFile.model_validate(policy or {}),
            )
            tools = await server.mcp.list_tools(run_middleware=False)
            grant["tools"] = [f"{server.name}__{tool.name}" for tool in tools]
            return Served(await stack.enter_async_context(Client(server.mcp, **client)), server, grant)

        yield make


@pytest.fixture
async def over_http() -> AsyncIterator[Callable[[ToolServer], Any]]:
    """`await over_http(server)`: its MCP endpoint."""
    async with AsyncExitStack() as stack:

        async def make(server: ToolServer) -> str:
            return await stack.enter_async_context(serve_app(server.app())) + "/mcp"

        yield make
