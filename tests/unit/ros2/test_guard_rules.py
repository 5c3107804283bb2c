"""What the guard of deploy/ros2 decides, on a clock that the test moves."""

import json
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from quartet_bringup.guard.actions import BadParameter, stopped_actions
from quartet_bringup.guard.guard import BRAKING_LIMIT_S, LAPSE_HOLD_S, Guard, Look
from quartet_bringup.guard.heartbeats import MAX_SOURCES, STALL_S, Heartbeats
from quartet_bringup.guard.latch import LatchFile
from quartet_bringup.guard.requirements import OldRclpy, check, installed_version
from quartet_bringup.guard.standstill import FRESH_S, POSITION_FRESH_S, STILL_FOR_S, Standstill
from quartet_bringup.guard.velocity import VelocityGate
from quartet_bringup.robot_file import read_robot_file

import quartet_contracts

LOOK_S = 0.02


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Robot:
    """A guard and the sensors that report to it, at the rate at which the node does both."""

    def __init__(self, latch: Path, joints: tuple[str, ...] = ("elbow",)) -> None:
        self.clock = Clock()
        self.guard = Guard(LatchFile(latch), 0.4, joints, clock=self.clock, ros_time=lambda: self.clock.now)
        self.speed: float | None = 0.0
        self.elbow: float | None = 0.0

    def run(self, seconds: float, *beating: str) -> list[Look]:
        """What there was to do in that time."""
        looks = []
        for _ in range(round(seconds / LOOK_S)):
            self.clock.now += LOOK_S
            for source in beating:
                self.guard.beat(source)
            if self.speed is not None:
                self.guard.odometry(self.speed, 0.0)
            if self.elbow is not None:
                self.guard.joints(["elbow", "finger"], [self.elbow, 0.3], [])
            looks.append(self.guard.look())
        return looks


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    return Robot(tmp_path / "latch.json")


# --- heartbeats -----------------------------------------------------------------------------------
def test_a_source_lapses_after_the_limit_and_not_before() -> None:
    beats = Heartbeats(0.4)
    assert beats.beat("nav2:1", 10.0)
    assert not beats.beat("nav2:1", 10.1)
    assert beats.lapsed(10.49) == []
    assert beats.lapsed(10.52) == ["nav2:1"]
    assert beats.lapsed(10.54) == [] == beats.sources
    assert beats.beat("nav2:1", 10.6), "a source that beats again begins anew"


def test_done_ends_the_watch_of_its_source_alone() -> None:
    beats = Heartbeats(0.4)
    for source in ("nav2:1", "moveit:2"):
        beats.beat(source, 10.0)
    beats.beat("nav2:1/done", 10.1)
    beats.beat("never:begun/done", 10.1)
    assert beats.sources == ["moveit:2"]


def test_a_watch_that_was_away_puts_its_verdict_off_once() -> None:
    beats = Heartbeats(0.4)
    beats.lapsed(10.0)
    beats.beat("nav2:1", 10.0)
    late = 11.0
    assert beats.lapsed(late) == []
    assert beats.lapsed(late + STALL_S + 0.01) == ["nav2:1"], "a watch that is always late judges all the same"


def test_a_flood_of_sources_is_bounded_by_lapses_of_the_oldest() -> None:
    beats = Heartbeats(0.4)
    beats.lapsed(10.0)
    for number in range(MAX_SOURCES + 1):
        beats.beat(f"mad:{number}", 10.0 + number * 1e-6)
    assert beats.lapsed(10.01) == ["mad:0"]


# --- stop, reset, latch ---------------------------------------------------------------------------
def test_a_stop_is_kept_in_the_file_until_the_reset(robot: Robot, tmp_path: Path) -> None:
    robot.guard.stop("a person")
    assert robot.guard.keep() is None
    again = Robot(tmp_path / "latch.json").guard
    assert (again.holding, again.state.latched, again.state.reason) == (True, True, "a person")
    assert again.reset()
    assert again.keep() is None
    after = Robot(tmp_path / "latch.json").guard
    assert (after.holding, after.state.latched, after.state.reason) == (False, False, "running")
    assert not after.reset()


def test_the_file_is_the_one_of_quartets_own_processes(tmp_path: Path) -> None:
    ours, theirs = LatchFile(tmp_path / "latch.json"), quartet_contracts.LatchFile(tmp_path / "latch.json")
    ours.write("a person")
    assert (theirs.read().latched, theirs.read().reason) == (True, "a person")
    ours.write(None)
    assert not theirs.read().latched
    theirs.write(quartet_contracts.Latch(latched=True, reason="another"))
    assert ours.read() == "another"
    theirs.write(quartet_contracts.Latch())
    assert ours.read() is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"latched": true}', '{"reason": "x"}', "\0", "[" * 100_000])
