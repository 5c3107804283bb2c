"""The way out of where a halted arm was left."""

import asyncio
import math
from collections.abc import Sequence

from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult, MoveitCode
from quartet_contracts.tools.nav2 import MotionResult
from quartet_contracts.tools.results import PolicyCode
from quartet_site import RobotFile

TUCKED_RAD = 0.15
"""The arm counts as tucked when each joint is this near to its transit position."""

LEAST_FRACTION = 0.05
"""Least part of the lift height that is worth a motion."""
NO_WAY_UP = frozenset(
    {
        MoveitCode.PATH_INCOMPLETE,
        MoveitCode.PLANNING_FAILED,
        MoveitCode.OUT_OF_REACH,
        MoveitCode.START_IN_COLLISION,
        MoveitCode.GOAL_IN_COLLISION,
        PolicyCode.OUTSIDE_WORKSPACE,
    }
)
"""Codes of a lift that is not possible from where the arm is, such as under a board or where it is up already."""
LIFT_TRIES, RETRY_S = 4, 1.0
BACK_OFF_M, BACK_OFF_STEPS = 0.20, 2
BACK_OFF_SPEED_M_S = 0.1


async def is_tucked(check: RequestContext) -> bool:
    """Return whether the arm is measured in its transit state. Raises VerificationError."""
    return in_transit_state(check.robot, await check.call(CurrentPoseResult, "moveit__get_current_pose"))


def in_transit_state(robot: RobotFile, now: CurrentPoseResult) -> bool:
    """Return whether `now` shows the arm in its transit state."""
    arm = robot.arm
    wanted = dict(zip(arm.joints, arm.named_states[arm.transit_state], strict=True))
    return now.ok and all(_at(now.joint_positions.get(joint), value) for joint, value in wanted.items())


def _at(position: float | None, wanted: float) -> bool:
    return position is not None and abs(math.remainder(position - wanted, math.tau)) <= TUCKED_RAD


async def retreat(check: RequestContext) -> ArmResult | None:
    """Raise the arm straight up by the lift height or as far as it gets, then bring it to its transit state.

    A halted arm may be low between things that the planner does not know, and its next motion to the side would knock
    them over. So it goes aside only when it is measured up or has no way further up. A lift that got a part of the way
    goes on; one that is refused or halted for another reason, such as a base of which it is not known yet that it
    stands, or a server that has just been started and does not know where the arm is, is tried again: LIFT_TRIES times
    in all. What does not succeed is left to the model. Returns how the last motion ended, None where it is not known
    where the arm is. Raises VerificationError.
    """
    arm, lift_m = check.robot.arm, check.robot.manipulation.lift_height_m
    top: float | None = None
    lifted: ArmResult | None = None
    for further in reversed(range(LIFT_TRIES)):
        now = await check.call(CurrentPoseResult, "moveit__get_current_pose")
        if now.pose is not None:
            x, y, z = now.pose.position
            top = z + lift_m if top is None else top
            if top - z < LEAST_FRACTION * lift_m:
                return await tuck(check)
            lifted = await check.call(
                ArmResult,
                "moveit__plan_cartesian_path",
                group=arm.group,
                position=[x, y, top],
                orientation=list(now.pose.orientation),
                frame_id=now.pose.frame_id,
                min_fraction=LEAST_FRACTION,
            )
            if lifted.error_code in NO_WAY_UP:
                return await tuck(check)
            if lifted.ok and further:
                continue
        if further:
            await asyncio.sleep(RETRY_S)
    return await tuck(check) if lifted is not None and lifted.ok else lifted


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
