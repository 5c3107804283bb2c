"""An orchestrator over real HTTP and Redis, with a programmable model, fence endpoints and sub-agents around it."""

import asyncio
import base64
import contextlib
import json
import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import jwt
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from fastmcp import FastMCP
from fastmcp.server.dependencies import get_http_headers
from fastmcp.tools.base import ToolResult
from mcp_types import ImageContent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from quartet_bus import Bus, BusOptions, SkillDelivery
from quartet_contracts import (
    ALGORITHM,
    FENCE_SCOPE,
    OUT_OF_TIME,
    RESULTS,
    STOP_SCOPE,
    JournalEvent,
    Skill,
    State,
    TaskStatus,
    decode,
    new_object_id,
)
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest
from quartet_orchestrator.serve import serve
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_site import RobotFiles, load_robot, load_site
from support.http_server import serve_app

API_TOKEN = "the-token-of-the-tests"
HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"


class Model:
    """Answers OpenAI requests with the turns of a script, in order; the last turn repeats."""

    def __init__(self) -> None:
        self.turns: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.grants: list[str] = []
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    def say(self, *turns: Any) -> None:
        """A turn is ("tool", {arguments}) with or without a text, a text, a function of the messages, or a Response."""
        self.turns = list(turns)

    def results(self, index: int = -1) -> list[dict[str, Any]]:
        """Tool results that the model has read, as of its request `index`."""
        read = [json.loads(m["content"]) for m in self.requests[index]["messages"] if m["role"] == "tool"]
        # The result of a skill that succeeded is shown without it.
        return [{"ok": one.get("error_code") == "NONE", **one} for one in read]

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        self.grants.append(request.headers["x-quartet-grant"])
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        if callable(turn):
            turn = turn(body["messages"])
        if isinstance(turn, Awaitable):
            turn = await turn
        if isinstance(turn, Response):
            return turn
        message: dict[str, Any] = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
        if not isinstance(turn, str):
            name, arguments, *said = turn
            message["content"] = said[0] if said else None
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call = {"id": f"c{len(self.requests)}", "type": "function", "function": {"name": name, "arguments": text}}
            message["tool_calls"] = [call]
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return JSONResponse(
            {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage, "quartet": {"model": "test"}}
        )


async def _drip() -> AsyncIterator[bytes]:
    while True:
        yield b" "
        await asyncio.sleep(0.02)


