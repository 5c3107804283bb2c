"""Put what was picked by mistake back where it was taken from, where nobody minds it."""

from quartet_agent_runtime import RequestContext, is_tucked, retreat, run_turns, settled_grasp
from quartet_contracts import PickCode
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.results import CommonCode
from quartet_procedures import Arm, GaveUpError, Pose, Turns, carry_out, why

CLEARANCE_M = 0.01
"""The hand lets go this much higher than it closed: a thing may have slipped down between the fingers."""
DROP_M = 0.02
"""What it may fall at most, where the hand does not get lower."""
LEAST_LIFT_M = 0.08
"""The hand comes from at least this far above, and leaves as far where more is not free."""
WIDER_M = 0.04
"""The fingers open this much wider than what they hold: things may stand close."""
LEAST_TIME_S = 30.0
"""Nothing is begun with less time left: an arm among things is worse than a thing on the floor."""
WHERE = "where it was taken from"


async def put_back(check: RequestContext, grasp: GripperResult) -> str:
    """Let go what this request's pick holds where it was taken from, and bring the arm to its transit state.

    Returns what became of it, to be added to a reason; `check.put_back` is set where it was let go there. It stays in
    the gripper where the arm does not get back to that pose. Raises VerificationError where an outcome is not known.
    """
    taken = grasp.grasped
    if grasp.state is not GraspState.HOLDING or taken is None or taken.age_s > check.age_s:
        return ""
    if check.left_s < LEAST_TIME_S:
        return f"; there was no time to put it back {WHERE}"
    if not await is_tucked(check):
        # A model may tell of it with the hand still among things.
        lifted = await retreat(check)
        if lifted is None or not lifted.ok:
            return f"; it was not put back {WHERE}: the arm did not get up from where it is"
    lift = max(check.robot.manipulation.lift_height_m, LEAST_LIFT_M)
    low, high = _raised(taken.tool_pose, CLEARANCE_M), _raised(taken.tool_pose, lift)
    transit = check.robot.arm.transit_state
    arm = Arm(transit, failed=PickCode.PICK_PLAN_FAILED, out_of_reach=PickCode.PICK_REACH_EXCEEDED)
    told = ""
    try:
        await run_turns(check, _down(arm, low, high, lift))
        told = await _let_go(check, arm, grasp.width_m)
        await run_turns(check, arm.up(high, LEAST_LIFT_M / lift, lift - LEAST_LIFT_M))
        await run_turns(check, arm.transit())
    except GaveUpError as end:
        return f"{told}, but {end}" if told else f"; it was not put back {WHERE}: {end}"
    return told


def _down(arm: Arm, low: Pose, high: Pose, lift: float) -> Turns[None]:
    """Bring the hand from `high` down to `low`, `lift` [m] below."""
    results = yield from carry_out(arm.above(high, lift - LEAST_LIFT_M), arm.straight(low, 1 - DROP_M / lift))
    if len(results) == 1:
        yield from arm.give_up(results[0], WHERE)
    if not results[-1].ok:
        yield from arm.give_up_descent(results[-1], high, LEAST_LIFT_M / lift, WHERE)


async def _let_go(check: RequestContext, arm: Arm, width_m: float | None) -> str:
    """Open the fingers around what they hold; return what came of it. Raises GaveUpError, VerificationError."""
    if (await settled_grasp(check)).state is GraspState.EMPTY:
        return f"; it was lost on the way back to {WHERE}"
    gripper = check.robot.gripper
    wide = gripper.stroke_m if width_m is None else min(width_m + WIDER_M, gripper.stroke_m)
    try:
        opened = (await run_turns(check, carry_out(arm.open(gripper.position_at(wide)))))[-1]
    except GaveUpError as end:
        if end.because == CommonCode.CANCELED:
            raise
        # A rule forbids it: the hand must not stay among things.
        return f"; it could not be let go {WHERE}: {end}"
    # Fingers that meet a neighbour have failed to open, and let go all the same.
    check.put_back = (await settled_grasp(check)).state is GraspState.EMPTY
    if check.put_back:
        return f"; it was put back {WHERE}, and the gripper is empty"
    return f"; it could not be let go {WHERE}: {'the fingers still hold it' if opened.ok else why(opened)}"


def _raised(pose: Pose3D, by_m: float) -> Pose:
    x, y, z = pose.position
    return {**pose.model_dump(mode="json"), "position": [x, y, z + by_m]}
