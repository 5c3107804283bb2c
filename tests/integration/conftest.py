"""The servers over a real simulation process; its scoring interface sets scenes up and judges."""

import asyncio
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastmcp import Client
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from quartet_contracts import GrantClaims
from quartet_robot_link import Robot
from quartet_site import Geofence, PolicyFile, RobotFile, SiteFile, load_robot, load_site
from quartet_tool_server import ToolServer, make_server
from quartet_tool_server.run import with_heartbeat_timeout
from quartet_tool_server.upstream import UpstreamMapping
from support.grants import Keys, grant_claims

STUDIO = Path(__file__).parents[2] / "deploy" / "sites" / "studio"
ANYWHERE = PolicyFile(geofence=Geofence(areas="any place"))
"""For tests of the tools themselves; tests/integration/policy has those of the policy."""
START_S = 120.0
"""For a simulation to come up, however busy the machine is."""


@dataclass
class SimulatedStudio:
    """A running simulation of the one-room world: its bridge, and its scoring interface."""

    url: str
    scoring_url: str
    guard_url: str
    process: subprocess.Popen[bytes]

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        data = json.dumps(body).encode()
        request = urllib.request.Request(self.scoring_url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def truth(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.scoring_url + "/truth", timeout=60) as answer:
            return json.load(answer)

    def faults(self, *kinds: str) -> None:
        self.post("/faults", kinds=kinds)

    async def reset_guard(self, robot: Any) -> None:
        """Over the guard's HTTP port, as a person does; returns when `robot` has heard of it."""
        request = urllib.request.Request(self.guard_url + "/reset", b"")
        with await asyncio.to_thread(urllib.request.urlopen, request, timeout=60) as answer:
            assert answer.status == 200
        async with asyncio.timeout(60):
            while robot.guard.latched:  # noqa: ASYNC110 - the link signals no such event
                await asyncio.sleep(0.01)

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def reset(self, *, seed: int = 1, scenario: str | None = None) -> None:
        self.post("/reset", world="studio", seed=seed, scenario=scenario)


def start_studio(ready: Path, *options: str) -> SimulatedStudio:
    """A new process of the one-room world; its owner ends it with `end`."""
    command = [sys.executable, "-m", "quartet_simulation", "--world", "studio", "--ready-file", str(ready)]
    # These tests are about what servers do with numbers that are known.
    command += ["--sensors", "clean", *options]
    process = subprocess.Popen([*command, "--port", "0", "--scoring-port", "0"], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + START_S
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(f"the simulation did not come up (exit status {process.wait()})")
        time.sleep(0.05)
    facts = json.loads(ready.read_text())
    return SimulatedStudio(facts["url"], facts["scoring_url"], facts["guard_url"], process)


@pytest.fixture(scope="session", name="start_studio")
def _start_studio() -> Callable[..., SimulatedStudio]:
    """`start_studio(ready_file, "--robots", "2")`: a simulation of a test's own, which the test ends."""
    return start_studio


@pytest.fixture(scope="session")
def studio_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedStudio]:
    """One simulation for all of these tests: most modules ask for it."""
    studio = start_studio(tmp_path_factory.mktemp("studio") / "ready.json")
    yield studio
    studio.end()


@pytest.fixture(scope="session")
def paused_realtime_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedStudio]:
    """The same in real time. It always computes, so it is stopped while no module uses it."""
    studio = start_studio(tmp_path_factory.mktemp("studio") / "ready.json", "--realtime", "--heartbeat-timeout", "20")
    studio.process.send_signal(signal.SIGSTOP)
    yield studio
    studio.process.send_signal(signal.SIGCONT)
    studio.end()


@pytest.fixture(scope="module")
def realtime_process(paused_realtime_process: SimulatedStudio) -> Iterator[SimulatedStudio]:
    """A simulation in real time, for what happens while the robot moves."""
    paused_realtime_process.process.send_signal(signal.SIGCONT)
    yield paused_realtime_process
    paused_realtime_process.process.send_signal(signal.SIGSTOP)


@pytest.fixture
def sim(studio_process: SimulatedStudio) -> Iterator[SimulatedStudio]:
    """The simulation at the start of an episode, without faults, with the guard released."""
    studio_process.faults()
    studio_process.reset()
    yield studio_process
    studio_process.faults()


@pytest.fixture
def realtime(realtime_process: SimulatedStudio) -> SimulatedStudio:
    """The simulation in real time at the start of an episode; ask for it before `robot`."""
    realtime_process.faults()
    realtime_process.reset()
    return realtime_process


