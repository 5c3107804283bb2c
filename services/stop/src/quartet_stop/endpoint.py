"""HTTP client of one target of a stop, the guard or a server, over a connection that is kept open."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2

from quartet_process.bounded_answers import control_client

ATTEMPT_S = 0.5
"""Wall time after which an unanswered request is sent again, since its connection or process may be dead."""


@dataclass(frozen=True)
class Answer:
    """The answer to a request, or why there is none."""

    fields: dict[str, Any] | None
    error: str = ""
    seconds: float = 0.0
    absent: bool = False
    """Nothing listens at the address: the process is not running."""
    broken: bool = False
    """The connection ended before the answer; a kept-open one may lead to a process that has ended since."""

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.fields is not None


class Endpoint:
    """Sends requests to `base` with the bearer token that `token` returns; failures become an Answer, no exception."""

    def __init__(self, name: str, base: str, token: Callable[[], str | None]) -> None:
        self.name, self.base = name, base.rstrip("/")
        self._token = token
        # One client per target, so that hanging connections of another one cannot fill its pool.
        self._http = control_client(
            limits=httpx2.Limits(max_connections=8, max_keepalive_connections=2, keepalive_expiry=60.0)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def ask(self, method: str, path: str, body: Any = None, *, within_s: float, hedge: bool = False) -> Answer:
        """Send one request and return its answer after at most `within_s` [s] of wall time.

        With `hedge`, for requests that may be carried out twice, it is sent again over a new connection after each
        ATTEMPT_S without an answer, and the first answer counts.
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
        except (httpx2.HTTPError, ValueError, RecursionError) as error:
            absent = isinstance(error, httpx2.ConnectError)
            broken = isinstance(error, httpx2.TransportError) and not absent
            return Answer(None, f"{self.base}: {type(error).__name__}: {error}", absent=absent, broken=broken)
