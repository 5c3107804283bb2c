"""Real agents in the real small world: simulation, MCP servers and scripted model as processes of their own."""

import asyncio
import contextlib
import json
import math
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quartet_agent_runtime import (
    AgentContext,
    AgentDefinition,
    AgentSettings,
    CodedAgent,
    GatewayClient,
    Toolbox,
    ToolOutcome,
)
from quartet_agent_runtime._skill_run import SkillRun
from quartet_contracts import (
    ALGORITHM,
    FENCE_SCOPE,
    MOTION_SERVERS,
    Budget,
    GrantClaims,
    JournalEvent,
    Skill,
    SkillRequest,
    SkillResult,
    audience,
    granted_tools,
)
from quartet_site import ProgramRule, RobotSetup, load_robot, load_site

ROOT = Path(__file__).parents[3]
TWINS = str(ROOT / "tests" / "integration" / "simulation_with_twins.py")
SERVERS = {"nav2": "quartet_nav2", "moveit": "quartet_moveit", "perception": "quartet_perception"}
START_S = 120.0


def definition_of(skill: Skill) -> AgentDefinition | CodedAgent:
    """The definition that the agent's process serves."""
    import quartet_approach
    import quartet_executor
    import quartet_pick
    import quartet_place

    agents = {
        Skill.APPROACH: quartet_approach,
        Skill.PICK: quartet_pick,
        Skill.PLACE: quartet_place,
        Skill.EXECUTOR: quartet_executor,
    }
    return agents[skill].definition()


@dataclass
class Memory:
    """Journal, images and transcripts in lists."""

    events: list[JournalEvent] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)
    transcripts: dict[str, dict[str, Any]] = field(default_factory=dict)
    hooks: list[tuple[str, str, Callable[[], object]]] = field(default_factory=list)
    """Kind of event, tool, and what happens in the world at that moment."""

    async def append(self, *events: JournalEvent) -> None:
        for event in events:
            self.events.append(event)
            for kind, tool, happens in self.hooks:
                if event.event.kind == kind and getattr(event.event, "tool", None) == tool:
                    await asyncio.to_thread(happens)

    async def put(self, task_id: str, data: bytes, media_type: str) -> str:
        self.pictures[f"image-{len(self.pictures)}"] = data
        return f"image-{len(self.pictures) - 1}"

    async def save(self, task_id: str, loop_id: str, transcript: dict[str, Any]) -> None:
        self.transcripts[loop_id] = transcript

    def tools(self) -> list[str]:
        """Tools called, in order."""
        return [event.event.tool for event in self.events if event.event.kind == "tool_call"]

    def story(self) -> str:
        """For the message of a failed assertion."""
        lines: list[str] = []
        for event in self.events:
            entry = event.event
            if entry.kind == "tool_call":
                lines.append(f"-> {entry.tool} {json.dumps(entry.arguments)[:300]}")
            elif entry.kind == "tool_result":
                lines.append(f"   {entry.error_code} {entry.duration_s:.2f} s {entry.text[:500]}")
            elif entry.kind in {"note", "verified"}:
                lines.append(f"   {entry}")
        return "\n".join(lines)


