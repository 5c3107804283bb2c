"""A third-party server with other names, units and answers: what our caller sees of it, also when it misbehaves."""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastmcp import Client

import quartet_nav2
from quartet_tool_server.upstream._mapping import Upstream
from quartet_tool_server.upstream._session import Session, UpstreamLostError, UpstreamUnavailableError

pytestmark = pytest.mark.timeout(240)

HERE = Path(__file__).parent
WHERE = {
    "success": {"has": ["spot"]},
    "limit_s": 60,
    "tool": "where",
    "arguments": {},
    "result": {
        "pose": {
            "fields": {
                "x": {"from": "spot.X", "as": {"scaled": 0.01}},
                "y": {"from": "spot.Y", "as": {"scaled": 0.01}},
                "yaw": {"from": "spot.deg", "as": "radians"},
            }
        },
        "message": {"from": "$text"},
    },
}
GO = {
    "tool": "go",
    "limit_s": 60,
    "arguments": {
        "x_cm": {"from": "x", "as": {"scaled": 100}},
        "y_cm": {"from": "y", "as": {"scaled": 100}},
        "heading": {"from": "yaw", "as": ["quaternion_of_yaw", "xyzw_object"]},
        "profile": {"constant": "gentle"},
    },
    "errors": [
        {"text": "err 17", "code": "NAVIGATION_FAILED"},
        {"text": "err 40", "code": "NAVIGATION_CANCELED"},
    ],
    "success": {"text": "^arrived"},
    "result": {
        "pose": {
            "fields": {
                "x": {"from": "$text", "match": r"x=(\S+)", "as": ["number", {"scaled": 0.01}]},
                "y": {"from": "$text", "match": r"y=(\S+)", "as": {"scaled": 0.01}},
                "yaw": {"from": "$text", "match": r"deg=(\S+)", "as": "radians"},
            }
        }
    },
}


MAPPING = {
    "server": "nav2",
    "upstreams": {"rover": {"url": "http://127.0.0.1:9/mcp", "connect_timeout_s": 60}},
    "own": ["cancel_navigation"],
    "stop": [{"tool": "halt"}],
    "tools": {"navigate_to_pose": GO, "get_robot_pose": WHERE},
}


PATIENT = GO | {
    "arguments": {
        "x_cm": {"from": "distance", "as": {"scaled": 100}},
        "y_cm": {"constant": 0},
        "heading": {"constant": {"x": 0, "y": 0, "z": 0, "w": 1}},
        "profile": {"constant": "gentle"},
    }
}


def with_limit(limit_s: float) -> dict[str, Any]:
    """navigate_to_pose is given up after that time, drive_on_heading is not."""
    tools = {"navigate_to_pose": GO | {"limit_s": limit_s}, "drive_on_heading": PATIENT}
    return MAPPING | {"tools": MAPPING["tools"] | tools}


@pytest.fixture(scope="module")
def shared(start_for_all):
    return start_for_all("foreign.py")


@pytest.fixture
async def rover(sim, shared):
    """The third-party server, with nothing to remember."""
    await shared.wait_ready()
    async with Client(shared.url) as client:
        await client.call_tool("forget", {})
    return shared


@pytest.fixture
def serve(sim, robot, make_mapping, open_server):
    """`await serve(url, mapping)`: our nav2 server with the rover behind it."""

    async def begin(url: str, chosen: dict[str, Any] = MAPPING):
        return await open_server(quartet_nav2, mapping=make_mapping(chosen, {"rover": url}))

    return begin


@pytest.fixture
async def nav2(serve, rover):
    return await serve(rover.url)


async def count(nav2, what: str) -> int:
    return json.loads((await nav2.call("get_robot_pose"))["message"])[what]


async def halted(nav2) -> bool:
    return await count(nav2, "halts") >= 1


async def test_names_units_and_words_are_converted_both_ways(nav2):
    result = await nav2.call("navigate_to_pose", x=1.25, y=-0.5, yaw=1.0)
    assert result["ok"], result
    assert result["pose"] == {"x": 1.25, "y": -0.5, "yaw": pytest.approx(1.0, abs=0.001), "frame_id": "map"}
    assert result["message"] == "ARRIVED x=125.0 y=-50.0 deg=57.3", "its own words, for who reads along"
    result = await nav2.call("get_robot_pose")
    assert result["pose"] == {"x": 0.1, "y": -0.2, "yaw": pytest.approx(1.5708, abs=1e-4), "frame_id": "map"}


