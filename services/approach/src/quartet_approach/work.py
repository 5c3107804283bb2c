"""The approach in code, for requests that ask no model: the steps of the prompt but those that compare pictures."""

from quartet_agent_runtime import GaveUpError, RequestContext, end_unless_repeatable, is_tucked, tuck
from quartet_approach.target import Target, look
from quartet_approach.traffic import poses_of
from quartet_contracts import ApproachArguments, ApproachCode, ApproachReport, Check, CheckResult
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import ClearCostmapsResult, MotionResult

DRIVE = "nav2__navigate_to_pose"
TUCKS = 2


async def work(check: RequestContext) -> ApproachReport:
    """Tuck the arm, drive to the wanted area, say whether the target is in view.

    The check after it compares the area, searches for a target that is not in view, and drives in. Raises GaveUpError
    with an ApproachCode.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, ApproachArguments)
    area = check.site.area(arguments.target_area)
    if area is None:
        known = ", ".join(one.name for one in check.site.areas)
        raise GaveUpError(ApproachCode.NAV_AREA_WRONG, f"there is no area '{arguments.target_area}'; areas: {known}")
    target = Target.of(check, arguments, area)
    if target.place is not None and target.place.area != area.name:
        reason = f"'{target.place.name}' stands in {target.place.area}, not in {area.name}"
        raise GaveUpError(ApproachCode.NAV_AREA_WRONG, reason)
    await _tuck(check)
    await _drive(check, target)
    if target.kind == "floor":
        return _report(CheckResult.SKIP, f"in {area.name}")
    if await look(check, target) is None:
        reason = f"'{target.name}' is not in view from where the robot stands in {area.name}"
        raise GaveUpError(ApproachCode.NAV_TARGET_NOT_VISIBLE, reason)
    return _report(CheckResult.PASS, f"in {area.name} with '{target.name}' in view")


async def _tuck(check: RequestContext) -> None:
    """Bring the arm to its transit state, in which alone the base may move."""
    if await is_tucked(check):
        return
    for _ in range(TUCKS):
        moved = await tuck(check)
        if moved.ok:
            return
        end_unless_repeatable(moved, "moveit__plan_and_execute")
    reason = f"the arm is not in '{check.robot.arm.transit_state}': {moved.error_code} {moved.message}"
    raise GaveUpError(ApproachCode.NAV_PLAN_FAILED, reason)


async def _drive(check: RequestContext, target: Target) -> None:
    """Drive to the best pose of the area; after a failure to its entry, or once more to where the robot parks."""
    poses, area = poses_of(check.site, target), target.area
    entry = Pose2D(x=area.entry.x, y=area.entry.y, yaw=area.entry.yaw)
    if not poses:
        raise GaveUpError(ApproachCode.NAV_DRIVE_FAILED, f"the site has no {target.name} pose in {area.name}")
    for pose in (poses[0], poses[0] if target.is_parking else entry):
        moved = await check.call(MotionResult, DRIVE, x=pose.x, y=pose.y, yaw=pose.yaw)
        if moved.ok:
            return
        end_unless_repeatable(moved, DRIVE)
        await check.call(ClearCostmapsResult, "nav2__clear_costmaps")
    why = moved.nav2_error or moved.error_code
    raise GaveUpError(ApproachCode.NAV_DRIVE_FAILED, f"the robot did not get to {area.name}: {why}")


def _report(target: CheckResult, note: str) -> ApproachReport:
    checks = [Check(name="area", result=CheckResult.PASS), Check(name="target", result=target, note=note[:500])]
    return ApproachReport(success=True, error_code=ApproachCode.NONE, reason=note, checks=checks)
