"""connect_to_robot, ping_robot(s), detect_ros_version, get_verified_robot_spec, get_verified_robots_list.

This server serves one robot over the one bridge that is configured; no caller can make it connect anywhere else.
"""

import time
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from quartet_contracts.tools.ros import PingResult, PingsResult, RobotSpecResult, RobotsResult, RosVersionResult
from quartet_robot_link import BridgeUnavailableError, CallTimeoutError, RobotLinkError, RosError
from quartet_ros.graph import ROSAPI_S
from quartet_tool_server import DeniedError, Finite, InvalidArgumentsError, ToolServer

PROBE = "/rosapi/get_time"

Address = Annotated[str, Field(max_length=253, description="host of the robot's rosbridge; left out: the robot's own")]
Port = Annotated[int, Field(ge=0, le=65535, description="left out: the robot's own")]
Seconds = Annotated[Finite, Field(ge=0.1, le=30, description="wall time to wait for an answer [s]")]


class Target(BaseModel):
    """One robot to ping."""

    ip: Address = ""
    port: Port = 0


def register(server: ToolServer) -> None:  # noqa: C901 - a list of small functions
    """Add the tools of this module: 6 in all."""
    robot, file = server.robot, server.robot.file

    def own_url() -> str:
        return str(getattr(robot.link, "url", file.bridge.url))

    def check(ip: str, port: int) -> None:
        own = urlsplit(own_url())
        own_port = own.port or (443 if own.scheme == "wss" else 80)
        host = ip if ip in {"", file.name} else (urlsplit(ip if "://" in ip else f"//{ip}").hostname or ip)
        if host not in {"", file.name, own.hostname} or port not in {0, own_port}:
            raise DeniedError(
                f"{ip or own.hostname}:{port or own_port} is not this server's robot; allowed: '{file.name}' at "
                f"{own.hostname}:{own_port}. A person configures others in robot.yaml"
            )

    async def ping(timeout_s: float) -> PingResult:
        started = time.monotonic()
        try:
            await robot.link.call_service(PROBE, timeout_s=timeout_s)
        except RosError:
            pass  # a refusal is an answer too
        except RobotLinkError as error:
            code = "BRIDGE_UNAVAILABLE" if isinstance(error, BridgeUnavailableError) else "TIMEOUT"
            return PingResult(
                ok=False,
                error_code=code,
                message=str(error),
                robot=file.name,
                url=own_url(),
                connected=not isinstance(error, BridgeUnavailableError | CallTimeoutError),
            )
        took = (time.monotonic() - started) * 1000
        return PingResult(robot=file.name, url=own_url(), connected=True, latency_ms=round(took, 2))

    @server.tool(read_only=True)
    async def connect_to_robot(
        ip: Address = "", port: Port = 0, ping_timeout: Seconds = 5.0, port_timeout: Seconds = 5.0
    ) -> PingResult:
        """Make sure that the robot is connected. The connection keeps itself; only the configured robot is allowed.

        Failures: DENIED (another address than the robot's), BRIDGE_UNAVAILABLE, TIMEOUT.
        """
        check(ip, port)
        await robot.link.wait_connected(port_timeout)
        return await ping(ping_timeout)

    @server.tool(read_only=True)
    async def ping_robot(
        ip: Address = "", port: Port = 0, ping_timeout: Seconds = 2.0, port_timeout: Seconds = 2.0
    ) -> PingResult:
        """Whether the robot answers, and how fast: one service call there and back, not only the network.

        Failures: DENIED (another address than the robot's), BRIDGE_UNAVAILABLE, TIMEOUT.
        """
        check(ip, port)
        return await ping(min(ping_timeout, port_timeout))

    @server.tool(read_only=True)
    async def ping_robots(
        targets: Annotated[list[Target], Field(max_length=20, description="left out: the configured robot")] = [],  # noqa: B006
        ping_timeout: Seconds = 2.0,
    ) -> PingsResult:
        """ping_robot for several targets; each has its own ok and error_code, DENIED for one that is not configured."""
        results: list[PingResult] = []
        for target in targets or [Target()]:
            try:
                check(target.ip, target.port)
            except DeniedError as error:
                url = f"{target.ip}:{target.port}"
                results.append(PingResult(ok=False, error_code="DENIED", message=str(error), url=url))
            else:
                results.append(await ping(ping_timeout))
        return PingsResult(robots=results)

    @server.tool(read_only=True)
    async def detect_ros_version() -> RosVersionResult:
        """ROS version of the robot, 1 or 2, by how it names types. Failures: ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.

        The distribution stays empty: asking for it would end a rosapi that was started without ROS_DISTRO.
        """
        types = (await robot.link.call_service("/rosapi/topics", timeout_s=ROSAPI_S))["types"]
        return RosVersionResult(
            version=2 if any(name.count("/") == 2 for name in types) else 1,
            message="which distribution it is cannot be asked without risk to rosapi; this server is made for jazzy",
        )

    @server.tool(read_only=True)
    async def get_verified_robots_list() -> RobotsResult:
        """Names of the robots that this server is configured for."""
        return RobotsResult(robots=[file.name])

    @server.tool(read_only=True)
    async def get_verified_robot_spec(
        name: Annotated[str, Field(max_length=64, description="of get_verified_robots_list; left out: the robot")] = "",
    ) -> RobotSpecResult:
        """Return the configuration of a robot: frames, topics, actions, services, base, arm, gripper and cameras.

        Lengths are in metres, angles in radians; writes has what the site allows the generic tools to write. Failure:
        INVALID_PARAMETERS (another name).
        """
        if name not in {"", file.name}:
            raise InvalidArgumentsError(f"robot '{name}' is not configured here; valid: {file.name}")
        writes = server.site.ros_writes
        return RobotSpecResult(
            robot=file.name,
            description=file.description,
            spec=file.model_dump(mode="json", exclude={"name", "description"}) | {"bridge": {"url": own_url()}},
            ros_writes={
                "topics": [entry.name for entry in writes.topics],
                "services": [entry.name for entry in writes.services],
                "actions": [entry.name for entry in writes.actions],
                "parameters": list(writes.parameters),
            },
        )
