"""Faults of rosbridge, played by a scripted peer: deadlines, lost connections, fragments, encodings."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator

import cbor2
import pytest

from quartet_robot_link import (
    SENSOR,
    ActionServerLostError,
    ActionUnavailableError,
    BridgeLink,
    BridgeUnavailableError,
    CallTimeoutError,
    GoalRejectedError,
    GoalStates,
    GoalStatus,
    MessageTooLargeError,
    Motion,
    RosClock,
    RosError,
    ServiceUnavailableError,
)

QUICK = {"call_timeout_s": 10.0, "connect_wait_s": 0.3, "probe_every_s": 60.0, "probe_wait_s": 0.5}
QUICK |= {"backoff_s": (0.02, 0.05)}


@pytest.fixture
async def link(peer) -> AsyncIterator[BridgeLink]:
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK)
    assert link.connected
    yield link
    await link.close()


def service_failure(text):
    def answer(operation):
        if operation["op"] == "call_service":
            reply = {"op": "service_response", "service": operation["service"], "values": text, "result": False}
            return [reply | {"id": operation["id"]}]
        return None

    return answer


async def test_service_call(link, peer):
    assert await link.call_service("/clear", {"all": True}) == {}
    call = await peer.wait_for(op="call_service", service="/clear")
    assert call["args"] == {"all": True}
    assert call["timeout"] > 10.0, "ours ends before the bridge's"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "Unable to import srv class Spin_GetResult from package nav2_msgs. Caused by module 'nav2_msgs.srv' has no "
            "attribute 'Spin_GetResult'",
            "nav2_msgs/action/Spin",
        ),
        ("Message type nav2_msgs/Spin_GetResult_Request does not have a field x", "nav2_msgs/action/Spin"),
        ("Unable to import my_msgs.srv from package my_msgs. Caused by: No module named 'my_msgs.srv'", None),
        ("Service /spin/_action/get_result does not exist", None),
    ],
)
async def test_the_type_of_an_action_without_a_goal(link, peer, text, kind):
    peer.answer = service_failure(text)
    assert await link.action_type("/spin") == kind
    [asked] = [operation for operation in peer.received if operation["op"] != "subscribe"]
    assert (asked["op"], asked["service"]) == ("call_service", "/spin/_action/get_result")
    assert asked["args"], "a field that no request has, so that the call is refused in any case"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Service /clear does not exist", ServiceUnavailableError),
        ("Timeout exceeded while waiting for service response", CallTimeoutError),
        ("Message type std_srvs/Trigger_Request does not have a field bad", RosError),
    ],
)
async def test_service_failures_keep_the_robots_words(link, peer, text, error):
    peer.answer = service_failure(text)
    with pytest.raises(error, match=text[:30]):
        await link.call_service("/clear")


async def test_silence_ends_at_our_own_deadline(link, peer):
    peer.answer = lambda operation: None
    with pytest.raises(CallTimeoutError, match=r"/clear did not answer within 0\.2 s"):
        await link.call_service("/clear", timeout_s=0.2)


async def test_a_late_answer_is_not_taken_for_the_next_call(link, peer):
    peer.answer = lambda operation: None
    with pytest.raises(CallTimeoutError):
        await link.call_service("/first", timeout_s=0.05)
    late = await peer.wait_for(service="/first")
    second = asyncio.create_task(link.call_service("/second", timeout_s=10))
    call = await peer.wait_for(service="/second")
    await peer.send({"op": "service_response", "id": late["id"], "values": {"from": "first"}, "result": True})
    await peer.send({"op": "service_response", "id": call["id"], "values": {"from": "second"}, "result": True})
    assert await second == {"from": "second"}


async def test_pending_calls_and_goals_fail_at_once_when_the_connection_is_lost(link, peer):
    peer.answer = lambda operation: None
    call = asyncio.create_task(link.call_service("/slow", timeout_s=30))
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    await peer.wait_for(op="send_action_goal")
    await peer.wait_for(service="/slow")
    await peer.stop()
    with pytest.raises(BridgeUnavailableError, match="lost"):
        await call
    with pytest.raises(BridgeUnavailableError, match="/spin"):
        await goal.result()


async def test_after_a_reconnect_only_subscriptions_are_made_again(link, peer):
    answer_service, peer.answer = peer.answer, lambda operation: None
    link.subscribe("/odom", "nav_msgs/msg/Odometry", qos=SENSOR)
    await link.publish("/cmd_vel", "geometry_msgs/msg/Twist", {"linear": {"x": 1.0}})
    call = asyncio.create_task(link.call_service("/slow", timeout_s=30))
    await peer.wait_for(service="/slow")
    await peer.wait_for(op="publish")
    await peer.stop()
    with pytest.raises(BridgeUnavailableError):
        await call
    with pytest.raises(BridgeUnavailableError, match="no connection"):
        await link.publish("/cmd_vel", "geometry_msgs/msg/Twist", {"linear": {"x": 1.0}})
    with pytest.raises(BridgeUnavailableError, match="no connection"):
        await link.call_service("/while_down")
    peer.received.clear()
    await peer.start()
    assert await link.wait_connected(60)
    again = await peer.wait_for(op="subscribe", topic="/odom")
    assert again["qos"]["reliability"] == "best_effort"
    peer.answer = answer_service
    await link.call_service("/last")
    assert [operation["op"] for operation in peer.received] == ["subscribe", "call_service"]
    assert peer.received[-1]["service"] == "/last", "/slow is not called again"
    assert link.reconnects == 1


async def test_a_goal_that_lost_its_connection_is_canceled_before_anything_else(link, peer):
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    await peer.wait_for(op="send_action_goal")
    await peer.stop()
    with pytest.raises(BridgeUnavailableError):
        await goal.result()
    peer.received.clear()
    await peer.start()
    assert await link.wait_connected(60)
    assert [operation["service"] for operation in peer.received] == ["/spin/_action/cancel_goal"]
    assert peer.received[0]["args"] == {}


async def test_a_connection_whose_setup_fails_is_made_anew(peer, monkeypatch, caplog):
    """It would stay open and never be ready."""
    failures, restore = [ValueError("a bug")], vars(BridgeLink)["_restore"]

    async def fail_once(self):
        if failures:
            raise failures.pop()
        await restore(self)

    monkeypatch.setattr(BridgeLink, "_restore", fail_once)
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK)
    assert link.connected
    assert "could not be set up" in caplog.text
    await link.close()


async def test_a_fresh_bridge_that_does_not_know_the_action_yet_is_asked_again(link, peer, monkeypatch):
    monkeypatch.setattr("quartet_robot_link._bridge.ORPHAN_RETRY_S", 0.01)
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    await peer.wait_for(op="send_action_goal")
    await peer.stop()
    with pytest.raises(BridgeUnavailableError):
        await goal.result()
    answer, unknown = peer.answer, service_failure("Service /spin/_action/cancel_goal does not exist")
    peer.received.clear()
    peer.answer = lambda operation: (unknown if len(peer.received) == 1 else answer)(operation)
    await peer.start()
    assert await link.wait_connected(60)
    assert [operation["service"] for operation in peer.received] == ["/spin/_action/cancel_goal"] * 2


REJECTED, UNKNOWN_GOAL_ID = 1, 2
"""action_msgs/srv/CancelGoal."""
EXECUTING = 2
"""action_msgs/msg/GoalStatus."""


@pytest.mark.parametrize(
    ("of_all", "of_one", "refused"),
    [(REJECTED, None, True), (0, 0, True), (0, UNKNOWN_GOAL_ID, False)],
    ids=["rclcpp", "rclpy", "the server was started anew"],
)
async def test_a_lost_goal_whose_cancel_is_refused_is_told_and_asked_again(
    link, peer, monkeypatch, caplog, of_all, of_one, refused
):
    """The codes that /spin answers to a cancel of all goals, and of the one that its status topic lists."""
    monkeypatch.setattr("quartet_robot_link._bridge.ORPHAN_RETRY_S", 0.01)
    GoalStates(link, ["/spin"])
    goal = {"goal_info": {"goal_id": {"uuid": "AAECAwQFBgcICQoLDA0ODw=="}, "stamp": {}}, "status": EXECUTING}

    def refuse(operation):
        if operation["op"] == "subscribe" and of_one is not None:
            return [{"op": "publish", "topic": operation["topic"], "msg": {"status_list": [goal]}}]
        if operation["op"] == "call_service":
            values = {"goals_canceling": [], "return_code": of_one if operation["args"] else of_all}
            return [{"op": "service_response", "id": operation["id"], "values": values, "result": True}]
        return None

    sent = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    await peer.wait_for(op="send_action_goal")
    peer.answer = refuse
    for _ in range(2):
        await peer.stop()
        with pytest.raises(BridgeUnavailableError):
            await sent.result()
        peer.received.clear()
        await peer.start()
        assert await link.wait_connected(60)
        asked = [one for one in peer.received if one.get("service") == "/spin/_action/cancel_goal"]
        assert ("/spin that lost its connection could not be canceled" in caplog.text) == refused
    assert bool(asked) == refused, "what has refused is asked again on the next connection"


async def test_a_bridge_that_never_answers_is_given_up(peer, until):
    peer.answer = lambda operation: None
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK | {"probe_every_s": 0.1})
    try:
        assert not await link.probe(timeout_s=0.1)
        await until(lambda: len(peer.connections) >= 2)
        assert link.reconnects >= 1
    finally:
        await link.close()


async def test_a_quiet_bridge_is_kept_though_rosapi_is_dead(peer, until):
    """No frame but those that it is asked for: a robot that stands still has no /clock, and rosapi is another node."""

    def without_rosapi(operation):
        if operation["op"] != "call_service" or operation["service"].startswith("/rosapi/"):
            return None
        return service_failure(f"Service {operation['service']} does not exist")(operation)

    peer.answer = without_rosapi
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK | {"probe_every_s": 0.1})
    try:
        await until(lambda: len(peer.received) >= 3)
        assert (len(peer.connections), link.reconnects) == (1, 0)
    finally:
        await link.close()


LATE = "Timeout exceeded while waiting for service response"
CLOCK = {"op": "publish", "topic": "/clock", "msg": {"clock": {"sec": 1, "nanosec": 0}}}


@pytest.mark.parametrize(
    ("served", "alive"), [(CLOCK, True), ({"op": "status", "level": "info", "msg": "busy"}, False), (None, False)]
)
async def test_only_what_its_executor_serves_proves_that_the_bridge_lives(link, peer, served, alive):
    peer.answer = lambda operation: [served] if served else None
    assert await link.probe(timeout_s=0.5) is alive


async def test_a_bridge_that_serves_topics_is_asked_by_pings_alone(link, peer, until):
    """rosbridge logs an error for every call of a service that is not there."""
    peer.answer = lambda operation: [CLOCK] if operation["op"] == "subscribe" else None
    clock = RosClock(link, "/clock")
    await until(lambda: clock.simulated)
    assert await link.probe(timeout_s=20)
    assert not [one for one in peer.received if one["op"] == "call_service"]
    clock.close()


async def test_a_bridge_whose_executor_has_died_is_no_connection(peer, until):
    """It still refuses calls and ends late ones, so that errors would blame the robot's drivers."""
    peer.answer = service_failure(LATE)
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK | {"probe_every_s": 0.1})
    try:
        await until(lambda: link.reconnects >= 2 and not link.connected)
        with pytest.raises(BridgeUnavailableError, match="a zombie bridge: it accepts connections"):
            await link.call_service("/clear_octomap")
        peer.answer = service_failure("Service /bridge/get_parameters does not exist")
        assert await link.wait_connected(20)
    finally:
        await link.close()


