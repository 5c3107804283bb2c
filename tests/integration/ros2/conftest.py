"""The robot guard over real rclpy: the guard's process, and a fake robot's, on a ROS domain of their own."""

import fcntl
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = ROOT / "deploy" / "ros2" / "quartet_bringup"
PATIENCE_S = 120.0
HEARTBEAT_TIMEOUT_S = 2.0
"""Longer than a robot's, so that a machine that stalls makes no lapse."""
TOKEN = "the guard's token"
DDS_PORTS, DDS_PORTS_PER_DOMAIN = 7400, 250
"""The ports of domain d begin at 7400 + 250 d (DDSI-RTPS 2.5, 9.6.2.3)."""
GRIPPER = "/gripper_controller/gripper_cmd"
ROBOT_FILE = """
name: fake
arm: {joints: [shoulder, elbow]}
actions: {gripper: /gripper_controller/gripper_cmd}
"""
Event = dict[str, Any]


@pytest.fixture(scope="session")
def ros_python() -> Path:
    """The interpreter that has rclpy."""
    return _ros_env()


@pytest.fixture(scope="session")
def interfaces_python() -> Path:
    """The interpreter that has rclpy and the interfaces of Nav2, MoveIt and others."""
    return _ros_env("interfaces")


def _ros_env(*options: str) -> Path:
    made = subprocess.run([ROOT / "scripts" / "ros-env", *options], capture_output=True, text=True, timeout=900)
    if made.returncode != 0:
        why = f"rclpy cannot be installed here: {made.stderr.strip()[-500:]}"
        if os.environ.get("QUARTET_TEST_ALL"):
            pytest.fail(why)
        pytest.skip(why)
    return Path(made.stdout.strip())


