"""Pick: grasp the object that the robot stands before, from above, and lift it. pick.md has it in words."""

from typing import Any

from quartet_contracts import PickCode
from quartet_contracts.tools.moveit import GraspState
from quartet_procedures._arm import Arm
from quartet_procedures._turns import (
    CLOSE,
    GRASP_STATE,
    OPEN,
    Call,
    Procedure,
    Result,
    Turns,
    carry_out,
    procedure,
    why,
)
from quartet_procedures.errors import GaveUpError

POSE = "perception__get_topdown_grasp_pose"
TRIES = 2
"""How often the fingers may close on nothing."""


@procedure
def pick(request: dict[str, Any], facts: dict[str, Any]) -> Procedure:
    """Pick `object_name` (`object_id`) of the request up and bring the arm to its transit state."""
    wanted = str(request["object_name"])
    transit = str(facts["arm"]["transit_state"])
    arm = Arm(transit, failed=PickCode.PICK_PLAN_FAILED, out_of_reach=PickCode.PICK_REACH_EXCEEDED)
    pose = yield from _grasp(arm, request)
    state = yield from _lift(arm, pose, wanted)
    if not _may_hold(state):
        raise GaveUpError(PickCode.PICK_ATTACH_TIMEOUT, f"'{wanted}' is no longer in the gripper after the lift")
    return {"success": True, "error_code": PickCode.NONE, "reason": f"'{wanted}' is held and lifted"}


def _grasp(arm: Arm, request: dict[str, Any]) -> Turns[Result]:
    """Close the fingers on the object, at the second try at the latest; return the grasp pose that led to it."""
    wanted = str(request["object_name"])
    for number in range(TRIES):
        pose = yield from _first_pose(arm, request)
        pose, above = yield from _second_pose(arm, request, pose)
        if _may_hold((yield from _close(arm, pose, above, wanted))):
            return pose
        opened = (yield from carry_out(arm.open()))[-1]
        yield from arm.up(_lift_pose(pose), pose.get("lift_min_fraction"), pose.get("pre_grasp_lower_by_m"))
        if number == TRIES - 1 or not opened.ok:
            yield from arm.transit()
        if not opened.ok:
            raise GaveUpError(PickCode.UNKNOWN, f"'{wanted}' may be in the gripper: {why(opened)}")
    raise GaveUpError(PickCode.PICK_ATTACH_TIMEOUT, f"the fingers closed on nothing at '{wanted}', {TRIES} times")


def _may_hold(state: Result) -> bool:
    """Return whether the fingers hold something, or have no effort by which to tell: the report is checked anyway."""
    untold = state.ok and state.get("state") == GraspState.UNKNOWN and state.get("effort_n") is None
    return untold or state.get("state") == GraspState.HOLDING


def _second_pose(arm: Arm, request: dict[str, Any], first: Result) -> Turns[tuple[Result, list[Call]]]:
    """Return the grasp pose to use, and the calls that bring the open hand above it.

    If the first pose asks for it (`look_again`), the hand goes above the object, and the wrist camera looks again.
    """
    steps = [arm.open(first.get("open_position")), _above(first)]
    if not first.get("look_again"):
        return first, steps
    wanted = str(request["object_name"])
    results = yield from carry_out(*steps, _ask_pose(request, "arm"))
    if len(results) <= len(steps):
        yield from _give_up(arm, steps[len(results) - 1], results[-1], wanted)
    nearer = results[-1]
    usable = nearer.ok and nearer.get("grasp_pose") and nearer.get("pre_grasp_pose")
    if usable and nearer.get("too_uncertain"):
        yield from arm.transit()
        raise GaveUpError(PickCode.PICK_PLAN_FAILED, f"'{wanted}' is not located well enough: {nearer.message}")
    if not usable or nearer.get("reachable") is False:
        return first, []
    as_open = nearer.get("open_position") == first.get("open_position")
    return nearer, [*([] if as_open else [arm.open(nearer.get("open_position"))]), _above(nearer)]


