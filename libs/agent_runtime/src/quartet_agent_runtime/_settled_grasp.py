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
