"""What the servers of one robot may send to its rosbridge, from robot.yaml and site.yaml alone.

The bridge proxy lets this pass and nothing else, so the servers work through it unchanged. A new request of a server
to rosapi is added to ROSAPI.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

from quartet_robot_link._actions import CANCEL_SERVICE, TYPE_QUERY_SERVICE
from quartet_robot_link.link import Message
from quartet_safety.guard import HEARTBEAT_TYPE
from quartet_site import RobotFile, RosWrites, WritableTopic

ROSAPI = frozenset(
    f"/rosapi/{name}"
    for name in (
        "action_feedback_details",
        "action_goal_details",
        "action_result_details",
        "action_servers",
        "get_ros_version",
        "get_time",
        "interfaces",
        "message_details",
        "node_details",
        "nodes",
        "publishers",
        "service_node",
        "service_request_details",
        "service_response_details",
        "service_type",
        "services",
        "subscribers",
        "topic_type",
        "topics",
    )
)
"""Services of rosapi that the servers and the doctor call; none changes anything."""
READING_SERVICES = ("/get_parameters", "/list_parameters", "/describe_parameters", TYPE_QUERY_SERVICE)
"""Ends of services that only read, of any node or action."""
PROBE_SERVICE = "~/get_parameters"
"""Service of rosbridge's own node, whatever its name and namespace: rosbridge expands names as ROS does
(rosbridge_library, internal/services.py). Its executor has to serve the answer."""
SET_PARAMETERS = "/set_parameters"
_NAME = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")


def absolute(name: str) -> str:
    """Return `name` with its leading slash."""
    return name if name.startswith("/") else f"/{name}"


def plain(type_name: str) -> str:
    """Return the short form of a type: `pkg/msg/Type` and `pkg/Type` are the same."""
    pieces = type_name.split("/")
    return f"{pieces[0]}/{pieces[-1]}"


def guarded_names(robot: RobotFile) -> frozenset[str]:
    """Return the absolute names that only a person or the guard itself uses."""
    services, topics = robot.services, robot.topics
    own = (services.guard_stop, services.guard_reset, topics.guard_state, topics.guard_heartbeat)
    return frozenset(absolute(name) for name in own)


def past_the_gate(robot: RobotFile, topic: WritableTopic) -> bool:
    """Return whether `topic` would bring velocities to the base past the guard's gate, topics.velocity."""
    return topic.moves_base and topic.name != absolute(robot.topics.velocity)


class BridgePermits:
    """Operations that the servers of `robot` may send, each checked by `refusal`.

    Subscriptions and whatever else only reads are free, and so is canceling. Publishing, calling services and sending
    goals needs a name that robot.yaml or `writes` (ros_writes of site.yaml) has, with its type. Nothing of the guard
    but its heartbeat may be written, and velocities only to topics.velocity.
    """

    def __init__(self, robot: RobotFile, writes: RosWrites) -> None:
        guarded = guarded_names(robot)
        self._topics = {
            topic.name: topic.type
            for topic in writes.topics
            if topic.name not in guarded and not past_the_gate(robot, topic)
        } | {robot.topics.guard_heartbeat: HEARTBEAT_TYPE}
        gripper = robot.gripper
        if gripper.command_topic is not None:
            self._topics[gripper.command_topic] = gripper.command_type
        services = {*robot.services.model_dump().values(), *gripper.services, *(one.name for one in writes.services)}
        self._services = {name for name in services if absolute(name) not in guarded} | ROSAPI
        self._actions = {action.name: action.type for action in writes.actions if action.name not in guarded}
        named = robot.actions.model_dump()
        self._actions |= {named[field]: kind for field, kind in robot.action_types.items()}
        self._parameters = frozenset(writes.parameters)

    def refusal(self, operation: Message) -> str | None:
        """Return why `operation`, of a client of rosbridge, must not be sent; None when it may."""
        op = operation.get("op")
        match op:
            case "subscribe" | "unsubscribe" | "unadvertise":
                _, fault = _name(operation, "topic")
                return fault
            case "advertise" | "publish":
                return self._listed(operation, "topic", "type", self._topics, required=op == "advertise")
            case "send_action_goal":
                return self._listed(operation, "action", "action_type", self._actions, required=True)
            case "cancel_action_goal":
                _, fault = _name(operation, "action")
                return fault
            case "call_service":
                return self._service(operation)
            case _:
                return f"the operation {_shown(op)} is not allowed"

    def _listed(
        self, operation: Message, field: str, type_field: str, allowed: dict[str, str], *, required: bool
    ) -> str | None:
        """Return why the name in `field` with the type in `type_field` is refused; unless `required` it may lack."""
        name, fault = _name(operation, field)
        if fault is not None:
            return fault
        given, known = operation.get(type_field), allowed.get(name)
        if known is None:
            return f"{operation['op']} to the {field} {name} is not allowed; ros_writes of site.yaml may list it"
        if given is None and not required:
            return None
        if not isinstance(given, str) or plain(given) != plain(known):
            return f"{operation['op']} to {name} with the {type_field} {_shown(given)} is not allowed; valid: {known}"
        return None

    def _service(self, operation: Message) -> str | None:
        if operation.get("service") == PROBE_SERVICE:
            return None
        name, fault = _name(operation, "service")
        if fault is not None:
            return fault
        if name in self._services or name.endswith((*READING_SERVICES, CANCEL_SERVICE)):
            return None
        node = name.removesuffix(SET_PARAMETERS)
        if node != name:
            return self._parameters_of(node, operation.get("args"))
        return f"call_service of {name} is not allowed; ros_writes.services of site.yaml may list it"

    def _parameters_of(self, node: str, args: Any) -> str | None:
        wanted = cast(Message, args).get("parameters") if isinstance(args, dict) else None
        if not isinstance(wanted, list):
            return f"call_service of {node}{SET_PARAMETERS} is not allowed without a list of parameters"
        names = [_parameter(node, one) for one in cast(Iterable[Any], wanted)]
        refused = [name for name in names if name not in self._parameters]
        return (
            f"setting {', '.join(refused)[:200]} is not allowed; ros_writes.parameters may list it" if refused else None
        )


def _parameter(node: str, entry: Any) -> str:
    return f"{node}:{cast(Message, entry).get('name') if isinstance(entry, dict) else entry}"


def _name(operation: Message, field: str) -> tuple[str, str | None]:
    """Return the ROS name in `field` and None, or why it is none: rosbridge and this must not read it differently."""
    name = operation.get(field)
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name, None
    return "", f"{operation['op']} with the {field} {_shown(name)} is not allowed: that is no ROS name"


def _shown(value: Any) -> str:
    return repr(value)[:80]
