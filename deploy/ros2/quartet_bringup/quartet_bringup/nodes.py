"""What the launch files start, as plain data: package, executable, parameters, remappings.

The launch files turn it into launch actions; what is started with which names is decided, and tested, here.
"""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quartet_bringup.errors import LaunchArgumentError
from quartet_bringup.robot_file import RobotNames

MAX_MESSAGE_SIZE = 10_000_000
"""Bytes of one rosbridge frame; a larger picture, asked for as CBOR, is lost, and other messages come in fragments."""
CALL_TIMEOUT_S = 5.0
RESPAWN_DELAY_S = 1.0
COMPRESSED = "/compressed"


@dataclass(frozen=True)
class NodeSpec:
    """One node. It comes back when it dies."""

    package: str
    executable: str
    name: str
    parameters: list[dict[str, Any] | str] = field(default_factory=list)
    remappings: list[tuple[str, str]] = field(default_factory=list)


def bridge(robot: RobotNames, address: str = "", port: str = "", everywhere: str = "false") -> list[NodeSpec]:
    """Return rosbridge_suite's websocket server and rosapi, and the node that merges static transforms for them.

    The parameters are those of rosbridge_websocket_launch.xml.

    Args:
        robot: names from robot.yaml.
        address: where it listens; empty: what `bridge.url` of robot.yaml says.
        port: the same for its port.
        everywhere: "true" allows an address that opens the robot to every network.

    Raises:
        LaunchArgumentError: address or port cannot be used.
    """
    address, number = address or robot.bridge_address, port or str(robot.bridge_port)
    if not number.isdecimal() or not 0 < int(number) < 65536:
        raise LaunchArgumentError(f"port: '{number}' cannot be used; 1 to 65535 are valid")
    if _is_everywhere(address) and everywhere != "true":
        raise LaunchArgumentError(
            f"address: '{address}' listens on every network of the robot, and whoever reaches the bridge can move it; "
            "name the address of the network that only robot and Quartet share, or say everywhere:=true"
        )
    websocket = {
        "address": address,
        "port": int(number),
        "retry_startup_delay": 2.0,
        "max_message_size": MAX_MESSAGE_SIZE,
        "fragment_timeout": 600,
        "delay_between_messages": 0.0,
        "unregister_timeout": 10.0,
        "use_compression": False,
        # A call that hangs must not hang the calls behind it.
        "call_services_in_new_thread": True,
        "send_action_goals_in_new_thread": True,
        "default_call_service_timeout": CALL_TIMEOUT_S,
    }
    return [
        NodeSpec("rosbridge_server", "rosbridge_websocket", "rosbridge_websocket", [websocket]),
        NodeSpec("rosapi", "rosapi_node", "rosapi", [{"params_timeout": CALL_TIMEOUT_S}]),
        NodeSpec("quartet_bringup", "static_transforms", "static_transforms", [{"topic": robot.topics["tf_static"]}]),
    ]


def compressors(robot: RobotNames) -> list[NodeSpec]:
    """A republisher for every camera whose colour topic in robot.yaml ends in /compressed.

    Only where the driver publishes raw pictures alone: drivers that use image_transport compress by themselves.
    """
    return [
        NodeSpec(
            "image_transport",
            "republish",
            f"compress_{camera.name}",
            [{"in_transport": "raw", "out_transport": "compressed"}],
            [("in", camera.colour.removesuffix(COMPRESSED)), ("out/compressed", camera.colour)],
        )
        for camera in robot.cameras
        if camera.colour.endswith(COMPRESSED)
    ]


def guard(robot_file: Path, parameters: Path, velocity_topic: str = "", velocity_input_topic: str = "") -> NodeSpec:
    """The robot guard with its parameter file; the topics override it where they are given."""
    given = {"velocity_topic": velocity_topic, "velocity_input_topic": velocity_input_topic}
    overrides = {name: topic for name, topic in given.items() if topic}
    return NodeSpec(
        "quartet_bringup",
        "robot_guard",
        "robot_guard",
        [str(parameters), {"robot_file": str(robot_file), **overrides}],
    )


def _is_everywhere(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False
