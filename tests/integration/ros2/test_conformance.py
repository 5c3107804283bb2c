"""What every adapter of the robot guard does, whatever the robot: the same scenarios over the simulated robot and over
the ROS 2 node with a fake robot on a real ROS graph.
"""

import importlib.util
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from quartet_safety.guard import LatchFile

OK, WARN, ERROR = 0, 1, 2
ENDED = {"CANCELED", "REJECTED"}
TOKEN = "the guard's token"
TIMEOUT_S = 2.0
"""Of heartbeats: longer than a robot's, so that a machine that stalls makes no lapse."""
# The first of the ROS ones installs rclpy.
pytestmark = pytest.mark.timeout(600)


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class RosSubject:
    """The guard's process and a fake robot's on a ROS graph."""

    PARTS = {"base": "/navigate_to_pose", "arm": "/arm_controller/follow_joint_trajectory"}
    GRIPPER = "/gripper_controller/gripper_cmd"
    STATUS = {4: "SUCCEEDED", 5: "CANCELED", 6: "ABORTED"}

    def __init__(self, starter: Any) -> None:
        self._starter = starter
        self.latch = starter.folder / "latch.json"
        self._guard, self._robot = starter.guard(), starter.robot()
        self._robot.wait("found", self._robot.do("await_guard"))

    def restart(self) -> None:
        self._guard.process.kill()
        self._guard.process.wait(30)
        mark = self.mark
        self._guard = self._starter.guard()
        self._robot.wait("found", self._robot.do("await_guard"))
        # What is found may still be the ends of the guard that was killed.
        self.state(mark)
        while self.http("/state")[1]["last_heartbeat_age_s"] is None:
            self.say("no source")

    def http(self, path: str, content: bytes | None = None, *, token: str = TOKEN, **headers: str) -> Any:
        return self._guard.http(path, content, token=token, **headers)

    def service(self, name: str) -> str:
        return str(self._robot.wait("answer", self._robot.do("call", service=name), service=name)["text"])

    def has_service(self, name: str) -> bool:
        return bool(self._robot.wait("service", self._robot.do("find", service=name))["there"])

    def begin(self, part: str) -> tuple[str, int]:
        action = self.PARTS.get(part, self.GRIPPER)
        goal = self.send(part)
        self._robot.wait("runs", goal[1], action=action)
        return goal

    def send(self, part: str) -> tuple[str, int]:
        action = self.PARTS.get(part, self.GRIPPER)
        return action, self._robot.do("goal", action=action)

    def result(self, goal: tuple[str, int]) -> str:
        return self.STATUS[self._robot.wait("result", goal[1], action=goal[0])["status"]]

    def finish_grip(self, goal: tuple[str, int]) -> str:
        self._robot.do("finish", action=self.GRIPPER)
        return self.result(goal)

    def beat(self, source: str) -> None:
        self._robot.do("beat", source=source)

    def silence(self, source: str) -> None:
        self._robot.do("silence", source=source)

    def say(self, frame_id: str) -> None:
        self._robot.do("say", frame_id=frame_id)

    def drive(self, speed: float | None) -> None:
        self._robot.do("drive", x=speed)

    @property
    def mark(self) -> int:
        return int(self._robot.mark)

    def state(self, since: int = 0, reason: str | None = None, **values: str) -> Any:
        return self._robot.state(since, reason, **values)

    def at_rest(self) -> bool:
        first, second = self._robot.report(), self._robot.report()
        return bool(first["speed"] == 0.0 and first["arm"] == second["arm"])

    def calm(self) -> None:
        for source in {order["source"] for order in self._robot.orders if "source" in order}:
            self.silence(source)
            self.say(f"{source}/done")
        self._robot.orders.clear()
        self.drive(None)
        self._robot.do("finish", action=self.GRIPPER)
        self.http("/stop", b"{}")
        self._robot.until(lambda report: not report["speed"] and not report["goals"])
        self.http("/reset", b"")


