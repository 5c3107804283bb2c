"""The guard's process: what it keeps across a restart, and what it does not start with."""

import signal
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "deploy" / "ros2" / "quartet_bringup"
DRIVE = "/navigate_to_pose"
# The first of these installs rclpy.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def robot(starter: Any) -> Any:
    """Its base takes TwistStamped."""
    return starter.robot("twist_stamped")


def test_a_stop_outlasts_the_guard_and_stops_what_began_without_it(starter: Any, robot: Any) -> None:
    first = starter.guard("velocity_type:=twist_stamped")
    robot.wait("found", robot.do("await_guard"))
    robot.wait("driven", robot.do("drive", x=0.2), x=0.2)
    assert first.http("/stop", b'{"reason": "before the crash"}')[0] == 200
    first.process.kill()
    first.process.wait(30)
    order = robot.do("goal", action=DRIVE)
    robot.wait("runs", order, action=DRIVE)

    second = starter.guard("velocity_type:=twist_stamped")
    assert robot.wait("result", order, action=DRIVE)["status"] == 5
    state = robot.state(order, reason="before the crash", standstill="true")
    assert state["values"]["latched"] == "true"
    assert second.http("/reset", b"")[1]["latched"] is False
    assert second.end() == 0

    third = starter.guard("velocity_type:=twist_stamped")
    assert third.http("/state")[1]["latched"] is False
    assert third.end() == 0


def test_a_motion_whose_guard_and_server_were_killed_at_once_is_ended(starter: Any, robot: Any) -> None:
    first = starter.guard("velocity_type:=twist_stamped")
    robot.wait("found", robot.do("await_guard"))
    order = robot.do("goal", action=DRIVE)
    robot.wait("runs", order, action=DRIVE)
    robot.do("beat", source="nav2:1")
    robot.until(lambda _: first.http("/state")[1]["last_heartbeat_age_s"] is not None)
    first.process.kill()
    robot.do("silence", source="nav2:1")
    first.process.wait(30)

    second = starter.guard("velocity_type:=twist_stamped")
    assert robot.wait("result", order, action=DRIVE)["status"] == 5
    state = robot.state(order, reason=f"heartbeat lapsed: {DRIVE}")
    assert state["values"]["latched"] == "false"
    assert second.end() == 0


def test_a_guard_that_is_ended_while_the_robot_moves_halts_it(starter: Any, robot: Any) -> None:
    guard = starter.guard("velocity_type:=twist_stamped")
    robot.wait("found", robot.do("await_guard"))
    robot.wait("runs", robot.do("goal", action=DRIVE), action=DRIVE)
    robot.do("beat", source="nav2:1")
    end = robot.mark
    robot.until(lambda _: guard.http("/state")[1]["last_heartbeat_age_s"] is not None)
    guard.process.send_signal(signal.SIGINT)
    assert guard.process.wait(30) == 0
    assert robot.wait("result", end, action=DRIVE)["status"] == 5
    robot.wait("driven", end, x=0.0)


@pytest.mark.long
def test_a_base_that_is_not_behind_the_gate_is_halted_all_the_same(starter: Any) -> None:
    """Its driver was not remapped, so that no zero of the guard reaches it there."""
    guard, robot = starter.guard(), starter.robot(driver="/cmd_vel")
    robot.wait("state", 0)
    end = robot.mark
    guard.http("/stop", b"{}")
    robot.wait("driven", end, x=0.0)


def test_the_shipped_parameters_are_taken(starter: Any) -> None:
    """A name that the guard does not know would be refused."""
    command = starter.command("allow_old_rclpy:=true")
    after = command.index("--ros-args") + 1
    command[after:after] = ["--params-file", str(PACKAGE / "config" / "guard.yaml")]
    guard = starter.start(command, starter.folder / "ready.json")
    assert guard.http("/state", token=None)[1]["reason"] == "running"
    assert guard.end() == 0


