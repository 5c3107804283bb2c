"""Services that a client of the bridge offers to everybody else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from quartet_simulation.errors import NameTakenError, ServiceFailedError
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message


class OfferedServices:
    """Services of one client: a call goes to it as `call_service`, its `service_response` is the answer."""

    def __init__(self, graph: Graph, node: str, send: Callable[[Message], None]) -> None:
        self._graph, self._node, self._send = graph, node, send
        self._names: set[str] = set()
        self._calls: dict[str, asyncio.Future[Message]] = {}
        self._numbers = itertools.count(1)

    def offer(self, name: str, spelled: str, type_name: str) -> None:
        """Serve `name`, which the client spells `spelled`. Raises UnknownTypeError, NameTakenError."""
        if name in self._graph.services and name not in self._names:
            raise NameTakenError(f"Service {name} is there already")

        async def call(request: Message) -> Message:
            key = f"service_request:{spelled}:{next(self._numbers)}"
            self._calls[key] = asyncio.get_running_loop().create_future()
            self._send({"op": "call_service", "id": key, "service": spelled, "args": request})
            try:
                return await self._calls[key]
            finally:
                self._calls.pop(key, None)

        self._graph.serve(name, type_name, self._node, call)
        self._names.add(name)

    def withdraw(self, name: str) -> None:
        """Serve `name` no more; what the client does not offer stays."""
        if name in self._names:
            self._names.discard(name)
            self._graph.services.pop(name, None)

    def answer(self, frame: Message) -> None:
        """Take in a `service_response`; one to no call of ours is ignored."""
        waiting = self._calls.get(str(frame.get("id")))
        if waiting is None or waiting.done():
            return
        values = frame.get("values")
        if frame["result"]:
            waiting.set_result(values if isinstance(values, dict) else {})
        else:
            waiting.set_exception(ServiceFailedError(values if isinstance(values, str) else "Service call failed"))

    def close(self) -> None:
        """The client has gone: its services go too, and calls to them fail."""
        for name in list(self._names):
            self.withdraw(name)
        for waiting in self._calls.values():
            if not waiting.done():
                waiting.set_exception(ServiceFailedError("Service's client disconnected"))
