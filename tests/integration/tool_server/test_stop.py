"""A server is stopped, stays stopped, and is let go by a person; a server that has started anew moves nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from quartet_contracts import STOP_ISSUER, GrantClaims
from quartet_safety.motion import CanceledError, FencedError, StoppedError
from quartet_tool_server import GrantVerifier, ServerSpec, ToolServer, current_grant, make_server, run_goal
from quartet_tool_server.errors import failure
from support.grants import grant_claims

SPIN = ("/spin", "nav2_msgs/action/Spin", {})
Make = Callable[[], ToolServer]


def grant(request: str = "request-1", fence: int = 1) -> GrantClaims:
    return grant_claims(jti=request, fence=fence)


@pytest.fixture(scope="module")
def keys(make_keys):
    return make_keys()


@pytest.fixture(scope="module")
def stop_keys(make_keys):
    return make_keys()


@pytest.fixture
def start(far, site_file, tmp_path, keys, stop_keys) -> Make:
    """`start()`: the nav2 server, anew with the state that the one before has left."""
    verifier = GrantVerifier("summit", [keys.private.public_key()], [stop_keys.private.public_key()])
    return lambda: make_server(ServerSpec("nav2", lambda _: None), far, site_file, tmp_path, verifier)


async def begin(server: ToolServer, claims: GrantClaims, channel: str = "base") -> None:
    """A tool call up to the point where it would move the robot."""
    current_grant.set(claims)
    async with server.leases.acquire(channel, "spin_robot") as lease:
        await lease.ready()


async def post(server: ToolServer, path: str, token: str | None, body: Any = None) -> tuple[int, dict[str, Any]]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    transport = httpx2.ASGITransport(app=server.app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://server") as client:
        answer = await client.post(path, json=body, headers=headers)
        return answer.status_code, answer.json()


async def test_a_latched_server_refuses_every_motion_also_after_a_restart_until_it_is_reset(start):
    server = start()
    await server.safety.stop("smoke in the kitchen", latch=True)
    for channel in ("base", "arm", "gripper", "topic /cmd_vel"):
        with pytest.raises(StoppedError, match=r"smoke in the kitchen.*quartet reset.*do not try again") as refused:
            await begin(server, grant(), channel)
        assert failure(refused.value)["error_code"] == "STOPPED"

    again = start()
    await again.safety.install_fence(5)
    with pytest.raises(StoppedError, match="smoke in the kitchen"):
        await begin(again, grant(fence=5))
    again.measure()
    stopped = again.metrics.registry.get_sample_value("quartet_server_stopped", {"robot": "summit", "server": "nav2"})
    assert stopped == 1
    assert await again.safety.reset() is True
    await begin(again, grant(fence=5))
    assert await again.safety.reset() is False

    third = start()
    await third.safety.install_fence(6)
    await begin(third, grant(fence=6))


async def test_stops_are_counted_also_one_that_was_reset_and_across_restarts(start):
    """Whoever looks only now and then learns by the count that there was a stop in between."""
    server = start()
    assert server.safety.stops == 0
    await server.safety.stop("canceled")
    assert server.safety.stops == 0, "the end of one task is no stop"
    await server.safety.stop("pressed", latch=True)
    assert (await server.safety.reset(), server.safety.stops) == (True, 1)
    again = start()
    assert again.safety.stops == 1
    await again.safety.stop("pressed again", latch=True)
    assert start().safety.stops == 2


async def test_what_was_stopped_does_not_go_on_by_itself_after_the_reset(start):
    """The agent's model was thinking while the stop came and went, and the orchestrator has not heard of it yet."""
    server = start()
    await server.safety.admit(grant(fence=3))
    current_grant.set(grant(fence=3))
    async with server.leases.acquire("base", "approach_target") as between_goals:
        stopping = asyncio.create_task(server.safety.stop("pressed", latch=True))
        await between_goals.canceled.wait()
        await server.safety.reset()
        with pytest.raises(FencedError, match="this server was stopped"):
            await between_goals.ready()
    await stopping
    with pytest.raises(FencedError, match=r"above 3.*quartet grant --fence 4"):
        await begin(server, grant(fence=3))
    await server.safety.admit(grant(fence=4))
    await begin(server, grant(fence=4))


async def test_a_stop_without_latch_lets_the_next_call_move(start):
    server = start()
    await server.safety.stop("canceled")
    await begin(server, grant())


async def test_a_latch_ends_a_tool_between_its_goals(start, peer):
    server = start()
    current_grant.set(grant())
    async with server.leases.acquire("base", "approach_target") as lease:
        await lease.ready()
        stopping = asyncio.create_task(server.safety.stop("pressed", latch=True))
        await lease.canceled.wait()
        with pytest.raises(StoppedError):
            await run_goal(lease, server.robot, *SPIN, limit_s=60)
    assert await stopping == ["approach_target"]
    assert not [operation for operation in peer.received if operation["op"] == "send_action_goal"]


async def test_a_motion_that_a_latch_ends_says_so(start, peer):
    server = start()
    current_grant.set(grant())
    async with server.leases.acquire("base", "spin_robot") as lease:
        running = asyncio.create_task(run_goal(lease, server.robot, *SPIN, limit_s=60))
        goal = await peer.wait_for(op="send_action_goal")
        stopping = asyncio.create_task(server.safety.stop("pressed", latch=True))
        await peer.wait_for(service="/spin/_action/cancel_goal", args={})
        await peer.send({"op": "action_result", "id": goal["id"], "status": 5, "result": True, "values": {}})
        with pytest.raises(StoppedError, match="pressed"):
            await running
    await stopping


