"""ROS time: /clock where the robot publishes it, wall time otherwise."""

import time

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


class RosClock:
    """The robot's time. It can stand still: a simulation may advance time only while something moves."""

    def __init__(self, link: RobotLink, topic: str) -> None:
        self._time: float | None = None
        self._advanced_at = time.monotonic()
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
        if now != self._time:
            self._time, self._advanced_at = now, time.monotonic()
