"""A gripper whose controller gives up or does not move: played by a scripted bridge."""

import asyncio

import pytest

import quartet_moveit
from quartet_robot_link import Robot


def states(position: float, effort: float | str | None = 0.0):
    """A /joint_states message as the bridge publishes it."""
    message = {"name": ["robotiq_140_finger_joint"], "position": [position], "velocity": [0.0], "effort": [effort]}
    if effort == "missing":
        message["effort"] = []
    return {"op": "publish", "topic": "/joint_states", "msg": message}


class StuckGripper:
    """Answers gripper goals with `status` and `values`, and stays at `position`."""

    def __init__(self, position: float, status: int, **values) -> None:
        self.position, self.status, self.values = position, status, values
        self.effort: float | str | None = 0.1

    def __call__(self, operation):
        if operation["op"] == "send_action_goal":
            end = {"op": "action_result", "id": operation["id"], "status": self.status, "result": True}
            return [end | {"action": operation["action"], "values": {"stalled": False} | self.values}]
        if operation["op"] == "subscribe" and operation["topic"] == "/joint_states":
            return [states(self.position, self.effort)] * 8
        return None


@pytest.fixture
async def moveit(peer, open_over, robot_file):
    robot = await Robot.open(robot_file, url=peer.url, wait_s=60)
    hands = await open_over(robot, quartet_moveit)
    # The first call ends the goals of an earlier process, while the bridge still answers services.
    await hands.call("list_planning_groups")
    yield hands
    await robot.close()


STALLED = {"stalled": True, "reached_goal": False}


@pytest.mark.parametrize(
    ("effort", "flags", "state"),
    [
        (None, STALLED, "HOLDING"),
        (0.0, STALLED, "HOLDING"),
        ("missing", STALLED, "HOLDING"),
        (None, {"stalled": False, "reached_goal": False}, "UNKNOWN"),
        (None, {"stalled": None, "reached_goal": None}, "UNKNOWN"),
        (None, {"stalled": True, "reached_goal": True}, "UNKNOWN"),
    ],
)
async def test_a_gripper_without_effort_is_judged_by_its_stall(moveit, peer, effort, flags, state):
    peer.answer = StuckGripper(0.35, 4, **flags)
    peer.answer.effort = effort
    closed = await moveit.call("close_gripper")
    assert (closed["ok"], closed["state"], closed.get("effort_n")) == (True, state, None)
    read = await moveit.call("get_grasp_state")
    assert (read["state"], read["width_m"]) == (state, pytest.approx(0.07, abs=1e-3))
    # Fingers that are elsewhere now tell nothing by how they stopped.
    peer.answer.position = 0.2
    assert (await moveit.call("get_grasp_state"))["state"] == "UNKNOWN"
    peer.answer.position = 0.69
    assert (await moveit.call("get_grasp_state"))["state"] == "EMPTY"


async def test_fingers_without_effort_that_came_as_far_as_asked_are_empty(moveit, peer):
    peer.answer = StuckGripper(0.35, 4, reached_goal=True)
    peer.answer.effort = None
    assert (await moveit.call("get_grasp_state"))["state"] == "UNKNOWN"
    assert (await moveit.call("open_gripper", position=0.35))["state"] == "EMPTY"
    assert (await moveit.call("get_grasp_state"))["state"] == "EMPTY"


async def test_fingers_that_did_not_leave_the_open_end_hold_nothing_for_sure(moveit, peer):
    """A driver whose motor is off may call standing still a stall."""
    peer.answer = StuckGripper(0.0, 4, **STALLED)
    peer.answer.effort = None
    assert (await moveit.call("close_gripper"))["state"] != "HOLDING"
    assert (await moveit.call("get_grasp_state"))["state"] != "HOLDING"


async def test_fingers_that_were_closed_to_a_width_may_hold_a_thing_of_it(moveit, peer):
    peer.answer = StuckGripper(0.35, 4, reached_goal=True)
    peer.answer.effort = None
    assert (await moveit.call("close_gripper", position=0.35))["state"] == "UNKNOWN"


async def test_an_aborted_gripper_goal(moveit, peer):
    peer.answer = StuckGripper(0.3, 6)
    for tool in ("open_gripper", "close_gripper"):
        assert "controller gave up" in await moveit.refused(tool, "GRIPPER_FAILED")


async def test_an_open_gripper_that_stays_closed(moveit, peer):
    peer.answer = StuckGripper(0.5, 4, reached_goal=True)
    message = await moveit.refused("open_gripper", "GRIPPER_FAILED")
    assert "0.040 m wide" in message
    assert "at least 0.126 m" in message