class MotionServer:
    """The control endpoint of a motion server: checks the grant, never lets the fence down."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key.public_key()
        self.fence = 0
        self.installed: list[int] = []
        self.ended: list[str] = []
        """Requests whose motions were stopped."""
        self.broken = False
        control = {"fence": self._install, "stop": self._stop}
        self.clock_ahead_s = 0.0
        self.clock_right_after: int | None = None
        """Number of fences after which its clock is put right; None: never."""
        self.refused = 0
        self.disk_full_for = 0
        """Number of fences that it cannot persist."""
        self.health = {"status": "ok", "bridge": True, "stopped": False, "stops": 0}
        self.drips = False
        """Whether its health comes byte by byte, without an end."""
        self.routes = [
            *(Route(f"/control/{name}", at, methods=["POST"]) for name, at in control.items()),
            Route("/health", self._tell_health),
        ]

    def _claims(self, request: Request, **options: bool) -> dict[str, Any]:
        token = request.headers["authorization"].removeprefix("Bearer ")
        robots = ["robot:summit", "robot:second"]
        return jwt.decode(token, self._key, algorithms=[ALGORITHM], audience=robots, options=options)

    def stop(self) -> None:
        """A person presses stop."""
        self.health["stopped"] = True
        self.health["stops"] += 1

    def reset(self) -> None:
        self.health["stopped"] = False

    async def _tell_health(self, _: Request) -> Response:
        if self.drips:
            return StreamingResponse(_drip(), media_type="application/json")
        return JSONResponse({**self.health, "time": time.time() + self.clock_ahead_s})

    async def _stop(self, request: Request) -> Response:
        if STOP_SCOPE not in self._claims(request)["tools"]:
            return JSONResponse({"detail": "scope"}, 403)
        order = await request.json()
        assert "latch" not in order
        self.ended.append(order["request_id"])
        return JSONResponse({"canceled": []})

    async def _install(self, request: Request) -> Response:
        claims = self._claims(request, verify_exp=False)
        if claims["exp"] < time.time() + self.clock_ahead_s:
            self.refused += 1
            if self.refused == self.clock_right_after:
                self.clock_ahead_s = 0.0
            detail = "the grant is not valid here: it expired; synchronise the clocks"
            return JSONResponse({"detail": detail, "code": OUT_OF_TIME}, 401)
        if FENCE_SCOPE not in claims["tools"] or self.broken:
            return JSONResponse({"detail": "scope"}, 403)
        if self.disk_full_for:
            self.disk_full_for -= 1
            return JSONResponse({"title": "Fence not installed", "detail": "No space left on device"}, 500)
        if claims["fence"] < self.fence:
            return JSONResponse({"detail": "older", "fence": self.fence}, 409)
        self.fence = claims["fence"]
        self.installed.append(self.fence)
        return JSONResponse({"fence": self.fence})


class World:
    """The world as the robot's servers measure it: where the robot stands, what it holds, what is in view."""

    def __init__(self) -> None:
        self.grasp = "EMPTY"
        self.read: Callable[[], str] = lambda: self.grasp
        """What the gripper's sensors say."""
        self.tucked = True
        """Whether the arm is in its transit state."""
        self.released: tuple[float, float, float] | None = None
        """Position of the flange in the base frame where it let go last."""
        self.pose = {"x": 3.35, "y": 2.15, "yaw": 0.0}
        self.in_view: dict[str, tuple[float, float, float]] = {}
        """Position in the base frame of what the cameras show, by name."""
        self.remembered: dict[str, tuple[float, float, float]] = {}
        """Position in the base frame of what perception saw last, by name, for what is out of view."""
        self.remembered_too: list[tuple[str, tuple[float, float, float]]] = []
        """Name and position in the base frame of further things that are out of view."""
        self.alike: list[tuple[str, tuple[float, float, float]]] = []
        """Name and position in the base frame of further things that the front camera shows."""
        self.missed: dict[str, int] = {}
        """How many of the next pictures of the front camera do not show a thing, by name."""
        self.in_hand = ""
        """What the wrist camera shows between the fingers; "": nothing that it knows."""
        self.standing_m: float | None = None
        """How high something stands where something was let go; None: no camera shows the spot."""
        self.spot_age_s = 0.0
        """How long ago that was measured."""
        self.nameless: set[str] = set()
        """Names that perception cannot look for."""
        self.servers = {name: FastMCP(name) for name in ("nav2", "moveit", "perception")}
        self.servers["moveit"].tool(self.get_grasp_state)
        self.servers["moveit"].tool(self.get_current_pose)
        self.servers["nav2"].tool(self.get_robot_pose)
        self.add_cameras(self.servers["perception"])

    def add_cameras(self, mcp: FastMCP) -> None:
        """Add the tools that look for things."""
        for tool in (self.detect_objects, self.get_topdown_placing_pose, self.last_seen, self.measure_spot):
            mcp.tool(tool)

    def app(self, motion: Mapping[str, MotionServer], more: Sequence[Mount] = ()) -> Starlette:
        """Return an application with each MCP server at /<name>, and `more`; `motion` has the control endpoints."""
        tools = {name: server.http_app(path="/mcp") for name, server in self.servers.items()}
        mounts = [
            Mount(f"/{name}", routes=[*(motion[name].routes if name in motion else ()), *app.routes])
            for name, app in tools.items()
        ]

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with contextlib.AsyncExitStack() as stack:
                for app in tools.values():
                    await stack.enter_async_context(app.lifespan(app))
                yield

        return Starlette(routes=[*more, *mounts], lifespan=lifespan)

    def do(self, skill: Skill, arguments: Any) -> None:
        """Make the world as it is after a success of `skill`."""
        if skill is Skill.APPROACH:
            self.in_view, self.remembered = {arguments.object_name: (0.7, 0.0, 0.5)}, {}
            if (area := SITE.area(arguments.target_area)) is not None:
                self.pose = area.entry.model_dump()
        elif skill is Skill.PICK:
            self.grasp = "HOLDING"
            self.in_view.pop(arguments.object_name, None)
        else:
            self.grasp = "EMPTY"
            self.in_view.setdefault(arguments.target_location, (0.7, 0.0, 0.5))
            self.in_view[arguments.object_name] = (0.7, 0.0, 0.56)
            self.released = (0.7, 0.0, 0.8)

    async def get_grasp_state(self) -> dict[str, Any]:
        """Width and force."""
        at = self.released
        released = None if at is None else {"tool_position": at, "tool_position_map": self._in_map(at), "age_s": 0.0}
        return {**DONE, "state": self.read(), "released": released}

    async def get_current_pose(self) -> dict[str, Any]:
        """Joint positions of the arm."""
        arm = ROBOT.arm
        joints = arm.named_states[arm.transit_state] if self.tucked else [9.0] * len(arm.joints)
        return {**DONE, "joint_positions": dict(zip(arm.joints, joints, strict=True))}

    async def get_robot_pose(self) -> dict[str, Any]:
        """Pose of the base."""
        return {**DONE, "pose": {**self.pose, "frame_id": "map"}}

    async def detect_objects(
        self,
        names: list[str] | None = None,
        object_ids: list[str] | None = None,
        camera: str = "front",
        held_id: str | None = None,
    ) -> dict[str, Any]:
        """What the front camera shows, as far as it has that name."""
        assert object_ids is None
        seen = [
            {
                "label": name,
                "score": 0.9,
                "box_xyxy": (0, 0, 9, 9),
                "camera": "front",
                "distance_m": math.hypot(*at[:2]),
                "position_base": at,
                "position_map": self._in_map(at),
                "size_m": (0.6, 0.6, 0.1),
            }
            for name, at in [*self.in_view.items(), *self.alike]
            if camera == "front" and (names is None or name in names) and not self._misses(name)
        ]
        if camera == "arm" and self.in_hand:
            held = {"label": self.in_hand, "score": 0.9, "box_xyxy": (0, 0, 9, 9), "camera": "arm", "in_gripper": True}
            seen.append(held)
        return {**DONE, "detections": seen}

    def _misses(self, name: str) -> bool:
        self.missed[name] = self.missed.get(name, 0) - 1
        return self.missed[name] >= 0

    def _in_map(self, at: tuple[float, float, float]) -> tuple[float, float, float]:
        c, s = math.cos(self.pose["yaw"]), math.sin(self.pose["yaw"])
        return self.pose["x"] + c * at[0] - s * at[1], self.pose["y"] + s * at[0] + c * at[1], at[2]

    async def get_topdown_placing_pose(
        self,
        object_name: str | None = None,
        object_height_m: float | None = None,
        camera: str = "front",
        target_id: str | None = None,
    ) -> dict[str, Any]:
        """Nothing: no free space."""
        return {**DONE, "ok": False, "error_code": "NO_FREE_SPACE"}

    async def measure_spot(
        self, position_base: tuple[float, float, float], most_m: float, camera: str = "front"
    ) -> dict[str, Any]:
        """What stands where the object was let go."""
        assert camera == "front", "the orchestrator moves no arm"
        if self.standing_m is None or self.released is None or position_base[:2] != self.released[:2]:
            return {**DONE, "ok": False, "error_code": "TOO_FEW_POINTS", "message": "out of view"}
        return {**DONE, "surface_height_m": position_base[2], "standing_m": self.standing_m, "age_s": self.spot_age_s}

    async def last_seen(self, names: list[str]) -> dict[str, Any]:
        """What perception remembers."""
        if self.nameless.intersection(names):
            return {**DONE, "ok": False, "error_code": "UNKNOWN_OBJECT", "message": "no such thing"}
        found = [
            {
                "object_id": new_object_id(),
                "label": name,
                "position_map": self._in_map(at),
                "age_s": 0.0,
            }
            for name, at in (*self.remembered.items(), *self.remembered_too)
            if name in names
        ]
        if self.in_hand in names:
            at = self._in_map((0.7, 0.1, 1.2))
            held = {"object_id": new_object_id(), "label": self.in_hand, "position_map": at, "age_s": 0.0}
            found.append({**held, "in_gripper": True})
        return {**DONE, "sightings": found}