@pytest.mark.parametrize(
    ("x", "code", "words"),
    [
        (1.3, "NAVIGATION_FAILED", ("rover", "path blocked")),
        (1.31, "UNKNOWN", ("mission parameters nominal", "look before")),
        (1.32, "UNKNOWN", ("nan", "finite", "look before")),
        (1.33, "UNKNOWN", ("twelve", "look before")),
        (1.34, "UNKNOWN", ("or so it seems", "look before")),
        (1.35, "UNKNOWN", ("characters left out", "look before")),
    ],
)
async def test_what_is_not_understood_is_unknown_and_never_a_success(nav2, eventually, x, code, words):
    text = await nav2.refused("navigate_to_pose", code, x=x, y=0.0)
    for word in words:
        assert word in text
    assert len(text) < 2500
    if code == "UNKNOWN":
        await eventually(lambda: halted(nav2))  # nobody knows whether it still moves
    else:
        assert await count(nav2, "halts") == 0
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"], "the next call works"


async def test_wrong_arguments_and_the_servers_limits_never_reach_the_upstream(serve, rover):
    tools = {**MAPPING["tools"], "spin_robot": GO | {"arguments": {"x_cm": "angle"}}}
    nav2 = await serve(rover.url, MAPPING | {"tools": tools})
    await nav2.refused("navigate_to_pose", "INVALID_PARAMETERS", x=float("nan"), y=0.0)
    await nav2.refused("navigate_to_pose", "INVALID_PARAMETERS", x=float("inf"), y=0.0)
    await nav2.refused("navigate_to_pose", "INVALID_PARAMETERS", x=1.0, y=0.0, z=2.0)
    assert "12.5664" in await nav2.refused("spin_robot", "INVALID_PARAMETERS", angle=100.0)
    assert await count(nav2, "goals") == 0


async def test_grant_and_fence_hold_for_a_mapped_tool(nav2):
    nav2.grant["tools"].remove("nav2__navigate_to_pose")
    await nav2.refused("navigate_to_pose", "DENIED", x=1.0, y=0.0)
    nav2.grant["tools"].append("nav2__navigate_to_pose")
    await nav2.server.safety.install_fence(5)
    await nav2.refused("navigate_to_pose", "FENCED", x=1.0, y=0.0)
    nav2.grant["fence"] = 5
    assert await count(nav2, "goals") == 0
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"]


async def test_a_tool_that_is_not_mapped_is_not_there(nav2):
    names = {tool.name for tool in await nav2.client.list_tools()}
    assert names == {"navigate_to_pose", "get_robot_pose", "cancel_navigation"}


@pytest.mark.parametrize("x", [1.37, 1.38])
async def test_a_slow_motion_is_stopped_and_given_up_at_its_limit(serve, rover, eventually, x):
    nav2 = await serve(rover.url, with_limit(0.5))
    assert (await nav2.call("get_robot_pose"))["ok"]
    text = await nav2.refused("navigate_to_pose", "TIMEOUT", x=x, y=0.0)
    assert "0.5 s" in text
    await eventually(lambda: halted(nav2))
    assert (await nav2.call("drive_on_heading", distance=1.0))["ok"]


