"""The rosapi node: content of the graph, details of types, parameters as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from quartet_simulation.faults import Faults
from quartet_simulation.ros.definitions import PRIMITIVES, Definition, load
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message, definition, parts

NODE = "/rosapi"
_KILLERS = {
    "action_type": lambda graph, request: True,
    "get_ros_version": lambda graph, request: True,
    "node_details": lambda graph, request: request["node"] not in graph.nodes(),
    "get_param": lambda graph, request: request["name"].split(":")[0] not in graph.nodes(),
    "action_goal_details": lambda graph, request: "MoveGroup" in request["type"],
}
"""Requests that kill rosapi 2.7.1, for the fault `rosapi_dies`; that for the version where ROS_DISTRO is not set."""


class RosApi:
    """The services of /rosapi."""

    def __init__(self, graph: Graph, faults: Faults) -> None:
        self._graph, self._faults = graph, faults
        answers: dict[str, tuple[str, Callable[[Message], Message]]] = {
            "topics": ("Topics", lambda _: self._topics()),
            "topics_and_raw_types": ("TopicsAndRawTypes", lambda _: self._raw_topics()),
            "topic_type": ("TopicType", lambda r: {"type": self._topic_type(r["topic"])}),
            "topics_for_type": ("TopicsForType", lambda r: {"topics": self._topics_of(r["type"])}),
            "publishers": (
                "Publishers",
                lambda r: {"publishers": self._nodes_of(r["topic"], "publishers")},
            ),
            "subscribers": (
                "Subscribers",
                lambda r: {"subscribers": self._nodes_of(r["topic"], "subscribers")},
            ),
            "services": ("Services", lambda _: {"services": sorted(filter(_shown, graph.services))}),
            "service_type": ("ServiceType", lambda r: {"type": self._service(r, "type_name")}),
            "service_node": ("ServiceNode", lambda r: {"node": self._service(r, "node")}),
            "services_for_type": ("ServicesForType", lambda r: {"services": self._services_of(r["type"])}),
            "service_providers": (
                "ServiceProviders",
                lambda r: {"providers": list(filter(None, [self._service(r, "node")]))},
            ),
            "nodes": ("Nodes", lambda _: {"nodes": graph.nodes()}),
            "node_details": ("NodeDetails", lambda r: self._node_details(r["node"])),
            "action_servers": ("GetActionServers", lambda _: {"action_servers": sorted(graph.actions)}),
            "action_type": ("ActionType", lambda r: {"type": self._action_type(r["action"])}),
            "interfaces": ("Interfaces", lambda _: {"interfaces": sorted(load())}),
            "message_details": ("MessageDetails", lambda r: _typedefs(definition(r["type"]))),
            "service_request_details": ("ServiceRequestDetails", lambda r: _part(r, "srv", 0)),
            "service_response_details": ("ServiceResponseDetails", lambda r: _part(r, "srv", 1)),
            "action_goal_details": ("ActionGoalDetails", lambda r: _part(r, "action", 0)),
            "action_result_details": ("ActionResultDetails", lambda r: _part(r, "action", 1)),
            "action_feedback_details": ("ActionFeedbackDetails", lambda r: _part(r, "action", 2)),
            "get_param": ("GetParam", self._get_param),
            "set_param": ("SetParam", self._set_param),
            "delete_param": ("DeleteParam", self._delete_param),
            "has_param": ("HasParam", lambda r: {"exists": self._parameter(r["name"]) is not None}),
            "get_param_names": ("GetParamNames", lambda _: {"names": self._parameter_names()}),
            "get_time": ("GetTime", lambda _: {"time": graph.now()}),
            "get_ros_version": ("GetROSVersion", lambda _: {"version": 2, "distro": "jazzy"}),
        }
        self._names = [f"{NODE}/{name}" for name in answers]
        for name, (type_name, answer) in answers.items():
            graph.serve(f"{NODE}/{name}", f"rosapi_msgs/{type_name}", NODE, self._handler(name, answer))

    def _handler(self, name: str, answer: Callable[[Message], Message]) -> Any:
        async def handle(request: Message) -> Message:
            kills = _KILLERS.get(name)
            if kills is not None and kills(self._graph, request) and self._faults.strikes("rosapi_dies"):
                for service in self._names:
                    self._graph.services.pop(service, None)
            return answer(request)

        return handle

    def _topics(self) -> Message:
        topics = sorted(self._graph.topics.values(), key=lambda topic: topic.name)
        shown = [topic for topic in topics if _shown(topic.name)]
        return {"topics": [topic.name for topic in shown], "types": [topic.type_name for topic in shown]}

    def _raw_topics(self) -> Message:
        listed = self._topics()
        return listed | {"typedefs_full_text": [_full_text(definition(name)) for name in listed["types"]]}

    def _topic_type(self, name: str) -> str:
        topic = self._graph.topics.get(name) if _shown(name) else None
        return topic.type_name if topic is not None else ""

    def _topics_of(self, type_name: str) -> list[str]:
        topics = self._graph.topics.values()
        return sorted(topic.name for topic in topics if topic.type_name == type_name and _shown(topic.name))

    def _nodes_of(self, name: str, role: str) -> list[str]:
        topic = self._graph.topics.get(name) if _shown(name) else None
        return sorted(set(getattr(topic, role))) if topic is not None else []

    def _service(self, request: Message, attribute: str) -> str:
        service = self._graph.services.get(request["service"]) if _shown(request["service"]) else None
        return getattr(service, attribute) if service is not None else ""

    def _services_of(self, type_name: str) -> list[str]:
        services = self._graph.services.values()
        return sorted(s.name for s in services if s.type_name == type_name and _shown(s.name))

    def _action_type(self, name: str) -> str:
        server = self._graph.actions.get(name)
        return server.type_name if server is not None else ""

    def _node_details(self, node: str) -> Message:
        topics = [topic for topic in self._graph.topics.values() if _shown(topic.name)]
        services = self._graph.services.values()
        return {
            "subscribing": sorted({topic.name for topic in topics if node in topic.subscribers}),
            "publishing": sorted({topic.name for topic in topics if node in topic.publishers}),
            "services": sorted(s.name for s in services if s.node == node and _shown(s.name)),
        }

    # --- parameters -----------------------------------------------------------------------------------
    def _parameter(self, name: str) -> Any:
        node, _, key = name.partition(":")
        return self._graph.parameters.get(node, {}).get(key)

    def _parameter_names(self) -> list[str]:
        return sorted(f"{node}:{key}" for node, values in self._graph.parameters.items() for key in values)

    def _get_param(self, request: Message) -> Message:
        value = self._parameter(request["name"])
        if value is None:
            reason = f"parameter {request['name']} is not set"
            return {"value": request["default_value"], "successful": False, "reason": reason}
        return {"value": orjson.dumps(value).decode(), "successful": True, "reason": ""}

    def _set_param(self, request: Message) -> Message:
        old = self._parameter(request["name"])
        if old is None:
            return {"successful": False, "reason": f"parameter {request['name']} is not declared"}
        try:
            value = orjson.loads(request["value"])
        except orjson.JSONDecodeError:
            value = request["value"]
        if type(value) is not type(old):
            wanted = type(old).__name__
            return {"successful": False, "reason": f"wrong type: {wanted} expected, got {value!r}"}
        node, _, key = request["name"].partition(":")
        self._graph.parameters[node][key] = value
        return {"successful": True, "reason": ""}

    def _delete_param(self, request: Message) -> Message:
        # Deleting is setting to PARAMETER_NOT_SET, which a parameter of a fixed type refuses.
        if self._parameter(request["name"]) is None:
            return {"successful": False, "reason": f"parameter {request['name']} is not declared"}
        return {"successful": False, "reason": f"parameter {request['name']} is statically typed"}


def _shown(name: str) -> bool:
    """Hidden names, such as those that an action consists of, have a part that begins with an underscore."""
    return "/_" not in name


def _reachable(root: Definition) -> Iterable[Definition]:
    seen: dict[str, Definition] = {}
    queue = [root]
    while queue:
        current = queue.pop(0)
        if current.name in seen:
            continue
        seen[current.name] = current
        queue += [definition(field.base) for field in current.fields if not field.primitive]
    return seen.values()


def _full_text(root: Definition) -> str:
    first, *others = _reachable(root)
    rule = "=" * 80
    return "\n".join([first.text, *(f"{rule}\nMSG: {part.name}\n{part.text}" for part in others)])


def _part(request: Message, kind: str, index: int) -> Message:
    return _typedefs(parts(request["type"], kind)[index])


def _typedefs(root: Definition) -> Message:
    """Array length -1 is a single value, 0 any length."""
    return {
        "typedefs": [
            {
                "type": part.name,
                "fieldnames": [field.name for field in part.fields],
                "fieldtypes": [field.base for field in part.fields],
                "fieldarraylen": [-1 if field.length is None else field.length for field in part.fields],
                "examples": [_example(field.base, field.length) for field in part.fields],
                "constnames": [],
                "constvalues": [],
            }
            for part in _reachable(root)
        ]
    }


def _example(base: str, length: int | None) -> str:
    if length is not None:
        return "[]"
    if base not in PRIMITIVES:
        return "{}"
    return {"bool": "False", "string": "", "float32": "0.0", "float64": "0.0"}.get(base, "0")
