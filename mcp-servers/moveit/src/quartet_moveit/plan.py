"""plan_and_execute."""

from typing import Annotated, Any, Literal

from pydantic import Field

from quartet_contracts.tools.moveit import ArmResult, MoveitCode
from quartet_moveit.arm import (
    arm_joints,
    missed,
    missed_joints,
    moveit_code,
    not_reached,
    run,
    tool_pose_or_none,
    verdict,
)
from quartet_moveit.codes import INVALID_MOTION_PLAN, SUCCESS
from quartet_moveit.inverse import MAX_LOWER_M, highest
from quartet_moveit.planner import Planner
from quartet_moveit.requests import flange_at, joint_constraints, move_goal, pose_constraints
from quartet_moveit.shared_space import SPACE, execute
from quartet_moveit.target import Target, check_group, in_base, joints_of
from quartet_robot_link import GoalStatus, Message
from quartet_safety.motion import MotionLease
from quartet_tool_server import Finite, InvalidArgumentsError, ToolError, ToolServer

REPLANS = 4
"""A pick or place of the other arm has about as many motions."""
MAX_PLANNING_S = 15.0
"""Less than the wall time for which a simulated clock may stand still while a goal runs (robot_link, _motion.py)."""


def register(server: ToolServer, planner: Planner) -> None:
    """Add plan_and_execute."""
    robot = server.robot

    async def arm_limits(target: Target, group: str | None, **_: Any) -> None:
        check_group(group, robot)
        if target.kind != "pose":
            joints_of(target, robot)
        elif target.position is not None and target.orientation is not None:
            await in_base(robot, target.position, target.orientation, target.frame_id)

    def arm_goal(target: Target, **_: Any) -> tuple[str, Message]:
        if target.position is not None:
            constraints = flange_at(robot, target.position, target.frame_id)
        else:
            constraints = joint_constraints(robot, joints_of(target, robot))
        return "MoveGroup", move_goal(robot, robot.file.arm.group, constraints, "", 0.0)

    @server.tool(moves="arm", limits=arm_limits, goal=arm_goal)
    async def plan_and_execute(
        target: Target,
        target_type: Literal["pose", "joint_state", "named_state"] | None = None,
        group: str | None = None,
        planner_id: str = "",
        timeout: Annotated[Finite, Field(gt=0, le=MAX_PLANNING_S, description="planning time [s]")] = 5.0,  # noqa: ASYNC109
        lower_by_m: Annotated[
            Finite, Field(ge=0, le=MAX_LOWER_M, description="for a pose: how much lower the tool may end [m]")
        ] = 0.0,
    ) -> ArmResult:
        """Move the arm to a target along a path without collisions; returns when it is there (measured) or has failed.

        target is exactly one of: {position [x,y,z] m, orientation [x,y,z,w], frame_id} for the tool flange (the finger
        tips are further along its +z; fingers straight down is [1,0,0,0]); {joint_positions} rad; {state_name}, e.g.
        the transit state that the arm drives with. frame_id defaults to the base frame (x forward, y left, z up from
        the floor). target_type and group may be left out. Where the arm cannot be at a pose, because it is too high or
        something is above, lower_by_m lets it end up to that much straight below it, as high as it can. pose is where
        the tool is after the motion, in the base frame, lowered_m how much lower than asked. Failures: OUT_OF_REACH
        (drive nearer), GOAL_IN_COLLISION or START_IN_COLLISION (clear_planning_scene, then once more), PLANNING_FAILED
        (once more: the planner tries at random), EXECUTION_FAILED (the arm stopped on the way: get_current_pose),
        UNKNOWN_STATE, INVALID_GROUP, INVALID_PARAMETERS (the message has the valid values), TRANSFORM_UNAVAILABLE,
        CANCELED, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown: get_current_pose first), STOPPED (report it).
        """
        _check_kind(target, target_type, lower_by_m)
        chosen = check_group(group, robot)
        async with server.leases.acquire("arm", "plan_and_execute") as lease:
            await lease.unless_canceled(planner.prepare())
            planner.hand_is_free = False
            if target.kind == "pose":
                result = await _to_pose(server, lease, target, chosen, planner_id, timeout, lower_by_m)
                return await _left(planner, result)
            joints = joints_of(target, robot)
            fields = await move(server, lease, chosen, joint_constraints(robot, joints), planner_id, timeout)
            if fields["executed"] and (off := missed_joints(robot, await arm_joints(robot), joints)):
                fields |= not_reached(off)
            return await _left(planner, ArmResult(**fields, pose=await tool_pose_or_none(robot)))


