"""Every tool that moves the robot tells how far it is, and leaves the robot standing when its caller gives up."""

import asyncio
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import quartet_moveit
import quartet_nav2
import quartet_ros
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
    Move(quartet_moveit, "close_gripper", progress=False),
    Move(quartet_moveit, "open_gripper", before=(("close_gripper", {}),), progress=False),
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


def apart(a: list[float], b: list[float]) -> float:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


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
    for tool, arguments in move.before:
        assert (await hands.call(tool, **arguments))["ok"]
    hands.progress.clear()
    start = posture(realtime)
    call = asyncio.create_task(hands.call(move.tool, **move.arguments))
    await until(lambda: call.done() or apart(posture(realtime), start) > 0.02, 30)
    if move.progress:
        await until(lambda: call.done() or hands.progress, 30)
    assert not call.done(), call.result()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: not hands.server.motions.running, 30)
    assert await hands.server.robot.wait_standstill(timeout_s=10)
    rest, then = posture(realtime), realtime.truth()["time"]
    await until(lambda: realtime.truth()["time"] > then + SETTLED_S, 30)
    assert apart(posture(realtime), rest) < 0.01
    if move.progress:
        done, total, text = hands.progress[-1]
        assert math.isfinite(done)
        assert total is None or done <= total + 1e-6
        assert text
    assert (await hands.call(*FREE_READ[move.server]))["ok"], "the next call works"


FREE_READ = {
    quartet_nav2: ("get_robot_pose",),
    quartet_moveit: ("get_current_pose",),
    quartet_ros: ("ping_robot",),
}
