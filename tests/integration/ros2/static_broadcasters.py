"""Three nodes with a latched /tf_static message each, and a late reader of the merged one, which prints its frames."""

import json
import sys
import time

import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
rclpy.init()
kept = []
for number in range(3):
    node = rclpy.create_node(f"static_{number}")
    publisher = node.create_publisher(TFMessage, "/tf_static", LATCHED)
    transform = TransformStamped()
    transform.header.frame_id, transform.child_frame_id = "base", f"frame_{number}"
    publisher.publish(TFMessage(transforms=[transform]))
    kept.append((node, publisher))
reader, seen = rclpy.create_node("reader"), []
end = time.monotonic() + 60.0


def read(message: TFMessage) -> None:
    seen[:] = sorted(one.child_frame_id for one in message.transforms)


while len(seen) < 3 and time.monotonic() < end:
    # A new subscription each time: what is asked for late is what a client of rosbridge gets.
    subscription = reader.create_subscription(TFMessage, "/tf_static_merged", read, LATCHED)
    for _ in range(10):
        rclpy.spin_once(reader, timeout_sec=0.1)
    reader.destroy_subscription(subscription)
json.dump(seen, sys.stdout)
