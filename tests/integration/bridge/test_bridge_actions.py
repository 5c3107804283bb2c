"""Goals over the bridge: results, feedback, refusal, cancelling, disconnecting."""

from __future__ import annotations

import asyncio
from typing import Any

SPIN, SPIN_TYPE = "/spin", "nav2_msgs/action/Spin"
WAIT, WAIT_TYPE = "/wait", "nav2_msgs/action/Wait"
LONG_SPIN = {"target_yaw": 100_000.0}
LONG_WAIT = {"time": {"sec": 1_000_000}}


async def running(robot: Any, action: str) -> list[int]:
    """Waits for a goal to run; its action's states."""
    await robot.send(op="subscribe", topic=f"{action}/_action/status", id="status")
    while True:
        states = [item["status"] for item in (await robot.message(f"{action}/_action/status"))["status_list"]]
        if 2 in states:
            await robot.send(op="unsubscribe", topic=f"{action}/_action/status", id="status")
            return states


async def test_success_with_feedback(robot: Any) -> None:
    await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": 1.0}, feedback=True)
    result = await robot.result("g")
    assert (result["status"], result["result"], result["action"]) == (4, True, SPIN)
    values = result["values"]
    assert set(values) == {"total_elapsed_time", "error_code", "error_msg"}
    assert (values["error_code"], values["total_elapsed_time"]["sec"] > 0) == (0, True)
    feedback = [frame for frame in robot.kept if frame["op"] == "action_feedback"]
    assert feedback
    assert all(frame["id"] == "g" and frame["action"] == SPIN for frame in feedback)
    assert set(feedback[0]["values"]) == {"angular_distance_traveled"}


async def test_no_feedback_unless_asked_for(robot: Any) -> None:
    await robot.goal("g", SPIN, SPIN_TYPE, {"target_yaw": 0.3})
    await robot.result("g")
    assert robot.kept == []


async def test_aborted_carries_result_true_and_a_code(robot: Any) -> None:
    await robot.goal("g", "/drive_on_heading", "nav2_msgs/DriveOnHeading", {"target": {"x": 1.0}, "speed": -0.2})
    result = await robot.result("g")
    assert (result["status"], result["result"], result["values"]["error_code"]) == (6, True, 724)
    assert "same sign" in result["values"]["error_msg"]
    await robot.goal("h", "/backup", "nav2_msgs/BackUp", {"target": {"y": 1.0}, "speed": 0.2})
    result = await robot.result("h")
    assert (result["status"], result["values"]["error_code"]) == (6, 713)


async def test_an_actions_own_services_cannot_be_called(robot: Any) -> None:
    for part, name in (("send_goal", "Spin_SendGoal"), ("get_result", "Spin_GetResult")):
        answer = await robot.call(f"/spin/_action/{part}")
        assert answer["result"] is False
        assert answer["values"].startswith(f"Unable to import srv class {name} from package nav2_msgs. Caused by")
    assert (await robot.call("/fly/_action/get_result"))["values"] == "Service /fly/_action/get_result does not exist"


async def test_unknown_frame_aborts_without_a_code_of_its_own(robot: Any) -> None:
    goal = {"pose": {"header": {"frame_id": "moon"}}}
    await robot.goal("g", "/navigate_to_pose", "nav2_msgs/NavigateToPose", goal)
    result = await robot.result("g")
    assert (result["status"], result["values"]["error_code"]) == (6, 0)
    assert "moon" in result["values"]["error_msg"]
    assert "base_footprint" in result["values"]["error_msg"]


async def test_unknown_action_is_answered_after_a_second(robot: Any) -> None:
    started = asyncio.get_running_loop().time()
    await robot.goal("g", "/fly", SPIN_TYPE, {})
    result = await robot.result("g")
    assert (result["values"], result["status"], result["result"]) == ("No action server available", 0, False)
    assert asyncio.get_running_loop().time() - started > 0.9


async def test_bad_goal_field(robot: Any) -> None:
    await robot.goal("g", SPIN, SPIN_TYPE, {"angle": 1.0})
    result = await robot.result("g")
    assert (result["status"], result["result"]) == (0, False)
    assert result["values"] == "Message type nav2_msgs/Spin_Goal does not have a field angle"


async def test_wrong_type_is_unavailable_but_harmless_without_the_fault(robot: Any) -> None:
    await robot.goal("g", SPIN, "nav2_msgs/action/BackUp", {})
    assert (await robot.result("g"))["values"] == "No action server available"
    await robot.goal("h", SPIN, SPIN_TYPE, {"target_yaw": 0.1})
    assert (await robot.result("h"))["status"] == 4


async def test_cancel_op_has_no_reply_and_ends_the_goal(robot: Any) -> None:
    await robot.goal("g", WAIT, WAIT_TYPE, LONG_WAIT)
    await running(robot, WAIT)
    await robot.send(op="cancel_action_goal", id="g", action=WAIT)
    result = await robot.result("g")
    assert (result["status"], result["result"]) == (5, True)


