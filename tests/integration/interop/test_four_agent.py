"""Tool calls that the prompts of the published four-agent client prescribe, through `quartet compat`.

Each answer is read as that client reads it: text blocks joined, then JSON. It has no credentials.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from quartet_cli.fences import newest_fence
from quartet_deployment import Stack, StackOptions

RULES = Path(__file__).parents[3] / "deploy" / "compat" / "four-agent.yaml"
SHORT = {f"{name}-mcp-server": name for name in ("ros", "moveit", "nav2", "perception")}
LOOK_FORWARD = {"joint_positions": [-0.0001, -0.2429, -2.8291, -0.7983, 1.5622, 0.0]}
DOWN = [1, 0, 0, 0]
CAN, TABLE = "red coke can", "wooden table"
STANDOFF_M = {"pick": 0.85, "container_place": 0.65, "surface_place": 0.55}
BEFORE_TABLE = (0.0, 0.05, math.pi / 2)
START_S = 120

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    options = StackOptions(
        state_dir=tmp_path_factory.mktemp("four-agent") / "stack",
        world="studio",
        sensors="clean",
        use_dotenv=False,
        without=frozenset({"approach", "pick", "place", "executor"}),
        start_timeout_s=250.0,
    )
    with Stack(options) as stack:
        yield stack


def command(stack: Stack, rules: Path) -> tuple[list[str], dict[str, str]]:
    key = stack.secrets.path("orchestrator", "grant_private_key")
    given = [sys.executable, "-m", "quartet_cli", "compat", str(rules), "--robot", stack.robot, "--key", str(key)]
    return given, os.environ | {"QUARTET_SERVERS": json.dumps({stack.robot: stack.servers()})}


@pytest.fixture
def config(stack: Stack, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The .mcp.json that the running command has printed."""
    printed = tmp_path / "mcp.json"
    given, environment = command(stack, RULES)
    with printed.open("wb") as out:
        process = subprocess.Popen(given, env=environment, stdout=out)
    try:
        deadline = time.monotonic() + START_S
        while not (text := printed.read_text()).rstrip().endswith("\n}"):
            assert process.poll() is None
            assert time.monotonic() < deadline, "it did not come up"
            time.sleep(0.05)
        yield json.loads(text)
    finally:
        process.terminate()
        assert process.wait(START_S) == 0


@dataclass
class World:
    """Scoring interface of the simulation."""

    url: str

    def post(self, path: str, **body: Any) -> None:
        with urllib.request.urlopen(self.url + path, json.dumps(body).encode(), timeout=60) as answer:
            assert answer.status == 200

    def truth(self) -> dict[str, Any]:
        with urllib.request.urlopen(self.url + "/truth", timeout=60) as answer:
            return json.load(answer)

    def reset(self, scenario: str | None = None) -> None:
        self.post("/reset", world="studio", seed=0, scenario=scenario)

    def put_on_table(self, name: str) -> None:
        self.post("/place", object=name, x=0.0, y=1.45, z=0.5, yaw=0.0)


@pytest.fixture
def world(stack: Stack) -> World:
    return World(stack.scoring_url)


