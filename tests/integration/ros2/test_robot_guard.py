"""The robot guard on a real ROS graph: stop, hold, lapse, reset, and the hand's grip left alone."""

import json
from typing import Any

import pytest

SPIN, DRIVE = "/spin", "/navigate_to_pose"
ARM = "/arm_controller/follow_joint_trajectory"
GRIPPER = "/gripper_controller/gripper_cmd"
CANCELED, SUCCEEDED = 5, 4
OK, WARN, ERROR = 0, 1, 2
# The first of these installs rclpy.
pytestmark = pytest.mark.timeout(400)


def begin(robot: Any, *actions: str) -> None:
    """Goals that run."""
    for action in actions:
        robot.wait("runs", robot.do("goal", action=action), action=action)


def test_a_stop_ends_goals_halts_the_base_holds_the_arm_and_spares_the_gripper(robot: Any) -> None:
    mark = robot.mark
    begin(robot, DRIVE, ARM, GRIPPER)
    robot.wait("driven", robot.do("drive", x=0.4), x=0.4)
    robot.until(lambda report: report["arm"][0] > 0.2)
    order = robot.do("call", service="stop")
    assert "latched until reset" in robot.wait("answer", order, service="stop")["text"]
    for action in (DRIVE, ARM):
        assert robot.wait("result", order, action=action)["status"] == CANCELED
    robot.wait("driven", order, x=0.0)
    held = robot.wait("held", order)
    assert held["joints"] == ["shoulder", "elbow"]

    rest = robot.state(order, standstill="true")
    assert (rest["name"], rest["reason"], rest["level"]) == ("robot_guard", "stop service called", ERROR)
    assert set(rest["values"]) == {"latched", "standstill", "since", "last_heartbeat_age_s"}
    report = robot.report()
    assert (report["speed"], report["goals"]) == (0.0, [GRIPPER])
    # The shoulder went on until its goal had ended.
    assert 0.1 < held["positions"][0] <= report["arm"][0]
    assert held["positions"][1] == report["arm"][1]
    robot.do("finish", action=GRIPPER)
    assert robot.wait("result", mark, action=GRIPPER)["status"] == SUCCEEDED
    assert [event for event in robot.events[mark:] if event["event"] == "cancel" and event["action"] == GRIPPER] == []


def test_while_stopped_new_goals_end_and_velocities_do_not_pass(guard: Any, robot: Any) -> None:
    robot.state(robot.do("call", service="stop"), standstill="true")
    order = robot.do("drive", x=0.4)
    begin(robot, SPIN)
    assert robot.wait("result", order, action=SPIN)["status"] == CANCELED
    driven = [event["x"] for event in robot.events[order:] if event["event"] == "driven"]
    assert set(driven) <= {0.0}
    robot.wait("driven", robot.mark, x=0.0)

    order = robot.mark
    assert guard.http("/reset", b"")[1]["message"] == "reset"
    running = robot.state(order, reason="running")
    assert (running["level"], running["values"]["latched"], running["values"]["standstill"]) == (OK, "false", "unknown")
    robot.wait("driven", order, x=0.4)
    begin(robot, SPIN)
    robot.do("finish", action=SPIN)
    assert robot.wait("result", order, action=SPIN)["status"] == SUCCEEDED


def test_stop_and_reset_can_be_repeated(guard: Any, robot: Any) -> None:
    for text in ("stopped", "stopped"):
        assert text in robot.wait("answer", robot.do("call", service="stop"))["text"]
    for text in ("reset", "was not stopped"):
        assert guard.http("/reset", b"")[1]["message"] == text


def test_a_silent_source_is_a_lapse_that_does_not_latch(robot: Any) -> None:
    begin(robot, DRIVE, GRIPPER)
    robot.do("beat", source="nav2:1")
    robot.do("beat", source="moveit:2")
    robot.wait("driven", robot.do("drive", x=0.4), x=0.4)
    robot.do("drive", x=None)
    order = robot.do("silence", source="nav2:1")
    lapse = robot.state(order, reason="heartbeat lapsed")
    assert (lapse["reason"], lapse["level"]) == ("heartbeat lapsed: nav2:1", WARN)
    assert lapse["values"]["latched"] == "false"
    assert robot.wait("result", order, action=DRIVE)["status"] == CANCELED
    robot.wait("driven", order, x=0.0)
    robot.state(order, reason="heartbeat lapsed", standstill="true")
    assert robot.report()["goals"] == [GRIPPER]

    order = robot.do("beat", source="nav2:3")
    assert robot.state(order, reason="running")["level"] == OK
    begin(robot, SPIN)
    robot.do("finish", action=SPIN)
    assert robot.wait("result", order, action=SPIN)["status"] == SUCCEEDED
    robot.do("finish", action=GRIPPER)


