"""Verify a place after the model's report: is the gripper empty, does the object lie at the target."""

import math
from dataclasses import dataclass, field
from typing import Any

from quartet_agent_runtime import (
    LetGo,
    PlaceRegion,
    RequestContext,
    VerificationError,
    around_drop,
    is_nameless,
    let_go,
    let_go_over,
    lies_outside,
    mode_of,
    needs_release,
    new_detections,
    opening_m,
    region_of,
    retreat,
    spot_of,
    stands_at,
    tuck,
)
from quartet_contracts import HELD_OBJECT, PlaceArguments, PlaceCode, PlaceReport
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import ArmResult, GraspState, GripperResult
from quartet_contracts.tools.nav2 import MotionResult
from quartet_contracts.tools.perception import Detection, PerceptionCode, PlacingPoseResult
from quartet_site import is_floor, normalise

Point = tuple[float, float, float]
SETTLED = frozenset({PlaceCode.NONE, PlaceCode.PLACE_DROP_VERIFY_FAILED})
HIGHER_M = 0.15
"""The second look from above is taken this much higher than the first one, which is from the pre-place pose."""
ROUND_VIEWS = 2
"""Number of views from straight above, which show the floor around a container."""
STEP_BACK_M = 0.3
"""How far the robot backs up to see what stands on the floor right before it."""
FINGERS_DOWN = (1.0, 0.0, 0.0, 0.0)
"""Orientation of the flange."""
SIDE_HIGHER_M = 0.05
"""Looks past a container's rim are taken this much higher than the first one, so that the fingers clear the rim."""


@dataclass(frozen=True)
class LookFromAbove:
    """What the wrist camera showed above a target, and where the arm is afterwards."""

    inside: Detection | None = None
    """The object where it lies at the target."""
    pictures: list[list[Detection]] = field(default_factory=list[list[Detection]])
    """Everything of its name that each picture shows; empty where no picture could be taken."""
    region: PlaceRegion | None = None
    arm_left: str = ""
    """A note for the reason where the arm did not get back to its transit state, '' where it did."""