async def test_a_bridge_that_ignores_services_it_was_not_told_of_is_used(peer, until):
    """rosbridge with a `services_glob` does not answer their calls at all."""

    def answer(operation):
        if operation["op"] != "call_service" or operation["service"] != "/rosapi/get_time":
            return []
        return [{"op": "service_response", "id": operation["id"], "values": {"time": {}}, "result": True}]

    peer.answer = answer
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK | {"probe_every_s": 0.1})
    try:
        await until(lambda: sum(one["op"] == "call_service" for one in peer.received) > 4)
        assert (link.reconnects, link.connected) == (0, True)
    finally:
        await link.close()


@pytest.mark.parametrize("op", [["publish"], {"publish": 1}, 7, None])
async def test_an_operation_that_is_no_text_is_ignored(link, peer, caplog, op):
    peer.answer = lambda operation: [CLOCK] if operation["op"] == "subscribe" else None
    await peer.send({"op": op, "topic": "/t", "msg": {}})
    async with link.subscribe("/clock", "rosgraph_msgs/msg/Clock") as clock:
        assert (await clock.next(10))["clock"]["sec"] == 1
    assert [one for one in caplog.records if one.exc_info or one.levelname == "ERROR"] == []


async def test_nothing_is_cut_while_a_goal_runs(peer, until):
    peer.answer = lambda operation: None
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK | {"probe_every_s": 0.1})
    try:
        goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
        waiting = asyncio.create_task(goal.result())
        await until(lambda: len([op for op in peer.received if op["op"] == "call_service"]) >= 2)
        assert (len(peer.connections), link.reconnects) == (1, 0)
        waiting.cancel()
        await until(lambda: len(peer.connections) >= 2)
    finally:
        await link.close()


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Service /spin/_action/cancel_goal does not exist", False),
        ("something else went wrong", True),
        (None, True),
    ],
)
async def test_whether_an_action_server_answers(link, peer, text, there):
    if text is not None:
        peer.answer = service_failure(text)
    assert await link.has_action_server("/spin") is there
    asked = await peer.wait_for(service="/spin/_action/cancel_goal")
    # No id would mean every goal.
    assert base64.b64decode(asked["args"]["goal_info"]["goal_id"]["uuid"]) == b"\xff" * 16


