"""A real simulation process in the small world, and a raw rosbridge client that defends against nothing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websockets

WAIT_S = 60.0


class SimProcess:
    """`python -m quartet_simulation` with free ports; its log is in `log_file`."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log_file = folder / "simulation.log"
        command = [sys.executable, "-m", "quartet_simulation", "--port", "0", "--check-messages"]
        # These tests compare messages with numbers that are known.
        command += ["--sensors", "clean", *options]
        if "--world" not in options:
            command += ["--world", "studio"]
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the simulation did not start:\n{self.log}"
        self.ready: dict[str, Any] = json.loads(line)

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.ready["scoring_url"] + path, timeout=WAIT_S) as answer:
            return json.load(answer)

    def post(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(self.ready["scoring_url"] + path, json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)

    def reset_guard(self) -> str:
        """Over the guard's HTTP port, as a person does; returns what it says."""
        with urllib.request.urlopen(self.ready["guard_url"] + "/reset", b"", timeout=WAIT_S) as answer:
            return str(json.load(answer)["message"])

    def close(self) -> int:
        self.process.terminate()
        status = self.process.wait(WAIT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


class Rosbridge:
    """Frames out, frames in; what arrives while another frame is awaited is kept."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.kept: list[Any] = []
        self._calls = 0

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def receive(self, wanted: Callable[[Any], bool], limit_s: float = WAIT_S) -> Any:
        """The first frame that fits, kept ones first; binary frames are passed as bytes."""
        for index, frame in enumerate(self.kept):
            if wanted(frame):
                return self.kept.pop(index)
        async with asyncio.timeout(limit_s):
            while True:
                raw = await self.socket.recv()
                frame = raw if isinstance(raw, bytes) else json.loads(raw)
                if wanted(frame):
                    return frame
                self.kept.append(frame)

    async def op(self, op: str, limit_s: float = WAIT_S, **fields: Any) -> Any:
        def fits(frame: Any) -> bool:
            return (
                isinstance(frame, dict)
                and frame["op"] == op
                and all(frame.get(key) == value for key, value in fields.items())
            )

        return await self.receive(fits, limit_s)

    async def call(self, service: str, args: Any = None, **fields: Any) -> Any:
        self._calls += 1
        call_id = f"call{self._calls}"
        await self.send(op="call_service", id=call_id, service=service, args=args or {}, **fields)
        return await self.op("service_response", id=call_id)

    async def goal(self, goal_id: str, action: str, action_type: str, args: Any, feedback: bool = False) -> None:
        await self.send(
            op="send_action_goal",
            id=goal_id,
            action=action,
            action_type=action_type,
            args=args,
            feedback=feedback,
        )

    async def result(self, goal_id: str, limit_s: float = WAIT_S) -> Any:
        return await self.op("action_result", limit_s, id=goal_id)

    async def message(self, topic: str, limit_s: float = WAIT_S) -> Any:
        return (await self.op("publish", limit_s, topic=topic))["msg"]

    async def once(self, topic: str, **options: Any) -> Any:
        """Subscribe, take one message, unsubscribe."""
        self.kept = [frame for frame in self.kept if not (isinstance(frame, dict) and frame.get("topic") == topic)]
        await self.send(op="subscribe", topic=topic, id="once", **options)
        message = await self.message(topic)
        await self.send(op="unsubscribe", topic=topic, id="once")
        await self.settled()
        return message

    async def settled(self) -> None:
        """All earlier frames have been handled once this answer is here; forgets kept topic messages."""
        await self.call("/rosapi/get_time")
        self.kept = [frame for frame in self.kept if isinstance(frame, dict) and frame["op"] != "publish"]

    async def silent_after(self, **frame: Any) -> None:
        """Send a frame and make sure that nothing but the answer to a later call comes back."""
        await self.settled()
        await self.send(**frame)
        await self.call("/rosapi/get_time")
        assert self.kept == []


@contextlib.asynccontextmanager
async def client(url: str) -> AsyncIterator[Rosbridge]:
    # Without a limit on unread frames: a client that stops reading cannot close its connection.
    async with websockets.connect(url, max_size=None, max_queue=None) as socket:
        yield Rosbridge(socket)


@pytest.fixture(scope="package")
def shared_sim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimProcess]:
    """One simulation for the modules of this folder that follow each other in a worker."""
    process = SimProcess(tmp_path_factory.mktemp("simulation"))
    yield process
    log = process.log
    assert process.close() == 0
    assert "Traceback" not in log, log


@pytest.fixture
def sim(shared_sim: SimProcess) -> SimProcess:
    """The shared simulation, as after its start."""
    shared_sim.post("/faults", kinds=[])
    shared_sim.post("/reset", seed=0)
    return shared_sim


@pytest.fixture
async def robot(sim: SimProcess) -> AsyncIterator[Rosbridge]:
    async with client(sim.url) as bridge:
        yield bridge


@pytest.fixture
def connect() -> Callable[[str], contextlib.AbstractAsyncContextManager[Rosbridge]]:
    return client


@pytest.fixture
def start_sim(tmp_path: Path) -> Iterator[Callable[..., SimProcess]]:
    """Starts further simulations with other options."""
    started: list[SimProcess] = []

    def start(*options: str) -> SimProcess:
        started.append(SimProcess(tmp_path, *options))
        return started[-1]

    yield start
    for process in started:
        process.close()
