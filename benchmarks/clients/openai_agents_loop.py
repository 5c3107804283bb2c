"""The task with the OpenAI Agents SDK."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from client import KEY, MAX_TURNS, MODEL, Given, Task, main
from openai import AsyncOpenAI


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to the MCP server; its list of tools is cached."""
    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=given.model_url, api_key=KEY))
    async with MCPServerStreamableHttp({"url": given.mcp_url}, cache_tools_list=True) as server:
        agent = Agent(name="robot", instructions=given.system, model=model, mcp_servers=[server])

        async def task() -> str:
            return (await Runner.run(agent, given.user, max_turns=MAX_TURNS)).final_output

        yield task


if __name__ == "__main__":
    main(connected)
