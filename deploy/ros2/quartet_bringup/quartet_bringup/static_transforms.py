"""Merge all static transforms into one latched message: `ros2 run quartet_bringup static_transforms`.

rosbridge gives each client of a topic but the first only one latched message, and /tf_static has several publishers.
"""

import contextlib

import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

MAX_FRAMES = 2000
"""Frames that are merged; a publisher that invents frames must not fill the memory."""


class StaticTransforms(Node):
    """Republishes what is latched on the topic in parameter `topic` (/tf_static) on the same name with `_merged`."""

    def __init__(self) -> None:
        super().__init__("static_transforms")
        topic = self.declare_parameter("topic", "/tf_static").value
        latched = {"durability": DurabilityPolicy.TRANSIENT_LOCAL}
        self._merged = self.create_publisher(TFMessage, f"{topic}_merged", QoSProfile(depth=1, **latched))
        self.create_subscription(TFMessage, topic, self._take, QoSProfile(depth=100, **latched))
        self._transforms = {}

    def _take(self, message: TFMessage) -> None:
        for transform in message.transforms:
            if transform.child_frame_id in self._transforms or len(self._transforms) < MAX_FRAMES:
                self._transforms[transform.child_frame_id] = transform
            else:
                self.get_logger().warning(f"more than {MAX_FRAMES} frames; one is left out", once=True)
        self._merged.publish(TFMessage(transforms=list(self._transforms.values())))


def main() -> None:
    """Run until SIGINT or SIGTERM."""
    rclpy.init()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(StaticTransforms())


if __name__ == "__main__":
    main()