@pytest.mark.parametrize("how", ["stop", "fence", "cancel_navigation", "caller", "silence"])
async def test_whatever_ends_a_motion_halts_the_upstream(nav2, robot, eventually, how):
    if how == "silence":
        nav2.grant["beats"] = True
        limits = robot.file.heartbeat.model_copy(update={"caller_timeout_s": 2.0})
        robot.file = robot.file.model_copy(update={"heartbeat": limits})
    motion = asyncio.create_task(nav2.call("navigate_to_pose", x=1.37, y=0.0))
    await eventually(lambda: nav2.progress)
    assert nav2.progress[0] == (1, 4, "rolling"), "its progress comes through"
    if how == "stop":
        assert "navigate_to_pose" in await nav2.server.safety.stop("a person said so")
    elif how == "fence":
        await nav2.server.safety.install_fence(2)
        nav2.grant["fence"] = 2
    elif how == "cancel_navigation":
        assert "navigate_to_pose" in (await nav2.call("cancel_navigation"))["canceled"]
    elif how == "caller":
        motion.cancel()
    assert nav2.server.leases.running == [] or how in {"caller", "silence"}
    await eventually(lambda: not nav2.server.leases.running)
    await eventually(lambda: halted(nav2))
    [result] = await asyncio.gather(motion, return_exceptions=True)
    if how == "caller":
        assert isinstance(result, asyncio.CancelledError)
    else:
        codes = {"fence": "FENCED", "silence": "HEARTBEAT_LAPSED"}
        assert result["error_code"] == codes.get(how, "NAVIGATION_CANCELED"), result
    nav2.grant["beats"] = False
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"]


async def test_a_stop_halts_also_what_an_earlier_process_of_ours_began(nav2, eventually):
    assert await count(nav2, "halts") == 0
    await nav2.server.safety.stop("a person said so")
    await eventually(lambda: halted(nav2))


async def test_one_motion_at_a_time(nav2, eventually):
    motion = asyncio.create_task(nav2.call("navigate_to_pose", x=1.37, y=0.0))
    await eventually(lambda: nav2.progress)
    await nav2.refused("navigate_to_pose", "BUSY", x=1.0, y=0.0)
    await nav2.server.safety.stop("enough")
    await motion


async def test_an_upstream_that_dies_in_a_motion(serve, start_foreign):
    rover = await start_foreign("foreign.py").wait_ready()
    nav2 = await serve(rover.url)
    text = await nav2.refused("navigate_to_pose", "UPSTREAM_UNAVAILABLE", x=1.36, y=0.0)
    assert "look before" in text
    text = await nav2.refused("navigate_to_pose", "UPSTREAM_UNAVAILABLE", x=1.0, y=0.0)
    assert "Nothing was done" in text
    rover.process.wait(20)
    rover.ready.unlink()
    port = rover.url.split(":")[2].split("/")[0]
    again = await start_foreign("foreign.py", "--port", port).wait_ready()
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"], "the next call connects again"
    again.kill()
    again.ready.unlink()
    await start_foreign("foreign.py", "--port", port).wait_ready()
    await nav2.call("get_robot_pose")
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"], "a session that has ended is found out"


async def test_an_upstream_that_hangs(serve, rover):
    nav2 = await serve(rover.url, with_limit(1.0))
    assert (await nav2.call("get_robot_pose"))["ok"]
    rover.signal(signal.SIGSTOP)
    await nav2.refused("navigate_to_pose", "TIMEOUT", x=1.0, y=0.0)
    rover.signal(signal.SIGCONT)
    assert (await nav2.call("drive_on_heading", distance=1.0))["ok"]


async def test_an_upstream_that_is_not_there(serve):
    nav2 = await serve("http://127.0.0.1:9/mcp")
    for tool, arguments in (("get_robot_pose", {}), ("navigate_to_pose", {"x": 1.0, "y": 0.0})):
        text = await nav2.refused(tool, "UPSTREAM_UNAVAILABLE", **arguments)
        assert "127.0.0.1:9" in text
        assert "start it" in text
    assert await nav2.server.safety.stop("a person said so") == [], "a stop does not wait for it"