def test_a_damaged_latch_file_stops_the_robot(tmp_path: Path, content: str) -> None:
    path = tmp_path / "latch.json"
    path.write_text(content)
    state = Robot(path).guard.state
    assert state.latched
    assert f"{path} is damaged" in state.reason


def test_a_latch_file_that_cannot_be_read_stops_the_robot(tmp_path: Path) -> None:
    state = Robot(tmp_path).guard.state
    assert state.latched
    assert "cannot be read" in state.reason


def test_a_latch_that_cannot_be_written_holds_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    guard = Robot(tmp_path / "file" / "latch.json").guard
    guard.reset()
    guard.stop("a person")
    assert "a restart of the guard would forget this stop" in (guard.keep() or "")
    assert guard.holding
    assert guard.reset()
    assert "a restart of the guard may stop the robot again" in (guard.keep() or "")


# --- lapse ----------------------------------------------------------------------------------------
def test_a_lapse_halts_once_holds_until_rest_and_does_not_latch(robot: Robot) -> None:
    assert robot.run(2.0, "nav2:1") == [Look()] * 100
    robot.speed = 0.4
    looks = robot.run(0.44)
    assert [look.halt for look in looks].count(True) == 1
    state = robot.guard.state
    assert (state.latched, state.reason, robot.guard.holding) == (False, "heartbeat lapsed: nav2:1", True)
    robot.run(0.4)
    assert robot.guard.holding, "it moves still"
    robot.speed = 0.0
    robot.run(STILL_FOR_S + 0.1)
    assert (robot.guard.holding, robot.guard.state.standstill) == (False, True)
    assert robot.guard.state.reason == "heartbeat lapsed: nav2:1"