@pytest.mark.parametrize("status", [None, "moving"])
async def test_fingers_that_settle_while_the_world_stands_still_are_at_rest(moveit, peer, until, status):
    """A simulation stops its clock between goals: they would settle for ever, and what they hold could not be told.

    Also where its driver has said that they move, which it then says no more of.
    """
    await peer.send({"op": "publish", "topic": "/clock", "msg": {"clock": {"sec": 7, "nanosec": 0}}})
    await until(lambda: moveit.server.robot.clock.stands)
    settling = states(0.15, effort=50.0)
    settling["msg"]["velocity"] = [0.1]
    latched = {"op": "publish", "topic": "/gripper/status", "msg": {"data": status or ""}}
    # The driver's word has come before the joints.
    published = {"/joint_states": [latched, settling]}
    peer.answer = lambda asked: published.get(asked.get("topic"), []) if asked["op"] == "subscribe" else []
    assert (await moveit.call("get_grasp_state"))["state"] == "HOLDING"


def shared_topic(*messages):
    """/joint_states of several nodes, each with joints of its own, in this order."""

    def answer(operation):
        if operation["op"] != "subscribe" or operation["topic"] != "/joint_states":
            return None
        return [
            {
                "op": "publish",
                "topic": "/joint_states",
                "msg": {"name": list(joints), "position": list(joints.values())},
            }
            for joints in messages
        ]

    return answer


async def test_joints_of_several_nodes_on_one_topic(moveit, peer):
    robot = moveit.server.robot
    arm = {name: number / 10 for number, name in enumerate(robot.file.arm.joints)}
    halves = [dict(list(arm.items())[:2]), dict(list(arm.items())[2:])]
    peer.answer = shared_topic({"wheel": 1.0}, *halves, {"robotiq_140_finger_joint": 0.35})
    assert arm.items() <= (await robot.joint_positions(timeout_s=20)).items()
    state = await moveit.call("get_grasp_state")
    assert state["width_m"] == pytest.approx(0.07, abs=0.001)
    # What nobody publishes is missing, not waited for without end.
    peer.answer = shared_topic({"wheel": 1.0}, halves[0])
    assert set(await robot.joint_positions(timeout_s=3)) == {"wheel", *halves[0]}
    message = await moveit.refused("get_current_joint_state", "TIMEOUT")
    assert next(iter(halves[1])) in message


async def test_a_canceled_gripper_goal(moveit, peer):
    peer.answer = StuckGripper(0.3, 5)
    assert "stopped" in await moveit.refused("close_gripper", "CANCELED")


async def test_a_silent_gripper_driver(moveit, peer):
    peer.answer = lambda operation: None
    message = await moveit.refused("get_grasp_state", "TIMEOUT")
    assert "/joint_states" in message


async def test_fingers_are_opened_also_where_nobody_knows_what_they_hold(moveit, peer):
    peer.answer = lambda operation: None
    call = asyncio.create_task(moveit.call("open_gripper"))
    goal = await peer.wait_for(op="send_action_goal")
    assert "gripper" in goal["action"]
    await peer.stop()
    await call


async def test_a_bridge_that_dies_during_the_grasp(moveit, peer):
    peer.answer = lambda operation: None
    call = asyncio.create_task(moveit.refused("close_gripper", "BRIDGE_UNAVAILABLE"))
    await peer.wait_for(op="send_action_goal")
    await peer.stop()
    assert "look before doing it again" in await call


async def test_a_gripper_without_a_position_is_not_taken_for_open(moveit, peer):
    message = states(0.35)
    blank = states(0.0)
    blank["msg"] |= {"position": [None], "effort": []}
    bare = {**states(0.0), "msg": {"name": ["robotiq_140_finger_joint"], "position": []}}
    joints = [blank, bare, message]
    peer.answer = lambda operation: joints if operation.get("topic") == "/joint_states" else None
    assert (await moveit.call("get_grasp_state"))["width_m"] == pytest.approx(0.07, abs=0.001)


@pytest.mark.parametrize(
    ("efforts", "state"),
    [
        ((0.9, -0.6, 0.2, -0.3, 0.4, -0.5, 0.1, -0.2), "EMPTY"),
        ((0.3, 1.2, 0.5, 1.1, 0.9, 0.6, 1.0, 0.8), "UNKNOWN"),
        ((0.9,), "UNKNOWN"),
    ],
    ids=["noise", "a light touch", "a driver that is slow"],
)
async def test_of_fingers_that_hardly_press_the_mean_of_several_efforts_counts(moveit, peer, efforts, state):
    messages = [states(0.35, effort) for effort in efforts]
    peer.answer = lambda asked: (
        messages if (asked["op"], asked.get("topic")) == ("subscribe", "/joint_states") else None
    )
    grasp = await moveit.call("get_grasp_state")
    assert (grasp["state"], grasp["effort_n"]) == (state, pytest.approx(abs(sum(efforts) / len(efforts)), abs=1e-6))
