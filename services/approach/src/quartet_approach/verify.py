"""Verify an approach after the model's report: search for the target, drive in, look once more."""

from dataclasses import replace

from quartet_agent_runtime import RequestContext, is_tucked, tuck
from quartet_approach.geometry import distance_to
from quartet_approach.search import find, visit
from quartet_approach.standing import stand_before
from quartet_approach.target import AREA_MARGIN_M, SearchMemory, Target, is_in_hand, look
from quartet_approach.traffic import Arrival, Patience, in_view, is_parked, obstructed, poses_of, reach
from quartet_contracts import ApproachArguments, ApproachCode, ApproachReport, Check, CheckResult
from quartet_contracts.skills import MAX_REASON
from quartet_site import Area


async def verify(check: RequestContext, report: ApproachReport) -> ApproachReport:
    """Verify a claimed success, a target that was not in view, or a drive that failed; other reports stand.

    A claimed success whose target cannot be seen becomes NAV_VERIFY_OVERRIDE; a target that was not in view and is
    found by the search is a success, and so is an area that is reached at another pose, or once its way is free.
    A name that the cameras cannot look for becomes UNKNOWN_NAME, without a search.
    NAV_AREA_WRONG means that the site has no such area, or the target in another one. A robot that is elsewhere did
    not drive there: NAV_DRIVE_FAILED.
    """
    failed = {ApproachCode.NAV_DRIVE_FAILED, ApproachCode.NAV_AREA_WRONG}
    unseen = {ApproachCode.NAV_TARGET_NOT_VISIBLE, ApproachCode.UNKNOWN_NAME}
    if report.error_code not in {ApproachCode.NONE, *unseen, *failed}:
        return report
    arguments = check.request.arguments
    assert isinstance(arguments, ApproachArguments)
    area = check.site.area(arguments.target_area)
    if area is None:
        known = ", ".join(a.name for a in check.site.areas)
        return _failed(
            ApproachCode.NAV_AREA_WRONG, f"'{arguments.target_area}' is no area of this site; areas: {known}"
        )
    drove = report.error_code not in failed
    if drove and (fault := await _outside(check, area)):
        return _failed(ApproachCode.NAV_DRIVE_FAILED, fault, area=CheckResult.FAIL)
    target = Target.of(check, arguments, area)
    if target.place is not None and target.place.area != area.name:
        return _failed(
            ApproachCode.NAV_AREA_WRONG, f"{target.place.name} stands in {target.place.area}, not in {area.name}"
        )
    there = drove and (not target.is_parking or await is_parked(check, area))
    if fault := await _tuck(check):
        return _failed(ApproachCode.NAV_PLAN_FAILED, fault, area=CheckResult.PASS if drove else CheckResult.SKIP)
    patience = Patience(check)
    came = Arrival(None, "") if there else await reach(check, target, patience)
    if not there and came.pose is None:
        return _failed(ApproachCode.NAV_DRIVE_FAILED, f"{came.note}; before: {report.reason}")
    if target.kind == "floor":
        where = "in its parking pose" if target.is_parking else "there is nothing to stand before"
        return _told(_reached(f"in {area.name}; {where}", CheckResult.SKIP), came)
    return await _before(check, report, target, patience, came)


async def _before(
    check: RequestContext, report: ApproachReport, target: Target, patience: Patience, came: Arrival
) -> ApproachReport:
    """Go to the standoff; while another robot stands there, let it leave and try again."""
    missed = ApproachCode.NAV_VERIFY_OVERRIDE if report.success else ApproachCode.NAV_TARGET_NOT_VISIBLE
    memory = SearchMemory()
    while True:
        ended = await _attempt(check, target, missed, memory)
        if not ended.success and ended.error_code == missed and memory.seen_in:
            check.seen_in = memory.seen_in
            ended = ended.model_copy(update={"reason": f"{ended.reason}; it was seen in {memory.seen_in}"[:MAX_REASON]})
        is_over = ended.success or ended.error_code == ApproachCode.UNKNOWN_NAME
        if is_over or not (because := await obstructed(check, target)):
            return _told(ended, came)

        async def has_left() -> bool:
            return await in_view(check, poses_of(check.site, target)[0]) and not await obstructed(check, target)

        if not await patience.let_pass(has_left, first=True):
            return ended.model_copy(update={"reason": f"{ended.reason}; {because}"})
        came = await reach(check, target, patience)
        if came.pose is None:
            return _failed(ApproachCode.NAV_DRIVE_FAILED, f"{came.note}; before: {ended.reason}")