REFUSED = {
    # The wheels of the tests are older than what a robot needs.
    "rclpy": (
        [],
        "rclpy 7.1.6 is installed, by the metadata of the Python package ros-rclpy; 7.1.10 or newer is needed",
    ),
    "gripper": (["more_actions:=[/gripper_controller/gripper_cmd]"], "the guard leaves the gripper alone"),
    "type": (["velocity_type:=stamped"], "velocity_type: 'stamped' cannot be used; twist or twist_stamped are valid"),
    "loop": (["velocity_topic:=/cmd_vel"], "velocity_input_topic: '/cmd_vel' is the driver's own topic"),
    "zero": (["heartbeat_timeout:=0.0"], "heartbeat_timeout: 0.0 cannot be used; 0.05 to 60 [s] are valid"),
    "word": (["velocity_timeout:=soon"], "velocity_timeout: soon cannot be used; 0.05 to 60 [s] are valid"),
    "misspelt": (["heartbeat_timout:=1.0"], "there is no parameter heartbeat_timout; there are "),
    "port": (["http_port:=70000"], "http_port: 70000 cannot be used; 0 (any free port) to 65535 are valid"),
    "open": (
        ["http_host:=0.0.0.0", "allow_old_rclpy:=true"],
        "the guard's port would be open on 0.0.0.0 to everyone: set QUARTET_GUARD_TOKEN or QUARTET_GUARD_TOKEN_FILE",
    ),
}


def test_what_cannot_be_used_is_named_and_nothing_starts(starter: Any, tmp_path: Path) -> None:
    missing, odd = tmp_path / "missing.yaml", tmp_path / "odd.yaml"
    odd.write_text("name: fake\narm: {joints: [a]}\ntopics: {odom: 'no name'}\n")
    files = {
        missing: f"{missing}: cannot be read",
        odd: f"{odd}: topics.odom: 'no name' is not a ROS name such as /odom",
    }
    commands = [starter.command(*parameters) for parameters, _ in REFUSED.values()]
    commands += [starter.command(robot_file=path) for path in files]
    said = starter.refused(commands)
    for text, expected in zip(said, [*(text for _, text in REFUSED.values()), *files.values()], strict=True):
        assert expected in text
        assert "Traceback" not in text
    assert "accepts connections and answers nothing" in said[0]
    assert "apt install --only-upgrade ros-jazzy-rclpy" in said[0]


def test_a_token_file_that_is_empty_lets_nobody_in(starter: Any, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    guard = starter.guard(QUARTET_GUARD_TOKEN="", QUARTET_GUARD_TOKEN_FILE=str(token))
    assert guard.http("/state", token="one")[0] == 200
    token.write_text("two operator\none\n")
    assert guard.http("/state", token="one")[0] == 200
    assert guard.http("/state", token="two")[0] == 200
    token.write_text("two\n")
    assert guard.http("/state", token="one")[0] == 401
    assert guard.http("/state", token="two")[0] == 200
    token.write_text("")
    assert guard.http("/state", token="")[0] == 503
    assert guard.end() == 0


def test_a_port_in_shared_memory_that_a_killed_process_left_half_made_holds_no_guard_up(starter: Any) -> None:
    """Fast DDS waits without an end, deaf to signals, until the process that began the port has finished it."""
    own = ("FASTDDS_BUILTIN_TRANSPORTS", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    starter.environment = {name: value for name, value in starter.environment.items() if name not in own}
    # Ports of domain d begin at 7400 + 250 d (DDSI-RTPS 2.5, 9.6.2.3).
    first = 7400 + 250 * int(starter.environment["ROS_DOMAIN_ID"])
    left = [Path(f"/dev/shm/fastrtps_port{port}") for port in range(first, first + 250)]
    try:
        for port in left:
            port.touch()
        guard = starter.guard()
        assert guard.http("/state")[1]["latched"] is False
        assert guard.end() == 0
    finally:
        for port in left:
            port.unlink(missing_ok=True)
