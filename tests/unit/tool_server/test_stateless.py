"""No session of a server has a state; that the packages for one are not needed is seen in the images."""

from fastmcp import Client, Context

from quartet_tool_server._server import StatelessMCP


async def test_sessions_have_no_state() -> None:
    server = StatelessMCP("probe")

    @server.tool
    async def recall(context: Context) -> str:
        return str(await context.get_state("place"))

    @server.tool
    async def keep(context: Context) -> None:
        await context.set_state("place", "kitchen")

    async with Client(server) as client:
        assert (await client.call_tool("recall")).data == "None"
        refused = await client.call_tool("keep", raise_on_error=False)
    assert refused.is_error
