"""clear_costmaps, cancel_navigation, nav2_lifecycle."""

from typing import Literal

from quartet_contracts.tools.nav2 import CancelResult, ClearCostmapsResult, LifecycleResult, NavCode
from quartet_robot_link import ServiceUnavailableError
from quartet_site import RobotFile
from quartet_tool_server import ToolError, ToolServer

STARTUP, SHUTDOWN = 0, 4
"""Commands of nav2_msgs/srv/ManageLifecycleNodes."""
MANAGE_TIMEOUT_S = 60.0
"""All of Nav2's nodes are configured and activated within this (wall time)."""


def actions(file: RobotFile) -> tuple[str, ...]:
    """Action servers that move the base."""
    names = file.actions
    return (
        names.navigate_to_pose,
        names.follow_waypoints,
        names.spin,
        names.drive_on_heading,
        names.backup,
        names.dock_robot,
        names.undock_robot,
    )


def register(server: ToolServer) -> None:
    """Add clear_costmaps, cancel_navigation and nav2_lifecycle."""
    robot, services = server.robot, server.robot.file.services

    @server.tool
    async def clear_costmaps(costmap_type: Literal["all", "global", "local"] = "all") -> ClearCostmapsResult:
        """Forget the obstacles that Nav2 has marked; what the sensors see now is marked again. Nothing moves.

        Do this once after navigation failed because of a blocked path or an occupied start, then navigate again.
        Failures: ROS_ERROR (Nav2 is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        chosen = {"global": services.clear_global_costmap, "local": services.clear_local_costmap}
        cleared: list[str] = []
        for name, service in chosen.items():
            if costmap_type in {"all", name}:
                await robot.link.call_service(service)
                cleared.append(name)
        return ClearCostmapsResult(cleared=cleared)

    @server.tool(destructive=False, cancels="base")
    async def cancel_navigation() -> CancelResult:
        """Bring the base to a standstill: cancel every motion of the base, also one that another client started.

        Works at any time and returns when the base stands still. canceled lists what was running (empty: nothing was);
        standstill is null where odometry is missing. Failures: TIMEOUT (it still moves), ROS_ERROR (an action server
        refused to cancel), BRIDGE_UNAVAILABLE: use the stop button.
        """
        return await server.safety.cancel_channel(
            "base", actions(robot.file), "cancel_navigation", robot.wait_standstill
        )

    @server.tool
    async def nav2_lifecycle(operation: Literal["startup", "shutdown"]) -> LifecycleResult:
        """Start all of Nav2's nodes, or shut them down: after a shutdown the base takes no motion (NAV2_NOT_ACTIVE).

        Nothing moves. For people who service the robot, and to start Nav2 where a motion answered NAV2_NOT_ACTIVE. On
        many robots nodes that were shut down start again only when Nav2's launch file is started anew. Failures:
        NAV2_NOT_ACTIVE (its lifecycle manager is not running or could not do it: read Nav2's log), BUSY (a motion
        runs: cancel_navigation first), CANCELED, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        command = STARTUP if operation == "startup" else SHUTDOWN
        async with server.leases.acquire("base", "nav2_lifecycle") as lease:
            try:
                answer = await lease.unless_canceled(
                    robot.link.call_service(
                        services.manage_navigation, {"command": command}, timeout_s=MANAGE_TIMEOUT_S
                    )
                )
            except ServiceUnavailableError as error:
                raise ToolError(f"{error}. Nav2 is not running.", code=NavCode.NAV2_NOT_ACTIVE) from error
        if not answer.get("success"):
            raise ToolError(
                f"Nav2's lifecycle manager could not do '{operation}'; read Nav2's log and start its launch file anew",
                code=NavCode.NAV2_NOT_ACTIVE,
                operation=operation,
            )
        return LifecycleResult(operation=operation, done=True)
