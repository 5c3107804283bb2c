"""ROS time: /clock where the robot publishes it, wall time otherwise."""

import math
import time

from quartet_robot_link.errors import RobotLinkError
from quartet_robot_link.link import SENSOR, Message, RobotLink


def stamp_of(message: Message) -> float:
    """Return the stamp [s] of a message with a header."""
    return seconds(message["header"]["stamp"])


def seconds(value: Message) -> float:
    """Return a builtin_interfaces Time or Duration in seconds."""
    return int(value.get("sec", value.get("secs", 0))) + int(value.get("nanosec", value.get("nsecs", 0))) * 1e-9


def duration(value_s: float) -> Message:
    """Return seconds as a builtin_interfaces Duration or Time."""
    sec = int(value_s)
    return {"sec": sec, "nanosec": round((value_s - sec) * 1e9) % 1_000_000_000}


STANDS_S = 0.5
"""A simulated clock that stands this long (wall time) will not bring anything new."""


TIME_SERVICE = "/rosapi/get_time"
MEASURE_EVERY_S = 60.0
"""Wall time between two measurements of the robot's clock."""
MEASURE_WAIT_S = 0.5
JUMP_BACK_S = 0.05
"""Simulated time that goes back by more was reset."""


class RosClock:
    """The robot's time. It can stand still: a simulation may advance time only while something moves."""

    def __init__(self, link: RobotLink, topic: str) -> None:
        self._link = link
        self._time: float | None = None
        self._advanced_at = time.monotonic()
        self._measured_at = -math.inf
        self._ahead_s: float | None = None
        """How far the robot's wall clock is ahead of this machine's; None while rosapi has not said so."""
        self.jumps = 0
        """How often simulated time jumped back."""
        self._subscription = link.subscribe(
            topic, "rosgraph_msgs/msg/Clock", qos=SENSOR, keep=1, on_message=self._on_clock
        )

    @property
    def simulated(self) -> bool:
        """True once the robot has published /clock."""
        return self._time is not None

    def now(self) -> float:
        """ROS time [s]."""
        return time.time() if self._time is None else self._time

    def robot_time(self) -> float | None:
        """Return ROS time by the robot's own clock [s]; None while it is not known how far that is from this one."""
        if self._time is not None:
            return self._time
        return None if self._ahead_s is None else time.time() + self._ahead_s

    async def measure(self) -> None:
        """Ask rosapi for the robot's time, at most once in MEASURE_EVERY_S; without an answer nothing changes."""
        if self.simulated or time.monotonic() - self._measured_at < MEASURE_EVERY_S:
            return
        self._measured_at = began = time.monotonic()
        try:
            answer = await self._link.call_service(TIME_SERVICE, timeout_s=MEASURE_WAIT_S)
            took = time.monotonic() - began
            self._ahead_s = seconds(answer["time"]) + took / 2 - time.time()
        except (RobotLinkError, KeyError, TypeError, ValueError):
            return

    @property
    def stalled_s(self) -> float:
        """Wall time [s] since ROS time last advanced; 0 where ROS time is wall time."""
        return 0.0 if self._time is None else time.monotonic() - self._advanced_at

    @property
    def stands(self) -> bool:
        """Whether this is the clock of a simulation that stands still: nothing moves in it, whatever was told last."""
        return self.simulated and self.stalled_s > STANDS_S

    def close(self) -> None:
        """End the subscription."""
        self._subscription.close()

    def _on_clock(self, message: Message) -> None:
        now = seconds(message["clock"])
        if self._time is not None and now < self._time - JUMP_BACK_S:
            self.jumps += 1
        if now != self._time:
            self._time, self._advanced_at = now, time.monotonic()
