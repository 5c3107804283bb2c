"""Heartbeats to a server while it moves the robot for us.

The event loop that waits for the result sends them: when the caller freezes or dies they end, and the server brings the
robot to rest.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator

import httpx2

from quartet_agent_runtime._http import open_client
from quartet_contracts import control_url
from quartet_process import BACKGROUND

log = logging.getLogger(__name__)

BEAT_EVERY_S = 0.1
BEAT_TIMEOUT_S = 1.0


class Heartbeats:
    """Heartbeats to the server whose MCP endpoint is `mcp_url`, authorised by `grant`."""

    def __init__(self, mcp_url: str, grant: str) -> None:
        self._url = control_url(mcp_url, "beat")
        self._grant = grant
        self._running = 0
        self._understood = True
        self._http: httpx2.AsyncClient | None = None
        self._task: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def during(self) -> AsyncGenerator[None]:
        """Send heartbeats as long as at least one call is inside."""
        self._running += 1
        if self._task is None and self._understood:
            self._task = BACKGROUND.start("heartbeats", self._beat, restart_s=BEAT_EVERY_S)
        try:
            yield
        finally:
            self._running -= 1
            if self._running == 0:
                await self._end()

    async def close(self) -> None:
        """End the heartbeats and close the HTTP client."""
        await self._end()
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def _end(self) -> None:
        if self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _beat(self) -> None:
        if self._http is None:
            self._http = open_client(
                self._url, httpx2.Timeout(BEAT_TIMEOUT_S), headers={"Authorization": f"Bearer {self._grant}"}
            )
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            # The call itself is the first sign of life.
            due = max(due + BEAT_EVERY_S, loop.time())
            await asyncio.sleep(due - loop.time())
            try:
                answer = await self._http.post(self._url)
            except httpx2.TransportError as error:
                log.debug("no heartbeat to %s: %s", self._url, error)
            else:
                if answer.status_code in {httpx2.codes.NOT_FOUND, httpx2.codes.METHOD_NOT_ALLOWED}:
                    # A third-party server: it watches the connection alone.
                    self._understood = False
                    return