async def test_an_action_server_that_dies_in_mid_goal_ends_the_motion(link, peer, until):
    clock = RosClock(link, "/clock")
    motion = Motion(link, clock, "/spin", "nav2_msgs/action/Spin", {}, limit_s=600, server_check_s=0.05)
    await until(lambda: len([op for op in peer.received if op["op"] == "call_service"]) >= 3)
    assert not motion.done
    peer.answer = service_failure("Service /spin/_action/cancel_goal does not exist")
    with pytest.raises(ActionServerLostError, match=r"/spin: its action server left the ROS graph"):
        await asyncio.wait_for(motion.outcome(), 20)
    clock.close()


@pytest.mark.parametrize("own", [LATE, None])
async def test_the_bridges_own_node_is_asked_by_no_name(link, peer, own):
    """It may run under any name and in any namespace: other names do not exist, and rosapi may be silent."""

    def answer(operation):
        if operation.get("service") == "~/get_parameters":
            text, result = (own, False) if own else ({"values": []}, True)
        elif operation.get("service", "").startswith("/rosapi/"):
            return []
        else:
            text, result = f"Service {operation.get('service')} does not exist", False
        return [{"op": "service_response", "id": operation.get("id"), "values": text, "result": result}]

    peer.answer = answer
    assert await link.probe(timeout_s=0.5) is (own is None)