async def _left(planner: Planner, result: ArmResult) -> ArmResult:
    planner.hand_is_free = result.ok
    if result.executed:
        planner.would_drop = True
        await planner.held.hand_has_left()
    return result


def _check_kind(target: Target, target_type: str | None, lower_by_m: float) -> None:
    """Raise InvalidArgumentsError for arguments that do not go with this kind of target."""
    if target_type not in {None, target.kind}:
        raise InvalidArgumentsError(
            f"target_type '{target_type}' does not go with this target, which is a {target.kind}"
        )
    if lower_by_m > 0 and target.kind != "pose":
        raise InvalidArgumentsError(
            f"lower_by_m {lower_by_m:g} goes with a pose only; this target is a {target.kind}, leave it out"
        )


async def _to_pose(
    server: ToolServer,
    lease: MotionLease,
    target: Target,
    group: str,
    planner_id: str,
    planning_s: float,
    lower_by_m: float,
) -> ArmResult:
    """Move to a pose: inverse kinematics from where the arm is, which takes the near solution, then a joint plan.

    When no path leads there the planner chooses the solution itself.
    """
    robot = server.robot
    assert target.position is not None
    assert target.orientation is not None
    wanted = await in_base(robot, target.position, target.orientation, target.frame_id)
    pose, joints = await lease.unless_canceled(highest(robot, group, wanted, lower_by_m))
    fields = await move(server, lease, group, joint_constraints(robot, joints), planner_id, planning_s)
    if fields.get("error_code") == MoveitCode.PLANNING_FAILED:
        fields = await move(server, lease, group, pose_constraints(robot, pose), planner_id, planning_s)
    reached = await tool_pose_or_none(robot)
    if fields["executed"]:
        off = "where the tool is cannot be read from /tf" if reached is None else missed(reached, pose)
        if off is not None:
            fields |= not_reached(off)
    return ArmResult(**fields, pose=reached, lowered_m=wanted.position[2] - pose.position[2])


async def move(
    server: ToolServer,
    lease: MotionLease,
    group: str,
    constraints: Message,
    planner_id: str,
    planning_s: float,
    replans: int = REPLANS,
) -> dict[str, Any]:
    """Plan and execute through MoveGroup; the fields of the result.

    If another arm shares the place, in two goals, and up to `replans` times again if that arm has moved into the way.
    """
    robot, since = server.robot, SPACE.now
    shared = SPACE.is_shared(robot.file.name, server.site.name)
    goal = move_goal(robot, group, constraints, planner_id, planning_s)
    goal["planning_options"]["plan_only"] = shared
    outcome = await run(
        server,
        lease,
        robot.file.actions.move_group,
        "MoveGroup",
        goal,
        limit_s=robot.file.arm.motion_timeout_s + planning_s,
    )
    planned = outcome.values.get("planned_trajectory") or {}
    trajectory = planned.get("joint_trajectory") or {}
    if shared and outcome.status is GoalStatus.SUCCEEDED and moveit_code(outcome.values) == SUCCESS:
        try:
            return verdict(await execute(server, lease, {"trajectory": planned}, since), planned=True)
        except ToolError as error:
            if error.code != MoveitCode.PLAN_OUTDATED or not replans:
                raise
        return await move(server, lease, group, constraints, planner_id, planning_s, replans - 1)
    # MoveIt hands over also a trajectory that it found to be in collision, and has not moved.
    usable = moveit_code(outcome.values) != INVALID_MOTION_PLAN
    return verdict(outcome, planned=usable and bool(trajectory.get("points")))