class FourAgentClient:
    """Reads an .mcp.json, connects without credentials and gives a model what the published client gives it."""

    def __init__(self, sessions: dict[str, ClientSession]) -> None:
        self._sessions = sessions

    async def text(self, tool: str, **arguments: Any) -> str:
        server, _, name = tool.partition("__")
        result = await self._sessions[server].call_tool(name, arguments)
        return "\n".join(block.text if isinstance(block, TextContent) else str(block) for block in result.content)

    async def read(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return json.loads(await self.text(tool, **arguments))

    async def schemas(self) -> dict[str, dict[str, Any]]:
        return {
            f"{server}__{tool.name}": tool.input_schema
            for server, session in self._sessions.items()
            for tool in (await session.list_tools()).tools
        }

    async def move(self, target: dict[str, Any], target_type: str = "pose") -> dict[str, Any]:
        return await self.read("moveit__plan_and_execute", group="arm", target_type=target_type, target=target)

    async def to(self, position: list[float], orientation: Any, *, higher_m: float = 0.0) -> None:
        x, y, z = position
        target = {"position": [x, y, z + higher_m], "orientation": orientation, "frame_id": "base_footprint"}
        moved = await self.move(target)
        assert moved["ok"], moved

    async def look_forward(self) -> None:
        moved = await self.move(LOOK_FORWARD, "joint_state")
        assert moved["ok"], moved

    async def clear_octomap(self) -> None:
        cleared = await self.read(
            "ros__call_service", service_name="/clear_octomap", service_type="std_srvs/srv/Empty", request={}
        )
        assert cleared["ok"], cleared

    async def gripper(self, position: float) -> dict[str, Any]:
        return await self.read(
            "ros__send_action_goal",
            action_name="/robotiq_gripper_controller/gripper_cmd",
            action_type="control_msgs/action/GripperCommand",
            goal={"command": {"position": position, "max_effort": 50.0}},
        )

    async def status(self, wait_s: float) -> str:
        said = await self.read(
            "ros__subscribe_once", topic="/gripper/status", msg_type="std_msgs/msg/String", timeout=wait_s
        )
        return said["data"]

    async def segment(self, prompt: str, camera: str, **more: Any) -> str:
        return (await self.read("perception__segment_objects", prompt=prompt, camera=camera, **more))["status"]


@contextlib.asynccontextmanager
async def connected(config: dict[str, Any]) -> AsyncIterator[FourAgentClient]:
    async with contextlib.AsyncExitStack() as stack:
        sessions: dict[str, ClientSession] = {}
        for server, entry in config["mcpServers"].items():
            http = await stack.enter_async_context(httpx2.AsyncClient(timeout=120, trust_env=False))
            read, write = await stack.enter_async_context(streamable_http_client(entry["url"], http_client=http))
            session = sessions[SHORT[server]] = await stack.enter_async_context(ClientSession(read, write))
            await session.initialize()
        yield FourAgentClient(sessions)


async def approach(client: FourAgentClient, name: str, entry: tuple[float, float, float], standoff_m: float) -> None:
    """--test-approach: tuck, drive, look, then its code that segments and drives in."""
    moved = await client.move({"state_name": "look_forward"}, "named_state")
    assert moved["ok"], moved
    x, y, yaw = entry
    assert (await client.read("nav2__navigate_to_pose", x=x, y=y, yaw=yaw))["ok"]
    pose = await client.read("nav2__get_robot_pose")
    there = (pose["position"]["x"], pose["position"]["y"], pose["orientation"]["yaw"])
    assert there == pytest.approx(entry, abs=0.15)
    assert (await client.text("perception__look", camera="both")).count("image/jpeg") == 2
    cameras = ("front", "arm") if standoff_m <= 0.55 else ("arm", "front")
    seen = [camera for camera in cameras if await client.segment(name, camera, timeout=20) == "SUCCESS"]
    assert seen
    grasp = await client.read("perception__get_topdown_grasp_pose", object_name=name)
    at, box = grasp["centroid_base_frame"], grasp["bbox_base_frame"]
    x, y = float(at["x"]), float(at["y"])
    if standoff_m <= 0.55:
        x, y = float(box["x_min"]), (float(box["y_min"]) + float(box["y_max"])) / 2
    said = await client.text("nav2__approach_target", target_x_base=x, target_y_base=y, standoff_m=standoff_m)
    assert "error" not in said.lower(), said


async def pick(client: FourAgentClient, name: str) -> float:
    """--test-pick: return the height that it would report."""
    assert await client.status(3.0) == "detached"
    await client.look_forward()
    await client.clear_octomap()
    if await client.segment(name, "arm") != "SUCCESS":
        assert await client.segment(name, "front") == "SUCCESS"
    found = await client.read("perception__get_topdown_grasp_pose", object_name=name)
    position, turn = found["grasp_pose"]["position"], found["grasp_pose"]["orientation"]
    orientation = [turn["x"], turn["y"], turn["z"], turn["w"]]
    assert position[0] <= 1.10
    assert found["centroid_base_frame"]["z"] < 0.6
    opened = await client.gripper(0.0)
    assert opened["ok"], opened
    await client.to(position, orientation, higher_m=0.20)
    await client.to(position, orientation)
    await client.gripper(0.7)
    assert await client.status(8.0) == f"attached:{name}"
    await client.to(position, orientation, higher_m=0.20)
    await client.look_forward()
    return found["bounding_box"]["size"]["z"]


async def place(client: FourAgentClient, target: str, mode: dict[str, Any]) -> None:
    """--test-place."""
    await client.look_forward()
    await client.clear_octomap()
    assert await client.segment(target, "front") == "SUCCESS"
    found = await client.read(
        "perception__get_topdown_placing_pose",
        object_name=target,
        x_bias_m=0.0,
        pointcloud_topic="/front/segmented_pointcloud",
        **mode,
    )
    assert math.hypot(found["cx"], found["cy"]) <= 0.90, found
    pose = found["place_pose"]
    await client.to(pose["position"], DOWN, higher_m=0.15)
    moved = await client.move(pose)
    assert moved["ok"], moved
    await client.text(
        "ros__publish_once",
        topic="/gripper/force_detach_str",
        msg_type="std_msgs/msg/String",
        msg={"data": "release"},
    )
    opened = await client.gripper(0.0)
    assert opened["ok"], opened
    await client.to(pose["position"], DOWN, higher_m=0.15)
    await client.text("perception__look", camera="arm")
    await client.look_forward()


async def test_approach_stops_at_its_standoff_and_pick_lifts_the_can(config, world):
    world.reset()
    world.put_on_table(CAN)
    async with connected(config) as client:
        await approach(client, CAN, BEFORE_TABLE, STANDOFF_M["pick"])
        truth = world.truth()
        can = truth["objects"][CAN]["position"]
        assert math.dist(truth["robot"]["pose"][:2], can[:2]) == pytest.approx(STANDOFF_M["pick"], abs=0.12)
        height = await pick(client, CAN)
        truth = world.truth()
        assert truth["held"] == CAN
        assert truth["objects"][CAN]["position"][2] > can[2] + 0.1
        assert height == pytest.approx(0.122, abs=0.02)
        assert await client.status(3.0) == f"attached:{CAN}"


@pytest.mark.parametrize(
    ("target", "entry", "next_action", "mode"),
    [
        ("bin", (-1.0, 0.4, 2.1), "container_place", {"top_clearance_m": 0.35, "object_height_m": 0}),
        (
            TABLE,
            BEFORE_TABLE,
            "surface_place",
            {"top_clearance_m": 0.05, "object_height_m": 0.122, "near_edge_inset_m": 0.15},
        ),
    ],
    ids=["container", "surface"],
)
async def test_place_leaves_the_can_at_its_target(config, world, target, entry, next_action, mode):
    world.reset(f"in_gripper:{CAN}")
    async with connected(config) as client:
        assert await client.status(3.0) == f"attached:{CAN}"
        await approach(client, target, entry, STANDOFF_M[next_action])
        await place(client, target, mode)
        truth = world.truth()
        assert truth["held"] is None
        can = truth["objects"][CAN]
        assert target in {can["on"], can["in"]}, can
        assert await client.status(3.0) == "detached"


async def test_what_the_client_says_wrongly_is_refused_in_words_and_nothing_moves(config, world):
    world.reset("in_gripper:red cup")
    before = world.truth()["robot"]
    async with connected(config) as client:
        assert await client.status(3.0) == "attached:red cup", "its prompt compares the name"
        schemas = await client.schemas()
        assert "$ref" not in json.dumps(schemas), "a model gets each schema whole"
        assert schemas["moveit__plan_and_execute"]["properties"].keys() == {"group", "target", "target_type"}
        assert schemas["nav2__navigate_to_pose"]["properties"]["x"]["type"] == "number"
        refused = await client.read(
            "moveit__plan_and_execute", group="left_arm", target_type="named_state", target={"state_name": "look_down"}
        )
        assert refused["error_code"] == "INVALID_PARAMETERS"
        assert "'left_arm' is none of arm" in refused["message"]
        refused = await client.read("moveit__plan_and_execute", target={"state_name": "look_down"}, speed=1)
        assert "unknown argument 'speed'; valid: group, target, target_type" in refused["message"]
        refused = await client.read("ros__publish_once", topic="/cmd_vel", msg_type="geometry_msgs/msg/Twist", msg={})
        assert refused["error_code"] == "DENIED", "the site's policy holds"
        assert await client.segment("unicorn", "front") == "NO_OBJECTS_FOUND"
        floor = {"position": {"x": 0.40, "y": 0.0, "z": 0.3}, "orientation": DOWN, "frame_id": "base_footprint"}
        assert (await client.move(floor))["error_code"] == "GOAL_IN_COLLISION", "its floor place: in the robot's body"
        missing = await client.read("perception__get_topdown_grasp_pose", object_name=TABLE)
        assert "centroid_base_frame" not in missing, "it is not in view"
        assert world.truth()["robot"] == before


async def test_a_newer_grant_takes_the_robot_over(config, stack, world):
    world.reset()
    async with connected(config) as client:
        assert (await client.read("nav2__spin_robot", angle=0.2))["ok"]
        url = stack.servers()["nav2"]
        newer = newest_fence(stack.robot, ["nav2__spin_robot"], stack.servers()) + 1
        headers = {"Authorization": f"Bearer {stack.grant(['nav2__cancel_navigation'], fence=newer)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            streamable_http_client(url, http_client=http) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            await session.call_tool("cancel_navigation", {})
        assert (await client.read("nav2__spin_robot", angle=0.2))["error_code"] == "FENCED"


async def test_only_programs_of_this_machine_may_connect(config):
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accepts = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(trust_env=False) as http:
        for entry in config["mcpServers"].values():
            assert httpx2.URL(entry["url"]).host == "127.0.0.1"
            for headers in ({"Host": "robot.example.org"}, {"Host": "robot"}, {"Origin": "http://example.org"}):
                refused = await http.post(entry["url"], json=hello, headers=accepts | headers)
                assert refused.status_code == 403, headers
                assert "is refused" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("nav2__spin_robot", "nav2__whirl_robot", "no tool 'whirl_robot'; it has: nav2__approach_target"),
        ("{effort: goal", "{force: goal", "moveit__open_gripper has no argument 'force'; valid: position, effort"),
    ],
)
def test_rules_that_do_not_fit_our_servers_are_refused_at_start(stack, tmp_path, before, after, said):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.read_text().replace(before, after))
    given, environment = command(stack, rules)
    ended = subprocess.run(given, env=environment, capture_output=True, text=True, timeout=START_S)
    assert ended.returncode != 0
    assert said in ended.stderr
    assert ended.stdout == ""
