"""plan_cartesian_path."""

import asyncio
import contextlib
import math
from typing import Annotated, Any

from pydantic import Field

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import ArmResult, MoveitCode
from quartet_moveit.allowed_collisions import along_fingers, distance_ahead
from quartet_moveit.arm import (
    arm_joints,
    failed,
    missed,
    missed_joints,
    moveit_code,
    not_reached,
    tool_pose,
    tool_pose_or_none,
    verdict,
)
from quartet_moveit.codes import SUCCESS, name_of, tool_code
from quartet_moveit.inverse import other_solutions
from quartet_moveit.plan import move
from quartet_moveit.planner import Planner
from quartet_moveit.requests import cartesian_request, flange_at, joint_constraints, move_goal
from quartet_moveit.shared_space import SPACE, execute
from quartet_moveit.target import check_group, in_base
from quartet_robot_link import Message, Robot, number
from quartet_robot_link.geometry import slerp
from quartet_safety.motion import MotionLease
from quartet_tool_server import Finite, Orientation, Position, ToolServer

MAX_STEP_M = 0.01
"""Distance between two points of a straight path that are checked, as MoveIt's tutorials use it."""
PLANNING_TIMEOUT_S = 15.0
COMPLETE = 0.999
ROUNDING = 0.001
"""Models write fractions with three digits: 0.867 of a path of which 13 of 15 steps are free is those 13."""
SEARCH_S = 10.0
"""Wall time for the search for other joint positions: MoveIt takes 0.5 s for each place where it finds none."""
RECONFIGURATION_PLAN_S = 5.0
"""Planning time [s] for the way to other joint positions."""
NO_LINKS = (
    ". A likely cause that a person must mend: gripper.links in robot.yaml is empty, so the fingers may touch nothing "
    "that the cameras see"
)
"""Cause of an incomplete path of a robot whose file has no links of the gripper."""
NOT_MOVED = frozenset(
    {MoveitCode.PLANNING_FAILED, MoveitCode.START_IN_COLLISION, MoveitCode.GOAL_IN_COLLISION, MoveitCode.OUT_OF_REACH}
)
"""Codes of a plan that was not found."""
UP_M = 0.005
"""A straight motion that ends this much higher leaves what was below the hand."""
ROOM_M = 0.02
"""A path that is possible in part ends this far before what stops it, more than an arm may miss its target by
(arm.REACHED_M), as far as min_fraction allows."""


def register(server: ToolServer, planner: Planner) -> None:
    """Add plan_cartesian_path."""
    robot = server.robot
    cause = "" if robot.file.gripper.links else NO_LINKS

    def cartesian_goal(position: Position, frame_id: str | None, **_: Any) -> tuple[str, Message]:
        return "MoveGroup", move_goal(robot, robot.file.arm.group, flange_at(robot, position, frame_id), "", 0.0)

    @server.tool(moves="arm", goal=cartesian_goal)
    async def plan_cartesian_path(
        position: Position,
        orientation: Orientation | None = None,
        frame_id: str | None = None,
        min_fraction: Annotated[Finite, Field(gt=0, le=1)] = 0.95,
        group: str | None = None,
    ) -> ArmResult:
        """Move the tool flange in a straight line to a position: descend to grasp or place, lift, retract.

        position [x,y,z] m; orientation [x,y,z,w] of the flange, the present one when left out; frame_id defaults to the
        base frame. The path is planned first; when less than min_fraction of it is free and reachable nothing moves
        and PATH_INCOMPLETE gives the fraction; otherwise the tool goes as far as it can, a little short of what stops
        it (ok is true, fraction says how far). pose is where the tool is after the motion. On a way along the fingers,
        such as down to an object and up again, the gripper and what it holds may touch what the cameras see; where a
        link of the arm would on the way down, and the hand is empty, the arm first takes other joint positions with the
        same tool pose, if the way is free from them. Failures: PATH_INCOMPLETE, START_IN_COLLISION
        (clear_planning_scene, then once more; or go with plan_and_execute), EXECUTION_FAILED (the arm stopped on the
        way: get_current_pose), PLANNING_FAILED, INVALID_PARAMETERS, INVALID_GROUP, TRANSFORM_UNAVAILABLE, CANCELED,
        BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown: get_current_pose first), STOPPED (report it).
        """
        chosen = check_group(group, robot)
        async with server.leases.acquire("arm", "plan_cartesian_path") as lease:
            start = await tool_pose(robot)
            if orientation is None:
                in_frame = await in_base(robot, position, (0.0, 0.0, 0.0, 1.0), frame_id)
                goal = in_frame.model_copy(update={"orientation": start.orientation})
            else:
                goal = await in_base(robot, position, orientation, frame_id)
            length = math.dist(start.position, goal.position)
            least, since = min_fraction - ROUNDING, SPACE.now
            response, fraction, reconfigured = await _way(server, lease, planner, chosen, start, goal, least)
            if reconfigured is not None and not reconfigured["ok"]:
                return ArmResult(**reconfigured, fraction=fraction, pose=await tool_pose_or_none(robot))
            still = (
                "nothing moved"
                if reconfigured is None
                else "the tool is where it was, with other joint positions of the arm"
            )
            if least <= fraction < COMPLETE and moveit_code(response) == SUCCESS and length > 0:
                shorter = max(least, fraction - ROOM_M / length)
                part = _between(start, goal, shorter)
                response, share = await lease.unless_canceled(_path(planner, robot, chosen, start, part))
                fraction = shorter * share
            code = moveit_code(response)
            report = {"moveit_error_code": code, "fraction": fraction, "pose": start}
            if code != SUCCESS:
                text = f"no straight path: {name_of(code)}; {still}"
                return ArmResult(**report, moveit_error=name_of(code), **failed(tool_code(code, planned=False), text))
            if fraction < least:
                text = (
                    f"only {fraction:.0%} of the straight path of {length:.2f} m is free and reachable, wanted "
                    f"{min_fraction:.0%}; {still}. Go with plan_and_execute, or choose another pose{cause}"
                )
                return ArmResult(**report, **failed(MoveitCode.PATH_INCOMPLETE, text))
            planner.hand_is_free = False
            outcome = await execute(server, lease, {"trajectory": response["solution"]}, since)
            fields = verdict(outcome, planned=True)
            reached = await tool_pose_or_none(robot)
            planner.would_drop = reached is not None and reached.position[2] > start.position[2] + UP_M
            if fields["executed"] and fraction >= COMPLETE:
                off = "where the tool is cannot be read from /tf" if reached is None else missed(reached, goal)
                if off is not None:
                    fields |= not_reached(off)
            return ArmResult(**fields, fraction=fraction, pose=reached)


