"""The guard's own HTTP port, its latch across restarts, and what it does when heartbeats stay out."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

SPIN, SPIN_TYPE = "/spin", "nav2_msgs/action/Spin"


def ask(sim: Any, path: str, *, post: bool = True, token: str | None = None, body: bytes = b"{}") -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(sim.ready["guard_url"] + path, body if post else None, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def status_of(*args: Any, **options: Any) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as refused:
        ask(*args, **options)
    with refused.value as answer:
        return answer.code, answer.read().decode()


async def state(sim: Any, eventually: Any, **wanted: Any) -> dict[str, Any]:
    """The guard's state once it has these values."""

    async def fits() -> Any:
        found = await asyncio.to_thread(ask, sim, "/state", post=False)
        return found if wanted.items() <= found.items() else None

    return await eventually(fits)


async def spin(robot: Any, name: str = "g") -> None:
    await robot.goal(name, SPIN, SPIN_TYPE, {"target_yaw": 100_000.0}, feedback=True)
    await robot.op("action_feedback", id=name)


async def beat(robot: Any, source: str) -> None:
    await robot.send(op="publish", topic="/robot_guard/heartbeat", msg={"frame_id": source})


async def test_a_stop_passes_a_bridge_that_answers_nobody(sim: Any, robot: Any, eventually: Any) -> None:
    await spin(robot)
    sim.post("/faults", kinds=["zombie"])
    try:
        answer = await asyncio.to_thread(ask, sim, "/stop", body=b'{"reason": "pressed"}')
        assert (answer["latched"], answer["reason"]) == (True, "pressed")
        assert answer["latency_ms"] >= 0
        assert (await state(sim, eventually, standstill=True))["latched"] is True
        assert max(map(abs, sim.get("/truth")["robot"]["twist"])) < 0.03
    finally:
        sim.post("/faults", kinds=[])
    assert (await asyncio.to_thread(ask, sim, "/reset"))["latched"] is False


async def test_the_port_takes_many_requests_over_one_connection(sim: Any) -> None:
    url = sim.ready["guard_url"].removeprefix("http://")
    host, port = url.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for path, verb, body in (
            ("/state", "GET", ""),
            ("/nothing", "GET", ""),
            ("/stop", "POST", "{"),
            ("/reset", "POST", ""),
        ):
            writer.write(f"{verb} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
            expected = {"/state": "200", "/nothing": "404", "/stop": "200", "/reset": "200"}[path]
            assert head.split()[1] == expected, head
            assert ("error" in answer) == (expected != "200")
    finally:
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"reason": 5}', b"\xff", b"[" * 50_000, b'{"reason": " "}', b"[]", b"x" * 70_000]
)
def test_a_stop_stops_whatever_its_body_looks_like(sim: Any, body: bytes) -> None:
    answer = ask(sim, "/stop", body=body)
    assert (answer["latched"], answer["reason"]) == (True, "stopped over HTTP")
    assert ask(sim, "/reset")["latched"] is False


def test_what_is_no_order_is_refused_and_stops_nothing(sim: Any) -> None:
    for path, post, expected, told in (("/halt", True, 404, "POST /stop"), ("/stop", False, 405, "takes POST")):
        status, text = status_of(sim, path, post=post)
        assert status == expected
        assert told in text
    assert ask(sim, "/state", post=False)["latched"] is False


def test_only_who_has_the_token_is_served(start_sim: Any, tmp_path: Any, monkeypatch: Any) -> None:
    token = tmp_path / "token"
    token.write_text("secret-of-the-guard\n")
    monkeypatch.setenv("QUARTET_GUARD_TOKEN_FILE", str(token))
    sim = start_sim()
    for given in (None, "", "wrong", "secret-of-the-guar"):
        assert status_of(sim, "/stop", token=given)[0] == 401
        assert status_of(sim, "/state", post=False, token=given)[0] == 401
    assert ask(sim, "/state", post=False, token="secret-of-the-guard")["latched"] is False
    assert ask(sim, "/stop", token="secret-of-the-guard")["latched"] is True


