"""The task with Pydantic AI."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from client import KEY, MAX_TURNS, MODEL, Given, Task, main
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to the MCP server."""
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=given.model_url, api_key=KEY))
    agent = Agent(model, system_prompt=given.system, toolsets=[MCPToolset(given.mcp_url)])
    limits = UsageLimits(request_limit=MAX_TURNS)

    async def task() -> str:
        return (await agent.run(given.user, usage_limits=limits)).output

    async with agent:
        yield task


if __name__ == "__main__":
    main(connected)