async def verify(check: RequestContext, report: PlaceReport) -> PlaceReport:
    """Verify a claimed success, and a drop that the model could not confirm, by looking at the world.

    An empty gripper after an attempt of unknown end is looked at, too: that attempt may have put the thing down. Raises
    VerificationError where nobody knows whether a container has it: it was let go over the opening and is seen nowhere,
    or what is seen in there may have lain there before.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, PlaceArguments)
    done_before = report.error_code is PlaceCode.PLACE_HOLDING_NOTHING and check.request.follows_uncertain
    if report.error_code not in SETTLED and not done_before:
        return report
    grasp = await check.call(GripperResult, "moveit__get_grasp_state")
    check.still_held = grasp.state is not GraspState.EMPTY
    if check.still_held:
        return _failed(f"the gripper is {grasp.state}: '{arguments.object_name}' was not let go")
    dropped = await let_go(check, grasp.released)
    if is_nameless(arguments):
        found = await _verify_nameless(check, arguments, dropped)
        return report if done_before and not found.success else found
    inside, region, above, pictures = await _search(check, arguments, dropped)
    over = let_go_over(dropped, region)
    beside = [one for seen in pictures for one in _new(check, seen) if region and lies_outside(region, one)]
    if inside is not None:
        assert region is not None
        looked = region.within is None or bool(above.pictures)
        if needs_release(check, region) and (doubt := _doubt(arguments, beside, over=over, looked=looked)):
            raise VerificationError(f"{doubt}{above.arm_left}", uncertain=True)
        return _reached(check, inside, above.arm_left)
    if over and not beside and mode_of(check.site, arguments.target_location) == "container":
        # One that lay there before may hide it.
        raise VerificationError(
            f"'{arguments.object_name}' was let go over '{arguments.target_location}', and no camera shows it in or "
            f"beside it: whether it is in is not known{above.arm_left}",
            uncertain=True,
        )
    where = _where_it_is(arguments, region, [one for seen in pictures for one in seen])
    if region is not None and not over:
        # The drop has failed in either case: nothing that is seen or was measured speaks for it.
        where += "; that it was let go there was not measured: it may have been lost on the way"
    return report if done_before else _failed(f"{where}{above.arm_left}")


async def _verify_nameless(check: RequestContext, arguments: PlaceArguments, dropped: LetGo | None) -> PlaceReport:
    """Return whether something stands where the fingers let go what has no name: no camera can look for it.

    Raises VerificationError where it was let go over a container, into which nobody can see what it is.
    """
    target = arguments.target_location
    region = await region_of(check, arguments)
    if region is None:
        pose = await _known_placing_pose(check, arguments)
        region = around_drop(mode_of(check.site, target), pose, opening_m(check.site, arguments))
    if region is not None and region.carried_at is None and let_go_over(dropped, region):
        raise VerificationError(
            f"what was held has no name and was let go over '{target}': whether it is in is not known", uncertain=True
        )
    spot = spot_of(check, dropped, region)
    if dropped is None or spot is None:
        return _failed(
            f"the gripper is empty; what it held has no name, and that it was put down at '{target}' was not measured"
        )
    stands, arm_left = await stands_at(check, spot, "front"), ""
    if not stands:
        # The front camera may see the edge of the spot only, and nothing right before the robot.
        (x, y, z), raise_m = dropped.point, check.robot.manipulation.pre_place_height_m
        above = Pose3D(frame_id=check.robot.frames.base, position=(x, y, z + raise_m), orientation=FINGERS_DOWN)
        if await _move(check, above, raise_m) and (nearer := await stands_at(check, spot, "arm")) is not None:
            stands = nearer
        arm_left = await _tuck(check)
    if stands:
        return PlaceReport(
            success=True,
            error_code=PlaceCode.NONE,
            reason=f"the gripper is empty and something stands where it was let go at '{target}'{arm_left}",
        )
    seen = "no camera shows the spot" if stands is None else "nothing higher than 1.5 cm stands"
    return _failed(
        f"the gripper is empty; what it held has no name, and {seen} where it was let go at '{target}'{arm_left}"
    )


async def _search(
    check: RequestContext, arguments: PlaceArguments, dropped: LetGo | None
) -> tuple[Detection | None, PlaceRegion | None, LookFromAbove, list[list[Detection]]]:
    """Look for the object from the front, from above and, on the floor, from farther back, until it is found.

    Returns it where it lies at the target, the target's region, the look from above and what each picture shows.
    """
    region = await region_of(check, arguments)
    pictures = [await check.first_seen(arguments.object_name, object_id=_object_id(check))]
    inside = _in(check, region, pictures[0])
    above = LookFromAbove(region=region)
    # Into a container always: what bounced out of it, with one like it inside, lies behind it as likely as before it.
    if inside is None or (region is not None and region.within is not None):
        above = await _look_from_above(check, arguments, region, dropped and dropped.point)
        inside, region = inside or above.inside, above.region
        pictures += above.pictures
    by_id = _object_id(check) is not None and normalise(arguments.object_name) != HELD_OBJECT
    if inside is None and by_id and not any(pictures):
        # Perception lost its id when it did not see it in the gripper: then look for it by its name.
        pictures.append(await check.first_seen(arguments.object_name))
        inside = _in(check, region, pictures[-1])
    # Not with an arm that did not get back to its transit state: the base must not drive then.
    if inside is None and is_floor(arguments.target_location) and not above.arm_left and await _step_back(check):
        seen = await check.detect(arguments.object_name, "front", _object_id(check))
        if not seen and by_id:
            seen = await check.detect(arguments.object_name, "front")
        pictures.append(seen)
        inside = _in(check, region, seen)
    return inside, region, above, pictures


def _doubt(arguments: PlaceArguments, beside: list[Detection], *, over: bool, looked: bool) -> str:
    """Return why what is seen at a target that nobody looked into before need not be what was put down, '' if it is.

    beside: what looks like it, lies near and was not known before. over: it was measured to be let go over the target.
    looked: the floor around it was looked at, where the object may have bounced to.
    """
    name, target = arguments.object_name, arguments.target_location
    if not over:
        return (
            f"'{name}' is seen at '{target}', and the gripper's server has not measured that it was let go there: what "
            "is seen may have lain there before, so whether it is the one that was held is not known"
        )
    if beside:
        return (
            f"'{name}' is seen at '{target}' and another one beside it, {_distances(beside)}: which of them was held "
            "is not known"
        )
    if not looked:
        return (
            f"'{name}' is seen at '{target}', and the wrist camera could not look from above whether another one lies "
            "beside it: which of them was held is not known"
        )
    return ""


def _where_it_is(arguments: PlaceArguments, region: PlaceRegion | None, seen: list[Detection]) -> str:
    """Return in words where the object is seen, which is not where it should be."""
    name, target = arguments.object_name, arguments.target_location
    if region is not None and any(region.holds(one) for one in seen):
        return f"what is seen of '{name}' at '{target}' was there before"
    where = _distances(seen)
    return f"'{name}' is not seen at '{target}'" + (f"; seen {where}" if where else "")


async def _look_from_above(
    check: RequestContext, arguments: PlaceArguments, region: PlaceRegion | None, released: Point | None
) -> LookFromAbove:
    """Look for the object with the wrist camera above the target; the arm returns to its transit state.

    On the floor and on a surface it looks at where the flange was when the object was `released` [m, base frame], where
    that is known: the spot that is free now is another one. So it does where the target is not recognised any more,
    with a carton that stands out of it.

    Into a container it looks from above each side of the rim as well: of a can that stands upright in it, the view from
    straight above shows the lid only, which has none of its colours. The first two views of a container are always
    taken: they show the floor around it.
    """
    pose = await _known_placing_pose(check, arguments)
    opening = opening_m(check.site, arguments)
    if pose.ok and pose.pre_place_pose is not None and pose.reachable is not False:
        above, lower_by_m = pose.pre_place_pose, pose.pre_place_lower_by_m
        region = region or around_drop(mode_of(check.site, arguments.target_location), pose, opening)
    elif released is not None and not pose.ok:
        lower_by_m = check.robot.manipulation.pre_place_height_m
        x, y, z = released
        above = Pose3D(frame_id=check.robot.frames.base, position=(x, y, z + lower_by_m), orientation=FINGERS_DOWN)
    else:
        return LookFromAbove(region=region)
    inside: Detection | None = None
    pictures: list[list[Detection]] = []
    x, y, height = above.position
    if opening is None and released is not None:
        x, y, _ = released
    for number, position in enumerate(viewpoints((x, y, height), opening), start=1):
        if inside is not None and (opening is None or number > ROUND_VIEWS):
            break
        wanted = above.model_copy(update={"position": position})
        if not await _move(check, wanted, lower_by_m):
            continue
        if (seen := await check.try_detect(arguments.object_name, "arm", _object_id(check))) is not None:
            pictures.append(seen)
            inside = inside or _in(check, region, seen)
    return LookFromAbove(inside, pictures, region, await _tuck(check))


async def _step_back(check: RequestContext) -> bool:
    """Back up, since what stands right before the robot is below the front camera's view; return whether it did.

    From above, the wrist camera shows little but the lid of what stands upright.
    """
    return (await check.call(MotionResult, "nav2__backup_robot", distance=STEP_BACK_M)).ok


def viewpoints(above: Point, opening: float | None) -> list[Point]:
    """Return positions of the flange from which the wrist camera looks down at a target [m, base frame].

    above: straight above it. opening: half the width of a container's opening [m], None for other places. The side
    that the robot stands at comes first, since the arm reaches it best.
    """
    x, y, z = above
    found = [above, (x, y, z + HIGHER_M)]
    if opening is not None:
        away = math.atan2(y, x)
        turns = (math.pi, math.pi / 2, -math.pi / 2, 0.0)
        found += [
            (x + opening * math.cos(away + turn), y + opening * math.sin(away + turn), z + SIDE_HIGHER_M)
            for turn in turns
        ]
    return found


async def _known_placing_pose(check: RequestContext, arguments: PlaceArguments) -> PlacingPoseResult:
    """Return what _placing_pose does for the target by its id, or by its name where that id is not known any more."""
    pose = await _placing_pose(check, arguments, arguments.target_id)
    if pose.error_code == PerceptionCode.UNKNOWN_OBJECT_ID:
        pose = await _placing_pose(check, arguments, None)
    return pose


async def _placing_pose(check: RequestContext, arguments: PlaceArguments, target_id: str | None) -> PlacingPoseResult:
    named = {"object_name": arguments.target_location} if target_id is None else {"target_id": target_id}
    known: dict[str, Any] = {} if is_floor(arguments.target_location) else {"camera": "front"}
    if arguments.object_height_m is not None:
        known["object_height_m"] = arguments.object_height_m
    return await check.call(PlacingPoseResult, "perception__get_topdown_placing_pose", **named, **known)


async def _move(check: RequestContext, pose: Pose3D, lower_by_m: float) -> bool:
    """Bring the arm to `pose` or up to lower_by_m [m] below; return whether it did."""
    lower = {"lower_by_m": lower_by_m} if lower_by_m > 0 else {}
    moved = await check.call(
        ArmResult,
        "moveit__plan_and_execute",
        group=check.robot.arm.group,
        target_type="pose",
        target=pose.model_dump(mode="json"),
        **lower,
    )
    return moved.ok


async def _tuck(check: RequestContext) -> str:
    """Bring the arm to its transit state, a second time from higher up; return "", or a note that it is not there."""
    if (await tuck(check)).ok or ((again := await retreat(check)) is not None and again.ok):
        return ""
    why = "where it is is not known" if again is None else again.error_code
    return (
        f"; the arm did not get back to its transit state ({why}): it has to be tucked before the robot drives, as an "
        "approach does at its start"
    )


def _object_id(check: RequestContext) -> str | None:
    """Return the id to look for; None to look for all of that name, where others look like it or may do so.

    In a container may lie one that was never seen; perception would take it for the one that has left the gripper.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, PlaceArguments)
    unseen = mode_of(check.site, arguments.target_location) == "container" and (
        normalise(arguments.object_name) != HELD_OBJECT
    )
    return None if check.request.alike_before or unseen else arguments.held_id


