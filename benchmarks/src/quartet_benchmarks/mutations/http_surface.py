"""Base of the surfaces that are reached over HTTP."""

import asyncio
from abc import ABC, abstractmethod

import httpx

from quartet_benchmarks.mutations.mutate import Mutator
from quartet_deployment import Stack

AT_ONCE = 8
TIMEOUT_S = 120.0
FIRST_ERROR_STATUS = 500
"""Lowest status that counts as a failure of a server."""


class HttpSurface(ABC):
    """Sends mutated requests to a stack; answers that are failures of a server are kept in `failures`."""

    def __init__(self, stack: Stack, mutator: Mutator) -> None:
        self._stack, self._mutator = stack, mutator
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, limits=httpx.Limits(max_connections=AT_ONCE))
        self.failures: list[str] = []

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def send(self, number: int) -> None:
        """Send `number` requests, some at a time."""
        for begin in range(0, number, AT_ONCE):
            await asyncio.gather(*(self._one() for _ in range(min(AT_ONCE, number - begin))))

    @abstractmethod
    async def _one(self) -> None:
        """Send one request and check the answer."""