@pytest.mark.long
async def test_a_stop_outlasts_the_guard(start_sim: Any, connect: Any, tmp_path: Any, eventually: Any) -> None:
    file = tmp_path / "latch.json"
    first = start_sim("--guard-file", str(file))
    await asyncio.to_thread(ask, first, "/stop", body=b'{"reason": "smoke"}')
    await eventually(file.exists)
    first.process.kill()
    first.close()

    second = start_sim("--guard-file", str(file))
    found = await asyncio.to_thread(ask, second, "/state", post=False)
    assert (found["latched"], found["reason"]) == (True, "smoke")
    async with connect(second.url) as robot:
        await robot.goal("refused", SPIN, SPIN_TYPE, {"target_yaw": 0.1})
        assert (await robot.result("refused"))["values"] == "Action goal was rejected"
        await asyncio.to_thread(ask, second, "/reset")
        await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": 0.1})
        assert (await robot.result("g"))["status"] == 4
    second.close()
    third = start_sim("--guard-file", str(file))
    assert ask(third, "/state", post=False)["latched"] is False


async def test_a_motion_whose_heartbeat_stays_out_is_ended_and_not_latched(
    start_sim: Any, connect: Any, eventually: Any
) -> None:
    sim = start_sim("--heartbeat-timeout", "0.3")
    async with connect(sim.url) as robot:
        await robot.goal("grip", "/robotiq_gripper_controller/gripper_cmd", "control_msgs/GripperCommand",
                         {"command": {"position": 0.4, "max_effort": 50.0}})  # fmt: skip
        assert (await robot.result("grip"))["status"] == 4
        # Heard when the motion runs already: on a busy machine it could lapse before the goal is there.
        await spin(robot)
        await beat(robot, "nav2:m1")
        assert (await robot.result("g"))["status"] == 5
        found = await state(sim, eventually, reason="heartbeat lapsed: nav2:m1", standstill=True)
        assert found["latched"] is False
        joints = await robot.once("/joint_states")
        finger = dict(zip(joints["name"], joints["position"], strict=True))["robotiq_140_finger_joint"]
        assert abs(finger - 0.4) < 0.05

        await beat(robot, "nav2:m2")
        await beat(robot, "nav2:m2/done")
        # The hold after a lapse outlasts the standstill.
        assert (await state(sim, eventually, reason="running"))["latched"] is False
        await robot.goal("h", SPIN, SPIN_TYPE, {"target_yaw": 0.1})
        assert (await robot.result("h"))["status"] == 4


async def test_a_motion_that_is_done_or_that_nobody_vouched_for_is_not_watched(
    start_sim: Any, connect: Any, eventually: Any
) -> None:
    """What other ROS nodes move is not the guard's business, and a motion that ended leaves no alarm behind."""
    sim = start_sim("--heartbeat-timeout", "1")
    async with connect(sim.url) as robot:
        await beat(robot, "nav2:m1")
        await beat(robot, "nav2:m1/done")
        await spin(robot)
        # A lapse of a second source shows that the guard has looked for long enough.
        await beat(robot, "nav2:other")
        assert (await state(sim, eventually, reason="heartbeat lapsed: nav2:other"))["latched"] is False
        assert (await robot.result("g"))["status"] == 5
        assert "nav2:m1" not in sim.log


async def test_a_lapse_does_not_release_a_stop(start_sim: Any, connect: Any, eventually: Any) -> None:
    sim = start_sim("--heartbeat-timeout", "0.1")
    async with connect(sim.url) as robot:
        await beat(robot, "nav2:m1")
        await asyncio.to_thread(ask, sim, "/stop", body=b'{"reason": "pressed"}')
        await state(sim, eventually, standstill=True)
        await beat(robot, "nav2:m2")

        async def old() -> bool:
            return (await asyncio.to_thread(ask, sim, "/state", post=False))["last_heartbeat_age_s"] > 0.4

        await eventually(old)
        found = await asyncio.to_thread(ask, sim, "/state", post=False)
        assert (found["latched"], found["reason"], found["standstill"]) == (True, "pressed", True)