class Stage:
    """One world with its servers; `run` is what an agent's process does with one request."""

    def __init__(self, folder: Path, world: str, seed: int = 0, files: Path | None = None) -> None:
        """`files`: folder with robot.yaml and site.yaml; None: those of the world."""
        self.folder = folder
        self.world = world
        self.files = files or ROOT / "deploy" / "sites" / world
        self.memory = Memory()
        self.coded = False
        """Whether requests ask for the agents' own code in place of their models."""
        self.urls: dict[str, str] = {}
        self.processes: list[subprocess.Popen[bytes]] = []
        self._fence = 0
        self._episode = 0
        self._key = Ed25519PrivateKey.generate()
        self._public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.robot = load_robot(self.files / "robot.yaml")
        self.site = load_site(self.files / "site.yaml")
        options = ["--world", world, "--seed", str(seed), "--port", "0", "--scoring-port", "0", "--sensors", "clean"]
        ready = self._start("simulation", TWINS, options, {})
        model = self._start("model", "quartet_scripted_model", [], {})
        self.simulation = self._ready(ready)
        environment = {
            "QUARTET_ROBOT_FILE": str(self.files / "robot.yaml"),
            "QUARTET_SITE_FILE": str(self.files / "site.yaml"),
            "QUARTET_BRIDGE_URL": self.simulation["url"],
            "QUARTET_GRANT_PUBLIC_KEY": self._public.decode(),
        }
        waiting = {
            name: self._start(name, module, [], environment | self.behind(name)) for name, module in SERVERS.items()
        }
        self.urls = {name: self._ready(path)["url"] for name, path in waiting.items()}
        self.model_url = self._ready(model)["url"]

    def behind(self, server: str) -> dict[str, str]:
        """Further environment of one of the servers."""
        return {}

    def _start(self, name: str, program: str, options: list[str], environment: dict[str, str]) -> Path:
        ready = self.folder / f"{name}.json"
        state = self.folder / f"{name}-state"
        state.mkdir()
        if name == "simulation":
            options = [*options, "--ready-file", str(ready)]
        env = {**os.environ, **environment, "QUARTET_READY_FILE": str(ready), "QUARTET_STATE_DIR": str(state)}
        env.setdefault("MUJOCO_GL", "egl")
        module = [program] if program.endswith(".py") else ["-m", program]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen([sys.executable, *module, *options], env=env, stdout=log, stderr=log)
            )
        return ready

    def _ready(self, path: Path) -> dict[str, Any]:
        end = time.monotonic() + START_S
        while not path.exists():
            if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                raise AssertionError(f"{path.stem} did not start:\n{path.with_suffix('.log').read_text()[-3000:]}")
            time.sleep(0.02)
        return json.loads(path.read_text())

    def post(self, path: str, **body: Any) -> Any:
        """A request to the scoring interface."""
        request = urllib.request.Request(self.simulation["scoring_url"] + path, json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {body}: {error.read().decode()}") from None

    def truth(self) -> Any:
        with urllib.request.urlopen(self.simulation["scoring_url"] + "/truth", timeout=60) as answer:
            return json.load(answer)

    @property
    def task(self) -> str:
        """Id of the task that this episode is."""
        return f"t{self._episode}"

    def reset(self, scenario: str | None = None, seed: int = 0, world: str | None = None) -> None:
        """A new episode, in a task of its own since perception remembers what a task has seen, and an empty journal.

        `world` in place of the stage's own (twins has its rooms and files).
        """
        self._episode += 1
        self.memory = Memory()
        self.post("/reset", world=world or self.world, seed=seed, scenario=scenario)

    def when(self, tool: str, happens: Callable[[], object], *, after: bool = False) -> None:
        """Somebody does something in the world each time just before (or after) `tool` runs."""
        self.memory.hooks.append(("tool_result" if after else "tool_call", tool, happens))

    def hide(self, name: str) -> None:
        """Take an object to where the robot never looks."""
        self.post("/place", object=name, x=0.0, y=-30.0, z=0.0)

    def put_before(self, name: str, x: float, y: float, z: float) -> None:
        """Put an object down at a point before the robot (base frame), on something of height z."""
        rx, ry, yaw = self.truth()["robot"]["pose"]
        c, s = math.cos(yaw), math.sin(yaw)
        self.post("/place", object=name, x=rx + c * x - s * y, y=ry + s * x + c * y, z=z, yaw=yaw)

    def distance(self, name: str) -> float:
        """From the base to an object on the floor plane, by ground truth [m]."""
        truth = self.truth()
        return math.dist(truth["robot"]["pose"][:2], truth["objects"][name]["position"][:2])

    async def drive(self, x: float, y: float, yaw: float) -> None:
        """Bring the robot to a pose as set-up of a test."""
        outcome = await self.call("nav2__navigate_to_pose", x=x, y=y, yaw=yaw)
        assert outcome.ok, outcome

    async def call(self, tool: str, **arguments: Any) -> ToolOutcome:
        """One tool call outside of any agent, also of a tool that none of them has."""
        async with self.toolbox(tool) as toolbox:
            return await toolbox.call(tool, arguments, _ignore)

    def definition(self, skill: Skill) -> AgentDefinition | CodedAgent:
        return definition_of(skill)

    async def install_fence(self) -> None:
        """What the orchestrator does before a new attempt: no older grant moves the robot from now on."""
        token = self.grant(Skill.PICK, f"f{time.monotonic_ns()}", [FENCE_SCOPE])
        for name in MOTION_SERVERS:
            request = urllib.request.Request(
                f"{self.urls[name]}/control/fence", b"{}", {"Authorization": f"Bearer {token}"}
            )
            with await asyncio.to_thread(urllib.request.urlopen, request, timeout=60) as answer:
                assert answer.status == 200

    def toolbox(self, *also: str) -> Toolbox:
        skills = sorted({tool for skill in Skill for tool in granted_tools(skill)}.union(also))
        servers = {name: f"{url}/mcp" for name, url in self.urls.items()}
        return Toolbox(servers, self.grant(Skill.PICK, f"s{time.monotonic_ns()}", skills), [], 60.0)

    def grant(self, skill: Skill, request_id: str, tools: list[str] | None = None) -> str:
        self._fence += 1
        claims = GrantClaims(
            sub=skill.value,
            aud=audience(self.robot.name),
            iat=int(time.time()) - 5,
            exp=int(time.time()) + 600,
            jti=request_id,
            fence=self._fence,
            tools=tools or granted_tools(skill),
            task=self.task,
        )
        return jwt.encode(claims.model_dump(), self._key, algorithm=ALGORITHM)

    def request(
        self,
        skill: Skill,
        deadline_s: float = 60.0,
        budget: Budget | None = None,
        follows_uncertain: bool = False,
        alike_before: Any = None,
        **arguments: Any,
    ) -> SkillRequest:
        request_id = f"r{time.monotonic_ns()}"
        return SkillRequest.model_validate(
            {
                "request_id": request_id,
                "task_id": self.task,
                "robot": self.robot.name,
                "skill": skill,
                "follows_uncertain": follows_uncertain,
                "alike_before": alike_before,
                "coded": self.coded,
                "created_at": time.time(),
                "deadline": time.time() + deadline_s,
                "arguments": arguments,
                "grant": self.grant(skill, request_id),
                "reply_to": "q:replies:test",
                "budget": budget or Budget(),
            }
        )

    def settings(self, **changes: Any) -> AgentSettings:
        servers = {self.robot.name: {name: f"{url}/mcp" for name, url in self.urls.items()}}
        return AgentSettings(
            servers=changes.pop("servers", servers),
            robot_file=self.files / "robot.yaml",
            site_file=self.files / "site.yaml",
            gateway_url=self.model_url,
            **changes,
        )

    @contextlib.asynccontextmanager
    async def outside(
        self, skill: Skill, model_url: str | None = None, programs: ProgramRule = "auto", approvals: Any = None
    ) -> AsyncIterator[AgentContext]:
        """What the process of `skill` hands to its requests."""
        model = GatewayClient(model_url or self.model_url, skill.value)
        try:
            yield AgentContext(
                definition=definition_of(skill),
                robots={self.robot.name: RobotSetup(self.robot, self.site, programs=programs)},
                model=model,
                journal=self.memory,
                images=self.memory,
                transcripts=self.memory,
                settings=self.settings(),
                replica="test",
                approvals=approvals,
            )
        finally:
            await model.close()

    async def run(self, skill: Skill, *, model_url: str | None = None, approvals: Any = None, **arguments: Any) -> Any:
        """One request from start to result."""
        async with self.outside(skill, model_url, approvals=approvals) as outside:
            result: SkillResult = await SkillRun(self.request(skill, **arguments), outside).run()
        return result

    async def approach(self, area: str, name: str, next_action: str = "pick", **more: Any) -> Any:
        return await self.run(Skill.APPROACH, target_area=area, object_name=name, next_action=next_action, **more)

    async def pick(self, name: str, **more: Any) -> Any:
        return await self.run(Skill.PICK, object_name=name, **more)

    async def place(self, location: str, name: str, height: float | None = 0.12, **more: Any) -> Any:
        return await self.run(Skill.PLACE, target_location=location, object_name=name, object_height_m=height, **more)

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class PublishedStage(Stage):
    """The same with the published servers, as far as the shipped mappings go, behind ours."""

    UPSTREAMS = {"nav2": ("nav2",), "moveit": ("moveit", "ros"), "perception": ("perception",)}
    published: dict[str, str] = {}

    def behind(self, server: str) -> dict[str, str]:
        self.published = self.published or self._start_published()
        urls = {name: self.published[name] for name in self.UPSTREAMS[server]}
        file = ROOT / "deploy" / "upstreams" / f"{server}.yaml"
        return {"QUARTET_UPSTREAMS_FILE": str(file), "QUARTET_UPSTREAM_URLS": json.dumps(urls)}

    def _start_published(self) -> dict[str, str]:
        script = ROOT / "tests" / "integration" / "upstream" / "published.py"
        names = [name for behind in self.UPSTREAMS.values() for name in behind]
        ready = self.folder / "published.json"
        options = ["--bridge", self.simulation["url"], "--site", str(self.files), "--ready-file", str(ready)]
        command = [sys.executable, str(script), *names, *options, "--state", str(self.folder / "published-state")]
        with ready.with_suffix(".log").open("wb") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        return self._ready(ready)


@pytest.fixture(scope="module")
def published_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The small world behind the published servers."""
    stage = PublishedStage(tmp_path_factory.mktemp("published"), "studio")
    try:
        yield stage
    finally:
        stage.close()


@pytest.fixture(scope="package")
def stage_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Iterator[Stage]]:
    """`stage_of(files)` yields the small world with the robot.yaml and site.yaml of a folder, and closes it."""

    def start(files: Path) -> Iterator[Stage]:
        stage = Stage(tmp_path_factory.mktemp("studio"), "studio", files=files)
        try:
            yield stage
        finally:
            stage.close()

    return start


@pytest.fixture(scope="package")
def studio_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The small world, started once for this folder."""
    stage = Stage(tmp_path_factory.mktemp("studio"), "studio")
    try:
        yield stage
    finally:
        stage.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Provoke every code of the agents twice: with a model at work, and with their own code in its place."""
    if metafunc.module.__name__.rpartition(".")[2].startswith("test_codes_"):
        metafunc.parametrize("coded", [False, pytest.param(True, marks=pytest.mark.long)], ids=["model", "code"])


@pytest.fixture
def coded() -> bool:
    """Whether the agents' own code does the work of their models."""
    return False


@pytest.fixture
def studio(studio_stage: Stage, coded: bool) -> Stage:
    """The small world in its first episode, faults off."""
    studio_stage.reset()
    studio_stage.post("/faults", kinds=[])
    studio_stage.coded = coded
    return studio_stage


async def _ignore(_fraction: float | None, _message: str) -> None:
    return None
