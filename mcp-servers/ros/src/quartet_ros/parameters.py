"""get_parameter(s), has_parameter, get_parameter_details, set_parameter, delete_parameter.

Through the nodes' own parameter services: rosapi 2.7.1 dies of a question about an unknown node, they need no rosapi.
"""

import asyncio
from typing import Annotated, Any, cast

import orjson
from pydantic import Field

from quartet_contracts.tools.ros import Parameter, ParameterDetailsResult, ParameterResult, ParametersResult
from quartet_robot_link import Message, Robot, ServiceUnavailableError
from quartet_robot_link.permits import absolute
from quartet_ros.graph import Contains, Limit, Name, all_nodes, page, require
from quartet_ros.messages import shorten
from quartet_ros.permits import parameter_permit
from quartet_ros.types import finite
from quartet_tool_server import InvalidArgumentsError, ToolError, ToolServer

# rcl_interfaces/msg/ParameterType: its number, name, and the field of ParameterValue that carries it.
_TYPES: tuple[tuple[str, str], ...] = (
    ("not set", ""),
    ("bool", "bool_value"),
    ("integer", "integer_value"),
    ("double", "double_value"),
    ("string", "string_value"),
    ("byte[]", "byte_array_value"),
    ("bool[]", "bool_array_value"),
    ("integer[]", "integer_array_value"),
    ("double[]", "double_array_value"),
    ("string[]", "string_array_value"),
)
_NUMBER = {name: number for number, (name, _) in enumerate(_TYPES)}

FullName = Annotated[str, Field(min_length=4, max_length=256, description="/node:parameter")]


def register(server: ToolServer) -> None:
    """Add get_parameter, has_parameter, get_parameters, get_parameter_details, set_parameter and delete_parameter."""
    robot = server.robot

    @server.tool(read_only=True)
    async def get_parameter(name: FullName) -> ParameterResult:
        """Value and type of a parameter, e.g. /move_group:use_sim_time.

        Failures: INVALID_PARAMETERS (no such node or parameter), ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        node, key = _split(name)
        kind, value = (await _values(robot, node, [key]))[0]
        if kind == "not set":
            require(key, await _names(robot, node), f"parameter of {node}", "get_parameters")
        return ParameterResult(name=f"{node}:{key}", exists=True, type=kind, value=shorten(value))

    @server.tool(read_only=True)
    async def has_parameter(name: FullName) -> ParameterResult:
        """Whether a node has a parameter: exists. Failures: INVALID_PARAMETERS (no such node), as get_parameter."""
        node, key = _split(name)
        return ParameterResult(name=f"{node}:{key}", exists=key in await _names(robot, node))

    @server.tool(read_only=True)
    async def get_parameters(node_name: Name, contains: Contains = "", limit: Limit = 50) -> ParametersResult:
        """Parameters of a node with their values, at most `limit`; narrow with contains.

        Failures: INVALID_PARAMETERS (no such node), ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        node = absolute(node_name)
        names = await _names(robot, node)
        shown, text = page([name for name in names if contains.lower() in name.lower()], limit)
        values = await _values(robot, node, shown) if shown else []
        parameters = [
            Parameter(name=name, type=kind, value=shorten(value))
            for name, (kind, value) in zip(shown, values, strict=True)
        ]
        return ParametersResult(node=node, parameters=parameters, total=len(names), message=text)

    @server.tool(read_only=True)
    async def get_parameter_details(name: FullName) -> ParameterDetailsResult:
        """Value, type, description, range and whether it can be changed. Failures: as of get_parameter."""
        node, key = _split(name)
        require(key, await _names(robot, node), f"parameter of {node}", "get_parameters")
        values, answer = await asyncio.gather(
            _values(robot, node, [key]), _ask(robot, node, "describe_parameters", {"names": [key]})
        )
        found = cast(Message, (answer.get("descriptors") or [{}])[0])
        limits = found.get("floating_point_range") or found.get("integer_range") or []
        kind, value = values[0]
        return ParameterDetailsResult(
            name=f"{node}:{key}",
            exists=True,
            type=kind,
            value=shorten(value),
            description=str(found.get("description", "")),
            additional_constraints=str(found.get("additional_constraints", "")),
            read_only=bool(found.get("read_only", False)),
            range=(limits[0]["from_value"], limits[0]["to_value"], limits[0]["step"]) if limits else None,
        )

    @server.tool
    async def set_parameter(
        name: FullName,
        value: Annotated[
            bool | int | float | str | list[bool | int | float | str],
            Field(description='the value, or its JSON text, e.g. 0.5, true, "[1, 2]"'),
        ],
    ) -> ParameterResult:
        """Set a parameter that the site allows; a text is read as the type that the parameter has.

        Failures: DENIED (the site does not allow it; do not try again), INVALID_PARAMETERS (no such node, wrong type),
        ROS_ERROR (the node refused; the message has its reason), TIMEOUT, BUSY, FENCED, STOPPED (report it),
        BRIDGE_UNAVAILABLE.
        """
        node, key = _split(name)
        parameter_permit(server, f"{node}:{key}")
        finite(value, "value")
        kind, _ = (await _values(robot, node, [key]))[0]
        wanted, converted = _convert(value, kind, f"{node}:{key}")
        message = {"type": _NUMBER[wanted], _TYPES[_NUMBER[wanted]][1]: converted}
        await write(node, key, message, "set_parameter")
        return ParameterResult(name=f"{node}:{key}", exists=True, type=wanted, value=converted)

    @server.tool
    async def delete_parameter(name: FullName) -> ParameterResult:
        """Delete a parameter that the site allows. Nodes delete only what was not declared with a fixed type.

        Failures: ROS_ERROR (the node refused), INVALID_PARAMETERS (no such parameter), others as of set_parameter.
        """
        node, key = _split(name)
        parameter_permit(server, f"{node}:{key}")
        require(key, await _names(robot, node), f"parameter of {node}", "get_parameters")
        await write(node, key, {"type": _NUMBER["not set"]}, "delete_parameter")
        return ParameterResult(name=f"{node}:{key}", exists=False)

    async def write(node: str, key: str, value: Message, tool: str) -> None:
        request = {"parameters": [{"name": key, "value": value}]}
        async with server.leases.acquire(f"parameter {node}:{key}", tool) as lease:
            await lease.ready()
            answer = await lease.unless_canceled(_ask(robot, node, "set_parameters", request))
        outcome = cast(Message, (answer.get("results") or [{}])[0])
        if not outcome.get("successful"):
            reason = outcome.get("reason") or "it gave no reason"
            raise ToolError(f"{node} refused to change '{key}': {reason}", code="ROS_ERROR")


