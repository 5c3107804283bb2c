"""The place in code, for requests that ask no model: the steps of the prompt up to the look down, which is a check."""

from quartet_agent_runtime import CodedArm, GaveUpError, RequestContext, about, code_and_message
from quartet_contracts import PlaceArguments, PlaceCode, PlaceReport
from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_contracts.tools.perception import PerceptionCode, PlacingPoseResult, SegmentResult
from quartet_contracts.tools.results import CommonCode
from quartet_site import is_floor, normalise

CAMERAS = ("front", "arm")
FLOOR = "floor"
OUT_OF_SCOPE = frozenset({PerceptionCode.NOT_A_PLACE, PerceptionCode.UNKNOWN_OBJECT})
NOT_KNOWN = frozenset({*CommonCode} - {CommonCode.NONE})
"""Codes of a placing pose that say nothing about the place."""


async def work(check: RequestContext) -> PlaceReport:
    """Put the held object down at the place that the robot stands before; bring the arm to its transit state.

    Whether it lies there is for the check after it, which looks from above and from the front. Raises GaveUpError with
    a PlaceCode.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, PlaceArguments)
    arm = CodedArm(check, failed=PlaceCode.PLACE_PLAN_FAILED, out_of_reach=PlaceCode.PLACE_REACH_EXCEEDED)
    if (await arm.grasp()).state is GraspState.EMPTY:
        raise GaveUpError(PlaceCode.PLACE_HOLDING_NOTHING, "the gripper is empty")
    target = _known_place(check, arguments.target_location)
    drop = await _drop_pose(check, arguments, target)
    assert drop.place_pose is not None
    assert drop.pre_place_pose is not None
    await arm.towards(await arm.above(drop.pre_place_pose, drop.pre_place_lower_by_m), f"'{target}'")
    least = drop.lower_min_fraction
    await arm.down(drop.place_pose, drop.pre_place_pose, drop.retract_min_fraction, f"'{target}'", least)
    opened = await arm.fingers("open_gripper")
    let_go = await _let_go(arm, arguments.object_name, opened)
    await arm.up(drop.pre_place_pose, drop.retract_min_fraction, drop.pre_place_lower_by_m)
    await arm.transit(f"{let_go}, but ")
    if (await arm.grasp()).state is GraspState.HOLDING:
        reason = f"'{arguments.object_name}' is still in the gripper after opening it"
        raise GaveUpError(PlaceCode.PLACE_DROP_VERIFY_FAILED, reason)
    return PlaceReport(success=True, error_code=PlaceCode.NONE, reason=f"{let_go} at '{target}'")


async def _let_go(arm: CodedArm, held: str, opened: GripperResult) -> str:
    """Return in words what became of the object; a call that failed may have opened the fingers."""
    state = GraspState.EMPTY if opened.ok else (await arm.grasp()).state
    if state is GraspState.EMPTY:
        return f"'{held}' was let go"
    return f"'{held}' is still held" if state is GraspState.HOLDING else f"whether '{held}' was let go is not known"


def _known_place(check: RequestContext, location: str) -> str:
    """Return the name by which the site knows a place, or FLOOR. Raises GaveUpError(PLACE_OUT_OF_SCOPE)."""
    if is_floor(location):
        return FLOOR
    wanted, places = normalise(location), [*check.site.surfaces, *check.site.containers]
    for place in places:
        if wanted in {place.name, *place.aliases}:
            return place.name
    known = ", ".join(place.name for place in places)
    raise GaveUpError(
        PlaceCode.PLACE_OUT_OF_SCOPE, f"'{location}' is no place to put things; the places are: {FLOOR}, {known}"
    )


async def _drop_pose(check: RequestContext, arguments: PlaceArguments, target: str) -> PlacingPoseResult:
    """Return a placing pose within reach. Raises GaveUpError, while the object is still held."""
    named = {"object_name": target}
    known = {
        "object_height_m": arguments.object_height_m,
        "held_object": arguments.object_name,
        "camera": None if target == FLOOR else await _camera_that_shows(check, arguments, target),
    }
    tool, held_id = "perception__get_topdown_placing_pose", arguments.held_id
    target_id = None if target == FLOOR else arguments.target_id
    pose = await about(check, PlacingPoseResult, tool, target_id, named, held_id=held_id, **known)
    if pose.error_code == PerceptionCode.UNKNOWN_OBJECT_ID:
        # What is held is not known any more by its id.
        pose = await about(check, PlacingPoseResult, tool, None, named, **known)
    if not pose.ok or pose.place_pose is None or pose.pre_place_pose is None:
        raise GaveUpError(
            _code_of(pose.error_code), f"there is no pose to put it at '{target}': {code_and_message(pose)}"
        )
    if pose.reachable is False:
        reason = f"the drop pose is {pose.distance_m} m away, beyond the reach"
        raise GaveUpError(PlaceCode.PLACE_REACH_EXCEEDED, reason)
    return pose


async def _camera_that_shows(check: RequestContext, arguments: PlaceArguments, target: str) -> str:
    missed: list[str] = []
    for camera in CAMERAS:
        seen = await about(
            check,
            SegmentResult,
            "perception__segment_objects",
            arguments.target_id,
            {"prompt": target},
            camera=camera,
        )
        if seen.ok and seen.outputs:
            return camera
        missed.append(f"{camera} camera: {code_and_message(seen)}")
    raise GaveUpError(PlaceCode.PLACE_SEG_MISSED, f"'{target}' was not found; {'; '.join(missed)}")


def _code_of(code: str) -> PlaceCode:
    """Return what a place reports for a failed placing pose."""
    if code in OUT_OF_SCOPE:
        return PlaceCode.PLACE_OUT_OF_SCOPE
    return PlaceCode.UNKNOWN if code in NOT_KNOWN else PlaceCode.PLACE_SEG_MISSED
