"""Websockets around robot_on_graph.py: rosbridge's on one side, a client of the simulation's on the other."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.exceptions import ConnectionClosed

from quartet_deployment import free_ports
from quartet_site import RobotFile
from support.frame_relay import Change

PROGRAM = Path(__file__).parents[1] / "integration" / "ros2" / "robot_on_graph.py"
START_S = 240.0
CLOCK, CLOCK_EVERY_MS = "/clock", 100
"""A graph without simulated time has no such topic; a change of its operations may need the simulation's."""


def graph_names(robot_file: RobotFile, topics: dict[str, str]) -> dict[str, Any]:
    """Return what the robot of a graph offers and hears, with its types."""
    services, actions = robot_file.services, robot_file.actions
    return {
        "actions": {name: robot_file.action_types[field] for field, name in actions.model_dump().items()},
        "services": {
            name: services.TYPES[field]
            for field, name in services.model_dump().items()
            if not field.startswith("guard_")
        },
        "topics": topics,
        "heard": {robot_file.topics.guard_heartbeat: "std_msgs/msg/Header"},
    }


class Rosbridge:
    """rosbridge and rosapi of a ROS installation, in a process group of their own."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        (self.port,) = free_ports(1)
        self._command, self._environment = [program, str(self.port)], environment
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, env=self._environment, start_new_session=True)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class GraphRelay:
    """A running graph between clients at `url` and the simulation at `simulation_url`.

    `changes`: applied to each operation of the simulation. `rosbridge`: program that starts rosbridge in place of
    bridge_on_graph.py, at the port in its argument.
    """

    def __init__(
        self,
        python: Path,
        environment: dict[str, str],
        simulation_url: str,
        names: dict[str, Any],
        changes: Sequence[Change] = (),
        rosbridge: str | None = None,
    ) -> None:
        self.url = ""
        self._rosbridge = Rosbridge(rosbridge, environment) if rosbridge else None
        names = names | {"bridge": rosbridge is None}
        self._simulation_url, self._names, self._changes = simulation_url, names, changes
        self._process = subprocess.Popen(
            [str(python), str(PROGRAM), json.dumps(names)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._clients: dict[int, ServerConnection] = {}
        self._numbers = itertools.count()
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

    @property
    def port(self) -> int:
        """Port of the bridge."""
        return self._rosbridge.port if self._rosbridge else self._port

    def restart_bridge(self, outage_s: float) -> None:
        """Kill the bridge, and start it again after `outage_s`."""
        if self._rosbridge:
            self._rosbridge.kill()
            time.sleep(outage_s)
            self._rosbridge.start()
        else:
            asyncio.run_coroutine_threadsafe(self._restart(outage_s), self._loop).result(outage_s + START_S)

    async def _restart(self, outage_s: float) -> None:
        self._server.close()
        for client in list(self._clients.values()):
            client.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(outage_s)
        self._server = await serve(self._client, "127.0.0.1", self._port, compression=None)

    def close(self) -> None:
        if self._rosbridge:
            self._rosbridge.kill()
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
            if not line.endswith("\n"):
                return  # killed within it
            operation = json.loads(line)
            at = operation.pop("at")
            if at == "order":
                self._done.set()
            elif at == "robot":
                asyncio.run_coroutine_threadsafe(self._simulation.send(json.dumps(operation)), self._loop)
            else:
                number = operation.pop("client")
                self._loop.call_soon_threadsafe(self._answer, number, json.dumps(operation))

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._relay())

    async def _relay(self) -> None:
        self._stop = asyncio.Event()
        self._server = await serve(self._client, "127.0.0.1", 0, compression=None)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self._port}"
        async with connect(self._simulation_url, compression=None, max_size=None) as self._simulation:
            if CLOCK not in self._names["topics"]:
                kind = "rosgraph_msgs/msg/Clock"
                clock = {"op": "subscribe", "topic": CLOCK, "type": kind, "throttle_rate": CLOCK_EVERY_MS}
                await self._simulation.send(json.dumps(clock))
            back = asyncio.create_task(self._from_simulation())
            self._ready.set()
            await self._stop.wait()
            back.cancel()
            self._server.close()

    def _answer(self, number: int, frame: str) -> None:
        if number in self._clients:
            broadcast([self._clients[number]], frame)

    async def _from_simulation(self) -> None:
        async for frame in self._simulation:
            operation = json.loads(frame)
            for change in self._changes:
                operation = operation and change(operation)
            if operation:
                await asyncio.to_thread(self._write, {"at": "robot", **operation})

    async def _client(self, client: ServerConnection) -> None:
        number = next(self._numbers)
        self._clients[number] = client
        with contextlib.suppress(ConnectionClosed):
            async for frame in client:
                await asyncio.to_thread(self._write, {"at": "bridge", "client": number, **json.loads(frame)})
        del self._clients[number]
        await asyncio.to_thread(self._write, {"at": "bridge", "client": number, "op": "leave"})
