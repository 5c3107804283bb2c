"""The simulated robot as a subject of the guard's conformance suite: its process, over rosbridge and HTTP."""

import contextlib
import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

PATIENCE_S = 60.0
PERIOD_S = 0.1
ACTIONS = {
    "base": ("/spin", "nav2_msgs/action/Spin", {"target_yaw": 100_000.0}),
    "gripper": (
        "/robotiq_gripper_controller/gripper_cmd",
        "control_msgs/GripperCommand",
        {"command": {"position": 0.6, "max_effort": 50.0}},
    ),
}
FINGER = "robotiq_140_finger_joint"
STATUS = {4: "SUCCEEDED", 5: "CANCELED", 6: "ABORTED"}
Frame = dict[str, Any]


class SimulatedSubject:
    """In real time, in the small world."""

    def __init__(self, folder: Path, heartbeat_timeout_s: float, token: str) -> None:
        self.latch = folder / "latch.json"
        self._token, self._timeout_s = token, heartbeat_timeout_s
        self._open = contextlib.ExitStack()
        self._threads: list[threading.Thread] = []
        self._goals = 0
        self.process: subprocess.Popen[str] | None = None
        self._ended = threading.Event()
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    # --- life -----------------------------------------------------------------------------------------
    def _start(self) -> None:
        command = [sys.executable, "-m", "quartet_simulation", "--world", "studio", "--port", "0", "--realtime"]
        # What is compared are the two guards.
        command += ["--sensors", "clean"]
        command += ["--guard-file", str(self.latch), "--heartbeat-timeout", str(self._timeout_s)]
        self.process = subprocess.Popen(
            [*command, "--check-messages"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": "/usr/bin:/bin", "QUARTET_GUARD_TOKEN": self._token},
        )
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self._guard_url = ready["guard_url"]
        self.frames: list[Frame] = []
        self.last: dict[str, Frame] = {}
        self.beating: set[str] = set()
        self.velocity: float | None = None
        self._news = threading.Condition()
        self._ended = threading.Event()
        self._socket: ClientConnection = self._open.enter_context(connect(ready["url"], max_size=None))
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._follow, self._repeat)]
        for thread in self._threads:
            thread.start()
        for topic in ("/robot_guard/state", "/odom", "/joint_states"):
            self._send(op="subscribe", topic=topic)
        self._until(lambda: {"/robot_guard/state", "/odom", "/joint_states"} <= self.last.keys())

    def close(self) -> None:
        self._ended.set()
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._open.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def restart(self) -> None:
        """Killed in the middle of whatever it does, and started again."""
        self.close()
        self._start()

    # --- orders ---------------------------------------------------------------------------------------
    def http(
        self, path: str, content: bytes | None = None, *, token: str | None = None, **headers: str
    ) -> tuple[int, Frame]:
        request = urllib.request.Request(self._guard_url + path, content, headers)
        request.add_header("Authorization", f"Bearer {self._token if token is None else token}")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def service(self, name: str) -> str:
        """The answer of /robot_guard/<name>."""
        mark = self.mark
        self._send(op="call_service", id=name, service=f"/robot_guard/{name}")
        return self._frame(mark, op="service_response", id=name)["values"]["message"]

    def has_service(self, name: str) -> bool:
        mark = self.mark
        self._send(op="call_service", id="find", service="/rosapi/services")
        return f"/robot_guard/{name}" in self._frame(mark, op="service_response", id="find")["values"]["services"]

    def begin(self, part: str) -> str:
        """A goal for base, arm or gripper; returns when it runs."""
        goal, mark = self.send(part), self.mark
        self._frame(mark, op="action_feedback", id=goal)
        return goal

    def send(self, part: str) -> str:
        """A goal that need not be accepted."""
        self._goals += 1
        goal = f"{part}-{self._goals}"
        action, kind, args = ACTIONS[part] if part != "arm" else self._arm_goal()
        self._send(op="send_action_goal", id=goal, action=action, action_type=kind, args=args, feedback=True)
        return goal

    def result(self, goal: str) -> str:
        frame = self._frame(0, op="action_result", id=goal)
        return STATUS[frame["status"]] if frame["result"] else "REJECTED"

    def finish_grip(self, goal: str) -> str:
        """The fingers come to the end of their way by themselves."""
        return self.result(goal)

    def beat(self, source: str) -> None:
        self.say(source)
        self.beating.add(source)

    def silence(self, source: str) -> None:
        self.beating.discard(source)

    def say(self, frame_id: str) -> None:
        self._send(op="publish", topic="/robot_guard/heartbeat", msg={"frame_id": frame_id})

    def drive(self, speed: float | None) -> None:
        self.velocity = speed

    # --- what it does ---------------------------------------------------------------------------------
    @property
    def mark(self) -> int:
        return len(self.frames)

    def state(self, since: int = 0, reason: str | None = None, **values: str) -> Frame:
        """The guard's first state after the mark with these values, and with this in its reason."""

        def fits(frame: Frame) -> bool:
            if frame.get("topic") != "/robot_guard/state":
                return False
            found = {item["key"]: item["value"] for item in frame["msg"]["values"]}
            return values.items() <= found.items() and (reason or "") in frame["msg"]["message"]

        message = self._frame(since, fits)["msg"]
        found = {item["key"]: item["value"] for item in message["values"]}
        return {"name": message["name"], "reason": message["message"], "level": message["level"], "values": found}

    def at_rest(self) -> bool:
        """Whether the next readings of base and arm show no motion."""
        self.last.pop("/odom", None)
        self.last.pop("/joint_states", None)
        self._until(lambda: {"/odom", "/joint_states"} <= self.last.keys())
        twist, joints = self.last["/odom"]["twist"]["twist"], self.last["/joint_states"]
        arm = [abs(speed) for name, speed in zip(joints["name"], joints["velocity"], strict=True) if name != FINGER]
        return max(abs(twist["linear"]["x"]), abs(twist["angular"]["z"])) < 0.02 and max(arm) < 0.03

    def calm(self) -> None:
        """Nobody moves it, and nothing stops it."""
        for source in list(self.beating):
            self.silence(source)
            self.say(f"{source}/done")
        self.drive(None)
        mark = self.mark
        assert self.http("/stop", b"{}")[0] == 200
        self.state(mark, standstill="true")
        self._until(lambda: self.at_rest())
        self.http("/reset", b"")

    # --- rosbridge ------------------------------------------------------------------------------------
    def _arm_goal(self) -> tuple[str, str, Frame]:
        joints = self.last["/joint_states"]
        start = dict(zip(joints["name"], joints["position"], strict=True))
        constraints = [
            {
                "joint_name": name,
                "position": position + (0.6 if name == "arm_shoulder_pan_joint" else 0.0),
                "tolerance_above": 0.01,
                "tolerance_below": 0.01,
                "weight": 1.0,
            }
            for name, position in start.items()
            if name.startswith("arm_")
        ]
        request = {
            "group_name": "manipulator",
            "allowed_planning_time": 60.0,
            "max_velocity_scaling_factor": 0.01,
            "goal_constraints": [{"joint_constraints": constraints}],
        }
        return "/move_action", "moveit_msgs/action/MoveGroup", {"request": request}

    def _send(self, **frame: Any) -> None:
        self._socket.send(json.dumps(frame))

    def _follow(self) -> None:
        try:
            for text in self._socket:
                frame = json.loads(text)
                with self._news:
                    if frame["op"] == "publish":
                        self.last[frame["topic"]] = frame["msg"]
                    if frame.get("topic") not in ("/odom", "/joint_states"):
                        self.frames.append(frame)
                    self._news.notify_all()
        except ConnectionClosed:
            pass

    def _repeat(self) -> None:
        try:
            while not self._ended.wait(PERIOD_S):
                for source in list(self.beating):
                    self.say(source)
                if self.velocity is not None:
                    self._send(op="publish", topic="/cmd_vel", msg={"linear": {"x": self.velocity}})
        except ConnectionClosed:
            pass

    def _frame(self, since: int, fits: Callable[[Frame], bool] = bool, **fields: Any) -> Frame:
        found: list[Frame] = []

        def look() -> bool:
            found[:] = [one for one in self.frames[since:] if fields.items() <= one.items() and fits(one)]
            return bool(found)

        self._until(look)
        return found[0]

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            with self._news:
                assert time.monotonic() < end, f"not within {PATIENCE_S:g} s; last: {self.frames[-5:]}"
                self._news.wait(0.05)
