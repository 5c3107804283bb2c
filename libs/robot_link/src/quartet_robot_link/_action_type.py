"""The type of an action server, read from how rosbridge refuses a call of one of the action's own services.

rosapi's action_type ends rosapi 2.7.1 (it hands ros2action a plain node). rosbridge finds a service's type in the ROS
graph, hidden ones too, and looks for its class in the package's `srv` module, where those of actions are not; the
refusal names class and package, and nothing was called. Source: rosbridge_library, internal/services.py call_service
and internal/ros_loader.py InvalidClassException. A bridge that does find the class refuses the unknown field.
"""

import re

from quartet_robot_link.link import Message

SERVICE = "/_action/get_result"
ARGS: Message = {"quartet_asks_for_the_type": True}
"""No request has this field."""
_REFUSALS = (
    re.compile(r"class (?P<name>\w+)_GetResult from package (?P<package>\w+)"),
    re.compile(r"Message type (?P<package>\w+)/(?:\w+/)?(?P<name>\w+)_GetResult_Request "),
)


def type_in(refusal: str) -> str | None:
    """`pkg/action/Name`, None where the text does not tell."""
    for pattern in _REFUSALS:
        found = pattern.search(refusal)
        if found is not None:
            return f"{found['package']}/action/{found['name']}"
    return None
