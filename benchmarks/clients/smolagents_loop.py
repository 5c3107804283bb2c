"""The task with smolagents' agent that calls tools."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from client import KEY, MAX_TURNS, MODEL, Given, Task, main
from smolagents import LogLevel, MCPClient, OpenAIServerModel, ToolCallingAgent


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to the MCP server."""
    with MCPClient({"url": given.mcp_url, "transport": "streamable-http"}, structured_output=False) as tools:
        model = OpenAIServerModel(MODEL, api_base=given.model_url, api_key=KEY)
        agent = ToolCallingAgent(
            tools, model, instructions=given.system, max_steps=MAX_TURNS, verbosity_level=LogLevel.OFF
        )

        async def task() -> str:
            return str(await asyncio.to_thread(agent.run, given.user))

        yield task


if __name__ == "__main__":
    main(connected)
