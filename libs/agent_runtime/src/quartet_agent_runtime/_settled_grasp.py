"""What the gripper has between its fingers once they rest."""

import asyncio
import time

from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime._retreat import in_transit_state
from quartet_contracts.tools.moveit import CurrentPoseResult, GraspState, GripperResult
from quartet_site import RobotFile

POLL_S = 0.2
LIFTED_M = 0.03
"""Height above the place where the fingers closed from which a hand counts as lifted [m]."""


async def settled_grasp(check: RequestContext, times: int = 1) -> GripperResult:
    """Return the grasp state once the fingers have stopped moving, or as it is after `times` their settle time.

    Fingers that only touch something rest, too: UNKNOWN stays what it is. Raises VerificationError.
    """
    end = time.monotonic() + times * check.robot.gripper.settle_timeout_s
    while True:
        grasp = await check.call(GripperResult, "moveit__get_grasp_state")
        resting = grasp.state in {GraspState.HOLDING, GraspState.EMPTY, GraspState.UNKNOWN}
        if resting or time.monotonic() >= end:
            return grasp
        await asyncio.sleep(POLL_S)


def has_moved_away(robot: RobotFile, grasp: GripperResult, arm: CurrentPoseResult) -> bool:
    """Return whether the hand is above the place where its fingers closed, or in the transit state.

    Only then is an object that the wrist camera sees in the hand one that the hand carries.
    """
    closed = grasp.grasped
    if closed is not None and arm.pose is not None and arm.pose.position[2] >= closed.tool_pose.position[2] + LIFTED_M:
        return True
    return in_transit_state(robot, arm)


async def camera_shows_held(
    check: RequestContext, grasp: GripperResult, name: str, object_id: str | None, *, moved: bool = True
) -> bool:
    """Return whether the wrist camera shows the object between fingers whose effort is not measured.

    False if the fingers measure the grasp themselves. Unless `moved` is False, also False while the object may stand
    between the fingers (see has_moved_away). Raises VerificationError.
    """
    if grasp.state is not GraspState.UNKNOWN or grasp.effort_n is not None:
        return False
    if moved:
        arm = await check.call(CurrentPoseResult, "moveit__get_current_pose")
        if not has_moved_away(check.robot, grasp, arm):
            return False
    return any(one.in_gripper for one in await check.detect(name, "arm", object_id))
