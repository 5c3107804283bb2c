"""The guard's process: `ros2 run quartet_bringup robot_guard --ros-args -p robot_file:=/path/to/robot.yaml`."""

import json
import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from quartet_bringup.errors import BringupError
from quartet_bringup.guard.node import RobotGuardNode
from quartet_bringup.guard.parameters import listen
from quartet_bringup.guard.requirements import check, installed_version
from quartet_safety.errors import SafetyError
from quartet_safety.guard import GuardPort, token_source

LAST_COMMANDS_S = 0.2
TRANSPORTS = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
"""Not shared memory: a process that is killed may leave half a port in /dev/shm, for which Fast DDS waits for ever. All
nodes have UDP as well, so that they reach the guard."""


def main() -> int:
    """Run until SIGINT or SIGTERM. Exit status 2: it cannot start like this, and one line on stderr says why."""
    logging.basicConfig(level=logging.INFO, format="robot_guard: %(message)s", stream=sys.stderr)
    ending = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ending.set())
    for name, value in TRANSPORTS.items():
        os.environ.setdefault(name, value)
    # Not rclpy's own handlers: they shut the context down before the robot could be halted.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = RobotGuardNode()
        if not node.any_rclpy:
            check(installed_version())
        tokens = token_source(os.environ)
        port = GuardPort(node.guard, listen(*node.http, tokens), tokens)
    except (BringupError, SafetyError) as error:
        print(f"robot_guard: {error}", file=sys.stderr)
        rclpy.shutdown()
        return 2
    _run(node, port, ending)
    return 0


def _run(node: RobotGuardNode, port: GuardPort, ending: threading.Event) -> None:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    port.open()
    _write_ready_file(port.url)
    node.get_logger().info(f"watching; HTTP port {port.url}")
    try:
        while not ending.is_set():
            executor.spin_once(timeout_sec=0.1)
    finally:
        # However it ends, by a fault of its own as well.
        if node.guard.leave():
            _send_last_commands(executor)
        port.close()
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown()


def _send_last_commands(executor: SingleThreadedExecutor) -> None:
    end = time.monotonic() + LAST_COMMANDS_S
    while time.monotonic() < end:
        executor.spin_once(timeout_sec=0.02)


def _write_ready_file(url: str) -> None:
    path = os.environ.get("QUARTET_READY_FILE")
    if path:
        fresh = Path(f"{path}.new")
        fresh.write_text(json.dumps({"event": "ready", "guard_url": url}), encoding="utf-8")
        fresh.replace(path)


if __name__ == "__main__":
    sys.exit(main())