async def test_a_bridge_without_parameter_services_is_taken_at_its_word(link, peer):
    peer.answer = service_failure("Service /bridge/get_parameters does not exist")
    assert await link.probe()
    await peer.stop()
    assert not await link.probe()


def action_end(**fields):
    def answer(operation):
        if operation["op"] == "send_action_goal":
            return [{"op": "action_result", "action": operation["action"], "id": operation["id"], **fields}]
        return None

    return answer


@pytest.mark.parametrize(("status", "name"), [(4, "SUCCEEDED"), (5, "CANCELED"), (6, "ABORTED")])
async def test_end_states_of_a_goal(link, peer, status, name):
    peer.answer = action_end(status=status, values={"error_code": 7}, result=True)
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    result = await goal.result()
    assert result.status is GoalStatus[name]
    assert result.values == {"error_code": 7}


async def test_feedback_reaches_its_goal_only(link, peer):
    seen = []
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {}, on_feedback=seen.append)
    sent = await peer.wait_for(op="send_action_goal")
    assert sent["feedback"] is True
    await peer.send({"op": "action_feedback", "action": "/spin", "id": "of somebody else", "values": {"a": 0}})
    await peer.send({"op": "action_feedback", "action": "/spin", "id": sent["id"], "values": {"a": 1}})
    await peer.send({"op": "action_result", "id": sent["id"], "status": 4, "result": True, "values": {}})
    await goal.result()
    assert seen == [{"a": 1}]
    assert goal.feedback == {"a": 1}


async def test_rejected_goal(link, peer):
    peer.answer = action_end(status=0, values="Action goal was rejected", result=False)
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    with pytest.raises(GoalRejectedError, match="/spin"):
        await goal.result()
    assert len([op for op in peer.received if op["op"] == "send_action_goal"]) == 1


async def test_an_action_server_that_is_not_seen_is_asked_once_more(link, peer):
    peer.answer = action_end(status=0, values="No action server available", result=False)
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    with pytest.raises(ActionUnavailableError, match="No action server available"):
        await goal.result()
    assert len([op for op in peer.received if op["op"] == "send_action_goal"]) == 2


