"""Who may move a robot, and how it is stopped: against a scripted bridge that answers only what a test wants."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

import quartet_moveit
from quartet_contracts.tools import ToolResult
from quartet_robot_link import CallTimeoutError, Robot
from quartet_safety.motion import CanceledError, FencedError, LeaseOwner, MotionLeases
from quartet_site.policy import PolicyFile
from quartet_tool_server import ServerSpec, ToolServer, lease_terms, make_server, run_goal
from support.grants import grant_claims

OWNER = LeaseOwner(fence=1, request_id="r")
SPIN = ("/spin", "nav2_msgs/action/Spin", {})


def goals(peer) -> list[str]:
    return [operation["action"] for operation in peer.received if operation["op"] == "send_action_goal"]


async def test_a_call_that_was_let_in_before_a_newer_fence_does_not_begin(far, peer):
    leases = MotionLeases(lease_terms("nav2", far), lambda: OWNER, newest=lambda: 2)
    with pytest.raises(FencedError, match="older than 2"):
        async with leases.acquire("base", "spin_robot"):
            pass
    assert leases.running == []
    assert goals(peer) == []


async def test_a_newer_fence_ends_a_tool_between_its_goals(far, peer):
    newest = 1
    leases = MotionLeases(lease_terms("nav2", far), lambda: OWNER, newest=lambda: newest)
    async with leases.acquire("base", "approach_target") as lease:
        first = asyncio.create_task(run_goal(lease, far, *SPIN, limit_s=60))
        goal = await peer.wait_for(op="send_action_goal")
        await peer.send({"op": "action_result", "id": goal["id"], "status": 4, "result": True, "values": {}})
        await first
        newest = 2
        with pytest.raises(FencedError, match="fence 1 of this call of approach_target"):
            await run_goal(lease, far, *SPIN, limit_s=60)
    assert goals(peer) == ["/spin"]


@pytest.mark.parametrize("tool", ["look", "drive", "unknown"])
async def test_neither_a_read_nor_a_refused_call_takes_the_robot_over(far, site_file, tmp_path: Path, tool):
    """A grant with a newer fence takes over by a call that passes and does more than read, and by no other."""

    def register(server: ToolServer) -> None:
        @server.tool(read_only=True)
        async def look() -> ToolResult:
            """Look."""
            return ToolResult()

        @server.tool(moves="base")
        async def drive() -> ToolResult:
            """Drive."""
            return ToolResult()

    claims = grant_claims("nav2__look", "nav2__drive", "nav2__unknown", fence=5)
    policy = PolicyFile.model_validate({"agents": {"test": ["nav2__look"]}})
    spec = ServerSpec("nav2", register)
    servers = [make_server(spec, far, site_file, tmp_path / str(i), None, caller=lambda: claims, policy=given)
               for i, given in enumerate((policy, None))]  # fmt: skip
    for server in servers:
        async with server.leases.acquire("base", "older") as older, Client(server.mcp) as client:
            result = await client.call_tool(tool, {}, raise_on_error=False)
            takes_over = tool == "drive" and server is servers[1]
            assert (server.safety.fences.highest, older.canceled.is_set()) == ((5, True) if takes_over else (0, False))
            assert result.structured_content is None or result.structured_content["ok"] == (
                tool == "look" or takes_over
            )


async def test_a_motion_that_is_canceled_before_its_goal_was_sent_sends_none(far, peer):
    motion = far.start_motion(*SPIN, limit_s=60)
    motion.cancel("stopped")
    outcome = await motion.outcome()
    assert (outcome.status.name, outcome.canceled_because) == ("CANCELED", "stopped")
    await far.link.call_service("/anything")
    assert goals(peer) == []


@pytest.mark.parametrize(("status", "canceled"), [(5, ["drive"]), (4, []), (6, [])])
async def test_a_cancel_names_only_what_it_ended(far, peer, status, canceled):
    """A goal may succeed or fail by itself while its cancel is on the way."""
    ordinary, running = peer.answer, []

    def answer(operation):
        if operation["op"] == "send_action_goal":
            running.append(operation["id"])
        replies = ordinary(operation)
        if operation.get("service") == "/spin/_action/cancel_goal" and running:
            ended = {"op": "action_result", "id": running.pop(), "action": "/spin", "values": {}, "status": status}
            replies = [*replies, ended | {"result": True}]
        return replies

    peer.answer = answer
    leases = MotionLeases(lease_terms("nav2", far), lambda: OWNER, newest=lambda: 1)

    async def drive():
        async with leases.acquire("base", "drive") as lease:
            await run_goal(lease, far, *SPIN, limit_s=60)

    call = asyncio.create_task(drive())
    async with asyncio.timeout(20):
        await peer.wait_for(op="send_action_goal")
        assert await leases.cancel("a test") == canceled
        await asyncio.wait([call])


async def test_a_stop_does_not_wait_for_what_moves_nothing(far, peer):
    peer.answer = lambda operation: None
    leases = MotionLeases(lease_terms("nav2", far), lambda: OWNER, newest=lambda: 1)
    async with leases.acquire("arm", "plan_and_execute") as lease:
        planning = asyncio.create_task(lease.unless_canceled(far.link.call_service("/compute_ik", timeout_s=600)))
        await peer.wait_for(service="/compute_ik")
        lease.cancel("stopped")
        with pytest.raises(CanceledError, match="stopped"):
            await planning


async def test_a_stop_reaches_the_arm_while_it_plans(far, peer, open_over, monkeypatch):
    monkeypatch.setattr("quartet_moveit.inverse.IK_TIMEOUT_S", 600.0)
    # The peer has no planning scene that could be changed.
    far.file = far.file.model_copy(update={"gripper": far.file.gripper.model_copy(update={"links": []})})
    moveit = await open_over(far, quartet_moveit)
    ordinary = peer.answer
    peer.answer = lambda operation: None if operation.get("service") == "/compute_ik" else ordinary(operation)
    target = {"position": [0.6, 0.0, 0.8], "orientation": [1, 0, 0, 0]}
    call = asyncio.create_task(moveit.call("plan_and_execute", target=target))
    await peer.wait_for(service="/compute_ik")
    assert await moveit.server.safety.stop("a person pressed stop") == ["plan_and_execute"]
    assert (await call)["error_code"] == "CANCELED"
    assert goals(peer) == []


async def test_goals_of_an_earlier_process_end_as_soon_as_there_is_a_bridge(
    peer, robot_file, site_file, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr("quartet_tool_server._safety_controller.CONNECT_WAIT_S", 0.01)
    await peer.stop()
    robot = await Robot.open(robot_file, url=peer.url)
    spec = ServerSpec("nav2", lambda _: None, actions=lambda *_: ("/spin",))
    server = make_server(spec, robot, site_file, tmp_path, None)
    grant = grant_claims(jti="r", fence=3)
    try:
        assert await server.safety.install_fence(3) == 3
        await peer.start()
        assert await robot.link.wait_connected(60)
        await server.safety.admit(grant)
        assert await peer.wait_for(service="/spin/_action/cancel_goal", args={})
        await server.safety.admit(grant)
        services = [operation["service"] for operation in peer.received if operation["op"] == "call_service"]
        assert services.count("/spin/_action/cancel_goal") == 1, "once is enough"
    finally:
        await robot.close()


@pytest.mark.parametrize(("speed", "rests"), [(0.0, True), (0.5, False)])
async def test_only_the_arms_own_joints_tell_whether_it_rests(far, peer, speed, rests):
    """Drivers of gripper and wheels may publish on the same topic."""
    asked = asyncio.create_task(far.wait_arm_at_rest(timeout_s=0.5))
    await peer.wait_for(op="subscribe", topic="/joint_states")
    await states(peer, ["finger"], [0.0])
    await states(peer, far.file.arm.joints, [speed] * 6)
    assert await asked is rests


async def test_an_arm_without_speeds_is_not_known_to_rest(far, peer):
    asked = asyncio.create_task(far.wait_arm_at_rest(timeout_s=0.2))
    await peer.wait_for(op="subscribe", topic="/joint_states")
    await states(peer, far.file.arm.joints, [])
    with pytest.raises(CallTimeoutError, match="too seldom"):
        await asked


async def states(peer, names: list[str], velocities: list[float]) -> None:
    message: dict[str, Any] = {"name": names, "position": [math.pi] * len(names), "velocity": velocities}
    await peer.send({"op": "publish", "topic": "/joint_states", "msg": message})
