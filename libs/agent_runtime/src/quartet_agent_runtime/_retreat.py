"""The way out of where a halted arm was left."""

import math
from collections.abc import Sequence

from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult
from quartet_contracts.tools.nav2 import MotionResult

TUCKED_RAD = 0.15
"""The arm counts as tucked when each joint is this near to its transit position."""

LEAST_FRACTION = 0.05
"""Least part of the lift height that is worth a motion."""
BACK_OFF_M, BACK_OFF_STEPS = 0.20, 2
BACK_OFF_SPEED_M_S = 0.1


async def is_tucked(check: RequestContext) -> bool:
    """Return whether the arm is measured in its transit state. Raises VerificationError."""
    arm = check.robot.arm
    now = await check.call(CurrentPoseResult, "moveit__get_current_pose")
    wanted = dict(zip(arm.joints, arm.named_states[arm.transit_state], strict=True))
    return now.ok and all(_at(now.joint_positions.get(joint), value) for joint, value in wanted.items())


def _at(position: float | None, wanted: float) -> bool:
    return position is not None and abs(math.remainder(position - wanted, math.tau)) <= TUCKED_RAD


async def retreat(check: RequestContext) -> ArmResult | None:
    """Raise the arm straight up by the lift height or as far as it gets, then bring it to its transit state.

    A halted arm may be low between things that the planner does not know, and its next motion to the side would knock
    them over. A motion that does not succeed is left to the model. Returns how the motion to the transit state ended,
    None where it is not known where the arm is. Raises VerificationError.
    """
    arm = check.robot.arm
    now = await check.call(CurrentPoseResult, "moveit__get_current_pose")
    if now.pose is None:
        return None
    x, y, z = now.pose.position
    # Under a board, or where it is up already, there may be no way further up.
    await check.call(
        ArmResult,
        "moveit__plan_cartesian_path",
        group=arm.group,
        position=[x, y, z + check.robot.manipulation.lift_height_m],
        orientation=list(now.pose.orientation),
        frame_id=now.pose.frame_id,
        min_fraction=LEAST_FRACTION,
    )
    return await tuck(check)


async def tuck(check: RequestContext) -> ArmResult:
    """Bring the arm to its transit state. Raises VerificationError."""
    arm = check.robot.arm
    target = {"state_name": arm.transit_state}
    return await check.call(
        ArmResult, "moveit__plan_and_execute", group=arm.group, target_type="named_state", target=target
    )


async def back_off_and_tuck(check: RequestContext, ways: Sequence[str] = ("nav2__backup_robot",)) -> bool:
    """Drive away from what is in the arm's way until it can be tucked; return whether it is.

    ways: tools that drive straight, in the order of preference; the first one that moves the robot is kept to. Each
    stops where the robot's own check for collisions says so. At most BACK_OFF_STEPS times BACK_OFF_M. Raises
    VerificationError.
    """
    chosen = list(ways)
    for _ in range(BACK_OFF_STEPS):
        for way in chosen:
            if (await check.call(MotionResult, way, distance=BACK_OFF_M, speed=BACK_OFF_SPEED_M_S)).ok:
                chosen = [way]
                break
        else:
            return False
        if (await tuck(check)).ok:
            return True
    return False
