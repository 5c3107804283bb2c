"""Verify a pick after the model's report: is something held, is it the right thing, how tall is it.

A tall thing in the gripper may leave no room for the transit pose where the robot stands: then the base backs off with
the arm still up, and the arm is tucked there.
"""

import contextlib
import math
from dataclasses import dataclass

from quartet_agent_runtime import RequestContext, VerificationError, back_off_and_tuck, camera_shows_held, settled_grasp
from quartet_contracts import PickArguments, PickCode, PickReport
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult, GraspState, GripperResult
from quartet_contracts.tools.perception import SURE_SCORE, Detection, DetectResult, clearly_held
from quartet_pick.put_back import put_back
from quartet_site import CatalogueObject, normalise

EXTRA_LIFT_M, LEAST_LIFT = 0.05, 0.4
"""How much farther the hand is lifted [m], and the share of that which must be possible."""
HEIGHT_SLACK_M = 0.03
"""How far a measured height may be from any of the thing's sizes: it may also lie on its side."""
WIDTH_SLACK_M = 0.008
"""The width in the gripper may differ this much from one of the thing's sizes: it may be grasped askew."""
LONG = 2.0
"""A box so many times as long as wide may roll about its length."""
MIN_HEIGHT_M = 0.005


async def verify(check: RequestContext, report: PickReport) -> PickReport:
    """Verify a claimed success, and a pick that failed only on the way back to the transit pose.

    PICK_ATTACH_TIMEOUT when nothing is held, PICK_WRONG_OBJECT for another thing, which is put back where it was taken
    from if the arm gets there; PICK_HOLDING_ALREADY is told with
    the name of what is held, also where it is held since this pick and the arm cannot be tucked here and now: the
    orchestrator would look for it in vain.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, PickArguments)
    if report.error_code is PickCode.PICK_HOLDING_ALREADY:
        return await _named_report(check, report, arguments.object_name)
    claimed_m = report.held_object_height_m
    report = report.model_copy(update={"held_object": None, "held_object_height_m": None})
    if report.error_code is PickCode.PICK_WRONG_OBJECT:
        return await _put_back(check, report, await settled_grasp(check))
    if not report.success and report.error_code is not PickCode.PICK_PLAN_FAILED:
        return report
    wanted = check.site.object(arguments.object_name)
    grasp = await settled_grasp(check)
    if not report.success:
        if not await _holds(check, grasp, moved=False):
            return report
        tucked = await _lift_and_back_off(check)
        base = "the base had to back off before the arm could be tucked"
        how = base if tucked else "the arm could not be tucked where the robot stands"
        update = {
            "success": tucked,
            "error_code": PickCode.NONE if tucked else PickCode.PICK_HOLDING_ALREADY,
            "reason": f"'{arguments.object_name}' is held; {how}",
        }
        report = report.model_copy(update=update)
        grasp = await settled_grasp(check)
    if not await _holds(check, grasp):
        return _failed(
            report,
            PickCode.PICK_ATTACH_TIMEOUT,
            f"the gripper is {grasp.state} at a width of {_number(grasp.width_m)} m and {_number(grasp.effort_n)} N: "
            f"{grasp.message}",
        )
    if other := await _other_thing(check, arguments, wanted, grasp):
        report = _failed(report, PickCode.PICK_WRONG_OBJECT, other.reason)
        return await _put_back(check, report.model_copy(update={"held_object": other.name}), grasp, sure=other.sure)
    height = _height(grasp.object_height_m or claimed_m, wanted)
    return report.model_copy(update={"held_object_height_m": height, "held_object": arguments.object_name})


async def _put_back(
    check: RequestContext, report: PickReport, grasp: GripperResult, *, sure: bool = False
) -> PickReport:
    """Return the report of a wrong object with what became of it.

    sure: whether it is known to be another thing, so that it need not be looked at again.
    """
    try:
        reason = f"{report.reason}{await put_back(check, grasp)}"
    finally:
        if sure and check.put_back:
            await _leave_out(check)
    now = await check.call(GripperResult, "moveit__get_grasp_state") if grasp.state is GraspState.HOLDING else grasp
    held = None if now.state is GraspState.EMPTY else report.held_object
    height = _height(now.object_height_m, check.site.object(held or ""))
    return report.model_copy(update={"reason": reason, "held_object": held, "held_object_height_m": height})


async def _leave_out(check: RequestContext) -> None:
    """Have perception leave out what was put back: else it is found in place of the wanted object, and picked again."""
    arguments = check.request.arguments
    assert isinstance(arguments, PickArguments)
    # What became of the thing is known, whether or not the server takes this in.
    with contextlib.suppress(VerificationError):
        await check.call(DetectResult, "perception__detect_objects", names=[arguments.object_name], mistaken=True)


@dataclass(frozen=True)
class _Other:
    """Why the held thing is not the wanted one, and its name where the site has one.

    sure: whether what is in the hand tells it, and not only what is seen elsewhere.
    """

    reason: str
    name: str | None = None
    sure: bool = True


async def _named_report(check: RequestContext, report: PickReport, name: str) -> PickReport:
    """Return the report with the name of what the gripper already holds, where the wrist camera tells.

    Only then can the orchestrator say what is put aside, and the drop be confirmed.
    """
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    report = report.model_copy(update={"held_object": None, "held_object_height_m": None})
    if not await _holds(check, grasp):
        return report
    wanted = name if _in_hand(await check.detect(name, "arm")) else None
    # The camera sees only the part below the fingers.
    height = _height(grasp.object_height_m, check.site.object(wanted or ""))
    report = report.model_copy(update={"held_object": wanted, "held_object_height_m": height})
    everything = await check.call(DetectResult, "perception__detect_objects", camera="arm")
    known = [(one, thing) for one in everything.detections if (thing := check.site.object(one.label)) is not None]
    seen = clearly_held(one for one, thing in known if _fits_hand(thing, grasp.width_m))
    thing = None if seen is None else check.site.object(seen.label)
    if seen is None or thing is None:
        return report
    check.object_id = seen.object_id
    update = {"held_object": name, "held_object_height_m": _height(grasp.object_height_m, thing)}
    if thing != check.site.object(name):
        reason = f"The gripper already holds '{thing.name}', as the wrist camera shows; '{name}' was not picked."
        update |= {"reason": reason, "held_object": thing.name}
    return report.model_copy(update=update)


async def _lift_and_back_off(check: RequestContext) -> bool:
    """Lift a little more, then drive back step by step until the arm can be tucked."""
    arm = check.robot.arm
    now = await check.call(CurrentPoseResult, "moveit__get_current_pose")
    if now.pose is None:
        return False
    x, y, z = now.pose.position
    # The lift may be what failed: a base that backs off would then drag the object along.
    lifted = await check.call(
        ArmResult,
        "moveit__plan_cartesian_path",
        group=arm.group,
        position=[x, y, z + EXTRA_LIFT_M],
        orientation=list(now.pose.orientation),
        frame_id=now.pose.frame_id,
        min_fraction=LEAST_LIFT,
    )
    if not lifted.ok:
        return False
    return await back_off_and_tuck(check)


async def _holds(check: RequestContext, grasp: GripperResult, *, moved: bool = True) -> bool:
    """Return whether something is held, by state and width, or by the wrist camera if only that can tell.

    moved: whether what the camera sees between the fingers has to have been moved with them.
    """
    wide_enough = grasp.width_m is None or grasp.width_m >= check.robot.gripper.holding_min_width_m
    if not wide_enough or grasp.state is GraspState.HOLDING:
        return wide_enough
    arguments = check.request.arguments
    assert isinstance(arguments, PickArguments)
    return await camera_shows_held(check, grasp, arguments.object_name, arguments.object_id, moved=moved)


async def _other_thing(
    check: RequestContext, arguments: PickArguments, wanted: CatalogueObject | None, grasp: GripperResult
) -> _Other | None:
    """Return what tells that the held thing is not the wanted one, else None; its id goes into the result.

    The gripper driver's word counts where it gives one. Otherwise the width between the fingers must be one that the
    wanted thing has, and the wrist camera must not surely show something else there, unless that is seen somewhere.
    Where it shows nothing that it knows, or something of the same colour, since the fingers hide shapes, the wanted
    thing must not be seen standing somewhere else. What a camera or a driver calls a thing is told only where the site
    knows it by that name.
    """
    name, object_id = arguments.object_name, arguments.object_id
    if grasp.attached_object:
        attached = check.site.object(grasp.attached_object)
        if wanted is None or attached != wanted:
            return _other(attached, f"the gripper says that it holds {_called(attached)}, not '{name}'")
        check.object_id = object_id
        return None
    mine = _in_hand(await check.detect(name, "arm", object_id))
    fits = _fits_hand(wanted, grasp.width_m)
    if wanted is not None and not fits and not (mine and _may_have_rolled(wanted, grasp.width_m)):
        return _Other(f"the fingers are {_number(grasp.width_m)} m apart, which does not fit '{wanted.name}'")
    if mine:
        check.object_id = mine[0].object_id or object_id
        return None
    everything = await check.call(DetectResult, "perception__detect_objects", camera="arm")
    held = [one for one in _in_hand(everything.detections) if _fits_hand(check.site.object(one.label), grasp.width_m)]
    # It has a new id when perception was not asked for the grasp by the old one.
    alike = [one for one in held if normalise(one.label) == normalise(name if wanted is None else wanted.name)]
    others = [] if alike else [one for one in held if one.score >= SURE_SCORE]
    other = check.site.object(others[0].label) if others else None
    if others and not _same_colour(wanted, other) and await _stands(check, others[0].label):
        # The fingers hide most of what they hold, and nothing is at two places.
        others, other = [], None
    if others and not _same_colour(wanted, other):
        check.object_id = others[0].object_id
        return _other(other, f"between the fingers is {_called(other)}, not '{name}'")
    seen = [one for one in await check.detect(name, "front", object_id) if not one.in_gripper]
    if seen:
        check.object_id = others[0].object_id if others else check.object_id
        reason = f"'{name}' is still seen {_number(seen[0].distance_m)} m away and not between the fingers"
        return _other(other, reason, sure=False)
    check.object_id = alike[0].object_id if alike else object_id
    return None


async def _stands(check: RequestContext, name: str) -> bool:
    """Return whether the front camera sees a thing of that name that is not between the fingers."""
    return any(not one.in_gripper for one in await check.detect(name, "front"))


def _in_hand(seen: list[Detection]) -> list[Detection]:
    return [one for one in seen if one.in_gripper]


def _other(thing: CatalogueObject | None, reason: str, *, sure: bool = True) -> _Other:
    return _Other(reason, None if thing is None else thing.name, sure)


def _same_colour(wanted: CatalogueObject | None, other: CatalogueObject | None) -> bool:
    """Whether a thing may look like the wanted one where the fingers hide its shape."""
    if wanted is None or other is None:
        return False
    return not set(wanted.appearance.colours).isdisjoint(other.appearance.colours)


def _called(thing: CatalogueObject | None) -> str:
    return "something that the site has no name for" if thing is None else f"'{thing.name}'"


def _fits_hand(thing: CatalogueObject | None, width: float | None) -> bool:
    """Whether the fingers can be `width` [m] apart with the thing between them, whichever side they are across.

    Its sizes may be off by as much as the site says. They can where it does not tell the size.
    """
    if thing is None or thing.appearance.size_m is None or width is None:
        return True
    error = thing.appearance.size_error
    return any(
        abs(width - size) <= WIDTH_SLACK_M or size / (1 + error) <= width <= size / (1 - error)
        for size in thing.appearance.size_m
    )


def _may_have_rolled(thing: CatalogueObject, width: float | None) -> bool:
    """Whether the fingers can be so far apart around a thing that the wrist camera recognises.

    What is long may have rolled about its length, so that they touch it at two edges: the width is then up to the
    diagonal of its section.
    """
    if thing.appearance.size_m is None or width is None:
        return True
    thin, thick, length = sorted(thing.appearance.size_m)
    rolls = thing.appearance.shape == "box" and length >= LONG * thick
    return rolls and thick <= width <= math.hypot(thin, thick) + WIDTH_SLACK_M


def _height(measured: float | None, wanted: CatalogueObject | None) -> float | None:
    """Return the measured height if the thing can have it, else that of the site file [m]; None where it has none."""
    sizes = None if wanted is None else wanted.appearance.size_m
    if sizes is None:
        return measured if measured is None or measured >= MIN_HEIGHT_M else None
    if measured is not None and min(sizes) - HEIGHT_SLACK_M <= measured <= max(sizes) + HEIGHT_SLACK_M:
        return max(measured, MIN_HEIGHT_M)
    return sizes[2]


def _failed(report: PickReport, code: PickCode, reason: str) -> PickReport:
    return report.model_copy(update={"success": False, "error_code": code, "reason": reason})


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"
