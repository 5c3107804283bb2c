"""The charge of the robot's battery, for robots that publish it."""

import math

from quartet_robot_link.link import SENSOR, Message, RobotLink, Subscription


class Battery:
    """Follows sensor_msgs/msg/BatteryState from `start` on; `topic` is None for a robot that has none."""

    def __init__(self, link: RobotLink, topic: str | None) -> None:
        self._link, self._topic = link, topic
        self._subscription: Subscription | None = None
        self.ratio: float | None = None
        """Charge, 0 to 1; None while it is not known."""

    def start(self) -> None:
        """Subscribe; a second call does nothing."""
        if self._topic is not None and self._subscription is None:
            self._subscription = self._link.subscribe(
                self._topic, "sensor_msgs/msg/BatteryState", qos=SENSOR, keep=1, on_message=self._on_state
            )

    def close(self) -> None:
        if self._subscription is not None:
            self._subscription.close()

    def _on_state(self, message: Message) -> None:
        ratio = message.get("percentage")
        # The message says NaN for what the battery does not measure, which travels as null.
        self.ratio = float(ratio) if isinstance(ratio, int | float) and math.isfinite(ratio) else None
