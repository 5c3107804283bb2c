"""What a call over HTTP costs a server, beside its tool."""

from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth

from quartet_contracts.tools import ToolResult
from quartet_process.serving import HttpServer, listen
from quartet_tool_server import GrantVerifier, ServerSpec, ToolServer, make_server


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


async def test_a_call_makes_no_list_of_tools(far, site_file, tmp_path, keys, monkeypatch):
    """mcp would make one for each call, to look for arguments that must be repeated in headers."""

    def register(server: ToolServer) -> None:
        @server.tool(read_only=True)
        async def double(number: int) -> ToolResult:
            """Return twice the number in the message."""
            return ToolResult(message=str(2 * number))

    verifier = GrantVerifier("summit", [keys.private.public_key()])
    server = make_server(ServerSpec("nav2", register), far, site_file, tmp_path, verifier)
    listed: list[Any] = []
    list_tools = server.mcp.list_tools

    async def note(*given: Any, **more: Any) -> Any:
        listed.append(given)
        return await list_tools(*given, **more)

    monkeypatch.setattr(server.mcp, "list_tools", note)
    async with (
        HttpServer(server.app(), listen("127.0.0.1", 0)) as http,
        Client(f"{http.url}/mcp", auth=BearerAuth(keys.token("nav2__double"))) as client,
    ):
        assert [tool.name for tool in await client.list_tools()] == ["double"]
        before = len(listed)
        for number in range(3):
            result = await client.call_tool("double", {"number": number})
            assert result.structured_content["message"] == str(2 * number)
    assert len(listed) == before