async def _attempt(check: RequestContext, target: Target, missed: ApproachCode, memory: SearchMemory) -> ApproachReport:
    sight = await look(check, target, memory=memory)
    if sight is None and check.unknown_name:
        return _failed(ApproachCode.UNKNOWN_NAME, check.unknown_name, CheckResult.PASS, CheckResult.SKIP)
    if sight is None and await is_in_hand(check, target):
        fault = f"'{target.name}' is in the gripper; it was not looked for elsewhere"
        return _failed(ApproachCode.NAV_TARGET_NOT_VISIBLE, fault, CheckResult.PASS)
    sight = sight or await find(check, target, memory)
    if sight is None:
        return _failed(
            missed,
            f"'{target.name}' was not seen in {target.area.name}, all around, from its places and over its floor"
            f"{memory.doubts.rejections}",
            CheckResult.PASS,
        )
    standing = await stand_before(check, target, sight)
    if standing.sight is None and (nearer := await visit(check, target, memory)):
        # What was seen from afar was something else, or cannot be seen from near: look from the area's places.
        standing = await stand_before(check, target, nearer)
        others = replace(target, mistaken=(sight.centre, nearer.centre))
        if standing.sight is None and (other := await visit(check, others, memory)):
            standing = await stand_before(check, others, other)
    if standing.sight is None:
        return _failed(missed, f"'{target.name}': {standing.note}", CheckResult.PASS)
    if not standing.reached:
        return _failed(
            ApproachCode.NAV_DRIVE_FAILED,
            f"'{target.name}' is {standing.sight.distance:.2f} m away, not {target.standoff:.2f} m: {standing.note}",
            CheckResult.PASS,
            CheckResult.PASS,
        )
    return _reached(f"'{target.name}': {standing.note}", CheckResult.PASS)


async def _outside(check: RequestContext, area: Area) -> str:
    """Return how far outside of the area the robot stands, "" when it is inside."""
    pose = await check.pose()
    away = distance_to(list(area.outline), (pose.x, pose.y))
    return f"the robot stands {away:.2f} m outside of {area.name}" if away > AREA_MARGIN_M else ""


async def _tuck(check: RequestContext) -> str | None:
    """Bring the arm to its transit state, in which alone the base may move; return why it failed, else None."""
    if await is_tucked(check):
        return None
    moved = await tuck(check)
    state = check.robot.arm.transit_state
    return None if moved.ok else f"the arm is not in '{state}': {moved.error_code} {moved.message}"


def _failed(
    code: ApproachCode, reason: str, area: CheckResult = CheckResult.SKIP, target: CheckResult = CheckResult.FAIL
) -> ApproachReport:
    if area is not CheckResult.PASS:
        target = CheckResult.SKIP
    return ApproachReport(
        success=False, error_code=code, reason=reason[:MAX_REASON], checks=_checks(area, target, reason)
    )


def _reached(note: str, target: CheckResult) -> ApproachReport:
    return ApproachReport(
        success=True, error_code=ApproachCode.NONE, reason=note, checks=_checks(CheckResult.PASS, target, note)
    )


def _told(report: ApproachReport, came: Arrival) -> ApproachReport:
    """Return the report with the pose that the robot reached, when that was not the first choice."""
    return report.model_copy(update={"reason": f"{report.reason}; {came.note}"}) if came.note else report


def _checks(area: CheckResult, target: CheckResult, note: str) -> list[Check]:
    return [Check(name="area", result=area), Check(name="target", result=target, note=note[:500])]
