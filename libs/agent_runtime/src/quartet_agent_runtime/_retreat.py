"""The way out of where a halted arm was left."""

from quartet_agent_runtime._request_context import RequestContext
from quartet_contracts.tools.moveit import ArmResult, CurrentPoseResult


async def retreat(check: RequestContext) -> None:
    """Raise the arm straight up by the lift height, then bring it to its transit state.

    A halted arm may be low between things that the planner does not know, and its next motion to the side would knock
    them over. A motion that does not succeed is left to the model. Raises RequestContextError.
    """
    arm = check.robot.arm
    now = await check.call(CurrentPoseResult, "moveit__get_current_pose")
    if now.pose is None:
        return
    x, y, z = now.pose.position
    # An arm that is up already may have no way further up.
    await check.call(
        ArmResult,
        "moveit__plan_cartesian_path",
        group=arm.group,
        position=[x, y, z + check.robot.manipulation.lift_height_m],
        orientation=list(now.pose.orientation),
        frame_id=now.pose.frame_id,
    )
    target = {"state_name": arm.transit_state}
    await check.call(ArmResult, "moveit__plan_and_execute", group=arm.group, target_type="named_state", target=target)