@pytest.fixture(scope="session")
def ros_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A ROS domain that nobody else on this machine has, reached without multicast and shared memory."""
    with ExitStack() as stack:
        for domain in range(1, 100):
            lock = stack.enter_context(open(Path(tempfile.gettempdir()) / f"quartet-ros-domain-{domain}", "w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                continue
        else:
            pytest.fail("every ROS domain of this machine is taken")
        # Fast DDS opens ports in shared memory with UDPv4 alone too. A process that is killed while it makes one leaves
        # half of it, for which the next process of this domain waits for ever. The domain is ours, so what is left is.
        first = DDS_PORTS + DDS_PORTS_PER_DOMAIN * domain
        for port in range(first, first + DDS_PORTS_PER_DOMAIN):
            for left in Path("/dev/shm").glob(f"*fastrtps_port{port}*"):
                left.unlink(missing_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROS_", "QUARTET_GUARD"))}
        yield kept | {
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
            "ROS_HOME": str(tmp_path_factory.mktemp("ros_home")),
            "PYTHONPATH": str(PACKAGE),
        }


@dataclass
class FakeRobot:
    """The fake robot's process: takes orders, remembers what it says."""

    process: subprocess.Popen[str]
    events: list[Event] = field(default_factory=list)
    orders: list[Event] = field(default_factory=list)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def follow(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                return  # It was killed in the middle of a word.
            with self._news:
                self.events.append(json.loads(line))
                self._news.notify_all()

    @property
    def mark(self) -> int:
        """Where the events stand now: to wait for what comes after."""
        return len(self.events)

    def do(self, order: str, **fields: Any) -> int:
        """Gives the mark of before the order."""
        assert self.process.stdin is not None
        mark = self.mark
        self.orders.append({"do": order, **fields})
        self.process.stdin.write(json.dumps(self.orders[-1]) + "\n")
        self.process.stdin.flush()
        return mark

    def wait(self, event: str, since: int = 0, where: Callable[[Event], bool] = bool, **fields: Any) -> Event:
        """The first such event after the mark, whether it has come already or is to come."""
        end = time.monotonic() + PATIENCE_S
        with self._news:
            while True:
                for found in self.events[since:]:
                    if found["event"] == event and fields.items() <= found.items() and where(found):
                        return found
                assert self.process.poll() is None, "the fake robot has died"
                left = end - time.monotonic()
                assert left > 0, f"no {event} {fields} in {self.events[since:]}"
                self._news.wait(left)

    def state(self, since: int = 0, reason: str | None = None, **values: str) -> Event:
        """The guard's first state after the mark with these values, and with this in its reason."""
        return self.wait(
            "state",
            since,
            lambda state: values.items() <= state["values"].items() and (reason or "") in state["reason"],
        )

    def report(self) -> Event:
        return self.wait("report", self.do("report"))

    def until(self, condition: Callable[[Event], bool]) -> None:
        """Until its report is like this."""
        end = time.monotonic() + PATIENCE_S
        while not condition(report := self.report()):
            assert time.monotonic() < end, report


@dataclass
class Guard:
    """A running guard."""

    process: subprocess.Popen[bytes]
    url: str

    def http(
        self, path: str, content: bytes | None = None, *, token: str | None = TOKEN, **headers: str
    ) -> tuple[int, Event]:
        """Status and answer; POST with a content, else GET."""
        request = urllib.request.Request(self.url + path, content, headers)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


@dataclass
class Starter:
    """Starts guards and fake robots; ends what is left."""

    python: Path
    environment: dict[str, str]
    folder: Path
    started: list[subprocess.Popen[Any]] = field(default_factory=list)
    listening: list[threading.Thread] = field(default_factory=list)

    def command(self, *parameters: str, robot_file: Path | None = None) -> list[str]:
        path = robot_file or self.folder / "robot.yaml"
        if robot_file is None:
            path.write_text(ROBOT_FILE)
        chosen = [f"robot_file:={path}", "http_port:=0", f"latch_file:={self.folder}/latch.json", *parameters]
        options = [word for parameter in chosen for word in ("-p", parameter)]
        return [str(self.python), "-m", "quartet_bringup.guard", "--ros-args", *options]

    def guard(self, *parameters: str, **environment: str) -> Guard:
        ready = self.folder / f"ready-{len(self.started)}.json"
        given = {"QUARTET_GUARD_TOKEN": TOKEN, **environment}
        command = self.command(
            "allow_old_rclpy:=true",
            f"heartbeat_timeout:={HEARTBEAT_TIMEOUT_S}",
            "more_actions:=[/arm_controller/follow_joint_trajectory]",
            "hold_trajectory_topic:=/arm_controller/joint_trajectory",
            *parameters,
        )
        return self.start(command, ready, **given)

    def start(self, command: list[str], ready: Path, **given: str) -> Guard:
        given = {"QUARTET_READY_FILE": str(ready), **given}
        process = subprocess.Popen(command, env=self.environment | given)
        self.started.append(process)
        end = time.monotonic() + PATIENCE_S
        while not ready.exists():
            assert process.poll() is None, "the guard has died"
            assert time.monotonic() < end, f"the guard did not come up within {PATIENCE_S:g} s"
            time.sleep(0.02)
        return Guard(process, json.loads(ready.read_text())["guard_url"])

    def refused(self, commands: list[list[str]]) -> list[str]:
        """What guards say that cannot start."""
        ended = subprocess.run(
            [str(self.python), str(HERE / "many_guards.py")],
            input=json.dumps([command[command.index("--ros-args") :] for command in commands]),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert ended.returncode == 0, ended.stderr
        said = json.loads(ended.stdout)
        assert [status for status, _ in said] == [2] * len(commands), said
        return [text for _, text in said]

    def robot(self, kind: str = "twist", driver: str = "/cmd_vel_gated") -> FakeRobot:
        process = subprocess.Popen(
            [str(self.python), str(HERE / "fake_robot.py"), "/cmd_vel", driver, kind],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        robot = FakeRobot(process)
        self.listening.append(threading.Thread(target=robot.follow, daemon=True))
        self.listening[-1].start()
        return robot

    def close(self) -> None:
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait(PATIENCE_S)
        for thread in self.listening:
            thread.join(PATIENCE_S)
        for process in self.started:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()


@pytest.fixture(scope="module")
def module_starter(
    ros_python: Path, ros_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Starter]:
    starter = Starter(ros_python, ros_environment, tmp_path_factory.mktemp("guard"))
    yield starter
    starter.close()


@pytest.fixture
def starter(ros_python: Path, ros_environment: dict[str, str], tmp_path: Path) -> Iterator[Starter]:
    """For guards of the test's own."""
    starter = Starter(ros_python, ros_environment, tmp_path)
    yield starter
    starter.close()


@pytest.fixture(scope="module")
def pair(module_starter: Starter) -> tuple[Guard, FakeRobot]:
    """One guard and one fake robot for a module."""
    guard, robot = module_starter.guard(), module_starter.robot()
    robot.wait("found", robot.do("await_guard"))
    return guard, robot


@pytest.fixture
def guard(pair: tuple[Guard, FakeRobot]) -> Guard:
    return pair[0]


@pytest.fixture
def robot(pair: tuple[Guard, FakeRobot]) -> Iterator[FakeRobot]:
    """At rest, not stopped, nobody moves it."""
    guard, robot = pair
    yield robot
    for source in {order["source"] for order in robot.orders if "source" in order}:
        robot.do("silence", source=source)
        robot.do("say", frame_id=f"{source}/done")
    robot.orders.clear()
    robot.do("drive", x=None)
    robot.do("runaway", on=False)
    robot.do("mute", on=False)
    robot.do("finish", action=GRIPPER)
    guard.http("/stop", b"{}")
    robot.until(lambda report: not report["speed"] and not report["goals"])
    guard.http("/reset", b"")