# The core that both wrap is the same; what the simulation makes of it is in tests/integration/bridge too.
@pytest.fixture(scope="module", params=[pytest.param("simulation", marks=pytest.mark.long), "ros"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One guarded robot of each kind for all scenarios."""
    if request.param == "ros":
        yield RosSubject(request.getfixturevalue("module_starter"))
        return
    simulated = _module("simulated_subject").SimulatedSubject(tmp_path_factory.mktemp("simulated"), TIMEOUT_S, TOKEN)
    yield simulated
    simulated.close()


@pytest.fixture
def subject(shared: Any) -> Iterator[Any]:
    """At rest, not stopped, nobody moves it."""
    shared.calm()
    yield shared
    shared.calm()


def _measured_standstill(subject: Any) -> bool:
    """The port's verdict, once there is one: on a busy machine the robot's readings may be a second apart."""
    while (verdict := subject.http("/state")[1]["standstill"]) is None:
        pass
    return bool(verdict)


# --- stop -------------------------------------------------------------------------------------------
def test_a_stop_ends_goals_halts_the_base_holds_the_arm_and_leaves_the_grip(subject: Any) -> None:
    base, arm, grip = (subject.begin(part) for part in ("base", "arm", "gripper"))
    mark = subject.mark
    assert "latched until reset" in subject.service("stop")
    assert [subject.result(goal) for goal in (base, arm)] == ["CANCELED", "CANCELED"]
    rest = subject.state(mark, standstill="true")
    assert (rest["name"], rest["reason"], rest["level"]) == ("robot_guard", "stop service called", ERROR)
    assert set(rest["values"]) == {"latched", "standstill", "since", "last_heartbeat_age_s"}
    assert rest["values"]["latched"] == "true"
    assert subject.at_rest()
    assert subject.finish_grip(grip) == "SUCCEEDED"


def test_a_stop_of_a_base_that_is_driven_by_velocities(subject: Any) -> None:
    subject.drive(0.2)
    while subject.at_rest():
        pass
    mark = subject.mark
    subject.http("/stop", b"{}")
    subject.state(mark, standstill="true")
    assert subject.at_rest()


def test_standstill_is_unknown_until_it_was_measured(subject: Any) -> None:
    subject.begin("base")
    mark = subject.mark
    subject.http("/stop", b"{}")
    assert subject.state(mark, latched="true")["values"]["standstill"] == "unknown"
    assert subject.state(mark, standstill="true")["values"]["latched"] == "true"
    assert _measured_standstill(subject) is True


def test_while_stopped_nothing_begins_to_move(subject: Any) -> None:
    mark = subject.mark
    subject.http("/stop", b"{}")
    subject.state(mark, standstill="true")
    subject.drive(0.2)
    assert [subject.result(subject.send(part)) in ENDED for part in ("base", "arm")] == [True, True]
    assert subject.at_rest()
    assert _measured_standstill(subject) is True


def test_after_the_reset_it_moves_when_told_to_and_nothing_goes_on_by_itself(subject: Any) -> None:
    subject.begin("base")
    mark = subject.mark
    subject.http("/stop", b"{}")
    subject.state(mark, standstill="true")
    status, answer = subject.http("/reset", b"")
    assert (status, answer["latched"], answer["reason"], answer["message"]) == (200, False, "running", "reset")
    running = subject.state(mark, reason="running")
    assert (running["level"], running["values"]["standstill"]) == (OK, "unknown")
    assert subject.at_rest()
    subject.begin("base")


def test_stop_and_reset_can_be_repeated(subject: Any) -> None:
    for reason in ("first", "second"):
        answer = subject.http("/stop", json.dumps({"reason": reason}).encode())[1]
        assert (answer["latched"], answer["reason"]) == (True, reason)
        assert answer["latency_ms"] >= 0
    assert subject.http("/reset", b"")[1]["message"] == "reset"
    assert subject.http("/reset", b"")[1]["message"] == "was not stopped"


def test_a_stop_is_on_disk_before_it_is_answered(subject: Any) -> None:
    for number in range(20):
        subject.http("/stop", json.dumps({"reason": f"press {number}"}).encode())
        kept = LatchFile(subject.latch).read()
        assert (kept.latched, kept.reason) == (True, f"press {number}")
        subject.http("/reset", b"")
        assert not LatchFile(subject.latch).read().latched


def test_a_stop_outlasts_a_guard_that_is_killed(subject: Any) -> None:
    subject.http("/stop", b'{"reason": "before the crash"}')
    subject.restart()
    answer = subject.http("/state")[1]
    assert (answer["latched"], answer["reason"]) == (True, "before the crash")
    assert subject.result(subject.send("base")) in ENDED
    subject.http("/reset", b"")
    subject.restart()
    assert subject.http("/state")[1]["latched"] is False


def test_nobody_on_the_graph_resets_a_stop(subject: Any) -> None:
    """The HTTP port alone does, which can ask for a token."""
    subject.http("/stop", b"{}")
    assert subject.has_service("stop")
    assert not subject.has_service("reset")


# --- heartbeats -------------------------------------------------------------------------------------
def test_a_lapse_ends_goals_halts_the_base_holds_the_arm_leaves_the_grip_and_does_not_latch(subject: Any) -> None:
    subject.beat("nav2:1")
    base, arm, grip = (subject.begin(part) for part in ("base", "arm", "gripper"))
    mark = subject.mark
    subject.silence("nav2:1")
    lapse = subject.state(mark, reason="heartbeat lapsed")
    assert (lapse["reason"], lapse["level"]) == ("heartbeat lapsed: nav2:1", WARN)
    assert lapse["values"]["latched"] == "false"
    assert [subject.result(goal) for goal in (base, arm)] == ["CANCELED", "CANCELED"]
    subject.state(mark, reason="heartbeat lapsed", standstill="true")
    assert subject.at_rest()
    assert subject.finish_grip(grip) == "SUCCEEDED"
    assert not LatchFile(subject.latch).read().latched

    mark = subject.mark
    subject.beat("nav2:2")
    assert subject.state(mark, reason="running")["level"] == OK
    subject.begin("base")


def test_after_a_lapse_the_robot_is_held_for_half_a_second_at_least(subject: Any) -> None:
    """Though it rests, and though another motion begins at once. The longest of three: a lapse may be told late."""
    held_s = []
    for number in range(3):
        mark = subject.mark
        subject.say(f"nav2:silent-{number}")
        subject.state(mark, reason="heartbeat lapsed")
        began, mark = time.monotonic(), subject.mark
        subject.beat(f"nav2:next-{number}")
        subject.state(mark, reason="running")
        held_s.append(time.monotonic() - began)
        subject.silence(f"nav2:next-{number}")
        subject.say(f"nav2:next-{number}/done")
    assert max(held_s) > 0.4


def test_of_two_owners_the_silent_one_lapses(subject: Any) -> None:
    subject.beat("nav2:1")
    subject.beat("moveit:2")
    goal = subject.begin("base")
    mark = subject.mark
    subject.silence("moveit:2")
    assert subject.state(mark, reason="heartbeat lapsed")["reason"] == "heartbeat lapsed: moveit:2"
    assert subject.result(goal) == "CANCELED"


def test_an_owner_that_is_done_does_not_lapse(subject: Any) -> None:
    mark = subject.mark
    subject.say("nav2:done")
    subject.say("nav2:done/done")
    subject.say("never:begun/done")
    subject.say("nav2:silent")
    assert subject.state(mark, reason="heartbeat lapsed")["reason"] == "heartbeat lapsed: nav2:silent"


def test_what_names_no_source_is_not_watched(subject: Any) -> None:
    mark = subject.mark
    for malformed in (
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
        subject.say(malformed)
    subject.say("nav2:after")
    assert subject.state(mark, reason="heartbeat lapsed")["reason"] == "heartbeat lapsed: nav2:after"


def test_a_lapse_does_not_touch_a_stop(subject: Any) -> None:
    mark = subject.mark
    subject.say("nav2:1")
    subject.http("/stop", b'{"reason": "pressed"}')
    subject.state(mark, reason="pressed", standstill="true")
    end = time.monotonic() + 2 * TIMEOUT_S
    while time.monotonic() < end:
        answer = subject.http("/state")[1]
        assert (answer["latched"], answer["reason"]) == (True, "pressed")
    assert answer["last_heartbeat_age_s"] > TIMEOUT_S


# --- who may ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("path", "content"), [("/stop", b"{}"), ("/reset", b""), ("/state", None)])
def test_who_has_no_token_and_a_web_page_are_refused(subject: Any, path: str, content: bytes | None) -> None:
    assert subject.http(path, content, token="another")[0] == 401
    assert subject.http(path, content, Origin="https://foreign.example")[0] == 403
    assert subject.http("/state")[1]["latched"] is False
