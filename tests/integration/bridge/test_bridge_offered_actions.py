"""Action servers that one client of the bridge offers; goals come from another; every way in which a goal can end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

NAME, KIND = "/client/wait", "nav2_msgs/action/Wait"
STATUS = f"{NAME}/_action/status"
TAKEN = {"sec": 3, "nanosec": 0}
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6


@pytest.fixture
async def offerer(sim: Any, connect: Any) -> AsyncIterator[Any]:
    """Another connection, which offers NAME."""
    async with connect(sim.url) as other:
        await other.send(op="advertise_action", action=NAME, type=KIND)
        await other.settled()
        yield other


async def ask(robot: Any, offerer: Any, goal_id: str = "g") -> Any:
    """Send a goal; what the offering client is asked."""
    await robot.goal(goal_id, NAME, KIND, {"time": {"sec": 3}}, feedback=True)
    return await offerer.op("send_action_goal", action=NAME)


async def end(offerer: Any, asked: Any, status: int, result: bool = True, **values: Any) -> None:
    await offerer.send(op="action_result", action=NAME, id=asked["id"], values=values, status=status, result=result)


async def test_goal_feedback_and_result_go_through(robot: Any, offerer: Any) -> None:
    asked = await ask(robot, offerer)
    assert (asked["action_type"], asked["args"], asked["feedback"]) == (KIND, {"time": {"sec": 3, "nanosec": 0}}, True)
    # What belongs to no goal, or has no such field, changes nothing.
    await offerer.send(op="action_feedback", action=NAME, id="nobody", values={})
    await offerer.send(op="action_feedback", action=NAME, id=asked["id"], values={"bad": 1})
    await offerer.send(op="action_feedback", action=NAME, id=asked["id"], values={"time_left": {"sec": 1}})
    seen = await robot.op("action_feedback", id="g")
    assert seen["values"] == {"time_left": {"sec": 1, "nanosec": 0}}
    await end(offerer, asked | {"id": "nobody"}, ABORTED)
    await end(offerer, asked, SUCCEEDED, bad=1)
    await end(offerer, asked, SUCCEEDED, total_elapsed_time=TAKEN)
    result = await robot.result("g")
    assert (result["status"], result["result"], result["values"]["total_elapsed_time"]) == (SUCCEEDED, True, TAKEN)
    assert set(result["values"]) == {"total_elapsed_time", "error_code", "error_msg"}


async def test_the_client_aborts_a_goal(robot: Any, offerer: Any) -> None:
    await end(offerer, await ask(robot, offerer), ABORTED, error_code=7)
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]) == (ABORTED, 7)
    await end(offerer, await ask(robot, offerer, "h"), ABORTED, result=False)
    assert (await robot.result("h"))["status"] == ABORTED
    # Nobody asked for a cancel.
    await end(offerer, await ask(robot, offerer, "i"), CANCELED)
    assert (await robot.result("i"))["status"] == ABORTED


@pytest.mark.parametrize("way", ["cancel_action_goal", "service", "stop"])
async def test_a_cancel_reaches_the_client(robot: Any, offerer: Any, way: str) -> None:
    asked = await ask(robot, offerer)
    if way == "service":
        answer = await robot.call(f"{NAME}/_action/cancel_goal")
        assert len(answer["values"]["goals_canceling"]) == 1
    elif way == "stop":
        await robot.call("/robot_guard/stop")
    else:
        await robot.send(op="cancel_action_goal", id="g", action=NAME)
    assert (await offerer.op("cancel_action_goal"))["id"] == asked["id"]
    await end(offerer, asked, CANCELED, total_elapsed_time=TAKEN)
    result = await robot.result("g")
    assert (result["status"], result["values"]["total_elapsed_time"]) == (CANCELED, TAKEN)


async def test_the_graph_knows_the_action(robot: Any, offerer: Any) -> None:
    listed = await robot.call("/rosapi/action_servers")
    assert NAME in listed["values"]["action_servers"]
    assert (await robot.call("/rosapi/action_type", {"action": NAME}))["values"]["type"] == KIND
    await robot.send(op="subscribe", topic=STATUS, type="action_msgs/msg/GoalStatusArray")
    asked = await ask(robot, offerer)
    running = await robot.op("publish", topic=STATUS)
    assert [item["status"] for item in running["msg"]["status_list"]] == [2]
    await end(offerer, asked, SUCCEEDED)
    assert (await robot.result("g"))["status"] == SUCCEEDED


async def test_the_offer_ends_with_its_client(sim: Any, robot: Any, connect: Any) -> None:
    async with connect(sim.url) as other:
        await other.send(op="advertise_action", action=NAME, type=KIND)
        await other.settled()
        await ask(robot, other)
    assert (await robot.result("g"))["status"] == ABORTED
    await robot.goal("later", NAME, KIND, {})
    assert (await robot.result("later"))["values"] == "No action server available"


async def test_only_the_offerer_withdraws_and_nobody_replaces_the_robots_own(robot: Any, offerer: Any) -> None:
    await robot.silent_after(op="unadvertise_action", action=NAME)
    await robot.silent_after(op="advertise_action", action=NAME, type=KIND)
    await robot.silent_after(op="advertise_action", action="/spin", type="nav2_msgs/action/Spin")
    await robot.silent_after(op="advertise_action", action="/x", type="nav2_msgs/action/Nothing")
    await robot.silent_after(op="advertise_action", action="/x")
    first = await ask(robot, offerer)
    # Its own offer again: the goals of the first end.
    await offerer.send(op="advertise_action", action=NAME, type=KIND)
    assert (await robot.result("g"))["status"] == ABORTED
    second = await ask(robot, offerer, "h")
    assert second["id"] != first["id"]
    await offerer.send(op="unadvertise_action", action=NAME)
    assert (await robot.result("h"))["status"] == ABORTED
    cancel = f"{NAME}/_action/cancel_goal"
    assert (await offerer.call(cancel))["values"] == f"Service {cancel} does not exist"