async def test_cancel_goes_through_the_acknowledged_service(link, peer):
    peer.answer = lambda operation: (
        [{"op": "service_response", "id": operation["id"], "result": True, "values": {"goals_canceling": [{}, {}]}}]
        if operation["op"] == "call_service"
        else None
    )
    goal = await link.send_goal("/spin", "nav2_msgs/action/Spin", {})
    assert await goal.cancel() == 2
    assert (await peer.wait_for(op="call_service"))["service"] == "/spin/_action/cancel_goal"


async def test_messages_in_every_encoding_reach_the_reader(link, peer):
    subscription = link.subscribe("/t", "x/msg/T", compression="cbor")
    await peer.wait_for(op="subscribe", topic="/t", compression="cbor")
    await peer.send({"op": "publish", "topic": "/t", "msg": {"n": 1}})
    await peer.send(cbor2.dumps({"op": "publish", "topic": "/t", "msg": {"n": 2, "data": b"\x00\xff"}}))
    whole = json.dumps({"op": "publish", "topic": "/t", "msg": {"n": 3, "text": "x" * 100}})
    parts = [whole[i : i + 40] for i in range(0, len(whole), 40)]
    for number, part in enumerate(parts):
        await peer.send({"op": "fragment", "id": "7", "data": part, "num": number, "total": len(parts)})
    await peer.send({"op": "png", "data": png_of({"op": "publish", "topic": "/t", "msg": {"n": 4}})})
    # rosbridge_suite 2.1 counts its fragments as (length - 1) / size + 1, and numbers messages without quotes.
    whole = json.dumps({"op": "publish", "topic": "/t", "msg": {"n": 5, "text": "x" * 100}})
    for number, at in enumerate(range(0, len(whole), 40)):
        total = (len(whole) - 1) / 40 + 1
        await peer.send({"op": "fragment", "id": 0, "data": whole[at : at + 40], "num": number, "total": total})
    got = [await subscription.next(10) for _ in range(5)]
    assert [message["n"] for message in got] == [1, 2, 3, 4, 5]
    assert got[1]["data"] == b"\x00\xff"
    assert link.latest("/t")["n"] == 5