async def test_a_damaged_latch_file_stops_the_server(start, tmp_path):
    start()
    (tmp_path / "stop-nav2-summit.json").write_text("{")
    with pytest.raises(StoppedError, match=r"stop-nav2-summit\.json is damaged"):
        await begin(start(), grant())


async def test_one_request_can_be_ended_and_the_others_go_on(start):
    server = start()
    current_grant.set(grant("request-1"))
    async with server.leases.acquire("base", "spin_robot") as first:
        current_grant.set(grant("request-2"))
        async with server.leases.acquire("arm", "plan_and_execute") as second:
            ending = asyncio.create_task(server.safety.end_request("request-1", "the task was canceled"))
            await first.canceled.wait()
            assert not second.canceled.is_set()
            await second.ready()
            with pytest.raises(CanceledError, match="the task was canceled"):
                await first.ready()
    assert await ending == ["spin_robot"]
    with pytest.raises(CanceledError, match="the task was canceled") as refused:
        await begin(server, grant("request-1"))
    assert failure(refused.value)["error_code"] == "CANCELED"
    await begin(server, grant("request-2"))


async def test_a_server_that_has_started_anew_moves_nothing_before_a_fence_is_installed(start):
    first = start()
    await begin(first, grant(fence=0))
    await first.safety.install_fence(7)
    await begin(first, grant(fence=7))

    second = start()
    with pytest.raises(FencedError, match=r"started anew.*above 7.*quartet grant --fence 8"):
        await begin(second, grant(fence=7))
    await second.safety.admit(grant(fence=7))
    with pytest.raises(FencedError, match="started anew"):
        await begin(second, grant(fence=7))
    await second.safety.admit(grant(fence=8))
    await begin(second, grant(fence=8))

    third = start()
    assert await third.safety.install_fence(5, explicit=True) == 8
    with pytest.raises(FencedError, match="started anew"):
        await begin(third, grant(fence=8))
    assert await third.safety.install_fence(8, explicit=True) == 8
    await begin(third, grant(fence=8))


async def test_stop_and_reset_over_http(start, keys, stop_keys):
    server = start()
    stop_token = stop_keys.token("control__stop", "control__reset", iss=STOP_ISSUER, fence=0)
    status, body = await post(server, "/control/stop", stop_token, {"reason": "pressed", "latch": True})
    assert (status, body["latched"], body["reason"]) == (200, True, "pressed")
    status, body = await post(server, "/control/reset", keys.token("control__stop"))
    assert status == 403
    assert "control__reset" in body["detail"]
    assert (await post(server, "/control/reset", None))[0] == 401
    with pytest.raises(StoppedError, match="pressed"):
        await begin(server, grant())
    status, body = await post(server, "/control/reset", stop_token)
    assert (status, body["reset"], body["latched"]) == (200, True, False)
    status, body = await post(server, "/control/stop", stop_token, {"request_id": "request-9"})
    assert (status, body["latched"]) == (200, False)
    await server.safety.admit(grant(fence=2))
    with pytest.raises(CanceledError, match="stopped by 'test'"):
        await begin(server, grant("request-9", fence=2))
    await begin(server, grant(fence=2))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"latch": "perhaps"}, "latch"),
        ({"force": 1}, "force"),
        ({"latch": True, "request_id": "r"}, "send one of them"),
        ([], "valid: reason, latch, request_id"),
    ],
)
async def test_a_stop_that_is_not_understood_stops_nothing_and_says_why(start, keys, body, word):
    server = start()
    status, answer = await post(server, "/control/stop", keys.token("control__stop"), body)
    assert status == 400
    assert word in answer["detail"]
    await begin(server, grant())


async def test_a_stop_services_key_can_do_nothing_else(start, keys, stop_keys):
    server = start()
    assert (await post(server, "/control/fence", stop_keys.token("control__fence", iss=STOP_ISSUER)))[0] == 401
    assert (await post(server, "/control/stop", stop_keys.token("control__stop")))[0] == 401, "as the orchestrator"
    assert (await post(server, "/control/stop", keys.token("control__stop", iss=STOP_ISSUER)))[0] == 401
    mixed = stop_keys.token("control__stop", "nav2__spin_robot", iss=STOP_ISSUER)
    assert (await post(server, "/control/stop", mixed))[0] == 401
    assert (await post(server, "/control/beat", mixed))[0] == 401


async def test_heartbeats_over_http(start, keys):
    server = start()
    current_grant.set(grant().model_copy(update={"beats": True}))
    async with server.leases.acquire("base", "spin_robot") as lease:
        assert lease.caller is not None
        heard = lease.caller.age_s(0.0)
        status, body = await post(server, "/control/beat", keys.token("nav2__spin_robot"))
        assert (status, body) == (200, {"motions": 1})
        assert lease.caller.age_s(0.0) < heard
        other = keys.token("nav2__spin_robot", jti="request-2")
        assert (await post(server, "/control/beat", other))[1] == {"motions": 0}
    assert (await post(server, "/control/beat", keys.token("nav2__spin_robot")))[1] == {"motions": 0}
    assert (await post(server, "/control/beat", "nonsense"))[0] == 401
