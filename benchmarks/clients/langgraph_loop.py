"""The task with LangGraph and LangChain's MCP adapters, in one session."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from client import KEY, MAX_TURNS, MODEL, Given, Task, main
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to the MCP server and list its tools once."""
    client = MultiServerMCPClient({"robot": {"transport": "streamable_http", "url": given.mcp_url}})
    async with client.session("robot") as session:
        model = ChatOpenAI(model=MODEL, base_url=given.model_url, api_key=KEY)
        agent = create_agent(model, await load_mcp_tools(session), system_prompt=given.system)
        # A turn is a step of the model and one of the tools.
        limit = {"recursion_limit": 2 * MAX_TURNS}

        async def task() -> str:
            state = await agent.ainvoke({"messages": [{"role": "user", "content": given.user}]}, limit)
            return state["messages"][-1].content

        yield task


if __name__ == "__main__":
    main(connected)