def png_of(operation) -> str:
    """As rosbridge packs it: the JSON text as the pixels of an image that is nearly square."""
    import io

    from PIL import Image

    text = json.dumps(operation).encode()
    width = int((len(text) / 3) ** 0.5)
    height = -(-len(text) // (3 * width))
    out = io.BytesIO()
    Image.frombytes("RGB", (width, height), text.ljust(3 * width * height, b"\n")).save(out, "png")
    return base64.b64encode(out.getvalue()).decode()


async def test_a_broken_sequence_of_fragments_costs_no_later_message(link, peer):
    """rosbridge gives every message without an id the same one, and two of its threads mix theirs."""
    subscription = link.subscribe("/t", "x/msg/T")
    await peer.wait_for(op="subscribe", topic="/t")

    def fragments(number, pieces=3):
        whole = json.dumps({"op": "publish", "topic": "/t", "msg": {"n": number}})
        size = -(-len(whole) // pieces)
        parts = [whole[at : at + size] for at in range(0, len(whole), size)]
        return [{"op": "fragment", "id": "0", "data": d, "num": n, "total": pieces} for n, d in enumerate(parts)]

    first, second, third, fourth, fifth = (fragments(n) for n in range(1, 6))
    cut = first[:2] + second
    mixed = [third[0], fourth[0], third[1], fourth[1], third[2], fourth[2]]
    two = fragments(6, pieces=2)
    of_different_length = [fifth[0], two[0], fifth[1], two[1], fifth[2]]
    for part in (*cut, *mixed, *of_different_length):
        await peer.send(part)
    assert [(await subscription.next(10))["n"] for _ in range(3)] == [2, 6, 5]


@pytest.mark.parametrize(
    "frame",
    ["not json", "[1, 2]", b"\xff\xff", '{"op": "fragment", "id": "1"}',
     '{"op": "fragment", "id": "1", "data": "", "num": 5, "total": 2}',
     '{"op": "png", "data": "!"}', '{"op": "dance"}', '{"op": "publish", "topic": "/t", "msg": 3}',
     '{"op": "service_response", "id": "unknown", "values": {}}', '{"op": "action_result"}'],
)  # fmt: skip
async def test_nonsense_is_ignored_and_the_link_goes_on(link, peer, frame):
    await peer.send(frame)
    assert await link.call_service("/alive") == {}
    assert link.connected


async def test_a_message_that_is_too_large_is_refused_and_costs_nothing(link, peer):
    """A map of 6000 x 6000 cells as JSON: calls that wait go on, and the reader is told how large it is."""
    call = asyncio.create_task(link.call_service("/slow", timeout_s=60))
    waiting = await peer.wait_for(op="call_service", service="/slow")
    async with link.subscribe("/map", "nav_msgs/msg/OccupancyGrid", compression="cbor") as grid:
        reading = asyncio.create_task(grid.next(60))
        await peer.wait_for(op="subscribe", topic="/map")
        text = '{"op": "publish", "topic": "/map", "msg": {"info": {}, "data": [' + "-1, " * 17_000_000
        await peer.send(text + "-1]}}")
        with pytest.raises(MessageTooLargeError, match=r"on /map has 68 MB as JSON, at most 67 MB.*CBOR"):
            await reading
        await peer.send({"op": "publish", "topic": "/map", "msg": {"n": 1}})
        assert await grid.next(10) == {"n": 1}
    await peer.send({"op": "service_response", "id": waiting["id"], "service": "/slow", "values": {}, "result": True})
    assert await call == {}
    assert link.reconnects == 0


async def test_a_frame_of_any_size_costs_the_connection_and_no_more(peer, monkeypatch):
    """It is not received: the calls that wait are told, and the link comes back."""
    monkeypatch.setattr("quartet_robot_link._connection.MAX_FRAME_BYTES", 10_000)
    link = await BridgeLink.open(peer.url, wait_s=10, **QUICK)
    usual, peer.answer = peer.answer, lambda operation: None
    call = asyncio.create_task(link.call_service("/slow", timeout_s=60))
    await peer.wait_for(op="call_service", service="/slow")
    await peer.send(b"x" * 10_001)
    with pytest.raises(BridgeUnavailableError, match="lost"):
        await call
    peer.answer = usual
    assert await link.wait_connected(20)
    assert await link.call_service("/alive") == {}
    await link.close()


async def test_a_faulty_reader_does_not_stop_the_others(link, peer, caplog):
    def broken(message):
        raise ValueError("reader is broken")

    link.subscribe("/t", "x/msg/T", on_message=broken)
    good = link.subscribe("/t", "x/msg/T")
    await peer.send({"op": "publish", "topic": "/t", "msg": {"n": 1}})
    assert await good.next(10) == {"n": 1}
    assert "reader is broken" in caplog.text


async def test_closing_a_subscription_unsubscribes_once(link, peer):
    async with link.subscribe("/t", "x/msg/T") as subscription:
        sent = await peer.wait_for(op="subscribe")
        with pytest.raises(CallTimeoutError, match="no message on /t"):
            await subscription.next(0.05)
    subscription.close()
    assert (await peer.wait_for(op="unsubscribe"))["id"] == sent["id"]
    await link.call_service("/alive")
    assert len([op for op in peer.received if op["op"] == "unsubscribe"]) == 1


async def test_no_bridge_at_all_names_address_and_remedy():
    link = await BridgeLink.open("ws://127.0.0.1:9", **QUICK)
    try:
        with pytest.raises(BridgeUnavailableError, match=r"ws://127\.0\.0\.1:9.*check that rosbridge runs"):
            await link.call_service("/clear")
    finally:
        await link.close()


async def test_the_password_of_the_address_is_in_no_error_and_no_log(peer, caplog):
    """nginx with basic authentication may stand in front of rosbridge."""
    caplog.set_level(logging.INFO)
    link = await BridgeLink.open(peer.url.replace("://", "://bob:secret@"), wait_s=5.0, **QUICK)
    try:
        call = asyncio.create_task(link.call_service("/never"))
        await peer.wait_for(op="call_service")
        link.reconnect("a test")
        with pytest.raises(BridgeUnavailableError, match=r"ws://bob:\*\*\*@127") as lost:
            await call
    finally:
        await link.close()
    with pytest.raises(BridgeUnavailableError, match=r"ws://bob:\*\*\*@127") as down:
        await link.call_service("/alive")
    assert "secret" not in f"{lost.value} {down.value} {caplog.text}"
    assert "ws://bob:***@" in caplog.text