def test_a_source_that_is_done_does_not_lapse(robot: Any) -> None:
    order = robot.do("say", frame_id="nav2:done-one")
    robot.do("say", frame_id="nav2:done-one/done")
    robot.do("say", frame_id="nav2:silent-one")
    assert robot.state(order, reason="heartbeat lapsed")["reason"] == "heartbeat lapsed: nav2:silent-one"


def test_what_names_no_source_is_not_watched(robot: Any) -> None:
    """Only the source that comes after it lapses."""
    order = robot.mark
    for garbage in (
        "",
        "test",
        ":",
        "nav2:",
        ":7",
        "a b:c",
        "nav2:1/2",
        "/done",
        "x" * 5000,
        "ä\n:ö",
        "n:" + "1" * 200,
    ):
        robot.do("say", frame_id=garbage)
    robot.do("say", frame_id="nav2:after")
    assert robot.state(order, reason="heartbeat lapsed")["reason"] == "heartbeat lapsed: nav2:after"


def test_an_arm_that_does_not_report_is_held_once_it_does(robot: Any) -> None:
    begin(robot, ARM)
    robot.do("mute", on=True)
    # What it said last is then too old to be held to.
    robot.until(lambda report: report["quiet_s"] > 1.5)
    order = robot.do("call", service="stop")
    assert robot.wait("result", order, action=ARM)["status"] == CANCELED
    assert [event for event in robot.events[order:] if event["event"] == "held"] == []
    order = robot.do("mute", on=False)
    assert robot.wait("held", order)["positions"] == pytest.approx(robot.report()["arm"])
    robot.state(order, standstill="true")


def test_a_runaway_base_is_told(robot: Any) -> None:
    robot.wait("driven", robot.do("drive", x=0.4), x=0.4)
    robot.until(lambda report: report["speed"] == 0.4)
    robot.do("runaway", on=True)
    order = robot.do("call", service="stop")
    assert robot.state(order, standstill="false")["values"]["latched"] == "true"
    order = robot.do("runaway", on=False)
    robot.state(order, standstill="true")


def test_a_velocity_that_nobody_repeats_grows_stale(robot: Any) -> None:
    robot.wait("driven", robot.do("drive", x=0.3), x=0.3)
    order = robot.do("drive", x=None)
    robot.wait("driven", order, x=0.0)


def test_a_velocity_that_is_no_number_becomes_zero(robot: Any) -> None:
    robot.wait("driven", robot.do("drive", x=0.3), x=0.3)
    order = robot.do("drive", x="nan")
    robot.wait("driven", order, x=0.0)
    assert robot.report()["speed"] <= 0.3


def test_a_stop_over_http(guard: Any, robot: Any) -> None:
    begin(robot, DRIVE)
    mark = robot.mark
    status, answer = guard.http("/stop", json.dumps({"reason": "a person pressed stop"}).encode())
    assert (status, answer["latched"], answer["reason"]) == (200, True, "a person pressed stop")
    assert robot.wait("result", mark, action=DRIVE)["status"] == CANCELED
    robot.state(mark, reason="a person pressed stop", standstill="true")
    status, answer = guard.http("/state")
    assert (status, answer["standstill"]) == (200, True)
    assert set(answer) == {"latched", "reason", "standstill", "since", "last_heartbeat_age_s"}
    status, answer = guard.http("/reset", b"")
    assert (status, answer["latched"], answer["reason"], answer["message"]) == (200, False, "running", "reset")
    robot.state(mark, reason="running")


@pytest.mark.parametrize(
    "body", [b"", b"no JSON", b"[]", b'{"reason": 7}', b'{"reason": ""}', b"[" * 4000, b"x" * 9000]
)
def test_a_body_that_says_nothing_stops_all_the_same(guard: Any, robot: Any, body: bytes) -> None:
    status, answer = guard.http("/stop", body)
    assert (status, answer["latched"], answer["reason"]) == (200, True, "stopped over HTTP")


@pytest.mark.parametrize("token", [None, "", "another"])
@pytest.mark.parametrize(("path", "body"), [("/stop", b"{}"), ("/reset", b""), ("/state", None)])
def test_without_the_token_nothing_is_told_or_done(guard: Any, robot: Any, path: str, body: Any, token: Any) -> None:
    before = guard.http("/state")[1]["latched"]
    status, answer = guard.http(path, body, token=token)
    assert status == 401
    assert "bearer token" in answer["error"]
    assert guard.http("/state")[1]["latched"] is before


def test_paths_and_methods_that_are_not_there(guard: Any, robot: Any) -> None:
    status, answer = guard.http("/nowhere")
    assert (status, answer["error"]) == (
        404,
        "there is no /nowhere here; there are POST /stop, POST /reset, GET /state",
    )
    assert guard.http("/stop")[0] == 405
    assert guard.http("/state", b"{}")[0] == 405
    assert guard.http("/state")[1]["latched"] is False