DONE = {"ok": True, "error_code": "NONE", "message": ""}
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")


OK = {"success": True, "error_code": "NONE", "reason": "done", "state": State.SUCCEEDED}


def failing(code: str, state: State = State.FAILED, **fields: Any) -> dict[str, Any]:
    return {"success": False, "error_code": code, "reason": f"it ended with {code}", "state": state, **fields}


class Forged(dict[str, Any]):
    """A result that tells of a success which never was."""


class Agents:
    """Sub-agents that take from the real streams. `answers[skill]` are results in order, then OK for ever.

    After a success the robot, its gripper and the object are where the request wants them, unless it is FORGED.
    """

    OK = OK
    FORGED = Forged(OK)

    def __init__(self, bus: Bus, world: World) -> None:
        self.bus = bus
        self.world = world
        self.others: dict[str, World] = {}
        """The same of further robots, by name."""
        self.answers: dict[str, list[Any]] = defaultdict(list)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[Any] = []
        self.started = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, *skills: Skill) -> None:
        self._tasks += [asyncio.create_task(self._serve(skill)) for skill in (skills or tuple(Skill))]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _serve(self, skill: Skill) -> None:
        queue = self.bus.skills(skill)
        while True:
            delivery = await queue.take()
            assert delivery is not None
            self.calls.append((str(skill), delivery.request.arguments.model_dump(mode="json", exclude_none=True)))
            self.requests.append(delivery.request)
            if not delivery.started:
                await queue.mark_started(delivery)
            self.started.set()
            answer = self.answers[skill].pop(0) if self.answers[skill] else OK
            if callable(answer):
                answer = await answer(self, delivery)
            if answer is None:
                continue
            if answer["success"] and not isinstance(answer, Forged):
                self.others.get(delivery.request.robot, self.world).do(skill, delivery.request.arguments)
            await queue.finish(delivery, self.result(delivery, answer))

    def result(self, delivery: SkillDelivery, fields: dict[str, Any]) -> Any:
        request = delivery.request
        extra = {"held_object_height_m": 0.12} if request.skill is Skill.PICK and fields["success"] else {}
        return RESULTS[request.skill].model_validate(
            {"request_id": request.request_id, "task_id": request.task_id, "tool_calls_used": 3, **extra, **fields}
        )

    def hold(self, *skills: str) -> asyncio.Event:
        """The next request of each of `skills` succeeds once the event is set."""
        go = asyncio.Event()

        async def held(*_: Any) -> dict[str, Any]:
            await go.wait()
            return OK

        for skill in skills:
            self.answers[skill].append(held)
        return go

    async def until_canceled(self, _: Any, delivery: SkillDelivery) -> dict[str, Any]:
        """Moves until it is canceled, then stands still."""
        await self.bus.skills(delivery.request.skill).canceled(delivery.request.request_id)
        return failing("UNKNOWN", State.CANCELED, reason="canceled; the robot was brought to rest")


