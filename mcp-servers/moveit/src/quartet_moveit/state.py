"""get_current_pose, stop_execution."""

import asyncio

from quartet_contracts.tools.moveit import CurrentPoseResult
from quartet_contracts.tools.nav2 import CancelResult
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.arm import link_pose
from quartet_moveit.target import check_group
from quartet_robot_link import CallTimeoutError, Robot
from quartet_site import RobotFile
from quartet_tool_server import ToolError, ToolServer


def actions(file: RobotFile) -> tuple[str, ...]:
    """Action servers that move the arm; the gripper's is not among them: a stop never lets go."""
    return (file.actions.move_group, file.actions.execute_trajectory)


async def _standstill(robot: Robot) -> bool | None:
    """Return whether the arm stands still, None when its driver does not tell. Raises BridgeUnavailableError."""
    try:
        return await robot.wait_arm_at_rest()
    except CallTimeoutError:
        return None


def register(server: ToolServer) -> None:
    """Add get_current_pose and stop_execution."""
    robot = server.robot

    @server.tool(read_only=True)
    async def get_current_pose(group: str | None = None, link_name: str | None = None) -> CurrentPoseResult:
        """Where the tool flange is now (base frame; position m, orientation x,y,z,w) and all joint positions (rad).

        group and link_name (another link) may be left out. Failures: TRANSFORM_UNAVAILABLE (also for an unknown link)
        or TIMEOUT (the arm's driver is silent), INVALID_GROUP, BRIDGE_UNAVAILABLE.
        """
        check_group(group, robot)
        pose, joints = await asyncio.gather(link_pose(robot, link_name), robot.joint_positions())
        return CurrentPoseResult(pose=pose, joint_positions=joints)

    @server.tool(destructive=False, cancels="arm")
    async def stop_execution(operation_id: str | None = None) -> CancelResult:
        """Bring the arm to a standstill: cancel every arm motion, also one that another client started.

        operation_id may be left out: the arm runs one motion at a time, and that one ends, whatever its id. Works at
        any time and returns when the arm stands still; the gripper keeps its grip. canceled lists what was
        running (empty: nothing was). Failures: TIMEOUT (it still moves), ROS_ERROR (an action server refused to
        cancel), BRIDGE_UNAVAILABLE: use the stop button.
        """
        canceled, going_on = await server.safety.cancel_channel("arm", actions(robot.file), "stop_execution was called")
        standstill = await _standstill(robot)
        if standstill is False:
            text = f"the arm still moves after {', '.join(canceled) or 'nothing'} was canceled; use the stop button"
            raise ToolError(text, code=CommonCode.TIMEOUT, canceled=canceled, standstill=False)
        if going_on:
            text = f"{', '.join(going_on)} was not canceled: the robot refused or goes on; use the stop button"
            raise ToolError(text, code=CommonCode.ROS_ERROR, canceled=canceled, standstill=standstill)
        return CancelResult(canceled=canceled, standstill=standstill)
