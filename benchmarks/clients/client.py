"""What every client here does: connect, say that it is ready, do the task for each line of its input, tell figures.

The clients run in environments of their own, so that nothing here imports more than the standard library. What they are
given is one argument, a JSON object with `model_url` (OpenAI's format), `mcp_url`, `system` and `user`.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

KEY = "not-a-secret"
MODEL = "scripted"
MAX_TURNS = 40

Task = Callable[[], Awaitable[str]]
"""Does the task once and returns the model's last words."""


@dataclass(frozen=True)
class Given:
    """What a client is told."""

    model_url: str
    mcp_url: str
    system: str
    user: str


def _tell(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


def main(connected: Callable[[Given], AbstractAsyncContextManager[Task]]) -> None:
    """Serve lines of the standard input until it ends, with the client that `connected` opens."""

    async def serve() -> None:
        async with connected(Given(**json.loads(sys.argv[1]))) as task:
            _tell(ready=True)
            while await asyncio.to_thread(sys.stdin.readline):
                cpu, begun = time.process_time(), time.perf_counter()
                answer = await task()
                _tell(wall_s=time.perf_counter() - begun, cpu_s=time.process_time() - cpu, answer=answer)

    asyncio.run(serve())
