"""dock_robot, undock_robot."""

from typing import Annotated, Any

from pydantic import Field

from quartet_contracts.tools.nav2 import DockResult, NavCode
from quartet_nav2.motion import drive, failed, pose_stamped, verdict, where
from quartet_robot_link import Message, MotionOutcome
from quartet_tool_server import Finite, InvalidArgumentsError, ToolServer

UNDOCKING_S = 60.0
STATES = ("starting", "driving to the staging pose", "looking for the dock", "driving in", "charging", "trying again")
"""States of DockRobot's feedback."""

DockName = Annotated[str, Field(max_length=64)]


def register(server: ToolServer) -> None:
    """Add dock_robot and undock_robot."""
    robot, names = server.robot, server.robot.file

    def dock_goal(x: float | None, y: float | None, yaw: float, dock_id: str, **_: Any) -> tuple[str, Message]:
        pose = {} if dock_id else pose_stamped(robot, x, y, yaw)
        return "DockRobot", {"use_dock_id": bool(dock_id), "dock_id": dock_id, "dock_pose": pose}

    @server.tool(moves="base", goal=dock_goal)
    async def dock_robot(
        x: Finite | None = None,
        y: Finite | None = None,
        yaw: Finite = 0.0,
        dock_id: DockName = "",
        dock_type: DockName = "",
        nav_to_dock: bool = True,
    ) -> DockResult:
        """Drive the base onto a dock: a known one by dock_id, or one at a pose x, y [m], yaw [rad] of the map.

        Tuck the arm first. nav_to_dock=false drives in from where the robot stands, which must be before the dock.
        dock_type may be left out. Failures: INVALID_PARAMETERS (neither or both of dock_id and x, y),
        NAVIGATION_FAILED (nav2_error says why, e.g. DOCKING_DOCK_NOT_IN_DB, DOCKING_FAILED_TO_STAGE),
        NAVIGATION_CANCELED, NAV2_NOT_ACTIVE (no docking server runs), BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome
        unknown: get_robot_pose first), STOPPED (report it).
        """
        goal: Message = {
            "use_dock_id": bool(dock_id),
            "dock_id": dock_id,
            "dock_type": dock_type,
            "max_staging_time": names.base.navigation_timeout_s,
            "navigate_to_staging_pose": nav_to_dock,
        }
        if x is not None and y is not None and not dock_id:
            goal["dock_pose"] = pose_stamped(robot, x, y, yaw)
        elif x is not None or y is not None or not dock_id:
            raise InvalidArgumentsError("give either dock_id or both x and y of the dock, and not both of them")
        return await run("dock_robot", names.actions.dock_robot, "DockRobot", goal, names.base.navigation_timeout_s * 2)

    @server.tool(moves="base", goal=lambda **_: ("UndockRobot", {}))
    async def undock_robot(dock_type: DockName = "") -> DockResult:
        """Drive the base backward off its dock. Look behind first; dock_type may be left out.

        Failures as of dock_robot.
        """
        goal: Message = {"dock_type": dock_type, "max_undocking_time": UNDOCKING_S}
        return await run("undock_robot", names.actions.undock_robot, "UndockRobot", goal, UNDOCKING_S)

    async def run(tool: str, action: str, kind: str, goal: Message, limit_s: float) -> DockResult:
        async with server.leases.acquire("base", tool) as lease:
            outcome = await drive(server, lease, action, kind, goal, limit_s=limit_s, progress=report)
            pose = await where(robot)
        return DockResult(**judged(outcome), pose=pose, num_retries=int(outcome.values.get("num_retries") or 0))


def report(feedback: Message) -> tuple[float, float | None, str]:
    """Progress of a docking from its feedback."""
    number = int(feedback.get("state") or 0)
    return float(number), None, STATES[number] if number < len(STATES) else "docking"


def judged(outcome: MotionOutcome) -> dict[str, Any]:
    """The verdict; a goal that succeeded with success=false has failed."""
    fields = verdict(outcome)
    if fields.get("ok", True) and not outcome.values.get("success"):
        fields |= failed(NavCode.NAVIGATION_FAILED, "the docking server says that it did not succeed; look")
    return fields