def test_the_shortest_hold_after_a_lapse(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.run(0.44)
    robot.run(LAPSE_HOLD_S - 0.1)
    assert robot.guard.holding
    robot.run(0.2)
    assert not robot.guard.holding


def test_a_hold_after_a_lapse_ends_also_where_nothing_reports(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.speed = None
    robot.run(BRAKING_LIMIT_S + 0.5)
    assert (robot.guard.holding, robot.guard.state.standstill) == (False, None)


def test_after_a_lapse_it_is_running_once_the_robot_rests_and_another_motion_begins(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.run(0.44)
    robot.run(0.1, "nav2:2")
    assert robot.guard.state.reason == "heartbeat lapsed: nav2:1"
    robot.run(LAPSE_HOLD_S, "nav2:2")
    assert (robot.guard.state.reason, robot.guard.holding) == ("running", False)


def test_a_lapse_while_stopped_changes_nothing(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.guard.stop("a person")
    assert not any(look.halt for look in robot.run(1.0))
    assert robot.guard.state.reason == "a person"
    robot.run(0.2, "nav2:2")
    assert robot.guard.state.latched


# --- standstill -----------------------------------------------------------------------------------
def test_standstill_is_unknown_while_braking_then_true(robot: Robot) -> None:
    robot.speed = 0.4
    robot.run(0.2)
    robot.guard.stop("a person")
    robot.run(1.0)
    assert robot.guard.state.standstill is None
    robot.speed = 0.0
    looks = robot.run(STILL_FOR_S + 0.1)
    assert robot.guard.state.standstill is True
    assert [look.changed for look in looks].count(True) == 1


@pytest.mark.parametrize("moves", ["base", "arm"])
def test_standstill_is_false_after_the_limit(robot: Robot, moves: str) -> None:
    robot.guard.stop("a person")
    robot.run(0.1)
    for _ in range(round((BRAKING_LIMIT_S + 0.2) / LOOK_S)):
        if moves == "base":
            robot.speed = 0.4
        else:
            robot.elbow = (robot.elbow or 0.0) + 0.5 * LOOK_S
        robot.run(LOOK_S)
    assert robot.guard.state.standstill is False


@pytest.mark.parametrize("mute", ["base", "arm"])
def test_standstill_is_unknown_where_base_or_arm_do_not_report(robot: Robot, mute: str) -> None:
    robot.run(1.0)
    if mute == "base":
        robot.speed = None
    else:
        robot.elbow = None
    robot.guard.stop("a person")
    robot.run(FRESH_S + BRAKING_LIMIT_S)
    assert robot.guard.state.standstill is None


def test_velocities_count_before_positions_and_nan_counts_as_motion() -> None:
    standstill = Standstill(["elbow"])
    for step in range(50):
        now = 10.0 + step * LOOK_S
        standstill.odometry(0.0, 0.0, now)
        standstill.joints(["elbow"], [0.1 * step], [0.0], now)
    assert standstill.verdict(11.0, 10.0) is True
    standstill.odometry(math.nan, 0.0, 11.0)
    assert standstill.verdict(11.0, 10.0) is False


def test_the_arm_is_held_only_where_all_of_it_is_known_to_be() -> None:
    """Sent to where it was a while ago, it would move."""
    standstill = Standstill(["shoulder", "elbow"])
    standstill.joints(["elbow", "finger"], [0.2, 0.3], [], 10.0)
    assert standstill.positions(10.0) == {}
    standstill.joints(["shoulder"], [0.1], [], 10.1)
    assert standstill.positions(10.15) == {"shoulder": 0.1, "elbow": 0.2}
    standstill.joints(["shoulder"], [math.nan], [], 10.2)
    assert standstill.positions(10.15) == {"shoulder": 0.1, "elbow": 0.2}
    assert standstill.positions(10.15 + POSITION_FRESH_S) == {}


def test_rest_before_the_stop_does_not_count() -> None:
    standstill = Standstill([])
    for step in range(50):
        standstill.odometry(0.0, 0.0, 10.0 + step * LOOK_S)
    assert standstill.verdict(10.98, 10.97) is False
    assert standstill.verdict(10.98, 10.0) is True


# --- actions --------------------------------------------------------------------------------------
def test_a_stop_ends_everything_that_moves_base_or_arm_in_the_robots_namespace(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    path.write_text("name: a\narm: {joints: [b]}\nactions: {navigate_to_pose: /summit/navigate_to_pose}\n")
    names = read_robot_file(path)
    chosen = stopped_actions(names, ["/arm/follow_joint_trajectory", "", "/spin"])
    assert {"/summit/navigate_to_pose", "/summit/follow_path", "/summit/navigate_through_poses"} <= set(chosen)
    assert {"/move_action", "/execute_trajectory", "/arm/follow_joint_trajectory"} <= set(chosen)
    assert len(chosen) == len(set(chosen))
    assert names.gripper not in chosen
    with pytest.raises(BadParameter, match="a cancelled grip may let go"):
        stopped_actions(names, [names.gripper])


# --- velocity -------------------------------------------------------------------------------------
def test_a_command_of_motion_grows_stale_once() -> None:
    gate = VelocityGate(0.5)
    assert gate.passes([0.3, 0.0], held=False, now=10.0)
    assert not gate.stale(10.5)
    assert gate.stale(10.51)
    assert not gate.stale(10.6)
    assert gate.passes([0.0, 0.0], held=False, now=11.0)
    assert not gate.stale(20.0), "who was told to stand needs no other zero"


def test_nothing_passes_while_held_nor_what_is_no_number() -> None:
    gate = VelocityGate(0.5)
    assert not gate.passes([0.3, 0.0], held=True, now=10.0)
    assert not gate.passes([math.nan, 0.0], held=False, now=10.0)
    assert not gate.passes([0.0, math.inf], held=False, now=10.0)
    assert not gate.stale(11.0)


# --- rclpy ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["7.1.10", "7.1.11", "7.2.0", "9.1.2", "7.1.10-1noble"])
def test_an_rclpy_that_will_do(version: str) -> None:
    check(version)


@pytest.mark.parametrize("version", ["7.1.9", "7.0.99", "3.3.15", "", "new", None])
def test_an_rclpy_that_will_not_do(version: str | None) -> None:
    with pytest.raises(OldRclpy, match=r"7\.1\.10 or newer is needed"):
        check(version)


def test_the_version_is_that_of_the_package_in_the_ros_installation(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "package.xml").write_text("<package><version> 7.1.12 </version></package>")
    packages = ModuleType("ament_index_python.packages")
    packages.get_package_share_directory = lambda name: str(tmp_path)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ament_index_python", ModuleType("ament_index_python"))
    monkeypatch.setitem(sys.modules, "ament_index_python.packages", packages)
    assert installed_version() == "7.1.12"
    (tmp_path / "package.xml").unlink()
    assert installed_version() is None, "no rclpy in this environment"


def test_the_latch_file_is_plain_json(robot: Robot, tmp_path: Path) -> None:
    robot.guard.stop("a person")
    robot.guard.keep()
    content = json.loads((tmp_path / "latch.json").read_text())
    assert (content["latched"], content["reason"]) == (True, "a person")
