"""get_current_pose, stop_execution."""

import asyncio

from quartet_contracts.tools.common_codes import CommonCode
from quartet_contracts.tools.moveit import CurrentPoseResult
from quartet_contracts.tools.nav2 import CancelResult
from quartet_moveit.arm import link_pose
from quartet_moveit.target import check_group
from quartet_site import RobotFile
from quartet_tool_server import ToolFailure, ToolServer


def actions(file: RobotFile) -> tuple[str, ...]:
    """Action servers that move the arm; the gripper's is not among them: a stop never lets go."""
    return (file.actions.move_group, file.actions.execute_trajectory)


def register(server: ToolServer) -> None:
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

    @server.tool(destructive=False)
    async def stop_execution(operation_id: str | None = None) -> CancelResult:
        """Bring the arm to a standstill: cancel every arm motion, also one that another client started.

        operation_id may be left out: the arm runs one motion at a time, and that one ends, whatever its id. Works at
        any time and returns when the arm stands still; the gripper keeps its grip. canceled lists what was
        running (empty: nothing was). Failures: TIMEOUT (it still moves: use the stop button), BRIDGE_UNAVAILABLE (use
        the stop button).
        """
        canceled = await server.motions.cancel("stop_execution was called", channels=("arm",))
        canceled += await server.motions.cancel_on_robot(actions(robot.file))
        names, standstill = sorted(set(canceled)), await robot.wait_arm_at_rest()
        if standstill is False:
            text = f"the arm still moves after {', '.join(names) or 'nothing'} was canceled; use the stop button"
            raise ToolFailure(text, code=CommonCode.TIMEOUT, canceled=names, standstill=False)
        return CancelResult(canceled=names, standstill=standstill)
