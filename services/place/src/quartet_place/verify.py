"""What the place agent's own code does after the report: is the gripper empty, does the object lie at the target."""

from quartet_agent_runtime import Verification
from quartet_contracts import PlaceArguments, PlaceCode, PlaceReport
from quartet_contracts.tools.moveit import ArmResult, GraspState, GripperResult
from quartet_contracts.tools.perception import Detection, PlacingPoseResult
from quartet_place.target import Region, around_drop, distances, mode_of, region_of

SETTLED = frozenset({PlaceCode.NONE, PlaceCode.PLACE_DROP_VERIFY_FAILED})
VIEW_FROM_ABOVE_M = 0.30
"""Height above the drop pose from which the wrist camera looks down."""


async def verify(check: Verification, report: PlaceReport) -> PlaceReport:
    """Settle a claimed success, and a drop that the model could not confirm, by looking at the world."""
    if report.error_code not in SETTLED:
        return report
    arguments = check.request.arguments
    assert isinstance(arguments, PlaceArguments)
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    if grasp.state is not GraspState.EMPTY:
        return _failed(f"the gripper is {grasp.state}: '{arguments.object_name}' was not let go")
    region = await region_of(check, arguments)
    seen = await check.detect(arguments.object_name)
    if _any_in(region, seen):
        return _reached(arguments)
    above, region = await _look_from_above(check, arguments, region)
    if _any_in(region, above):
        return _reached(arguments)
    where = distances([*seen, *above])
    return _failed(
        f"'{arguments.object_name}' is not seen at '{arguments.target_location}'" + (f"; seen {where}" if where else "")
    )


async def _look_from_above(
    check: Verification, arguments: PlaceArguments, region: Region | None
) -> tuple[list[Detection], Region | None]:
    """What the wrist camera shows of the object from above the target; the arm returns to its transit state."""
    pose = await check.call(
        PlacingPoseResult,
        "perception__get_topdown_placing_pose",
        object_name=arguments.target_location,
        object_height_m=arguments.object_height_m,
        top_clearance_m=VIEW_FROM_ABOVE_M,
    )
    if not pose.ok or pose.pre_place_pose is None or pose.reachable is False:
        return [], region
    arm = check.robot.arm
    moved = await check.call(
        ArmResult,
        "moveit__plan_and_execute",
        group=arm.group,
        target_type="pose",
        target=pose.pre_place_pose.model_dump(mode="json"),
    )
    seen = await check.detect(arguments.object_name, "arm") if moved.ok else []
    await check.call(
        ArmResult,
        "moveit__plan_and_execute",
        group=arm.group,
        target_type="named_state",
        target={"state_name": arm.transit_state},
    )
    return seen, region or around_drop(mode_of(check.site, arguments.target_location), pose)


def _any_in(region: Region | None, seen: list[Detection]) -> bool:
    return region is not None and any(region.holds(one) for one in seen)


def _reached(arguments: PlaceArguments) -> PlaceReport:
    return PlaceReport(
        success=True,
        error_code=PlaceCode.NONE,
        reason=f"the gripper is empty and '{arguments.object_name}' is seen at '{arguments.target_location}'",
    )


def _failed(reason: str) -> PlaceReport:
    return PlaceReport(success=False, error_code=PlaceCode.PLACE_DROP_VERIFY_FAILED, reason=reason)
