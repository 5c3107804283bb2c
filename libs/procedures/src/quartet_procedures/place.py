"""Place: put the held object down at the place that the robot stands before. place.md has it in words."""

from typing import Any

from quartet_contracts import PlaceCode
from quartet_contracts.tools.moveit import GraspState
from quartet_contracts.tools.perception import PerceptionCode
from quartet_contracts.tools.results import CommonCode
from quartet_procedures._arm import Arm
from quartet_procedures._turns import (
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

POSE = "perception__get_topdown_placing_pose"
OUT_OF_SCOPE = frozenset({PerceptionCode.NOT_A_PLACE, PerceptionCode.UNKNOWN_OBJECT})
NOT_OF_THE_PLACE = frozenset({*CommonCode} - {CommonCode.NONE})
"""Codes of a placing pose that say nothing about the place."""


@procedure
def place(request: dict[str, Any], facts: dict[str, Any]) -> Procedure:
    """Put the held object down at `target_location` (`target_id`) and bring the arm to its transit state."""
    target, held = str(request["target_location"]), str(request["object_name"])
    transit = str(facts["arm"]["transit_state"])
    arm = Arm(transit, failed=PlaceCode.PLACE_PLAN_FAILED, out_of_reach=PlaceCode.PLACE_REACH_EXCEEDED)
    drop = yield from _drop_pose(arm, request)
    state = yield from _put_down(arm, drop, target)
    if state.get("state") == GraspState.HOLDING:
        raise GaveUpError(PlaceCode.PLACE_DROP_VERIFY_FAILED, f"'{held}' is still in the gripper")
    return {"success": True, "error_code": PlaceCode.NONE, "reason": f"'{held}' was let go at '{target}'"}


def _drop_pose(arm: Arm, request: dict[str, Any]) -> Turns[Result]:
    """Return a placing pose within reach; the gripper must not be empty."""
    target = str(request["target_location"])
    results = yield from carry_out(Call(GRASP_STATE), _ask_pose(request))
    if (yield from arm.settled(results[0])).get("state") == GraspState.EMPTY:
        raise GaveUpError(PlaceCode.PLACE_HOLDING_NOTHING, "the gripper is empty")
    drop = results[-1] if len(results) > 1 else (yield from carry_out(_ask_pose(request)))[-1]
    if not drop.ok or not drop.get("place_pose") or not drop.get("pre_place_pose"):
        raise GaveUpError(_code_of(drop.code), f"there is no pose to put it at '{target}': {why(drop)}")
    if drop.get("reachable") is False:
        reason = f"the drop pose is {drop.get('distance_m')} m away, out of reach"
        raise GaveUpError(PlaceCode.PLACE_REACH_EXCEEDED, reason)
    return drop


def _put_down(arm: Arm, drop: Result, target: str) -> Turns[Result]:
    """Lower the hand, open the fingers, bring the arm up and to its transit state; return the grasp state."""
    low, high = drop.get("place_pose"), drop.get("pre_place_pose")
    retract, lower_by = drop.get("retract_min_fraction"), drop.get("pre_place_lower_by_m")
    above, down = arm.above(high, lower_by, "Above the place."), arm.straight(low, drop.get("lower_min_fraction"))
    up, rest = arm.straight(high, retract), [arm.to_transit, Call(GRASP_STATE)]
    steps = [above, down, arm.open(), up, *rest]
    results = yield from carry_out(*steps)
    failed, call = results[-1], steps[len(results) - 1]
    if call is above:
        yield from arm.give_up(failed, f"'{target}'")
    if call is down:
        yield from arm.give_up_descent(failed, high, retract, f"'{target}'")
    # The hand leaves the place, also with fingers that did not open.
    if call.name == OPEN:
        yield from arm.up(high, retract, lower_by)
        yield from arm.transit("the gripper did not open; ")
    elif call is up:
        yield from carry_out(above)
        yield from arm.transit("the object was let go; ")
    elif call is rest[0]:
        reason = f"the object was let go; the arm did not reach its transit state: {why(failed)}"
        raise GaveUpError(PlaceCode.PLACE_PLAN_FAILED, reason)
    else:
        return (yield from arm.settled(failed))
    return (yield from arm.settled((yield from carry_out(Call(GRASP_STATE)))[-1]))


def _ask_pose(request: dict[str, Any]) -> Call:
    ids = {key: request[key] for key in ("target_id", "held_id") if request.get(key)}
    height = request.get("object_height_m")
    common = {"held_object": request["object_name"], **({} if height is None else {"object_height_m": height})}
    by_name = {"object_name": request["target_location"], **common}
    if not ids:
        return Call(POSE, by_name)
    place = {} if "target_id" in ids else {"object_name": request["target_location"]}
    return Call(POSE, {**ids, **place, **common}, by_name=by_name)


def _code_of(code: str) -> PlaceCode:
    """Return the code to report for a placing pose that failed."""
    if code in OUT_OF_SCOPE:
        return PlaceCode.PLACE_OUT_OF_SCOPE
    return PlaceCode.UNKNOWN if code in NOT_OF_THE_PLACE else PlaceCode.PLACE_SEG_MISSED
