"""`python -m quartet_benchmarks.chaos.caller`: an agent's end of a call, as a process that can be frozen or killed.

One JSON object a line in: url, grant, tool, arguments. One out: the tool's result.
"""

import asyncio
import json
import sys
from typing import Any

from quartet_agent_runtime import Toolbox

TIMEOUT_S = 60.0


async def serve() -> None:
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await _call(**json.loads(line))), flush=True)


async def _call(url: str, grant: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    server = tool.partition("__")[0]
    async with Toolbox({server: url}, grant, (), TIMEOUT_S) as tools:
        return (await tools.call(tool, arguments, _silent)).content


async def _silent(*_: object) -> None:
    """Progress that nobody looks at."""


if __name__ == "__main__":
    asyncio.run(serve())
