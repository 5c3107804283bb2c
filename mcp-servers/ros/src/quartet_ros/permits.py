"""Write permissions of the generic tools: what the site file lists by name, without the guard's and gripper's names."""

import math
from typing import Any

from quartet_robot_link import Message
from quartet_robot_link.permits import absolute, guarded_names, past_the_gate, plain
from quartet_site import WritableAction, WritableService, WritableTopic
from quartet_tool_server import DeniedError, InvalidArgumentsError, ToolServer


def topic_permit(server: ToolServer, topic: str, msg_type: str) -> WritableTopic:
    """Entry of a topic. Raises DeniedError, InvalidArgumentsError for another type than it has."""
    entry = _entry(server, "topics", absolute(topic), server.site.ros_writes.topics, msg_type, "msg_type")
    if past_the_gate(server.robot.file, entry):
        gate = absolute(server.robot.file.topics.velocity)
        raise DeniedError(
            f"'{entry.name}' carries velocities past the guard's gate, {gate}; only that topic may. A person can set "
            "topics.velocity in robot.yaml"
        )
    return entry


def service_permit(server: ToolServer, service: str, service_type: str) -> WritableService:
    """Entry of a service. Raises DeniedError, InvalidArgumentsError."""
    return _entry(server, "services", absolute(service), server.site.ros_writes.services, service_type, "service_type")


def action_permit(server: ToolServer, action: str, action_type: str) -> WritableAction:
    """Entry of an action. Raises DeniedError, InvalidArgumentsError."""
    return _entry(server, "actions", absolute(action), server.site.ros_writes.actions, action_type, "action_type")


def parameter_permit(server: ToolServer, name: str) -> None:
    """Raises DeniedError for a parameter that the site does not list."""
    allowed = server.site.ros_writes.parameters
    if name not in allowed:
        raise _denied(server, "parameters", name, list(allowed))


def check_velocity(server: ToolServer, permit: WritableTopic, twists: list[Message]) -> None:
    """Raises InvalidArgumentsError when a Twist is faster than the site allows; it is not slowed down in silence."""
    base = server.robot.file.base
    caps = (
        ("linear", permit.max_linear_m_s or base.linear_speed_m_s, "m/s"),
        ("angular", permit.max_angular_rad_s or base.angular_speed_rad_s, "rad/s"),
    )
    for twist in twists:
        for part, cap, unit in caps:
            vector = twist.get(part) or {}
            speed = math.hypot(*(float(vector.get(axis, 0.0)) for axis in "xyz"))
            if speed > cap:
                raise InvalidArgumentsError(
                    f"{part} velocity {speed:g} {unit} on {permit.name} is not valid; valid: at most {cap:g} {unit} "
                    "(the site's cap). Nothing was sent"
                )


def _entry(server: ToolServer, kind: str, name: str, entries: list[Any], given: str, argument: str) -> Any:
    if name in guarded_names(server.robot.file):
        raise DeniedError(f"'{name}' belongs to the robot guard; only a person or the guard itself uses it")
    gripper = server.robot.file.gripper
    if name in {absolute(command) for command in (gripper.command_topic, *gripper.services) if command}:
        raise DeniedError(f"'{name}' commands the gripper; call moveit__open_gripper or moveit__close_gripper instead")
    entry = next((entry for entry in entries if entry.name == name), None)
    if entry is None:
        raise _denied(server, kind, name, [entry.name for entry in entries])
    if given and plain(given) != plain(entry.type):
        raise InvalidArgumentsError(
            f"'{name}' is of type {entry.type} at this site, not {given}; {argument} '{entry.type}' is valid"
        )
    return entry


def _denied(server: ToolServer, kind: str, name: str, allowed: list[str]) -> DeniedError:
    return DeniedError(
        f"the site '{server.site.name}' does not allow to write '{name}'; of {kind} it allows: "
        f"{', '.join(allowed) or 'none'}. A person can list it under ros_writes.{kind} in the site file"
    )