def _close(arm: Arm, pose: Result, above: list[Call], wanted: str) -> Turns[Result]:
    """Make the calls `above`, lower the hand, close the fingers, and return the grasp state."""
    size = pose.get("object_size_m")
    down = arm.straight(pose.get("grasp_pose"), say="Straight down.")
    steps = [*above, down, Call(CLOSE, {} if size is None else {"object_size_m": list(size)})]
    results = yield from carry_out(*steps)
    call, last = steps[len(results) - 1], results[-1]
    if call is down:
        what = f"'{wanted}'"
        yield from arm.give_up_descent(last, pose.get("pre_grasp_pose"), pose.get("lift_min_fraction"), what)
    if call in above:
        yield from _give_up(arm, call, last, wanted)
    return (yield from arm.settled(last))


def _first_pose(arm: Arm, request: dict[str, Any]) -> Turns[Result]:
    """Return a grasp pose within reach; the gripper must be empty."""
    wanted = str(request["object_name"])
    results = yield from carry_out(Call(GRASP_STATE), _ask_pose(request))
    state = yield from arm.settled(results[0])
    if state.get("state") == GraspState.HOLDING:
        held = state.get("attached_object") or "something"
        raise GaveUpError(PickCode.PICK_HOLDING_ALREADY, f"the gripper already holds {held}")
    if state.get("state") != GraspState.EMPTY:
        raise GaveUpError(PickCode.UNKNOWN, f"the state of the gripper is not known: {why(state)}")
    pose = results[-1] if len(results) > 1 else (yield from carry_out(_ask_pose(request)))[-1]
    if not pose.ok:
        pose = (yield from carry_out(_ask_pose(request, "front")))[-1]
    if not pose.ok or not pose.get("grasp_pose") or not pose.get("pre_grasp_pose"):
        raise GaveUpError(PickCode.PICK_SEG_MISSED, f"'{wanted}' was not found: {why(pose)}")
    if pose.get("reachable") is False:
        reason = f"'{wanted}' is {pose.get('distance_m')} m away, out of reach"
        raise GaveUpError(PickCode.PICK_REACH_EXCEEDED, reason)
    return pose


def _lift(arm: Arm, pose: Result, wanted: str) -> Turns[Result]:
    """Lift the object, bring the arm to its transit state, and return the grasp state.

    An arm that cannot lift stays where it is: a swing to the side would drag the object through what stands there.
    """
    rest = [arm.to_transit, Call(GRASP_STATE)]
    results = yield from carry_out(arm.straight(_lift_pose(pose), pose.get("lift_min_fraction"), "Lift."), *rest)
    if len(results) == 1:
        again = arm.above(_lift_pose(pose), pose.get("pre_grasp_lower_by_m"))
        results = yield from carry_out(again, *rest)
    if not results[-1].ok and len(results) < 1 + len(rest):
        what = "could not be lifted" if len(results) == 1 else "is lifted, but the arm did not reach its transit state"
        raise GaveUpError(PickCode.PICK_PLAN_FAILED, f"'{wanted}' is held and {what}: {why(results[-1])}")
    return (yield from arm.settled(results[-1]))


def _give_up(arm: Arm, call: Call, failed: Result, wanted: str) -> Turns[None]:
    """Give up because a call before the descent failed."""
    if call.name == OPEN:
        raise GaveUpError(PickCode.UNKNOWN, f"the gripper does not open: {why(failed)}")
    yield from arm.give_up(failed, f"'{wanted}'")


def _ask_pose(request: dict[str, Any], camera: str | None = None) -> Call:
    by_name = {"object_name": request["object_name"], **({} if camera is None else {"camera": camera})}
    object_id = request.get("object_id")
    if not object_id:
        return Call(POSE, by_name)
    by_id = {"object_id": object_id, **({} if camera is None else {"camera": camera})}
    return Call(POSE, by_id, by_name=by_name)


def _above(pose: Result) -> Call:
    return Arm.above(pose.get("pre_grasp_pose"), pose.get("pre_grasp_lower_by_m"), "Above the object.")


def _lift_pose(pose: Result) -> dict[str, Any]:
    return dict(pose.get("lift_pose") or pose.get("pre_grasp_pose"))
