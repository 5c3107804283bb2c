"""Faults of real bridges, each behind its own switch."""

from __future__ import annotations

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

SPIN, SPIN_TYPE = "/spin", "nav2_msgs/action/Spin"
TURN = {"target_yaw": 0.1}


async def test_faults_that_last_until_the_bridge_restarts(start_sim: Any, connect: Any) -> None:
    sim = start_sim("--faults", "first_goal_unavailable,wrong_type_poisons, rosapi_dies")
    assert sim.get("/health")["faults"] == ["first_goal_unavailable", "rosapi_dies", "wrong_type_poisons"]
    async with connect(sim.url) as robot:
        await robot.goal("first", SPIN, SPIN_TYPE, TURN)
        assert (await robot.result("first"))["values"] == "No action server available"
        await robot.goal("second", SPIN, SPIN_TYPE, TURN)
        assert (await robot.result("second"))["status"] == 4

        await robot.goal("wrong", SPIN, "nav2_msgs/action/BackUp", {})
        await robot.result("wrong")
        await robot.goal("right", SPIN, SPIN_TYPE, TURN)
        assert (await robot.result("right"))["values"] == "No action server available"

        assert (await robot.call("/rosapi/node_details", {"node": "/amcl"}))["result"] is True
        await robot.call("/rosapi/node_details", {"node": "/nobody"})
        answer = await robot.call("/rosapi/get_time")
        assert answer["values"] == "Service /rosapi/get_time does not exist"
        assert (await robot.call("/bt_navigator/get_state"))["result"] is True


async def test_slow_services_run_into_the_time_out_of_a_call(sim: Any, robot: Any) -> None:
    sim.post("/faults", kinds=["slow_services"])
    answer = await robot.call("/rosapi/get_time", timeout=0.1)
    assert (answer["result"], answer["values"]) == (False, "Timeout exceeded while waiting for service response")
    answer = await robot.call("/rosapi/get_time", timeout=0)
    assert answer["result"] is True


async def test_zombie_answers_nothing(sim: Any, connect: Any) -> None:
    sim.post("/faults", kinds=["zombie"])
    async with connect(sim.url) as robot:
        await robot.send(op="call_service", service="/rosapi/get_time", id="x", timeout=0.05)
        await robot.send(op="subscribe", topic="/map")
        with pytest.raises(TimeoutError):
            await robot.receive(lambda frame: True, limit_s=0.3)


async def test_a_client_that_came_while_nothing_was_answered_is_dropped_afterwards(sim: Any, connect: Any) -> None:
    """It would wait for ever for the topics that it has subscribed to."""
    async with connect(sim.url) as before:
        sim.post("/faults", kinds=["zombie"])
        async with connect(sim.url) as during:
            await during.send(op="subscribe", topic="/map")
            sim.post("/faults", kinds=[])
            with pytest.raises(ConnectionClosed):
                await during.receive(lambda frame: True)
        assert (await before.call("/rosapi/get_time"))["result"] is True


async def test_silent_action_never_answers(sim: Any, robot: Any) -> None:
    sim.post("/faults", kinds=["silent_action"])
    await robot.goal("g", "/wait", "nav2_msgs/action/Wait", {"time": {"nanosec": 1000}})
    await robot.send(op="subscribe", topic="/wait/_action/status")
    while not any(item["status"] == 4 for item in (await robot.message("/wait/_action/status"))["status_list"]):
        pass
    await robot.settled()
    assert [frame for frame in robot.kept if frame["op"] == "action_result"] == []