async def test_cancel_op_of_another_connection_does_nothing(sim: Any, robot: Any, connect: Any) -> None:
    await robot.goal("g", WAIT, WAIT_TYPE, LONG_WAIT)
    await running(robot, WAIT)
    async with connect(sim.url) as other:
        await other.silent_after(op="cancel_action_goal", id="g", action=WAIT)
    await robot.send(op="subscribe", topic=f"{WAIT}/_action/status")
    status = await robot.message(f"{WAIT}/_action/status")
    assert status["status_list"][-1]["status"] == 2
    answer = await robot.call(f"{WAIT}/_action/cancel_goal")
    assert (answer["result"], answer["values"]["return_code"]) == (True, 0)
    assert len(answer["values"]["goals_canceling"]) == 1
    assert (await robot.result("g"))["status"] == 5


async def test_cancel_service_by_id(robot: Any) -> None:
    await robot.goal("g", WAIT, WAIT_TYPE, LONG_WAIT)
    await running(robot, WAIT)
    await robot.send(op="subscribe", topic=f"{WAIT}/_action/status")
    info = (await robot.message(f"{WAIT}/_action/status"))["status_list"][-1]["goal_info"]
    unknown = await robot.call(f"{WAIT}/_action/cancel_goal", {"goal_info": {"goal_id": {"uuid": [1] * 16}}})
    assert unknown["values"] == {"return_code": 2, "goals_canceling": []}
    answer = await robot.call(f"{WAIT}/_action/cancel_goal", {"goal_info": {"goal_id": info["goal_id"]}})
    assert [item["goal_id"] for item in answer["values"]["goals_canceling"]] == [info["goal_id"]]
    assert (await robot.result("g"))["status"] == 5
    again = await robot.call(f"{WAIT}/_action/cancel_goal", {"goal_info": {"goal_id": info["goal_id"]}})
    assert again["values"] == {"return_code": 3, "goals_canceling": []}


async def test_a_second_wait_aborts_the_first(robot: Any) -> None:
    """Nav2's behaviours go over to a newer goal of theirs by ending the older one."""
    await robot.goal("g", WAIT, WAIT_TYPE, LONG_WAIT)
    await running(robot, WAIT)
    await robot.goal("h", WAIT, WAIT_TYPE, LONG_WAIT)
    first = await robot.result("g")
    assert (first["status"], first["result"]) == (6, True)
    await running(robot, WAIT)
    await robot.call(f"{WAIT}/_action/cancel_goal")
    assert (await robot.result("h"))["status"] == 5
    await robot.goal("i", WAIT, WAIT_TYPE, {"time": {"nanosec": 1000}})
    assert (await robot.result("i"))["status"] == 4


async def test_a_goal_s_args_may_be_a_list_and_its_id_stand_behind_the_name(robot: Any) -> None:
    await robot.send(op="send_action_goal", action=f"{WAIT}#7", action_type=WAIT_TYPE, args=[{"nanosec": 1000}])
    result = await robot.result("7")
    assert (result["action"], result["status"]) == (f"{WAIT}#7", 4)
    await robot.send(op="send_action_goal", action=f"{WAIT}#8", action_type=WAIT_TYPE, args=[LONG_WAIT["time"]])
    await running(robot, WAIT)
    await robot.send(op="cancel_action_goal", action=f"{WAIT}#8")
    assert (await robot.result("8"))["status"] == 5


async def test_cancel_right_behind_the_goal(robot: Any) -> None:
    for action, type_name, args in ((WAIT, WAIT_TYPE, LONG_WAIT), (SPIN, SPIN_TYPE, LONG_SPIN)):
        await robot.goal("g", action, type_name, args)
        answer = await robot.call(f"{action}/_action/cancel_goal")
        assert len(answer["values"]["goals_canceling"]) == 1
        assert (await robot.result("g"))["status"] == 5


async def test_a_moving_robot_comes_to_rest_when_cancelled(sim: Any, robot: Any) -> None:
    await robot.goal("g", SPIN, SPIN_TYPE, LONG_SPIN, feedback=True)
    await robot.op("action_feedback")
    answer = await robot.call(f"{SPIN}/_action/cancel_goal")
    result = await robot.result("g")
    assert answer["values"]["return_code"] == 0
    assert (result["status"], result["result"]) == (5, True)
    twist = (await robot.once("/odom"))["twist"]["twist"]
    assert abs(twist["angular"]["z"]) < 0.05


async def test_a_goal_outlives_its_connection(sim: Any, robot: Any, connect: Any) -> None:
    async with connect(sim.url) as other:
        await other.goal("g", WAIT, WAIT_TYPE, LONG_WAIT)
        await running(robot, WAIT)
    await robot.send(op="subscribe", topic="/clock")
    first = (await robot.message("/clock"))["clock"]["sec"]
    while (await robot.message("/clock"))["clock"]["sec"] <= first + 1:
        pass
    answer = await robot.call(f"{WAIT}/_action/cancel_goal")
    assert len(answer["values"]["goals_canceling"]) == 1


async def test_a_new_goal_preempts_the_old_one(robot: Any) -> None:
    await robot.goal("old", SPIN, SPIN_TYPE, LONG_SPIN, feedback=True)
    await robot.op("action_feedback")
    await robot.goal("new", SPIN, SPIN_TYPE, {"target_yaw": 0.1})
    assert (await robot.result("old"))["status"] == 6
    assert (await robot.result("new"))["status"] == 4
