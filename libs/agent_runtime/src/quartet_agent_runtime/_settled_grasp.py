"""What the gripper has between its fingers once they rest."""

import asyncio
import time

from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts.tools.moveit import GraspState, GripperResult

POLL_S = 0.2


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


async def camera_shows_held(check: RequestContext, grasp: GripperResult, name: str, object_id: str | None) -> bool:
    """Return whether the wrist camera shows the object between fingers whose effort is not measured.

    False where the fingers tell for themselves. Raises VerificationError.
    """
    if grasp.state is not GraspState.UNKNOWN or grasp.effort_n is not None:
        return False
    return any(one.in_gripper for one in await check.detect(name, "arm", object_id))
