"""get_services, get_service_type, get_service_details, call_service."""

import asyncio
from typing import Annotated, Any

from pydantic import Field

from quartet_contracts.tools.ros import CallServiceResult, NamesResult, ServiceDetailsResult, TypeResult
from quartet_robot_link import Robot
from quartet_robot_link.permits import absolute, plain
from quartet_ros.graph import ROSAPI_S, Contains, Limit, Name, all_services, page, require
from quartet_ros.messages import shown_whole
from quartet_ros.permits import service_permit
from quartet_ros.types import MAX_STRUCTURES, Checker, structures
from quartet_tool_server import Finite, InvalidArgumentsError, ToolServer


async def service_type(robot: Robot, service: str) -> tuple[str, str]:
    """Name and type of a service that exists. Raises InvalidArgumentsError."""
    name = absolute(service)
    require(name, await all_services(robot), "service", "get_services")
    found = await robot.link.call_service("/rosapi/service_type", {"service": name}, timeout_s=ROSAPI_S)
    return name, str(found["type"])


def register(server: ToolServer) -> None:
    """Add get_services, get_service_type, get_service_details and call_service."""
    robot = server.robot

    @server.tool(read_only=True)
    async def get_services(contains: Contains = "", limit: Limit = 50) -> NamesResult:
        """Names of the robot's services, at most `limit`, in alphabetical order; narrow with contains.

        Failures: ROS_ERROR (rosapi is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        services = await all_services(robot)
        shown, text = page([name for name in services if contains.lower() in name.lower()], limit)
        return NamesResult(names=shown, total=len(services), message=text)

    @server.tool(read_only=True)
    async def get_service_type(service: Name) -> TypeResult:
        """Return the type of a service, e.g. std_srvs/srv/Trigger.

        Failures: INVALID_PARAMETERS (no such service; the message has similar ones), ROS_ERROR, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        name, known = await service_type(robot, service)
        return TypeResult(name=name, type=known)

    @server.tool(read_only=True)
    async def get_service_details(service: Name) -> ServiceDetailsResult:
        """Type of a service, the node that offers it, and the fields of request and response.

        Failures: as of get_service_type.
        """
        name, known = await service_type(robot, service)
        call = robot.link.call_service
        node, request, response = await asyncio.gather(
            call("/rosapi/service_node", {"service": name}, timeout_s=ROSAPI_S),
            call("/rosapi/service_request_details", {"type": known}, timeout_s=ROSAPI_S),
            call("/rosapi/service_response_details", {"type": known}, timeout_s=ROSAPI_S),
        )
        return ServiceDetailsResult(
            name=name,
            type=known,
            providers=[node["node"]] if node.get("node") else [],
            request=structures(request)[:MAX_STRUCTURES],
            response=structures(response)[:MAX_STRUCTURES],
        )

    @server.tool
    async def call_service(
        service_name: Name,
        service_type: Annotated[str, Field(max_length=128, description="looked up when left out")] = "",
        request: dict[str, Any] | None = None,
        timeout: Annotated[Finite, Field(gt=0, le=60, description="seconds to wait")] = 5.0,  # noqa: ASYNC109
    ) -> CallServiceResult:
        """Call a service that the site allows, with the fields of its request.

        Failures: DENIED (the site does not allow it; do not try again), INVALID_PARAMETERS (no such service, wrong type
        or field), ROS_ERROR (the service's own words), TIMEOUT (whether it acted is not known: look first), BUSY,
        FENCED, STOPPED (report it), BRIDGE_UNAVAILABLE.
        """
        permit = service_permit(server, service_name, service_type)
        known = (await _type_of(robot, permit.name)) or permit.type
        if plain(known) != plain(permit.type):
            raise InvalidArgumentsError(
                f"'{permit.name}' has type {known} on the robot, the site file says {permit.type}; correct the file"
            )
        fields = request or {}
        parts = structures(
            await robot.link.call_service("/rosapi/service_request_details", {"type": known}, timeout_s=ROSAPI_S)
        )
        if parts:
            Checker(parts).check(parts[0].type, fields, "request")
        async with server.leases.acquire(f"service {permit.name}", "call_service") as lease:
            await lease.ready()
            answer = await lease.unless_canceled(robot.link.call_service(permit.name, fields, timeout_s=timeout))
        return CallServiceResult(
            service=permit.name, service_type=known, response=shown_whole(answer, f"the response of {permit.name}")
        )


async def _type_of(robot: Robot, name: str) -> str:
    return (await service_type(robot, name))[1]
