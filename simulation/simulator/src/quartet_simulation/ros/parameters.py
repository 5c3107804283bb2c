"""The parameter services that every ROS 2 node has."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message, default

_FIELDS: dict[type, tuple[int, str]] = {
    bool: (1, "bool_value"),
    int: (2, "integer_value"),
    float: (3, "double_value"),
    str: (4, "string_value"),
}
"""rcl_interfaces/msg/ParameterType and the field that carries a value."""
NOT_SET = 0
UNDECLARED = {"/move_group"}
"""Nodes that take parameters which they did not declare, and delete those again, as MoveIt's does."""
_DESCRIPTIONS = {"use_sim_time": "Take time from /clock instead of the computer's clock."}


class Parameters:
    """The parameter services of some nodes, over the graph's parameter store."""

    def __init__(self, graph: Graph, nodes: Iterable[str]) -> None:
        self._graph = graph
        for node in nodes:
            graph.parameters[node] = {"use_sim_time": True}
            verbs = {"Get": self._get, "Set": self._set, "List": self._list, "Describe": self._describe}
            for verb, handler in verbs.items():
                name = f"{node}/{verb.lower()}_parameters"
                graph.serve(name, f"rcl_interfaces/{verb}Parameters", node, partial(handler, node))

    async def _get(self, node: str, request: Message) -> Message:
        values = self._graph.parameters[node]
        return {"values": [_to_message(values.get(name)) for name in request["names"]]}

    async def _set(self, node: str, request: Message) -> Message:
        values = self._graph.parameters[node]
        results = []
        for parameter in request["parameters"]:
            name, value = parameter["name"], _from_message(parameter["value"])
            declared = name in _DESCRIPTIONS
            if parameter["value"]["type"] == NOT_SET and name in values:
                reason = "cannot undeclare a statically typed parameter" if declared else ""
                if not declared:
                    del values[name]
            elif name not in values and node in UNDECLARED and value is not None:
                values[name], reason = value, ""
            elif name not in values:
                reason = f"parameter {name} is not declared; valid: {', '.join(sorted(values))}"
            elif type(value) is not type(values[name]):
                reason = f"wrong type: {type(values[name]).__name__} expected, got {value!r}"
            else:
                values[name], reason = value, ""
            results.append({"successful": not reason, "reason": reason})
        return {"results": results}

    async def _describe(self, node: str, request: Message) -> Message:
        values = self._graph.parameters[node]
        return {
            "descriptors": [
                default("rcl_interfaces/ParameterDescriptor")
                | {
                    "name": name,
                    "type": _FIELDS[type(values[name])][0] if name in values else NOT_SET,
                    "description": _DESCRIPTIONS.get(name, ""),
                    "dynamic_typing": name not in _DESCRIPTIONS,
                }
                for name in request["names"]
            ]
        }

    async def _list(self, node: str, request: Message) -> Message:
        prefixes = tuple(request["prefixes"])
        names = [name for name in self._graph.parameters[node] if not prefixes or name.startswith(prefixes)]
        return {"result": {"names": sorted(names), "prefixes": []}}


def _to_message(value: Any) -> Message:
    message = default("rcl_interfaces/ParameterValue")
    if value is not None:
        message["type"], field = _FIELDS[type(value)]
        message[field] = value
    return message


def _from_message(message: Message) -> Any:
    return next((message[field] for kind, field in _FIELDS.values() if kind == message["type"]), None)
