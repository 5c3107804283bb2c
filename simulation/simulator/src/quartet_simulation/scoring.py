"""Ground truth over HTTP on its own port, for benchmarks and tests; no server or agent uses it.

GET /truth, GET /overhead.jpg, GET /health, POST /reset {"world", "seed", "scenario"}, POST /place {"object",
"x", "y", "z", "yaw"}, POST /grasp {"object"}, POST /faults {"kinds": [...]}.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quartet_simulation.errors import SimulationError
from quartet_simulation.ros.cameras import jpeg
from quartet_simulation.ros.robot import Robot

log = logging.getLogger(__name__)

_MAX_BODY = 65_536
_READ_TIMEOUT_S = 10.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 500: "Server Error"}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Reset(_Body):
    """A new episode; without a world the present one again."""

    world: str | None = None
    seed: int = Field(0, ge=0)
    scenario: str | None = None


class Place(_Body):
    """Puts an object somewhere, by scenario set-up only [m, rad] in map."""

    object: str
    x: float
    y: float
    z: float
    yaw: float = 0.0


class Grasp(_Body):
    """Starts the episode with an object between the fingers."""

    object: str


class FaultKinds(_Body):
    """The faults of the bridge that are on from now."""

    kinds: list[str]


class HttpError(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Scoring:
    """Serves the scoring interface of one robot."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._routes: dict[tuple[str, str], Callable[[bytes], Awaitable[tuple[str, bytes]]]] = {
            ("GET", "/truth"): self._truth,
            ("GET", "/overhead.jpg"): self._overhead,
            ("GET", "/health"): self._health,
            ("POST", "/reset"): self._reset,
            ("POST", "/place"): self._place,
            ("POST", "/grasp"): self._grasp,
            ("POST", "/faults"): self._faults,
        }

    async def start(self, listener: socket.socket) -> asyncio.Server:
        """Serve on a bound socket; the server closes it."""
        return await asyncio.start_server(self._serve, sock=listener)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status, kind, body = await self._answer(reader)
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {kind}\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.LimitOverrunError):
            log.info("a scoring client went away before its answer")
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, str, bytes]:
        try:
            method, path, body = await asyncio.wait_for(_read(reader), _READ_TIMEOUT_S)
            route = self._routes.get((method, path))
            if route is None:
                valid = ", ".join(f"{verb} {name}" for verb, name in self._routes)
                raise HttpError(404, f"no {method} {path}; valid: {valid}")
            kind, answer = await route(body)
            return 200, kind, answer
        except HttpError as error:
            return error.status, "application/json", orjson.dumps({"error": str(error)})
        except (SimulationError, ValidationError, ValueError) as error:
            return 400, "application/json", orjson.dumps({"error": str(error)})
        except Exception as error:
            log.exception("scoring request failed")
            return 500, "application/json", orjson.dumps({"error": repr(error)})

    async def _truth(self, _: bytes) -> tuple[str, bytes]:
        return _json(await self._robot.world.call(lambda sim: {"time": sim.time, **sim.truth()}))

    async def _overhead(self, _: bytes) -> tuple[str, bytes]:
        rgb, _depth = await self._robot.world.call(lambda sim: sim.render("overhead"))
        return "image/jpeg", await asyncio.to_thread(jpeg, rgb)

    async def _health(self, _: bytes) -> tuple[str, bytes]:
        robot = self._robot
        guard = {
            "latched": robot.guard.latched,
            "reason": robot.guard.reason,
            "standstill": robot.guard.standstill,
        }
        return _json({"time": robot.world.time, "guard": guard, "faults": robot.faults.active})

    async def _reset(self, body: bytes) -> tuple[str, bytes]:
        wanted = Reset.model_validate_json(body or b"{}")
        await self._robot.world.reset(wanted.world, wanted.seed, wanted.scenario)
        await self._robot.guard.reset()
        return await self._truth(b"")

    async def _place(self, body: bytes) -> tuple[str, bytes]:
        wanted = Place.model_validate_json(body)
        await self._robot.world.change(
            lambda sim: sim.place_object(wanted.object, wanted.x, wanted.y, wanted.z, wanted.yaw)
        )
        return await self._truth(b"")

    async def _grasp(self, body: bytes) -> tuple[str, bytes]:
        wanted = Grasp.model_validate_json(body)
        await self._robot.world.change(lambda sim: sim.put_in_gripper(wanted.object))
        return await self._truth(b"")

    async def _faults(self, body: bytes) -> tuple[str, bytes]:
        self._robot.faults.set(FaultKinds.model_validate_json(body).kinds)
        return _json({"faults": self._robot.faults.active})


def _json(value: Any) -> tuple[str, bytes]:
    return "application/json", orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    words = head[0].split(" ")
    if len(words) != 3:
        raise HttpError(400, f"not an HTTP request: {head[0]!r}")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > _MAX_BODY:
        raise HttpError(400, f"Content-Length {length!r}; valid: 0 to {_MAX_BODY}")
    body = await reader.readexactly(int(length))
    return words[0], words[1].split("?")[0], body
