"""Services that one client of the bridge offers and another calls; every way in which a call can fail."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

NAME, KIND = "/client/switch", "std_srvs/srv/SetBool"


@pytest.fixture
async def offerer(sim: Any, connect: Any) -> AsyncIterator[Any]:
    """Another connection, which offers NAME."""
    async with connect(sim.url) as other:
        await other.send(op="advertise_service", service=NAME, type=KIND)
        await other.settled()
        yield other


async def ask(robot: Any, offerer: Any, **args: Any) -> Any:
    """Send a call; what the offering client is asked."""
    await robot.send(op="call_service", id="x", service=NAME, args=args)
    return await offerer.op("call_service", service=NAME)


async def test_request_and_response_go_through(robot: Any, offerer: Any) -> None:
    asked = await ask(robot, offerer, data=True)
    assert asked["args"] == {"data": True}
    # An answer to a call that nobody made changes nothing.
    await offerer.send(op="service_response", id="nobody", service=NAME, values={}, result=True)
    await offerer.send(op="service_response", id=asked["id"], service=NAME, values={"success": True}, result=True)
    answer = await robot.op("service_response", id="x")
    assert (answer["result"], answer["values"]) == (True, {"success": True, "message": ""})


async def test_refusal_wrong_fields_and_silence(robot: Any, offerer: Any) -> None:
    asked = await ask(robot, offerer)
    await offerer.send(op="service_response", id=asked["id"], service=NAME, values="not today", result=False)
    assert (await robot.op("service_response", id="x"))["values"] == "not today"

    asked = await ask(robot, offerer)
    await offerer.send(op="service_response", id=asked["id"], service=NAME, values={"bad": 1}, result=True)
    assert "does not have a field bad" in (await robot.op("service_response", id="x"))["values"]

    answer = await robot.call(NAME, timeout=0.05)
    assert (answer["result"], answer["values"]) == (False, "Timeout exceeded while waiting for service response")


async def test_the_offer_ends_with_its_client(sim: Any, robot: Any, connect: Any) -> None:
    async with connect(sim.url) as other:
        await other.send(op="advertise_service", service=NAME, type=KIND)
        await other.settled()
        await ask(robot, other)
    assert (await robot.op("service_response", id="x"))["values"] == "Service's client disconnected"
    assert (await robot.call(NAME))["values"] == f"Service {NAME} does not exist"


async def test_only_the_offerer_withdraws_and_nobody_replaces_the_robots_own(robot: Any, offerer: Any) -> None:
    await robot.silent_after(op="unadvertise_service", service=NAME)
    await robot.silent_after(op="advertise_service", service=NAME, type=KIND)
    await robot.silent_after(op="advertise_service", service="/robot_guard/stop", type="std_srvs/srv/Trigger")
    await robot.silent_after(op="unadvertise_service", service="/bt_navigator/get_state")
    await robot.silent_after(op="advertise_service", service="/x", type="std_srvs/srv/Nothing")
    await ask(robot, offerer)
    assert (await offerer.call("/bt_navigator/get_state"))["result"] is True
    await offerer.send(op="unadvertise_service", service=NAME)
    await offerer.settled()
    assert (await robot.call(NAME))["values"] == f"Service {NAME} does not exist"
