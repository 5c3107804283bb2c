"""Surfaces that are asked over HTTP, some requests at a time."""

import asyncio
from abc import ABC, abstractmethod

import httpx

from quartet_benchmarks.mutations.mutate import Mutator
from quartet_cli.stack import Stack

AT_ONCE = 8
TIMEOUT_S = 120.0
OK_STATUS = 500
"""From here on a status says that the server did not cope; 502 and 503 are answers of the gateway about a model."""


class HttpSurface(ABC):
    """Mutated requests to a stack; what says that a server did not cope is kept in `failures`."""

    def __init__(self, stack: Stack, mutator: Mutator) -> None:
        self._stack, self._mutator = stack, mutator
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S, limits=httpx.Limits(max_connections=AT_ONCE))
        self.failures: list[str] = []

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, number: int) -> None:
        for begin in range(0, number, AT_ONCE):
            await asyncio.gather(*(self._one() for _ in range(min(AT_ONCE, number - begin))))

    @abstractmethod
    async def _one(self) -> None:
        """Send one request and look at what comes back."""
