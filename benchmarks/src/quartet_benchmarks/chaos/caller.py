"""`python -m quartet_benchmarks.chaos.caller`: a caller of tools as a process that can be frozen or killed.

It reads one JSON object per line (url, grant, tool, arguments) and writes the result of the tool.
"""

import asyncio
import json
import sys
from typing import Any

from quartet_agent_runtime import Toolbox, ignore_progress

TIMEOUT_S = 60.0


async def serve() -> None:
    """Call the tool of each line of stdin until stdin ends."""
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await _call(**json.loads(line))), flush=True)


async def _call(url: str, grant: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    server = tool.partition("__")[0]
    async with Toolbox({server: url}, grant, (), TIMEOUT_S) as tools:
        return (await tools.call(tool, arguments, ignore_progress)).content


if __name__ == "__main__":
    asyncio.run(serve())
