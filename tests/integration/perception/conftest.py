"""The perception server over a real simulation process; the scoring interface sets scenes up and judges."""

import json
import math
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from quartet_contracts import GrantClaims, audience
from quartet_perception.server import SERVER
from quartet_robot_link import Robot
from quartet_site import PolicyFile, load_robot, load_site
from quartet_tool_server import ToolServer, make_server

SITES = Path(__file__).parents[3] / "deploy" / "sites"
TWINS = Path(__file__).parents[1] / "simulation_with_twins.py"
TOOLS = (
    "segment_objects", "detect_objects", "last_seen", "get_topdown_grasp_pose", "get_topdown_placing_pose", "look",
    "measure_spot", "get_surroundings", "get_map",
)  # fmt: skip


@dataclass
class World:
    """A running simulation: where its bridge is, and its scoring interface."""

    url: str
    scoring_url: str
    name: str

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            self.scoring_url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def reset(self, seed: int = 0, scenario: str | None = None) -> None:
        self.post("/reset", world=self.name, seed=seed, scenario=scenario)

    def place(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        """Put an object down at a point before the robot, base frame; it stands on height z."""
        rx, ry, ryaw = self.truth()["robot"]["pose"]
        c, s = math.cos(ryaw), math.sin(ryaw)
        self.post("/place", object=name, x=rx + c * x - s * y, y=ry + s * x + c * y, z=z, yaw=ryaw + yaw)

    def truth(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.scoring_url + "/truth", timeout=60) as answer:
            return json.load(answer)

    def position_in_base(self, name: str) -> tuple[float, float, float]:
        truth = self.truth()
        rx, ry, ryaw = truth["robot"]["pose"]
        x, y, z = truth["objects"][name]["position"]
        c, s = math.cos(ryaw), math.sin(ryaw)
        return c * (x - rx) + s * (y - ry), c * (y - ry) - s * (x - rx), z


@contextmanager
def _simulation(name: str, folder: Path, sensors: str = "clean") -> Iterator[World]:
    ready = folder / "ready.json"
    command = [sys.executable, str(TWINS), "--world", name, "--sensors", sensors, "--ready-file", str(ready)]
    process = subprocess.Popen([*command, "--port", "0", "--scoring-port", "0"], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the simulation did not come up (exit status {process.poll()})")
            time.sleep(0.05)
        facts = json.loads(ready.read_text())
        yield World(facts["url"], facts["scoring_url"], name)
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The one-room world."""
    with _simulation("studio", tmp_path_factory.mktemp("perception")) as world:
        yield world


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The world with many objects."""
    with _simulation("home", tmp_path_factory.mktemp("home")) as world:
        yield world


@pytest.fixture
def rough_home(tmp_path: Path) -> Iterator[World]:
    """The same, of a robot whose cameras hang a little beside where it believes."""
    with _simulation("home", tmp_path, "typical") as world:
        yield world


@dataclass
class Eyes:
    """A client of the perception server."""

    client: Client
    server: ToolServer
    claims: list[GrantClaims]
    """The grant that calls carry."""

    def work_for(self, task: str) -> None:
        """Further calls belong to this task."""
        self.claims[0] = self.claims[0].model_copy(update={"task": task})

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured result."""
        return (await self.call_full(tool, **arguments)).structured_content

    async def call_full(self, tool: str, **arguments: Any) -> Any:
        return await self.client.call_tool(tool, arguments, raise_on_error=False)


@asynccontextmanager
async def _eyes(
    world: World, state: Path, policy: PolicyFile | None = None, unsized: Sequence[str] = (), **claims: Any
) -> AsyncIterator[Eyes]:
    robot_file, site = load_robot(SITES / world.name / "robot.yaml"), load_site(SITES / world.name / "site.yaml")
    bare = {"size_m": None, "size_error": 0.1, "parts": []}
    objects = [
        one.model_copy(update={"appearance": one.appearance.model_copy(update=bare)}) if one.name in unsized else one
        for one in site.objects
    ]
    site = site.model_copy(update={"objects": objects})
    now = int(time.time())
    grant = GrantClaims.model_validate(
        {"sub": "test", "aud": audience(robot_file.name), "iat": now, "exp": now + 600, "jti": "request-1", "fence": 1,
         "tools": [f"perception__{tool}" for tool in TOOLS], **claims}
    )  # fmt: skip
    claims_now = [grant]
    robot = await Robot.open(robot_file, url=world.url, wait_s=60)
    server = make_server(SERVER, robot, site, state, None, caller=lambda: claims_now[0], policy=policy)
    try:
        async with Client(server.mcp) as client:
            yield Eyes(client, server, claims_now)
    finally:
        await robot.close()


@pytest.fixture(scope="session")
def open_eyes() -> Callable[..., AbstractAsyncContextManager[Eyes]]:
    """`async with open_eyes(world, state_dir, policy, **claims) as eyes`: the server as the environment sets it up,
    called with a grant for all of its tools and those claims. `unsized`: objects of which the site tells no size."""
    return _eyes


@pytest.fixture
async def eyes(studio: World, tmp_path: Path) -> AsyncIterator[Eyes]:
    """The server's tools over an in-memory client with a grant for all of them."""
    async with _eyes(studio, tmp_path) as client:
        yield client


@pytest.fixture
async def home_eyes(home: World, tmp_path: Path) -> AsyncIterator[Eyes]:
    """The same in the world with many objects."""
    async with _eyes(home, tmp_path) as client:
        yield client