def _in(check: RequestContext, region: PlaceRegion | None, seen: list[Detection]) -> Detection | None:
    """Return the first of `seen`, from one picture, that lies in the region and is none of those known before."""
    return None if region is None else next((one for one in _new(check, seen) if region.holds(one)), None)


def _new(check: RequestContext, seen: list[Detection]) -> list[Detection]:
    """Return those of `seen`, from one picture, that are none of those known before."""
    return new_detections(seen, check.request.alike_before or [])


def _reached(check: RequestContext, lying: Detection, arm_left: str) -> PlaceReport:
    arguments = check.request.arguments
    assert isinstance(arguments, PlaceArguments)
    check.object_id = lying.object_id
    return PlaceReport(
        success=True,
        error_code=PlaceCode.NONE,
        reason=f"the gripper is empty and '{arguments.object_name}' is seen at '{arguments.target_location}'{arm_left}",
    )


def _failed(reason: str) -> PlaceReport:
    return PlaceReport(success=False, error_code=PlaceCode.PLACE_DROP_VERIFY_FAILED, reason=reason)


def _distances(seen: list[Detection]) -> str:
    """Return where something was seen, in words."""
    return ", ".join(f"{math.hypot(*one.position_base[:2]):.2f} m away" for one in seen if one.position_base)
