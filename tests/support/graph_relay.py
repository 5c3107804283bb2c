"""Websockets around robot_on_graph.py: rosbridge's on one side, a client of the simulation's on the other."""

import asyncio
import contextlib
import json
import subprocess
import threading
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed

PROGRAM = Path(__file__).parents[1] / "integration" / "ros2" / "robot_on_graph.py"
START_S = 240.0


class GraphRelay:
    """A running graph between clients at `url` and the simulation at `simulation_url`."""

    def __init__(self, python: Path, environment: dict[str, str], simulation_url: str, names: dict[str, Any]) -> None:
        self.url = ""
        self._simulation_url = simulation_url
        self._process = subprocess.Popen(
            [str(python), str(PROGRAM), json.dumps(names)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._clients: set[ServerConnection] = set()
        self._loop = asyncio.new_event_loop()
        self._ready, self._done = threading.Event(), threading.Event()
        self._stop: asyncio.Event | None = None
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._serve, self._read)]
        self._simulation: Any = None
        self._threads[0].start()
        assert self._ready.wait(START_S), "the relay did not come up"
        self._threads[1].start()
        assert self._done.wait(START_S), "the graph did not come up"

    def order(self, do: str, **fields: Any) -> None:
        """Give the graph an order and wait until it is done."""
        self._done.clear()
        self._write({"at": "order", "do": do, **fields})
        assert self._done.wait(START_S), f"the graph did not do: {do}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._threads[1].join(START_S)
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._threads[0].join(START_S)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _write(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            operation = json.loads(line)
            at = operation.pop("at")
            if at == "order":
                self._done.set()
            elif at == "robot":
                asyncio.run_coroutine_threadsafe(self._simulation.send(json.dumps(operation)), self._loop)
            else:
                self._loop.call_soon_threadsafe(broadcast, self._clients, json.dumps(operation))

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._relay())

    async def _relay(self) -> None:
        self._stop = asyncio.Event()
        async with (
            serve(self._client, "127.0.0.1", 0, compression=None) as server,
            connect(self._simulation_url, compression=None, max_size=None) as self._simulation,
        ):
            self.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            back = asyncio.create_task(self._from_simulation())
            self._ready.set()
            await self._stop.wait()
            back.cancel()

    async def _from_simulation(self) -> None:
        async for frame in self._simulation:
            await asyncio.to_thread(self._write, {"at": "robot", **json.loads(frame)})

    async def _client(self, client: ServerConnection) -> None:
        self._clients.add(client)
        with contextlib.suppress(ConnectionClosed):
            async for frame in client:
                await asyncio.to_thread(self._write, {"at": "bridge", **json.loads(frame)})
        self._clients.discard(client)