@pytest.fixture(scope="session")
def robot_file() -> RobotFile:
    """Its limits on heartbeats are long: only the tests that are about them mind how busy this machine is."""
    return with_heartbeat_timeout(load_robot(STUDIO / "robot.yaml"), 20.0)


@pytest.fixture(scope="session")
def site_file() -> SiteFile:
    return load_site(STUDIO / "site.yaml")


@pytest.fixture
async def robot(request: pytest.FixtureRequest, robot_file: RobotFile) -> AsyncIterator[Robot]:
    """A link to the simulated robot; to the one in real time when the test asks for that."""
    kind = "realtime" if "realtime" in request.fixturenames else "sim"
    robot = await Robot.open(robot_file, url=request.getfixturevalue(kind).url, wait_s=60)
    assert robot.link.connected
    yield robot
    await robot.close()


@dataclass
class Hands:
    """An in-memory client of one server, with a grant for all of its tools."""

    client: Client[Any]
    server: ToolServer
    grant: dict[str, Any]
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result, which is `ok` exactly when its code is NONE."""

        async def note(done: float, total: float | None, text: str | None) -> None:
            self.progress.append((done, total, text))

        answer = await self.client.call_tool(tool, arguments, progress_handler=note, raise_on_error=False)
        result = answer.structured_content
        assert result is not None, answer
        assert result["ok"] == (result["error_code"] == "NONE")
        return result

    async def refused(self, tool: str, code: str, **arguments: Any) -> str:
        """The message of a call that must fail with `code`."""
        result = await self.call(tool, **arguments)
        assert result["error_code"] == code, result
        assert result["message"], "a failure says what is wrong"
        return result["message"]


Open = Callable[..., Awaitable[Hands]]


@pytest.fixture
async def open_over(site_file: SiteFile, tmp_path: Path) -> AsyncIterator[Open]:
    """`await open_over(robot, quartet_nav2)`: the server's tools over an in-memory client."""
    async with AsyncExitStack() as stack:

        async def make(
            link: Robot, package: ModuleType, *, fence: int = 1, mapping: UpstreamMapping | None = None
        ) -> Hands:
            grant: dict[str, Any] = {"fence": fence, "tools": []}

            def caller() -> GrantClaims:
                return grant_claims(robot=link.file.name, **grant)

            server = make_server(
                package.SERVER, link, site_file, tmp_path, None, policy=ANYWHERE, caller=caller, mapping=mapping
            )
            if server.upstream is not None:
                stack.push_async_callback(server.upstream.close)
            tools = await server.mcp.list_tools(run_middleware=False)
            grant["tools"] = [f"{server.name}__{tool.name}" for tool in tools]
            client = await stack.enter_async_context(Client(server.mcp))
            return Hands(client, server, grant)

        yield make


@pytest.fixture
def open_server(robot: Robot, open_over: Open) -> Open:
    """`await open_server(quartet_nav2)`: the same over `robot`."""
    return partial(open_over, robot)


@pytest.fixture(scope="session")
def make_keys() -> type[Keys]:
    """`make_keys()`: a new key pair."""
    return Keys


class Peer:
    """A scripted rosbridge: for faults of the protocol that the simulated robot does not show.

    `answer(operation)` returns frames to send back, or None for silence.
    """

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.connections: list[ServerConnection] = []
        self.answer: Callable[[dict[str, Any]], list[Any] | None] = answer_service
        self.url = ""
        self._server: Server | None = None
        self._port = 0
        self.news = asyncio.Event()

    async def start(self) -> None:
        self._server = await serve(self._serve, "127.0.0.1", self._port, compression=None)
        self._port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self._port}"

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for connection in self.connections:
                connection.transport.abort()
            await self._server.wait_closed()
            self._server = None

    async def send(self, frame: Any) -> None:
        await self.connections[-1].send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    async def wait_for(self, **fields: Any) -> dict[str, Any]:
        """The first operation received so far, or to come, that has these fields."""
        while True:
            self.news.clear()
            for operation in self.received:
                if all(operation.get(name) == value for name, value in fields.items()):
                    return operation
            await self.news.wait()

    async def _serve(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        try:
            async for frame in connection:
                operation = json.loads(frame)
                self.received.append(operation)
                self.news.set()
                for reply in self.answer(operation) or []:
                    await connection.send(reply if isinstance(reply, str | bytes) else json.dumps(reply))
        except ConnectionClosed:
            pass


def answer_service(operation: dict[str, Any]) -> list[Any] | None:
    """Every service exists and answers with nothing."""
    if operation["op"] == "call_service":
        reply = {"op": "service_response", "service": operation["service"], "values": {}, "result": True}
        return [reply | {"id": operation["id"]}]
    return None


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    await peer.start()
    yield peer
    await peer.stop()
