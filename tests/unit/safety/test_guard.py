"""What the guard decides, on a clock that the test moves."""

import json
import math
import threading
from pathlib import Path

import pytest

from quartet_safety._durable import write_durably
from quartet_safety.errors import HaltError
from quartet_safety.guard import BRAKING_LIMIT_S, INHERITED_GRACE_S, LAPSE_HOLD_S, Guard, Latch, LatchFile, Standstill
from quartet_safety.guard._standstill import FRESH_S, POSITION_FRESH_S, STILL_FOR_S

LOOK_S = 0.02


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Brakes:
    """Notes what it is told to do."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.arm_reports = True

    @property
    def halts(self) -> int:
        return self.done.count("cancel again")

    def halt_base(self) -> None:
        self.done.append("base")

    def hold_arm(self) -> bool:
        self.done.append("arm")
        return self.arm_reports

    def cancel_goals(self, *, again: bool) -> None:
        self.done.append("cancel again" if again else "cancel")


class Robot:
    """A guard and the sensors that report to it, at the rate at which an adapter does both."""

    def __init__(self, latch: Path, joints: tuple[str, ...] = ("elbow",)) -> None:
        self.clock = Clock()
        self.brakes = Brakes()
        self.changes = 0
        self.guard = Guard(
            self.brakes,
            LatchFile(latch),
            0.4,
            joints,
            clock=self.clock,
            ros_time=lambda: self.clock.now,
            on_change=self._changed,
        )
        self.speed: float | None = 0.0
        self.elbow: float | None = 0.0

    def _changed(self) -> None:
        self.changes += 1

    def run(self, seconds: float, *beating: str) -> tuple[int, int]:
        """How often the robot was halted, and how often the status had news in that time."""
        halts, changes = self.brakes.halts, self.changes
        for _ in range(round(seconds / LOOK_S)):
            self.clock.now += LOOK_S
            for source in beating:
                self.guard.beat(source)
            if self.speed is not None:
                self.guard.odometry(self.speed, 0.0)
            if self.elbow is not None:
                self.guard.joints(["elbow", "finger"], [self.elbow, 0.3], [])
            self.guard.look()
        return self.brakes.halts - halts, self.changes - changes


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    return Robot(tmp_path / "latch.json")


# --- motions from before the start ------------------------------------------------------------------
def test_a_motion_that_nobody_answers_for_at_the_start_is_ended_once(robot: Robot) -> None:
    """Whoever sent it died together with the former guard."""
    robot.guard.start()
    robot.guard.inherited("/spin", running=True)
    before_s = 0.4 + INHERITED_GRACE_S
    assert robot.run(before_s - LOOK_S)[0] == 0
    assert robot.run(3 * LOOK_S)[0] == 1
    status = robot.guard.status
    assert (status.latched, status.reason) == (False, "heartbeat lapsed: /spin")
    robot.guard.inherited("/spin", running=True)
    assert robot.run(2 * before_s)[0] == 0


def test_a_motion_that_somebody_answers_for_at_the_start_goes_on(robot: Robot) -> None:
    robot.guard.start()
    for action in ("/move_action", "/arm_controller/follow_joint_trajectory"):
        robot.guard.inherited(action, running=True)
    assert robot.run(5.0, "moveit:1")[0] == 0


def test_a_motion_that_ends_by_itself_after_the_start_halts_nothing(robot: Robot) -> None:
    robot.guard.start()
    robot.guard.inherited("/spin", running=True)
    robot.run(0.4)
    robot.guard.inherited("/spin", running=False)
    assert robot.run(5.0)[0] == 0


# --- stop, reset, latch ---------------------------------------------------------------------------
def test_a_stop_is_kept_in_the_file_until_the_reset(robot: Robot, tmp_path: Path) -> None:
    assert robot.guard.stop("a person") == "stopped; latched until reset"
    again = Robot(tmp_path / "latch.json").guard
    assert (again.holding, again.status.latched, again.status.reason) == (True, True, "a person")
    assert again.reset() == "reset"
    after = Robot(tmp_path / "latch.json").guard
    assert (after.holding, after.status.latched, after.status.reason) == (False, False, "running")
    assert after.reset() == "was not stopped"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"latched": true}', '{"reason": "x"}', "\0", "[" * 100_000])
def test_a_damaged_latch_file_stops_the_robot(tmp_path: Path, content: str) -> None:
    path = tmp_path / "latch.json"
    path.write_text(content)
    state = Robot(path).guard.status
    assert state.latched
    assert f"{path} is damaged" in state.reason


def test_a_latch_file_that_cannot_be_read_stops_the_robot(tmp_path: Path) -> None:
    state = Robot(tmp_path).guard.status
    assert state.latched
    assert "cannot be read" in state.reason


def test_a_latch_that_cannot_be_written_holds_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    guard = Robot(tmp_path / "file" / "latch.json").guard
    guard.reset()
    assert "a restart of the guard would forget this stop" in guard.stop("a person")
    assert guard.holding
    answer = guard.reset()
    assert answer.startswith("reset; but")
    assert "a restart of the guard may stop the robot again" in answer


def test_a_stop_halts_at_once_and_is_on_disk_before_it_is_answered(
    robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def write(path: Path, text: str) -> None:
        order.extend(robot.brakes.done)
        write_durably(path, text)
        order.append("on disk")

    monkeypatch.setattr("quartet_safety.guard._latch.write_durably", write)
    robot.guard.stop("a person")
    assert order == ["base", "arm", "cancel again", "on disk"]
    assert LatchFile(tmp_path / "latch.json").read().reason == "a person"


def test_every_part_is_commanded_although_one_fails_and_the_stop_is_kept(
    robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("the context is gone")

    monkeypatch.setattr(robot.brakes, "halt_base", fail)
    with pytest.raises(HaltError, match=r"base: RuntimeError.*the context is gone"):
        robot.guard.stop("a person")
    assert robot.brakes.done == ["arm", "cancel again"]
    assert robot.guard.holding
    assert LatchFile(tmp_path / "latch.json").read().latched


def test_a_stop_while_another_waits_for_the_disk_halts_at_once(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def write(self: LatchFile, latch: Latch) -> None:
        begun.set()
        assert go_on.wait(30)

    monkeypatch.setattr(LatchFile, "write", write)
    stops = [threading.Thread(target=robot.guard.stop, args=[name]) for name in ("first", "second")]
    stops[0].start()
    assert begun.wait(30)
    stops[1].start()
    while robot.brakes.halts < 2:
        assert stops[1].is_alive()
    assert robot.guard.status.reason == "second"
    go_on.set()
    for stop in stops:
        stop.join(30)


def test_a_stop_of_an_earlier_process_halts_at_the_start(robot: Robot, tmp_path: Path) -> None:
    robot.guard.stop("a person")
    again = Robot(tmp_path / "latch.json")
    again.guard.start()
    assert (again.brakes.halts, again.changes) == (1, 1)


def test_an_arm_that_does_not_report_is_held_as_soon_as_it_does(robot: Robot) -> None:
    robot.brakes.arm_reports = False
    robot.guard.stop("a person")
    robot.run(0.1)
    asked = robot.brakes.done.count("arm")
    assert asked > 1
    robot.brakes.arm_reports = True
    robot.run(0.5)
    assert robot.brakes.done.count("arm") == asked + 1


def test_a_guard_that_ends_while_somebody_moves_the_robot_halts_it(robot: Robot) -> None:
    assert not robot.guard.leave()
    robot.guard.beat("nav2:1")
    assert robot.guard.leave()
    assert robot.brakes.halts == 1


def test_a_world_that_begins_anew_is_neither_watched_nor_stopped(robot: Robot) -> None:
    robot.guard.beat("nav2:1")
    robot.guard.stop("a person")
    robot.guard.forget()
    assert (robot.guard.watches, robot.guard.holding) == ([], False)


def test_a_world_that_begins_anew_is_not_held_by_a_lapse_before(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.run(0.44)
    assert robot.guard.holding
    robot.guard.forget()
    assert (robot.guard.holding, robot.guard.status.reason) == (False, "running")
    halts = robot.brakes.halts
    robot.run(1.0, "nav2:2")
    assert robot.brakes.halts == halts


def test_the_latch_file_is_plain_json(robot: Robot, tmp_path: Path) -> None:
    robot.guard.stop("a person")
    content = json.loads((tmp_path / "latch.json").read_text())
    assert (content["latched"], content["reason"]) == (True, "a person")


# --- lapse ----------------------------------------------------------------------------------------
def test_a_lapse_halts_once_holds_until_rest_and_does_not_latch(robot: Robot) -> None:
    assert robot.run(2.0, "nav2:1") == (0, 0)
    assert robot.brakes.done == []
    robot.speed = 0.4
    assert robot.run(0.44)[0] == 1
    state = robot.guard.status
    assert (state.latched, state.reason, robot.guard.holding) == (False, "heartbeat lapsed: nav2:1", True)
    robot.run(0.4)
    assert robot.guard.holding, "it moves still"
    robot.speed = 0.0
    robot.run(STILL_FOR_S + 0.1)
    assert (robot.guard.holding, robot.guard.status.standstill) == (False, True)
    assert robot.guard.status.reason == "heartbeat lapsed: nav2:1"


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
    assert (robot.guard.holding, robot.guard.status.standstill) == (False, None)


def test_after_a_lapse_it_is_running_once_the_robot_rests_and_another_motion_begins(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.run(0.44)
    robot.run(0.1, "nav2:2")
    assert robot.guard.status.reason == "heartbeat lapsed: nav2:1"
    robot.run(LAPSE_HOLD_S, "nav2:2")
    assert (robot.guard.status.reason, robot.guard.holding) == ("running", False)


def test_a_lapse_while_stopped_changes_nothing(robot: Robot) -> None:
    robot.run(0.2, "nav2:1")
    robot.guard.stop("a person")
    assert robot.run(1.0)[0] == 0
    assert robot.guard.status.reason == "a person"
    robot.run(0.2, "nav2:2")
    assert robot.guard.status.latched


# --- standstill -----------------------------------------------------------------------------------
def test_standstill_is_unknown_while_braking_then_true(robot: Robot) -> None:
    robot.speed = 0.4
    robot.run(0.2)
    robot.guard.stop("a person")
    robot.run(1.0)
    assert robot.guard.status.standstill is None
    robot.speed = 0.0
    changes = robot.run(STILL_FOR_S + 0.1)[1]
    assert robot.guard.status.standstill is True
    assert changes == 1


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
    assert robot.guard.status.standstill is False


@pytest.mark.parametrize("mute", ["base", "arm"])
def test_standstill_is_unknown_where_base_or_arm_do_not_report(robot: Robot, mute: str) -> None:
    robot.run(1.0)
    if mute == "base":
        robot.speed = None
    else:
        robot.elbow = None
    robot.guard.stop("a person")
    robot.run(FRESH_S + BRAKING_LIMIT_S)
    assert robot.guard.status.standstill is None


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
