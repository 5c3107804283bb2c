"""The proxy in front of rosbridge: whom it admits, what passes, and what happens when one side fails."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import cbor2
import httpx
import pytest
import websockets
from websockets.asyncio.client import ClientConnection, connect

from quartet_benchmarks.hostile.frames import Approach, FrameAttacker
from quartet_benchmarks.hostile.suite import not_refused
from quartet_bridge_proxy import BridgeProxy, Limits
from quartet_process import Secret
from quartet_process.serving import listen
from quartet_robot_link import BridgeLink, BridgeUnavailableError, GoalStatus, Robot, RosError
from quartet_robot_link.permits import BridgePermits
from quartet_site import RobotFile, RosWrites

ROOT = Path(__file__).parents[3]
TOKEN = "token-of-the-servers"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
CASES = 80
QUICK = {"call_timeout_s": 10.0, "connect_wait_s": 0.3, "probe_every_s": 60.0, "backoff_s": (0.02, 0.05)}
WRITES = RosWrites.model_validate({"services": [{"name": "/lamp/switch", "type": "std_srvs/srv/SetBool"}]})

Serve = Callable[..., Any]


@pytest.fixture
def serve(robot_file: RobotFile) -> Serve:
    """`async with serve(upstream_url) as url`: a proxy in front of it."""

    @asynccontextmanager
    async def serve(upstream: str, **options: Any) -> AsyncIterator[str]:
        permits, limits = BridgePermits(robot_file, WRITES), Limits(**options.pop("limits", {}))
        proxy = BridgeProxy(upstream, permits, Secret.fixed(TOKEN), limits=limits, **options)
        listener = listen("127.0.0.1", 0)
        async with await proxy.serve(listener):
            yield f"ws://127.0.0.1:{listener.getsockname()[1]}"

    return serve


@pytest.fixture
async def proxied(serve: Serve, peer: Any) -> AsyncIterator[str]:
    async with serve(peer.url) as url:
        yield url


@pytest.fixture
async def client(proxied: str) -> AsyncIterator[ClientConnection]:
    async with connect(proxied, additional_headers=BEARER, max_size=None) as socket:
        yield socket


async def ask(client: ClientConnection, **operation: Any) -> dict[str, Any]:
    await client.send(json.dumps(operation))
    return json.loads(await client.recv())


# --- who is admitted ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("headers", "status", "told"),
    [
        ([], 401, "wrong or missing token"),
        ([("Authorization", "Bearer token-of-somebody")], 401, "wrong or missing token"),
        ([("Authorization", "Bearer ")], 401, "wrong or missing token"),
        ([("Authorization", f"Basic {TOKEN}")], 401, "wrong or missing token"),
        ([*BEARER.items(), ("Authorization", "Bearer x")], 401, "wrong or missing token"),
        ([*BEARER.items(), ("Origin", "https://foreign.example")], 403, "https://foreign.example"),
        ([*BEARER.items(), ("Origin", "http://localhost:8000")], 403, "http://localhost:8000"),
        ([*BEARER.items(), ("Origin", "null")], 403, "null"),
        ([*BEARER.items(), ("Origin", "https://ours.example"), ("Origin", "https://foreign.example")], 403, "foreign"),
    ],
)
async def test_who_is_not_admitted_is_told_why_and_reaches_nothing(
    serve: Serve, peer: Any, headers: list[tuple[str, str]], status: int, told: str
) -> None:
    async with serve(peer.url, origins=["https://ours.example"]) as url:
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connect(url, additional_headers=headers):
                pass
    assert refused.value.response.status_code == status
    assert told in (refused.value.response.body or b"").decode()
    assert peer.connections == []


async def test_a_listed_page_with_the_token_is_admitted(serve: Serve, peer: Any) -> None:
    async with serve(peer.url, origins=["https://ours.example/"]) as url:
        page = {**BEARER, "Origin": "https://ours.example"}
        async with connect(url, additional_headers=page) as socket:
            assert (await ask(socket, op="call_service", id="1", service="/compute_fk"))["result"] is True


async def test_a_link_without_the_token_says_what_is_missing(proxied: str) -> None:
    link = await BridgeLink.open(proxied, **QUICK)
    try:
        with pytest.raises(BridgeUnavailableError, match=r"401.*wrong or missing token.*QUARTET_BRIDGE_TOKEN"):
            await link.call_service("/compute_fk")
    finally:
        await link.close()


async def test_there_are_so_many_clients_at_the_most(serve: Serve, peer: Any) -> None:
    async with serve(peer.url, limits={"clients": 1}) as url:
        async with connect(url, additional_headers=BEARER):
            with pytest.raises(websockets.InvalidStatus) as refused:
                async with connect(url, additional_headers=BEARER):
                    pass
            assert refused.value.response.status_code == 503
        link = await BridgeLink.open(url, token=lambda: TOKEN, wait_s=10, **QUICK)
        assert link.connected, "the place of one that has gone is free"
        await link.close()


async def test_a_request_that_never_ends_is_cut(serve: Serve, peer: Any) -> None:
    async with serve(peer.url, limits={"handshake_s": 0.2}) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n")
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()


# --- what passes ----------------------------------------------------------------------------------------------------
async def test_everything_from_rosbridge_passes_unchanged(client: ClientConnection, peer: Any) -> None:
    frames = [
        '{"op": "publish",  "topic": "/odom", "msg": NaN}',
        cbor2.dumps({"op": "publish"}),
        "not json",
        "x" * 5_000_000,
    ]
    for frame in frames:
        await peer.send(frame)
    assert [await client.recv() for _ in frames] == frames


@pytest.mark.parametrize(
    "operation",
    [
        {
            "op": "subscribe",
            "id": "a",
            "topic": "/odom",
            "throttle_rate": 0,
            "qos": {"history_depth": 1},
            "new": [1, None],
        },
        {"op": "call_service", "id": 7, "service": "/lamp/switch", "args": {"data": True, "x": 1.5e-9, "é": "✓"}},
        {
            "op": "send_action_goal",
            "id": "g",
            "action": "/spin",
            "action_type": "nav2_msgs/action/Spin",
            "args": {"a": 1},
        },
    ],
    ids=str,
)
async def test_what_is_permitted_reaches_rosbridge_as_it_was(
    client: ClientConnection, peer: Any, operation: dict[str, Any]
) -> None:
    await client.send(json.dumps(operation))
    async with asyncio.timeout(10):
        assert await peer.wait_for(op=operation["op"]) == operation


async def test_a_refused_operation_is_answered_as_rosbridge_answers_a_failed_one(
    client: ClientConnection, peer: Any
) -> None:
    call = await ask(client, op="call_service", id="c", service="/robot_guard/reset")
    assert (call["op"], call["id"], call["result"]) == ("service_response", "c", False)
    assert "/robot_guard/reset is not allowed" in call["values"]
    goal = await ask(client, op="send_action_goal", id="g", action="/follow_path", action_type="nav2_msgs/FollowPath")
    assert (goal["op"], goal["id"], goal["status"], goal["result"]) == ("action_result", "g", GoalStatus.ABORTED, False)
    published = await ask(client, op="publish", id="p", topic="/cmd_vel", msg={"linear": {"x": 1.0}})
    assert (published["op"], published["level"], published["id"]) == ("status", "error", "p")
    assert "/cmd_vel" in published["msg"]
    assert peer.received == []
    assert (await ask(client, op="call_service", id="1", service="/compute_fk"))["result"] is True, "it stays connected"


@pytest.mark.parametrize(
    "frame",
    [
        b'{"op": "subscribe", "topic": "/odom"}',
        '{"op": "publish", "topic": "/cmd_vel", "msg": {}',
        '{"op": "subscribe", "topic": "/odom"}{"op": "publish", "topic": "/cmd_vel", "msg": {}}',
        '[{"op": "publish", "topic": "/cmd_vel", "msg": {}}]',
        '{"op": "fragment", "id": "1", "num": 0, "total": 1, "data": "{}"}',
        "[" * 100_000,
        '{"op": "call_service", "service": "/compute_fk", "args": ' + '{"a": ' * 400 + "1" + "}" * 401,
        '{"op": "call_service", "service": ' + '{"a": ' * 400 + "1" + "}" * 401,
        "",
    ],
)
async def test_half_messages_and_several_in_one_do_not_reach_rosbridge(
    client: ClientConnection, peer: Any, frame: str | bytes
) -> None:
    await client.send(frame)
    assert json.loads(await client.recv())["level"] == "error"
    assert (await ask(client, op="call_service", id="1", service="/compute_fk"))["result"] is True
    assert [operation["op"] for operation in peer.received] == ["call_service"]


async def test_no_frame_of_the_hostile_suite_reaches_rosbridge(
    proxied: str, peer: Any, robot_file: RobotFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacker = FrameAttacker(robot_file, seed=2)
    tried = set()
    for approach in attacker.approaches(CASES):
        assert await not_refused(approach, proxied, TOKEN) is None, approach
        tried.add(approach.kind)
    assert len(tried) == attacker.kinds
    assert [o for o in peer.received if o.get("service") != "/rosapi/get_time"] == []
    monkeypatch.setattr(BridgePermits, "refusal", lambda *_: None)
    passes = Approach("velocity", [json.dumps(attacker.drive())])
    assert await not_refused(passes, proxied, TOKEN) == "0 of 1 refused", "the suite notices what is let through"


async def test_a_field_that_is_there_twice_means_the_same_to_both(client: ClientConnection, peer: Any) -> None:
    await client.send(
        '{"op": "publish", "service": "/x", "topic": "/cmd_vel", "op": "call_service", "service": "/compute_fk"}'
    )
    async with asyncio.timeout(10):
        sent = await peer.wait_for(op="call_service")
    assert sent == {"op": "call_service", "service": "/compute_fk", "topic": "/cmd_vel"}


async def test_a_message_that_is_too_long_ends_its_connection_alone(serve: Serve, peer: Any) -> None:
    async with (
        serve(peer.url, limits={"message_bytes": 1000}) as url,
        connect(url, additional_headers=BEARER) as other,
        connect(url, additional_headers=BEARER) as long,
    ):
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await ask(long, op="call_service", id="1", service="/compute_fk", args={"x": "y" * 1000})
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, "1000" in closed.value.rcvd.reason) == (1009, True)
        assert (await ask(other, op="call_service", id="1", service="/compute_fk"))["result"] is True
    assert len(peer.received) == 1


# --- when one side fails --------------------------------------------------------------------------------------------
async def test_a_client_that_takes_nothing_is_given_up_and_delays_nobody(serve: Serve, peer: Any) -> None:
    async with (
        serve(peer.url, limits={"send_s": 0.3}) as url,
        connect(url, additional_headers=BEARER) as quick,
        # One frame waits in its queue; beyond that it reads nothing.
        connect(url, additional_headers=BEARER, max_queue=1, ping_interval=None) as slow,
    ):
        upstream = peer.connections[-1]
        with pytest.raises(websockets.ConnectionClosed):
            await _flood(upstream, quick)
        slow.transport.abort()


async def _flood(upstream: Any, quick: ClientConnection) -> None:
    async with asyncio.timeout(30):
        while True:
            await upstream.send("x" * 1_000_000)
            assert (await ask(quick, op="call_service", id="1", service="/compute_fk"))["result"]


async def test_when_rosbridge_goes_its_clients_learn_it_and_come_back_with_it(serve: Serve, peer: Any) -> None:
    async with serve(peer.url) as url:
        link = await BridgeLink.open(url, token=lambda: TOKEN, wait_s=10, **QUICK)
        assert await link.call_service("/compute_fk") == {}
        await peer.stop()
        async with asyncio.timeout(10):
            while link.connected:  # noqa: ASYNC110 - the link signals no such event
                await asyncio.sleep(0.01)
        with pytest.raises(BridgeUnavailableError):
            await link.call_service("/compute_fk")
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connect(url, additional_headers=BEARER):
                pass
        assert refused.value.response.status_code == 502
        assert f"no connection to rosbridge at {peer.url}" in (refused.value.response.body or b"").decode()
        await peer.start()
        assert await link.wait_connected(10)
        assert await link.call_service("/compute_fk") == {}
        await link.close()


async def test_when_a_client_goes_so_does_its_connection_to_rosbridge(proxied: str, peer: Any) -> None:
    async with connect(proxied, additional_headers=BEARER) as socket:
        (upstream,) = peer.connections
        socket.transport.abort()
    async with asyncio.timeout(10):
        await upstream.wait_closed()


# --- the robot ------------------------------------------------------------------------------------------------------
async def test_the_link_works_through_it_as_without_it(serve: Serve, sim: Any, robot_file: RobotFile) -> None:
    async with serve(sim.url) as url:
        robot = await Robot.open(robot_file, url=url, token=lambda: TOKEN, wait_s=60)
        try:
            spin = {"target_yaw": 0.3, "time_allowance": {"sec": 30, "nanosec": 0}}
            outcome = await robot.start_motion("/spin", "nav2_msgs/action/Spin", spin, limit_s=60).outcome()
            assert outcome.status is GoalStatus.SUCCEEDED
            assert await robot.wait_standstill()
            shot = await robot.snapshot("front")
            assert shot.jpeg is not None
            assert await robot.link.action_type("/spin") == "nav2_msgs/action/Spin"
            assert await robot.link.probe()
            with pytest.raises(RosError, match="refused by the bridge proxy: call_service of /robot_guard/stop"):
                await robot.link.call_service("/robot_guard/stop")
            assert not robot.guard.latched
        finally:
            await robot.close()


# --- the process ----------------------------------------------------------------------------------------------------
def test_the_process_needs_a_token_and_says_that_it_serves(tmp_path: Path) -> None:
    site = ROOT / "deploy" / "sites" / "studio"
    files = {"QUARTET_ROBOT_FILE": str(site / "robot.yaml"), "QUARTET_SITE_FILE": str(site / "site.yaml")}
    command = [sys.executable, "-m", "quartet_bridge_proxy"]
    bare = subprocess.run(command, env=files, capture_output=True, text=True, timeout=60, check=False)
    assert bare.returncode == 2
    assert "QUARTET_BRIDGE_TOKEN is not set" in bare.stderr
    ready = tmp_path / "ready.json"
    given = {**files, "QUARTET_BRIDGE_TOKEN": TOKEN, "QUARTET_READY_FILE": str(ready)}
    process = subprocess.Popen(command, env=given, stderr=subprocess.DEVNULL)
    try:
        while not ready.exists():
            assert process.poll() is None
        url = json.loads(ready.read_text())["url"].replace("ws://", "http://")
        look = [sys.executable, "-IS", str(ROOT / "deploy" / "images" / "healthy")]
        address = {"HEALTH": url.removeprefix("http://") + "/health"}
        healthy = subprocess.run(look, env=address, capture_output=True, text=True, timeout=60, check=False)
        assert healthy.returncode == 0, healthy.stdout + healthy.stderr
        assert httpx.get(url, timeout=60).status_code == 401
    finally:
        process.terminate()
        assert process.wait(60) == 0
