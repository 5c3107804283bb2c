"""The shortest loop: LiteLLM's completion and FastMCP's client. `python bare_loop.py GIVEN PROVIDER`."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import litellm
from client import KEY, MAX_TURNS, MODEL, Given, Task, main
from fastmcp import Client


@asynccontextmanager
async def connected(given: Given) -> AsyncIterator[Task]:
    """Connect to the MCP server and list its tools once."""
    provider = sys.argv[2]
    async with Client(given.mcp_url) as mcp:
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in await mcp.list_tools()
        ]

        async def task() -> str:
            messages: list[Any] = [{"role": "system", "content": given.system}, {"role": "user", "content": given.user}]
            for _ in range(MAX_TURNS):
                answer: Any = await litellm.acompletion(
                    model=f"{provider}/{MODEL}", api_base=given.model_url, api_key=KEY, messages=messages, tools=tools
                )
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                if not message.tool_calls:
                    return message.content
                for call in message.tool_calls:
                    result = await mcp.call_tool(call.function.name, json.loads(call.function.arguments))
                    text = "\n".join(block.text for block in result.content if block.type == "text")
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            raise RuntimeError(f"the model did not end within {MAX_TURNS} turns")

        yield task


if __name__ == "__main__":
    main(connected)
