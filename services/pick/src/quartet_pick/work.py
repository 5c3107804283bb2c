"""The pick in code, for requests that ask no model: the steps of the prompt."""

from quartet_agent_runtime import CodedArm, GaveUpError, RequestContext, about, ask, code_and_message
from quartet_contracts import PickArguments, PickCode, PickReport
from quartet_contracts.tools.moveit import ArmResult, GraspState, GripperResult
from quartet_contracts.tools.perception import GraspPoseResult, SegmentResult

CAMERAS = ("arm", "front")
TRIES = 2
"""How often the fingers may close on nothing."""


async def work(check: RequestContext) -> PickReport:
    """Grasp the object that the robot stands before, lift it, bring the arm to its transit state.

    Raises GaveUpError with a PickCode.
    """
    arguments = check.request.arguments
    assert isinstance(arguments, PickArguments)
    arm = CodedArm(check, failed=PickCode.PICK_PLAN_FAILED, out_of_reach=PickCode.PICK_REACH_EXCEEDED)
    grasp = await arm.grasp()
    if grasp.state is GraspState.HOLDING:
        await _holding_already(check, arguments, grasp)
    if grasp.state is not GraspState.EMPTY:
        raise GaveUpError(PickCode.UNKNOWN, f"what the gripper holds is not known: {grasp.state}")
    pose = await _grasp(check, arm, arguments)
    wanted = arguments.object_name
    height = pose.object_height_m
    held = {"held_object_height_m": height} if height is not None and 0 <= height <= 1 else {}
    lifted = await _up(arm, pose)
    not_lifted = "" if lifted.ok else f"was not lifted ({code_and_message(lifted)}) and "
    await arm.transit(f"'{wanted}' is held, {not_lifted}", **held)
    if (await arm.grasp()).state is not GraspState.HOLDING:
        raise GaveUpError(PickCode.PICK_ATTACH_TIMEOUT, f"'{wanted}' is no longer in the gripper after the lift")
    return PickReport(
        success=True, error_code=PickCode.NONE, reason=f"'{wanted}' is held and lifted", held_object=wanted, **held
    )


async def _holding_already(check: RequestContext, arguments: PickArguments, grasp: GripperResult) -> None:
    """Give up with what is in the gripper, as far as the wrist camera or the gripper's driver tells."""
    wanted = arguments.object_name
    seen = await ask(check, SegmentResult, "perception__segment_objects", prompt=wanted, camera="arm")
    for one in seen.outputs:
        if one.in_gripper:
            size = one.size_m
            height = {"held_object_height_m": size[2]} if size is not None and 0 <= size[2] <= 1 else {}
            reason = f"the gripper already holds '{wanted}'"
            raise GaveUpError(PickCode.PICK_HOLDING_ALREADY, reason, held_object=wanted, **height)
    held = grasp.attached_object or "something else"
    raise GaveUpError(PickCode.PICK_HOLDING_ALREADY, f"the gripper already holds {held}")


async def _grasp(check: RequestContext, arm: CodedArm, arguments: PickArguments) -> GraspPoseResult:
    """Close the fingers on the object, at the second try at the latest; return the grasp pose that led to it."""
    what = f"'{arguments.object_name}'"
    for number in range(TRIES):
        pose = await _reachable_pose(check, arguments)
        await _open(arm, pose)
        await _above(arm, pose, what)
        if pose.look_again and (nearer := await _from_above(check, arguments)) is not None:
            if nearer.open_position != pose.open_position:
                await _open(arm, nearer)
            pose = nearer
            if pose.too_uncertain:
                await arm.transit()
                raise GaveUpError(PickCode.PICK_PLAN_FAILED, f"{what} is not known well enough: {pose.message}")
            await _above(arm, pose, what)
        assert pose.grasp_pose is not None
        assert pose.pre_grasp_pose is not None
        await arm.down(pose.grasp_pose, pose.pre_grasp_pose, pose.lift_min_fraction, what)
        await arm.fingers("close_gripper", object_size_m=pose.object_size_m)
        if (await arm.grasp()).state is GraspState.HOLDING:
            return pose
        opened = await arm.fingers("open_gripper")
        await _up(arm, pose)
        if number == TRIES - 1 or not opened.ok:
            await arm.transit()
        if not opened.ok:
            raise GaveUpError(PickCode.UNKNOWN, f"{what} may be in the gripper: {code_and_message(opened)}")
    raise GaveUpError(
        PickCode.PICK_ATTACH_TIMEOUT, f"the fingers closed on nothing at '{arguments.object_name}', {TRIES} times"
    )


async def _open(arm: CodedArm, pose: GraspPoseResult) -> None:
    """Open the fingers as far as a grasp pose says."""
    opened = await arm.fingers("open_gripper", pose.open_position)
    if not opened.ok:
        raise GaveUpError(PickCode.UNKNOWN, f"the gripper does not open: {code_and_message(opened)}")


async def _above(arm: CodedArm, pose: GraspPoseResult, what: str) -> None:
    """Bring the hand above a grasp pose."""
    assert pose.pre_grasp_pose is not None
    await arm.towards(await arm.above(pose.pre_grasp_pose, pose.pre_grasp_lower_by_m), what)


async def _from_above(check: RequestContext, arguments: PickArguments) -> GraspPoseResult | None:
    """Return the grasp pose that the wrist camera gives from above the object; None where it gives none in reach."""
    named = {"object_name": arguments.object_name}
    pose = await about(
        check, GraspPoseResult, "perception__get_topdown_grasp_pose", arguments.object_id, named, camera="arm"
    )
    usable = pose.ok and pose.grasp_pose is not None and pose.pre_grasp_pose is not None
    return pose if usable and pose.reachable is not False else None


async def _reachable_pose(check: RequestContext, arguments: PickArguments) -> GraspPoseResult:
    """Return a grasp pose within reach, of what the wrist camera shows or else the front one."""
    name, object_id = arguments.object_name, arguments.object_id
    missed: list[str] = []
    for camera in CAMERAS:
        seen = await about(
            check, SegmentResult, "perception__segment_objects", object_id, {"prompt": name}, camera=camera
        )
        if not seen.ok or not seen.outputs:
            missed.append(f"{camera} camera: {code_and_message(seen)}")
            continue
        named = {"object_name": name}
        pose = await about(check, GraspPoseResult, "perception__get_topdown_grasp_pose", object_id, named)
        if not pose.ok:
            pose = await about(
                check, GraspPoseResult, "perception__get_topdown_grasp_pose", object_id, named, camera=camera
            )
        if not pose.ok or pose.grasp_pose is None or pose.pre_grasp_pose is None:
            missed.append(f"{camera} camera: {code_and_message(pose)}")
            continue
        if pose.reachable is False:
            raise GaveUpError(PickCode.PICK_REACH_EXCEEDED, f"'{name}' is {pose.distance_m} m away, beyond the reach")
        return pose
    raise GaveUpError(PickCode.PICK_SEG_MISSED, f"'{name}' was not found; {'; '.join(missed)}")


async def _up(arm: CodedArm, pose: GraspPoseResult) -> ArmResult:
    """Bring the hand straight up from the grasp, as high as it gets."""
    lift = pose.lift_pose or pose.pre_grasp_pose
    assert lift is not None
    return await arm.up(lift, pose.lift_min_fraction, pose.pre_grasp_lower_by_m)
