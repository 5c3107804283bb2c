"""Every tool that moves the robot tells how far it is, and leaves it standing when its caller gives up or the bridge
dies."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
from quartet_robot_link import Robot
from quartet_site import RosWrites, load_site

TWIST = "geometry_msgs/msg/Twist"
SPIN = "nav2_msgs/action/Spin"
STUDIO = Path(__file__).parents[3] / "deploy" / "sites" / "studio"
FREE = {"position": [0.6, 0.0, 0.8], "orientation": [1, 0, 0, 0]}
SETTLED_S = 0.4
"""World time in which a robot that still moved would be seen to."""


@dataclass(frozen=True)
class Move:
    """A call that lasts for seconds. `before` are calls that come first."""

    server: ModuleType
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    before: tuple[tuple[str, dict[str, Any]], ...] = ()
    progress: bool = True
    """UndockRobot has no feedback, and fingers are shut before the first report."""
    brief: bool = False
    """It may be over before a busy machine sees the robot move: that its goal is on the way counts."""


MOVES = [
    Move(quartet_nav2, "navigate_to_pose", {"x": 0.3, "y": -1.2, "yaw": 3.0}),
    Move(quartet_nav2, "follow_waypoints", {"waypoints": [{"x": 0.3, "y": -1.2}, {"x": 0.0, "y": 1.0}]}),
    Move(quartet_nav2, "spin_robot", {"angle": 6.0}),
    Move(quartet_nav2, "drive_on_heading", {"distance": 1.0, "speed": 0.1}),
    Move(quartet_nav2, "backup_robot", {"distance": 1.0, "speed": 0.1}),
    Move(
        quartet_nav2, "approach_target", {"target_x_base": 1.0, "target_y_base": 0.0, "standoff_m": 0.2, "speed": 0.1}
    ),
    Move(quartet_nav2, "dock_robot", {"x": 0.3, "y": -1.0, "yaw": -1.5708}),
    Move(quartet_nav2, "undock_robot", progress=False),
    Move(quartet_moveit, "plan_and_execute", {"target": FREE}),
    Move(
        quartet_moveit,
        "plan_cartesian_path",
        {"position": [0.6, 0.0, 0.45]},
        before=(("plan_and_execute", {"target": FREE}),),
    ),
    Move(quartet_moveit, "execute_plan", before=(("plan_to_pose", FREE),)),
    Move(quartet_moveit, "close_gripper", progress=False, brief=True),
    Move(quartet_moveit, "open_gripper", before=(("close_gripper", {}),), progress=False, brief=True),
    Move(
        quartet_ros,
        "publish_for_durations",
        {"topic": "/cmd_vel", "msg_type": TWIST, "messages": [{"angular": {"z": 0.4}}], "durations": [30.0]},
    ),
    Move(quartet_ros, "send_action_goal", {"action_name": "/spin", "action_type": SPIN, "goal": {"target_yaw": 6.0}}),
]


@pytest.fixture
def site_file():
    writes = {
        "topics": [{"name": "/cmd_vel", "type": TWIST, "max_linear_m_s": 0.3, "max_angular_rad_s": 0.5}],
        "actions": [{"name": "/spin", "type": SPIN, "max_duration_s": 60.0}],
    }
    return load_site(STUDIO / "site.yaml").model_copy(update={"ros_writes": RosWrites.model_validate(writes)})


def posture(sim) -> list[float]:
    """Where base, arm and fingers are, by ground truth."""
    robot = sim.truth()["robot"]
    return [*robot["pose"], *robot["arm"], robot["opening"]]


def standing(sim) -> bool:
    """Whether the robot stays as it is for a while of its own time."""
    rest, then = posture(sim), sim.truth()["time"]
    while sim.truth()["time"] < then + SETTLED_S:
        time.sleep(0.05)
    return apart(posture(sim), rest) < 0.01


def apart(a: list[float], b: list[float]) -> float:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


class Cable:
    """A way to a bridge that can be cut: what goes through ends at once, nothing new comes in until it is mended."""

    def __init__(self, url: str) -> None:
        self._port, self._whole = int(url.rpartition(":")[2].rstrip("/")), True
        self._ends: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        self._whole = False
        for end in self._ends:
            end.transport.abort()

    def mend(self) -> None:
        self._whole = True

    async def close(self) -> None:
        self.cut()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._ends += [writer, far_writer]
        await asyncio.gather(pour(reader, far_writer), pour(far_reader, writer))


async def pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
    target.close()
    with suppress(ConnectionError):
        await target.wait_closed()


@pytest.fixture
async def cable(realtime) -> AsyncIterator[Cable]:
    cable = Cable(realtime.url)
    await cable.open()
    yield cable
    await cable.close()


async def prepare(hands, move: Move) -> None:
    for tool, arguments in move.before:
        answer = await hands.call(tool, **arguments)
        assert answer["ok"], answer


async def started(hands, sim, move: Move) -> "asyncio.Task[dict[str, Any]]":
    """The call, once the robot moves."""
    start = await asyncio.to_thread(posture, sim)
    call = asyncio.create_task(hands.call(move.tool, **move.arguments))

    async def moves() -> bool:
        if move.brief:
            return any(lease.goal for lease in hands.server.leases.running)
        return apart(await asyncio.to_thread(posture, sim), start) > 0.02

    async with asyncio.timeout(60):
        while not call.done() and not await moves():  # noqa: ASYNC110
            await asyncio.sleep(0 if move.brief else 0.02)
    assert not call.done(), call.result()
    return call


async def test_the_list_is_whole(open_server):
    """Every destructive tool is here, or moves nothing."""
    still = {
        "clear_costmaps", "nav2_lifecycle", "clear_planning_scene", "add_collision_box", "add_collision_sphere",
        "remove_collision_object", "attach_object", "detach_object", "plan_to_pose", "plan_to_joint_state",
        "plan_to_named_state", "publish_once", "call_service", "set_parameter", "delete_parameter",
    }  # fmt: skip
    moving = {move.tool for move in MOVES}
    for package in (quartet_nav2, quartet_moveit, quartet_ros):
        hands = await open_server(package)
        found = {tool.name for tool in await hands.client.list_tools() if tool.annotations.destructive_hint}
        assert found <= moving | still, found - moving - still
        moving -= found
    assert not moving


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.tool)
async def test_a_caller_that_gives_up_leaves_the_robot_standing(realtime, open_server, until, move):
    hands = await open_server(move.server)
    await prepare(hands, move)
    hands.progress.clear()
    call = await started(hands, realtime, move)
    if move.progress:
        await until(lambda: call.done() or hands.progress, 30)
    assert not call.done(), call.result()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not hands.server.leases.running, 30)
    assert await hands.server.robot.wait_standstill(timeout_s=10)
    assert await asyncio.to_thread(standing, realtime)
    if move.progress:
        done, total, text = hands.progress[-1]
        assert math.isfinite(done)
        assert total is None or done <= total + 1e-6
        assert text
    assert (await hands.call(*FREE_READ[move.server]))["ok"], "the next call works"


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.tool)
async def test_a_bridge_that_dies_on_the_way_leaves_the_robot_standing(realtime, cable, open_over, robot_file, move):
    robot = await Robot.open(robot_file, url=cable.url, wait_s=10)
    try:
        hands = await open_over(robot, move.server)
        assert (await hands.call(*FREE_READ[move.server]))["ok"]
        await prepare(hands, move)
        call = await started(hands, realtime, move)
        cable.cut()
        answer = await asyncio.wait_for(call, 60)
        assert answer["error_code"] == "BRIDGE_UNAVAILABLE", answer
        assert "rosbridge" in answer["message"]
        assert not hands.server.leases.running
        cable.mend()
        assert await robot.link.wait_connected(60)
        # What went on without its sender is ended by the link that comes back; a velocity ends by itself.
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(standing, realtime):
                pass
        assert await asyncio.to_thread(standing, realtime), "nothing was sent again"
        answer = await hands.call(*FREE_READ[move.server])
        assert answer["ok"], answer
    finally:
        await robot.close()


FREE_READ = {
    quartet_nav2: ("get_robot_pose",),
    quartet_moveit: ("get_current_pose",),
    quartet_ros: ("ping_robot",),
}