async def _way(
    server: ToolServer, lease: MotionLease, planner: Planner, group: str, start: Pose3D, goal: Pose3D, least: float
) -> tuple[Message, float, dict[str, Any] | None]:
    """Return the straight path, the part of it that is possible, and the result of `_reconfigure`, None without one.

    The arm takes other joint positions on the way to something only, along the fingers, and with an empty hand that has
    just come there by a plan: what is held would swing, and a hand that comes back, or was stopped on the way, is among
    things.
    """
    robot = server.robot
    response, fraction = await lease.unless_canceled(_path(planner, robot, group, start, goal))
    blocked = moveit_code(response) == SUCCESS and fraction < least
    may_turn = planner.hand_is_free and not planner.held.holds
    if not (blocked and may_turn and along_fingers(start, goal) and distance_ahead(start, goal) > 0):
        return response, fraction, None
    reconfigured = await _reconfigure(server, lease, planner, group, start, goal, least)
    if reconfigured is not None and reconfigured["ok"]:
        response, fraction = await lease.unless_canceled(_path(planner, robot, group, start, goal))
    return response, fraction, reconfigured


async def _reconfigure(
    server: ToolServer, lease: MotionLease, planner: Planner, group: str, start: Pose3D, goal: Pose3D, least: float
) -> dict[str, Any] | None:
    """Bring the arm to other joint positions from which the straight path is free, with the tool at `start`.

    Where a wrist would meet a tall neighbour of the thing on the way down, the arm often has another way to hold the
    same tool pose, with the wrist on the free side. Returns the fields of a result, None where nothing moved: there are
    no such positions, or no path to them.
    """
    robot = server.robot
    # The hand, too, must touch nothing where it turns.
    await lease.unless_canceled(planner.prepare())
    joints = await lease.unless_canceled(_free_from(planner, robot, group, start, goal, least))
    if joints is None:
        return None
    await lease.unless_canceled(planner.prepare())
    planner.hand_is_free = False
    fields: dict[str, Any] = {"ok": True}
    fields |= await move(server, lease, group, joint_constraints(robot, joints), "", RECONFIGURATION_PLAN_S)
    if fields.get("error_code") in NOT_MOVED:
        return None
    off = missed_joints(robot, await arm_joints(robot), joints) if fields["executed"] else ""
    if off or fields.get("error_code") == MoveitCode.EXECUTION_FAILED:
        # Not EXECUTION_FAILED: from here no straight way leads back to where the hand came from.
        why = off or fields["message"]
        fields |= failed(MoveitCode.PATH_INCOMPLETE, f"the arm was stopped on its way to other joint positions: {why}")
    return fields


async def _free_from(
    planner: Planner, robot: Robot, group: str, start: Pose3D, goal: Pose3D, least: float
) -> list[float] | None:
    """Return other joint positions with the tool at `start` from which enough of the path to `goal` is free, or None.

    The nearest from which all of it is free; without any, those from which most is.
    """
    best, most = None, least
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SEARCH_S):
            for joints in await other_solutions(robot, group, start, await arm_joints(robot)):
                _, free = await _path(planner, robot, group, start, goal, joints)
                if free >= COMPLETE:
                    return joints
                if free >= most:
                    best, most = joints, free
    return best


async def _path(
    planner: Planner, robot: Robot, group: str, start: Pose3D, goal: Pose3D, joints: list[float] | None = None
) -> tuple[Message, float]:
    """Return MoveIt's straight path to `goal`, and the part of it that is possible, 0 to 1.

    It begins where the arm is, or at `joints` [rad], with the tool at `start` in either case.
    """
    response = await planner.ask(
        robot.file.services.compute_cartesian_path,
        cartesian_request(robot, group, goal, MAX_STEP_M, joints),
        among_things=along_fingers(start, goal),
        timeout_s=PLANNING_TIMEOUT_S,
    )
    return response, number(response.get("fraction")) or 0.0


def _between(start: Pose3D, goal: Pose3D, share: float) -> Pose3D:
    """Return the pose at that share of the straight way, both in the base frame."""
    x, y, z = (a + share * (b - a) for a, b in zip(start.position, goal.position, strict=True))
    turned = slerp(start.orientation, goal.orientation, share)
    return Pose3D(frame_id=goal.frame_id, position=(x, y, z), orientation=turned)
