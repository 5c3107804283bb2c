"""One thing that a stop must reach: the guard or a server, over a connection that is kept open."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

ATTEMPT_S = 0.5
"""A connection that was lost unnoticed, or a process that hangs, is asked again after this."""


@dataclass(frozen=True)
class Answer:
    """What came back, or why nothing did."""

    fields: dict[str, Any] | None
    error: str = ""
    seconds: float = 0.0
    absent: bool = False
    """Nobody listens there: the process is not running."""
    broken: bool = False
    """The connection ended before the answer; a kept one may have been to a process that has gone since."""

    @property
    def ok(self) -> bool:
        return self.fields is not None


class Endpoint:
    """Requests to `base`; `token` gives the bearer token. Never raises for what the other side did."""

    def __init__(self, name: str, base: str, token: Callable[[], str | None]) -> None:
        self.name, self.base = name, base.rstrip("/")
        self._token = token
        # Of its own, so that no other target's hanging connections can fill its pool.
        self._http = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=8, max_keepalive_connections=2, keepalive_expiry=60.0),
            trust_env=False,
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, body: Any = None, *, within_s: float, hedge: bool = False) -> Answer:
        """One request within `within_s`.

        With `hedge` it is sent again over a new connection when there is no answer after ATTEMPT_S, and the first
        answer counts: for what may be done twice, as a stop may.
        """
        began = time.monotonic()
        tries: set[asyncio.Task[Answer]] = set()
        answer = Answer(None, f"{self.base} did not answer within {within_s:g} s")
        try:
            while (left := within_s - (time.monotonic() - began)) > 0:
                if not tries or hedge:
                    tries.add(asyncio.create_task(self._try(method, path, body, left, began)))
                wait_s = min(left, ATTEMPT_S) if hedge else left
                done, tries = await asyncio.wait(tries, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    answer = task.result()
                    if answer.ok or not hedge:
                        return answer
                if done and not tries:
                    # Refused at once, as by a process that just starts.
                    await asyncio.sleep(min(0.05, max(0.0, within_s - (time.monotonic() - began))))
            return answer
        finally:
            for task in tries:
                task.cancel()
            await asyncio.gather(*tries, return_exceptions=True)

    async def _try(self, method: str, path: str, body: Any, within_s: float, began: float) -> Answer:
        token = self._token()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            answer = await self._http.request(method, self.base + path, json=body, headers=headers, timeout=within_s)
            seconds = time.monotonic() - began
            if answer.status_code >= httpx2.codes.BAD_REQUEST:
                return Answer(None, f"{self.base}{path} answered {answer.status_code}: {answer.text[:300]}", seconds)
            fields = answer.json()
            if not isinstance(fields, dict):
                return Answer(None, f"{self.base}{path} answered {str(fields)[:100]!r} instead of an object", seconds)
            return Answer(fields, "", seconds)
        except httpx2.TimeoutException:
            return Answer(None, f"{self.base} did not answer within {within_s:.1f} s")
        except (httpx2.HTTPError, ValueError) as error:
            absent = isinstance(error, httpx2.ConnectError)
            broken = isinstance(error, httpx2.TransportError) and not absent
            return Answer(None, f"{self.base}: {type(error).__name__}: {error}", absent=absent, broken=broken)