async def test_a_command_as_upstream_is_started_again_after_its_death(sim, robot, make_mapping, open_server):
    command = {"rover": {"command": [sys.executable, str(HERE / "foreign.py")], "connect_timeout_s": 60}}
    nav2 = await open_server(quartet_nav2, mapping=make_mapping(MAPPING | {"upstreams": command}))
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"]
    await nav2.refused("navigate_to_pose", "UPSTREAM_UNAVAILABLE", x=1.36, y=0.0)
    assert (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"]


async def test_a_command_that_writes_a_line_without_end_is_given_up(caplog):
    """The library collected it until the start was given up, at some gigabytes."""
    session = Session("rover", Upstream(command=["sh", "-c", "yes | tr -d '\\n'"], connect_timeout_s=30))
    before = psutil.Process().memory_info().rss
    try:
        with pytest.raises(UpstreamUnavailableError, match="wrote a line of more than 33554432 bytes"):
            await session.tools()
    finally:
        await session.close()
    assert psutil.Process().memory_info().rss - before < 200e6
    assert "its session ends" in caplog.text
    assert [child for child in psutil.Process().children(recursive=True) if child.name() in ("yes", "tr")] == []


ENDLESS = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    method, answer = asked["method"], {"jsonrpc": "2.0", "id": asked.get("id")}
    if method == "initialize":
        about = {"name": "endless", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer["result"] = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        while True:
            os.write(1, b"x" * 65_536)
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    if "id" in asked:
        print(json.dumps(answer), flush=True)
"""


async def test_a_command_that_writes_a_line_without_end_in_a_call_is_lost():
    session = Session("rover", Upstream(command=[sys.executable, "-c", ENDLESS], connect_timeout_s=60))
    try:
        with pytest.raises(UpstreamLostError, match="was lost during go"):
            await session.call("go", {})
        assert not session.connected
        assert await session.tools() == {"go": set()}, "it is started again"
    finally:
        await session.close()


async def test_a_command_that_starts_slowly_is_started_once(sim, robot, make_mapping, open_server, tmp_path):
    """Each call that did not find it up had ended it, and the next one began anew."""
    starts, go = tmp_path / "starts", tmp_path / "go"
    script = f'echo started >> "{starts}"; until [ -e "{go}" ]; do sleep 0.05; done; exec "$0" "$1"'
    command = ["sh", "-c", script, sys.executable, str(HERE / "foreign.py")]
    upstreams = {"rover": {"command": command, "connect_timeout_s": 3}}
    nav2 = await open_server(quartet_nav2, mapping=make_mapping(MAPPING | {"upstreams": upstreams}))
    text = await nav2.refused("navigate_to_pose", "UPSTREAM_UNAVAILABLE", x=1.0, y=0.0)
    assert "has not answered within 3 s, and goes on starting" in text
    go.touch()
    async with asyncio.timeout(60):
        while not (await nav2.call("navigate_to_pose", x=1.0, y=0.0))["ok"]:
            pass
    assert starts.read_text().split() == ["started"]


async def test_a_start_that_failed_while_no_call_waited_is_made_again(tmp_path):
    """The next call was refused for it, though nothing was tried."""
    starts, go = tmp_path / "starts", tmp_path / "go"
    script = (
        f'echo started >> "{starts}"; if [ "$(wc -l < "{starts}")" = 1 ]; then '
        f'until [ -e "{go}" ]; do sleep 0.05; done; exit 1; fi; exec "$0" "$1"'
    )
    command = ["sh", "-c", script, sys.executable, str(HERE / "foreign.py")]
    session = Session("rover", Upstream(command=command, connect_timeout_s=3))
    try:
        with pytest.raises(UpstreamUnavailableError, match="goes on starting"):
            await session.tools()
        go.touch()
        while not session.connected:
            with contextlib.suppress(UpstreamUnavailableError):
                await session.tools()
            assert session.connected or starts.read_text().split() == ["started"] * 2
    finally:
        await session.close()
    assert starts.read_text().split() == ["started"] * 2


async def test_a_mapping_that_the_upstream_does_not_have_is_told(serve, rover, caplog):
    tools = {
        "navigate_to_pose": GO | {"tool": "fly"},
        "get_robot_pose": WHERE | {"arguments": {"frame": {"constant": "map"}}},
    }
    nav2 = await serve(rover.url, MAPPING | {"tools": tools})
    wrong = await nav2.server.upstream.survey()
    assert sorted(wrong["rover"]) == [
        "it has no tool 'fly', which navigate_to_pose is mapped to",
        "where takes no frame, which get_robot_pose is mapped to",
    ]
    assert "fly" in caplog.text
    text = await nav2.refused("navigate_to_pose", "UPSTREAM_UNAVAILABLE", x=1.0, y=0.0)
    assert "go, halt" in text