def _split(name: str) -> tuple[str, str]:
    """Node and parameter of `/node:parameter`."""
    node, colon, key = name.partition(":")
    if not colon or not node.strip("/") or not key:
        raise InvalidArgumentsError(
            f"name '{name}' is not valid; valid: /node:parameter, e.g. /move_group:use_sim_time"
        )
    return absolute(node), key


async def _names(robot: Robot, node: str) -> list[str]:
    """Names of a node's parameters. Raises InvalidArgumentsError for an unknown node."""
    answer = await _ask(robot, node, "list_parameters", {"prefixes": [], "depth": 0})
    return sorted((answer.get("result") or {}).get("names") or [])


async def _values(robot: Robot, node: str, names: list[str]) -> list[tuple[str, Any]]:
    """Type and value of each; ("not set", None) for one that does not exist."""
    answer = await _ask(robot, node, "get_parameters", {"names": names})
    values = cast(list[Message], answer.get("values") or [])
    # Some nodes answer with nothing at all when one of the names is not declared.
    return [_value(values[i]) if i < len(values) else ("not set", None) for i in range(len(names))]


def _value(message: Message) -> tuple[str, Any]:
    number = int(message.get("type", 0))
    if not 0 < number < len(_TYPES):
        return "not set", None
    name, field = _TYPES[number]
    return name, message.get(field)


async def _ask(robot: Robot, node: str, service: str, request: Message) -> Message:
    try:
        return await robot.link.call_service(f"{node}/{service}", request)
    except ServiceUnavailableError:
        require(node, await all_nodes(robot), "node", "get_nodes")
        raise ToolError(f"node '{node}' has no parameter services ({service})", code="ROS_ERROR") from None


def _convert(value: Any, kind: str, name: str) -> tuple[str, Any]:
    """Type name and value as `kind`; where the parameter is not set yet, as what it looks like."""
    if isinstance(value, str) and kind != "string":
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            if kind != "not set":
                raise InvalidArgumentsError(f"{name} is a {kind}; {value!r} is not valid") from None
    if kind == "double" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind == "double[]" and isinstance(value, list):
        items = cast(list[Any], value)
        value = [float(item) if type(item) is int else item for item in items]
    looks = _looks(value)
    empty = isinstance(value, list) and not value and kind.endswith("[]")
    bytes_ = kind == "byte[]" and looks == "integer[]"
    if kind == "not set" and looks in _NUMBER:
        return looks, value
    if looks == kind or empty or bytes_:
        return kind, value
    raise InvalidArgumentsError(f"{name} is a {kind}; {str(value)[:80]!r} is not valid")


def _looks(value: Any) -> str:
    names = {bool: "bool", int: "integer", float: "double", str: "string"}
    if not isinstance(value, list):
        return names.get(type(value), "object")
    kinds = {names.get(type(item), "object") for item in cast(list[Any], value)}
    return f"{kinds.pop()}[]" if len(kinds) == 1 else "mixed array"