class Client:
    """A person at the HTTP API."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def submit(self, sentence: str = "put the red coke can on the sofa table", **fields: Any) -> str:
        answer = await self.http.post("/tasks", json={"sentence": sentence, **fields})
        assert answer.status_code == 202, answer.text
        status = decode(TaskStatus, answer.content)
        assert answer.headers["location"] == f"/tasks/{status.task.task_id}"
        return status.task.task_id

    async def status(self, task_id: str) -> TaskStatus:
        return decode(TaskStatus, (await self.http.get(f"/tasks/{task_id}")).content)

    async def until_state(self, task_id: str, *states: State, timeout_s: float = 60) -> TaskStatus:
        end = time.monotonic() + timeout_s
        while True:
            status = await self.status(task_id)
            if status.state in states:
                return status
            assert time.monotonic() < end, f"{status.state} is not {states}: {status.report}"
            await asyncio.sleep(0.02)

    async def events(self, task_id: str, after: str = "", **query: Any) -> list[JournalEvent]:
        """Everything from the event stream until it ends."""
        headers = {"Last-Event-ID": after} if after else {}
        found: list[JournalEvent] = []
        async with self.http.stream("GET", f"/tasks/{task_id}/events", headers=headers, params=query) as stream:
            assert stream.status_code == 200
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    found.append(decode(JournalEvent, line.removeprefix("data: ")))
        return found

    async def run(self, sentence: str = "put the red coke can on the sofa table", **fields: Any) -> TaskStatus:
        task_id = await self.submit(sentence, **fields)
        await self.events(task_id)
        return await self.status(task_id)


@pytest.fixture
def key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def motion(key: Ed25519PrivateKey) -> dict[str, MotionServer]:
    return {"nav2": MotionServer(key), "moveit": MotionServer(key)}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def around(model: Model, motion: dict[str, MotionServer], world: World) -> AsyncIterator[str]:
    """URL below which the model is at /model and each server of the robot at /<name>."""
    async with serve_app(world.app(motion, [Mount("/model", model.app)]), lifespan="on") as url:
        yield url


@pytest.fixture
async def agents(redis_url: str, world: World) -> AsyncIterator[Agents]:
    async with await Bus.connect(redis_url, BusOptions(lease_s=1.0, block_ms=200)) as bus:
        made = Agents(bus, world)
        yield made
        await made.stop()


def _pem(key: Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.fixture
def settings(
    redis_url: str, around: str, motion: dict[str, MotionServer], key: Ed25519PrivateKey, tmp_path: Path
) -> OrchestratorSettings:
    return OrchestratorSettings(
        redis_url=redis_url,
        gateway_url=f"{around}/model",
        servers={"summit": {name: f"{around}/{name}/mcp" for name in motion}},
        robot_file=HOME / "robot.yaml",
        site_file=HOME / "site.yaml",
        ready_file=tmp_path / "ready.json",
        grant_private_key=_pem(key),
        api_token=API_TOKEN,
        agent_absent_s=60.0,
        cancel_wait_s=60.0,
        gateway_patience_s=0.3,
        fence_timeout_s=60.0,
        outcome_patience_s=0.01,
    )


@pytest.fixture
def settings_environment(redis_url: str, key: Ed25519PrivateKey) -> dict[str, str]:
    """Environment of a process that could start."""
    return {
        "QUARTET_REDIS_URL": redis_url,
        "QUARTET_SERVERS": '{"summit": {"nav2": "http://127.0.0.1:9/mcp", "moveit": "http://127.0.0.1:9/mcp"}}',
        "QUARTET_ROBOT_FILE": str(HOME / "robot.yaml"),
        "QUARTET_SITE_FILE": str(HOME / "site.yaml"),
        "QUARTET_GRANT_PRIVATE_KEY": _pem(key),
        "QUARTET_API_TOKEN": API_TOKEN,
        "QUARTET_PORT": "0",
    }


@pytest.fixture
def start(settings: OrchestratorSettings) -> Callable[..., Any]:
    """`async with start(**changes) as client`: an orchestrator that serves until the block ends."""

    @contextlib.asynccontextmanager
    async def run(**changes: Any) -> AsyncIterator[Client]:
        used = settings.model_copy(update=changes)
        stop = asyncio.Event()
        used.ready_file.unlink(missing_ok=True)
        serving = asyncio.create_task(serve(used, stop))
        while not used.ready_file.exists():
            await asyncio.sleep(0.01)
            if serving.done():
                serving.result()
        url = json.loads(used.ready_file.read_text())["url"]
        try:
            headers = {"Authorization": f"Bearer {API_TOKEN}"}
            async with httpx2.AsyncClient(base_url=url, timeout=60, headers=headers) as http:
                yield Client(http)
        finally:
            stop.set()
            await serving

    return run


@pytest.fixture
async def replica(
    settings: OrchestratorSettings, tmp_path: Path, eventually: Callable[..., Any]
) -> AsyncIterator[Callable[..., Any]]:
    """`await replica(servers, robots)`: an orchestrator in a process of its own, ready to work."""
    started: list[Any] = []

    async def run(servers: dict[str, Any] | None = None, robots: Mapping[str, RobotFiles] | None = None) -> Any:
        ready = tmp_path / f"replica{len(started)}.json"
        environment = {
            **os.environ,
            "QUARTET_REDIS_URL": settings.redis_url,
            "QUARTET_GATEWAY_URL": settings.gateway_url,
            "QUARTET_SERVERS": json.dumps(servers or settings.servers),
            "QUARTET_ROBOT_FILE": str(settings.robot_file),
            "QUARTET_SITE_FILE": str(settings.site_file),
            "QUARTET_READY_FILE": str(ready),
            "QUARTET_GRANT_PRIVATE_KEY": settings.grant_private_key.get_secret_value(),
            "QUARTET_API_TOKEN": settings.api_token.get_secret_value(),
        }
        if robots:
            files = {name: one.model_dump(mode="json", exclude_none=True) for name, one in robots.items()}
            environment["QUARTET_ROBOTS"] = json.dumps(files)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "quartet_orchestrator", env=environment, stderr=asyncio.subprocess.DEVNULL
        )
        started.append(process)
        await eventually(ready.exists, 60)
        return process

    yield run
    for process in started:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()


@pytest.fixture
async def second_robot(agents: Agents, key: Ed25519PrivateKey, motion: dict[str, MotionServer]) -> AsyncIterator[Any]:
    """The servers of a robot `second`; `motion` has those of both."""
    world = agents.others["second"] = World()
    control = {name: MotionServer(key) for name in ("nav2", "moveit")}
    motion |= {f"second/{name}": server for name, server in control.items()}
    async with serve_app(world.app(control), lifespan="on") as url:
        yield {name: f"{url}/{name}/mcp" for name in control}


@pytest.fixture
def two_robots(settings: OrchestratorSettings, second_robot: dict[str, str]) -> dict[str, dict[str, str]]:
    """The servers of summit and second."""
    return {"summit": settings.servers["summit"], "second": second_robot}


@pytest.fixture
def two(start: Callable[..., Any], two_robots: dict[str, Any]) -> Callable[..., Any]:
    """`async with two() as client`: an orchestrator of summit and second, whose servers can be told apart."""
    return lambda **more: start(servers=two_robots, **more)


@pytest.fixture
def unlike_robots(tmp_path: Path) -> dict[str, RobotFiles]:
    """`summit` has the body of a rover, `second` that of a lifter; the home has a wide crate, too."""
    site = yaml.safe_load((HOME / "site.yaml").read_text(encoding="utf-8"))
    crate = {"colours": ["red"], "shape": "box", "size_m": [0.4, 0.3, 0.3]}
    site["objects"].append({"name": "wide crate", "appearance": crate})
    (tmp_path / "site.yaml").write_text(yaml.safe_dump(site), encoding="utf-8")
    files: dict[str, RobotFiles] = {}
    for name, kind in (("summit", "rover"), ("second", "lifter")):
        source = HOME.parents[1] / "robots" / kind / "robot.yaml"
        own = tmp_path / f"{name}.yaml"
        own.write_text(source.read_text(encoding="utf-8").replace(f"\nname: {kind}", f"\nname: {name}"), "utf-8")
        resume = source.with_name("resume.json")
        files[name] = RobotFiles(robot_file=own, site_file=tmp_path / "site.yaml", resume_file=resume)
    return files


@pytest.fixture
def unlike(two: Callable[..., Any], unlike_robots: dict[str, RobotFiles]) -> Callable[..., Any]:
    """As `two`, with unlike robots."""
    return lambda **more: two(robots=unlike_robots, **more)


@pytest.fixture
def with_cameras(settings: OrchestratorSettings, around: str) -> dict[str, dict[str, str]]:
    """Servers of the robot, perception among them, so that the orchestrator can look for itself."""
    return {"summit": {**settings.servers["summit"], "perception": f"{around}/perception/mcp"}}


@pytest.fixture
async def client(start: Callable[..., Any], agents: Agents) -> AsyncIterator[Client]:
    """With sub-agents that succeed unless told otherwise."""
    agents.start()
    async with start() as made:
        yield made


def approach(name: str = "red coke can", area: str = "kitchen", next_action: str = "pick") -> tuple[str, Any]:
    return "approach", {"target_area": area, "object_name": name, "next_action": next_action}


def pick(name: str = "red coke can") -> tuple[str, Any]:
    return "pick", {"object_name": name}


def place(name: str = "red coke can", target: str = "wooden coffee table") -> tuple[str, Any]:
    return "place", {"target_location": target, "object_name": name, "object_height_m": 0.12}


def report(success: bool = True, *objects: Any, summary: str = "finished") -> tuple[str, Any]:
    rows = [
        {"object_name": o[0], "target": o[1], "completed": o[2], "error_code": "NONE" if o[2] else "UNKNOWN"}
        for o in objects
    ]
    return "report_task_result", {"success": success, "summary": summary, "objects": rows}


class Steps:
    approach, pick, place, report = (
        staticmethod(approach),
        staticmethod(pick),
        staticmethod(place),
        staticmethod(report),
    )
    failing = staticmethod(failing)
    look = ("look", {"camera": "both"})
    drop = (
        "approach",
        {"target_area": "living room", "object_name": "wooden coffee table", "next_action": "surface_place"},
    )
    delivered = ("red coke can", "wooden coffee table", True)


@pytest.fixture
def do() -> type[Steps]:
    """Turns of the model and answers of the agents."""
    return Steps


class Asking:
    """`asking(**changes)`: the next approach asks for a person's word on a call, and ends; `decision` is what it was
    told.
    """

    ARGUMENTS: ClassVar[dict[str, Any]] = {"x": 9.8, "y": 2.1, "names": ["red\ncan"]}

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self.decision: ApprovalDecision | None = None

    def __call__(self, **changes: Any) -> None:
        async def ask(agents: Agents, delivery: SkillDelivery) -> dict[str, Any]:
            asked = self.question(delivery.request, **changes)
            self.decision = await agents.bus.approvals.ask(asked, asked.expires_at - time.time())
            return OK

        self._agents.answers["approach"] = [ask]

    def question(self, request: Any, **changes: Any) -> ApprovalRequest:
        fields = {
            "approval_id": f"a-{request.request_id}",
            "request_id": request.request_id,
            "task_id": request.task_id,
            "robot": request.robot,
            "agent": str(request.skill),
            "tool": "nav2__navigate_to_pose",
            "arguments": self.ARGUMENTS,
            "because": "people work there (policy rule approval)",
            "expires_at": time.time() + 60,
        }
        return ApprovalRequest(**fields | changes)


@pytest.fixture
def asking(agents: Agents) -> Asking:
    return Asking(agents)


class Perception:
    """The perception server with `look`, which keeps the grants that it was called with."""

    def __init__(self, world: World) -> None:
        self.grants: list[str] = []
        self.broken = False
        self.fenced = 0
        self.mcp = FastMCP("perception")
        self.mcp.tool(self.look)
        world.add_cameras(self.mcp)

    async def look(self, camera: str = "both") -> ToolResult:
        """Pictures."""
        self.grants.append(get_http_headers(include_all=True)["authorization"].removeprefix("Bearer "))
        if self.fenced:
            self.fenced -= 1
            return ToolResult(structured_content={"ok": False, "error_code": "FENCED", "message": "older"})
        if self.broken:
            fault = {"ok": False, "error_code": "CAMERA_UNAVAILABLE", "message": "no camera"}
            return ToolResult(structured_content=fault)
        names = ["front", "arm"] if camera == "both" else [camera]
        pictures = [
            ImageContent(type="image", data=base64.b64encode(f"jpeg of {n}".encode()).decode(), mime_type="image/jpeg")
            for n in names
        ]
        found = {"ok": True, "error_code": "NONE", "message": "", "cameras": names, "area": "kitchen"}
        return ToolResult(content=pictures, structured_content=found)


@pytest.fixture
def perception(world: World) -> Perception:
    return Perception(world)


class Standstill:
    """The tools of both motion servers that bring the robot to rest and measure it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.rests = False
        """What is measured."""
        self.rests_after = 10**6
        """Number of calls after which the robot rests all the same."""
        self.asked = 0
        self.refuses = ""
        """With what message every call fails; "": none does."""
        self.servers: dict[str, dict[str, str]] = {}

    async def stop(self) -> ToolResult:
        """Cancel what moves."""
        self.asked += 1
        if self.refuses:
            failed = {"ok": False, "error_code": "ROS_ERROR", "message": self.refuses, "standstill": True}
            return ToolResult(structured_content=failed, is_error=True)
        rests = self.rests or self.asked > self.rests_after
        return ToolResult(structured_content={"ok": True, "error_code": "NONE", "message": "", "standstill": rests})

    async def grasp(self) -> ToolResult:
        """Read the gripper."""
        return ToolResult(structured_content={"ok": True, "error_code": "NONE", "message": "", "state": "EMPTY"})

    def app(self, tool: str, control: MotionServer) -> Any:
        """Serve these tools beside the control endpoint of a motion server."""
        mcp = FastMCP(tool)
        mcp.tool(self.stop, name=tool)
        mcp.tool(self.grasp, name="get_grasp_state")
        mcp.tool(self._world.get_robot_pose)
        app = mcp.http_app(path="/mcp")
        app.router.routes.extend(control.routes)
        return app


@pytest.fixture
async def standstill(motion: dict[str, MotionServer], world: World) -> AsyncIterator[Standstill]:
    """With `servers`, the URLs of motion servers that have a control endpoint and these tools."""
    made = Standstill(world)
    tools = {"nav2": "cancel_navigation", "moveit": "stop_execution"}
    async with contextlib.AsyncExitStack() as stack:
        urls = {
            name: await stack.enter_async_context(serve_app(made.app(tool, motion[name]), lifespan="on"))
            for name, tool in tools.items()
        }
        made.servers = {"summit": {name: f"{url}/mcp" for name, url in urls.items()}}
        yield made
