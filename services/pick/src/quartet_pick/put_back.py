"""Put what was picked by mistake back where it was taken from, where nobody minds it."""

from quartet_agent_runtime import CodedArm, GaveUpError, RequestContext, code_and_message, settled_grasp
from quartet_contracts import PickCode
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import GraspState, GripperResult

CLEARANCE_M = 0.01
"""The hand lets go this much higher than it closed: a thing may have slipped down between the fingers."""
DROP_M = 0.02
"""What it may fall at most, where the hand does not get lower."""
LEAST_LIFT_M = 0.08
"""The hand comes from at least this far above, and leaves as far where more is not free."""


async def put_back(check: RequestContext, grasp: GripperResult) -> str:
    """Let go what this request's pick holds where it was taken from, and bring the arm to its transit state.

    Returns what became of it, to be added to a reason; `check.put_back` is set where it was let go there. It stays in
    the gripper where the arm does not get back to that pose. Raises VerificationError where an outcome is not known.
    """
    taken = grasp.grasped
    if grasp.state is not GraspState.HOLDING or taken is None or taken.age_s > check.age_s:
        return ""
    lift = max(check.robot.manipulation.lift_height_m, LEAST_LIFT_M)
    low, high = _raised(taken.tool_pose, CLEARANCE_M), _raised(taken.tool_pose, lift)
    arm = CodedArm(check, failed=PickCode.PICK_PLAN_FAILED, out_of_reach=PickCode.PICK_REACH_EXCEEDED)
    least = LEAST_LIFT_M / lift
    try:
        await arm.towards(await arm.above(high, lift - LEAST_LIFT_M), "where it was taken from")
        await arm.down(low, high, least, "where it was taken from", 1 - DROP_M / lift)
        if (await settled_grasp(check)).state is not GraspState.HOLDING:
            await arm.transit()
            return "; it was lost on the way back to where it was taken from"
        opened = await arm.fingers("open_gripper")
        if not opened.ok:
            await arm.up(high, least, lift - LEAST_LIFT_M)
            await arm.transit()
            return f"; it could not be let go where it was taken from: {code_and_message(opened)}"
        check.put_back = True
        await arm.up(high, least, lift - LEAST_LIFT_M)
        await arm.transit()
    except GaveUpError as end:
        if check.put_back:
            return f"; it was put back where it was taken from, but {end}"
        return f"; it was not put back where it was taken from: {end}"
    return "; it was put back where it was taken from, and the gripper is empty"


def _raised(pose: Pose3D, by_m: float) -> Pose3D:
    x, y, z = pose.position
    return pose.model_copy(update={"position": (x, y, z + by_m)})
