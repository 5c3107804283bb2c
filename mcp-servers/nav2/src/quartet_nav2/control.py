"""clear_costmaps, cancel_navigation."""

from typing import Literal

from quartet_contracts.tools.common_codes import CommonCode
from quartet_contracts.tools.nav2 import CancelResult, ClearCostmapsResult
from quartet_robot_link import CallTimeout
from quartet_site import RobotFile
from quartet_tool_server import ToolFailure, ToolServer


def actions(file: RobotFile) -> tuple[str, ...]:
    """Action servers that move the base."""
    names = file.actions
    return (names.navigate_to_pose, names.spin, names.drive_on_heading, names.backup)


def register(server: ToolServer) -> None:
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

    @server.tool(destructive=False)
    async def cancel_navigation() -> CancelResult:
        """Bring the base to a standstill: cancel every motion of the base, also one that another client started.

        Works at any time and returns when the base stands still. canceled lists what was running (empty: nothing was);
        standstill is null where odometry is missing. Failures: TIMEOUT (it still moves: use the stop button),
        BRIDGE_UNAVAILABLE (use the stop button).
        """
        canceled = await server.motions.cancel("cancel_navigation was called", channels=("base",))
        canceled += await server.motions.cancel_on_robot(actions(robot.file))
        try:
            standstill = await robot.wait_standstill()
        except CallTimeout:
            standstill = None
        names = sorted(set(canceled))
        if standstill is False:
            text = f"the base still moves after {', '.join(names) or 'nothing'} was canceled; use the stop button"
            raise ToolFailure(text, code=CommonCode.TIMEOUT, canceled=names, standstill=False)
        return CancelResult(canceled=names, standstill=standstill)
