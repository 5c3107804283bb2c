"""GET /health and GET /metrics of a process that serves nothing else."""

import asyncio
import contextlib
import json
import os
import socket
from http import HTTPStatus
from pathlib import Path

from quartet_process import REGISTRY, Exposition

READ_TIMEOUT_S = 5.0


class HealthServer:
    """A small HTTP/1.1 server: one request per connection."""

    def __init__(self, name: str, exposition: Exposition | None = None) -> None:
        self._name = name
        self._exposition = exposition or Exposition(name, REGISTRY)
        self._server: asyncio.Server | None = None
        self._url = ""
        self.problem: str | None = None
        """Why the process cannot work now; /health answers 503 with it."""

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError when the port is taken."""
        self._server = await asyncio.start_server(self._serve, host, port)
        self._url = f"http://{host}:{self._server.sockets[0].getsockname()[1]}"

    async def share(self, listener: socket.socket) -> None:
        """Listen at a bound socket of somebody else's until `close`; it stays open then."""
        self._server = await asyncio.start_server(self._serve, sock=listener.dup())

    def waits(self, problem: str) -> None:
        """The process cannot work yet."""
        self.problem = problem

    def ready(self, file: Path | None) -> None:
        """The process works from now on; `file` gets its URL."""
        self.problem = None
        if file is not None:
            _write_whole(file, json.dumps({"url": self._url}))

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(READ_TIMEOUT_S):
                request = (await reader.readline()).decode("latin-1").split()
                authorization: str | None = None
                while line := (await reader.readline()).strip():
                    name, _, value = line.decode("latin-1").partition(":")
                    if name.lower() == "authorization":
                        authorization = value.strip()
            writer.write(self._answer(request, authorization))
            await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    def _answer(self, request: list[str], authorization: str | None) -> bytes:
        path = request[1].split("?")[0] if len(request) > 1 else ""
        if path == "/health":
            body = {"status": "ok" if self.problem is None else "unavailable", "agent": self._name}
            if self.problem is not None:
                body["problem"] = self.problem
            status = "200 OK" if self.problem is None else "503 Service Unavailable"
            return _response(status, "application/json", json.dumps(body).encode())
        if path == "/metrics":
            code, kind, body = self._exposition.answer(authorization)
            return _response(f"{code} {HTTPStatus(code).phrase}", kind, body)
        if self.problem is not None:
            return _response("503 Service Unavailable", "text/plain", f"{self.problem}\n".encode())
        return _response("404 Not Found", "text/plain", b"there is /health and /metrics\n")


def _response(status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
