"""A small HTTP/1.1 server on asyncio streams: JSON in, JSON or a picture out, connections kept open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import orjson
from pydantic import ValidationError

from quartet_process import Secret, bearer
from quartet_simulation.errors import SimulationError

log = logging.getLogger(__name__)

Handler = Callable[[bytes], Awaitable[tuple[str, bytes]]]
"""Body of a request to content type and body of the answer. ValueError and its kinds become status 400."""

MAX_BODY = 65_536
READ_TIMEOUT_S = 10.0
"""For one request, from its first byte."""
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    500: "Server Error",
}


class HttpError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def as_json(value: Any) -> tuple[str, bytes]:
    """Content type and body."""
    return "application/json", orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


class HttpServer:
    """Serves `routes`; with `token` only to who sends it as bearer token."""

    def __init__(self, routes: dict[tuple[str, str], Handler], token: Secret | None = None) -> None:
        self._routes, self._token = routes, token
        self._clients: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def serving(self, listener: socket.socket) -> AsyncGenerator[None]:
        """Serve on a bound socket, which is closed at the end, with every connection."""
        server = await asyncio.start_server(self._accept, sock=listener)
        try:
            yield
        finally:
            server.close()
            for task in self._clients:
                task.cancel()
            await asyncio.gather(*self._clients, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.LimitOverrunError):
            log.info("an HTTP client went away before its answer")
        except asyncio.CancelledError:
            log.debug("an HTTP connection was closed at the end")
        finally:
            self._clients.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection stays open."""
        first = await reader.read(1)
        if not first:
            return False
        keep = False
        try:
            method, path, headers, body = await asyncio.wait_for(_read(first, reader), READ_TIMEOUT_S)
            keep = headers.get("connection", "keep-alive").lower() != "close"
            status, kind, answer = await self._answer(method, path, headers, body)
        except HttpError as error:
            status, (kind, answer) = error.status, as_json({"error": str(error)})
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(answer)}\r\nConnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
        )
        writer.write(head.encode() + answer)
        await writer.drain()
        return keep

    async def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        try:
            self._authorise(headers)
            handler = self._routes.get((method, path))
            if handler is None:
                valid = ", ".join(f"{verb} {name}" for verb, name in self._routes)
                raise HttpError(404, f"no {method} {path}; valid: {valid}")
            return 200, *await handler(body)
        except HttpError as error:
            return error.status, *as_json({"error": str(error)})
        except (SimulationError, ValidationError, ValueError) as error:
            return 400, *as_json({"error": str(error)})
        except Exception as error:
            log.exception("%s %s failed", method, path)
            return 500, *as_json({"error": repr(error)})

    def _authorise(self, headers: dict[str, str]) -> None:
        if self._token is None:
            return
        if not self._token.accepts(bearer(headers.get("authorization"))):
            raise HttpError(401, "send 'Authorization: Bearer <token>' with the token that this port was started with")


async def _read(first: bytes, reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    words = head[0].split(" ")
    if len(words) != 3:
        raise HttpError(400, f"not an HTTP request: {head[0]!r}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise HttpError(400, f"Content-Length {length!r}; valid: 0 to {MAX_BODY}")
    body = await reader.readexactly(int(length))
    return words[0], words[1].split("?")[0], headers, body
