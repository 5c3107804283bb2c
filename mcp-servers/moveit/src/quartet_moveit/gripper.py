"""open_gripper, close_gripper, get_grasp_state."""

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from quartet_contracts import Skill
from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import Grasp, GraspState, GripperResult, MoveitCode, Release
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.arm import pose_in, tool_pose_or_none
from quartet_moveit.fingers import OPEN_SHARE, Fingers
from quartet_moveit.gripper_drive import drive
from quartet_moveit.gripper_goal import gripper_goal, position_in
from quartet_moveit.planner import Planner
from quartet_robot_link import GoalStatus, Message, RobotLinkError, TransformUnavailableError
from quartet_robot_link.geometry import angle_between
from quartet_tool_server import Finite, InvalidArgumentsError, ToolError, ToolServer, current_grant, numbers

Point = tuple[float, float, float]
Place = tuple[Point, Point | None]
"""A point [m] in the base frame, and in the map frame where that is known."""

Extent = Annotated[Finite, Field(gt=0, le=1)]
ObjectSize = Annotated[
    tuple[Extent, Extent, Extent],
    numbers(3, exclusiveMinimum=0, maximum=1),
    Field(description="extent of the object between the fingers, across them, and up [m]"),
]
AROUND_SOMETHING = frozenset({GraspState.HOLDING, GraspState.UNKNOWN})
"""States of fingers that have something between them."""
SAME_PLACE_M, SAME_WAY_RAD = 0.04, 0.2
"""A hand this near to where its fingers closed, and turned as it was, sets down what it lets go, and drops nothing."""
STAYED_M = 0.01
"""Fingers that close while the arm moves more than this have closed at no place that could be told."""
REST_WAIT_S = 1.0
"""Wall time that an arm may take to come to rest before it is told to move."""
WIDER_M = 0.002
"""Fingers that are told to go apart by less than this keep their grip."""


@dataclass(frozen=True)
class _Closing:
    """Where and when the fingers closed on something that they held since then."""

    at: float
    """On the monotonic clock [s]."""
    pose: Pose3D
    """Of the flange, in the odometry frame."""
    request: str | None
    """The request whose grant closed them; None without grants."""


def register(server: ToolServer, planner: Planner, fingers: Fingers) -> None:  # noqa: C901 - a list of small functions
    """Add open_gripper, close_gripper and get_grasp_state."""
    robot, file, held = server.robot, server.robot.file.gripper, planner.held
    releases: list[tuple[float, Place]] = []
    """The last release: time on the monotonic clock [s], place of the flange. It is forgotten once something is held
    again: whatever is missing then was not let go there."""
    grasps: list[_Closing] = []
    """The last grasp, as long as it is known to last."""
    held_before = False
    """Whether something was between the fingers before they were opened last."""

    async def grip_limits(tool: str, position: float, effort: float, **_: object) -> None:
        low, high = sorted((file.open_position, file.closed_position))
        if not low <= position <= high:
            raise InvalidArgumentsError(
                f"position {position:g} is not valid; valid: {low:g} to {high:g} ({file.open_position:g} is open)"
            )
        if file.command_kind == "srv" and position not in (low, high):
            raise InvalidArgumentsError(
                f"position {position:g} is not valid; valid: {file.open_position:g} (open) or {file.closed_position:g} "
                f"(closed), since {file.command} services open and close the gripper fully"
            )
        if not 0 < effort <= file.max_effort_n:
            raise InvalidArgumentsError(
                f"effort {effort:g} N is not valid; valid: above 0, at most {file.max_effort_n:g}"
            )
        if tool == "close_gripper" and effort < file.holding_min_effort_n:
            raise InvalidArgumentsError(
                f"effort {effort:g} N is not valid for closing; valid: {file.holding_min_effort_n:g} to "
                f"{file.max_effort_n:g}: fingers that press less cannot be told from fingers that hold nothing"
            )
        grant = current_grant.get()
        in_air = planner.would_drop and grant is not None and grant.sub == Skill.PLACE
        if server.limits.may_release and not in_air:
            return
        now = await fingers.grasp()
        wider = robot.file.gripper.width_at(position) > (now.width_m or 0.0) + WIDER_M
        if wider and now.state is not GraspState.EMPTY and not await is_where_it_closed():
            server.limits.check_release(tool, now.message)
            if in_air and now.state is GraspState.HOLDING:
                raise ToolError(
                    f"{now.message}, and the arm came here clear of everything, so it would fall: move straight down "
                    "to place_pose with plan_cartesian_path first. Nothing moved.",
                    code=MoveitCode.WOULD_DROP,
                )

    @asynccontextmanager
    async def noting_release() -> AsyncIterator[None]:
        """Note where what was held is let go, also when a third-party server opens the fingers."""
        nonlocal held_before
        held_at = await holds_at()
        held_before = held_at is not None
        yield
        if held_at is None and not grasps:
            return
        # What cannot be measured is no release, and does not spoil the result.
        if await state_now() is GraspState.EMPTY:
            grasps.clear()
            releases[:] = releases if held_at is None else [(time.monotonic(), held_at)]

    @server.tool(moves="gripper", limits=partial(grip_limits, "open_gripper"), around=noting_release)
    async def open_gripper(position: Finite = file.open_position, effort: Finite = file.effort) -> GripperResult:
        """Open the gripper; whatever it holds is released.

        width_m is the opening afterwards. position and effort (N) may be left out. Failures: WOULD_DROP (nothing is
        below what is held: go straight down first), GRIPPER_FAILED (it did not open: something blocks the fingers),
        INVALID_PARAMETERS, CANCELED, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown: get_grasp_state first),
        STOPPED (report it).
        """
        result = await command("open_gripper", position, effort)
        await held.opened(result, held=held_before)
        wanted = OPEN_SHARE * robot.file.gripper.width_at(position)
        if result.ok and result.width_m is not None and result.width_m < wanted:
            text = (
                f"the gripper is {result.width_m:.3f} m wide, at least {wanted:.3f} m was wanted; something blocks it"
            )
            fields = result.model_dump() | {"ok": False, "error_code": MoveitCode.GRIPPER_FAILED, "message": text}
            return GripperResult(**fields)
        return result

    @asynccontextmanager
    async def noting_grasp() -> AsyncIterator[None]:
        """Note where the fingers close on something that they did not hold before."""
        before = await state_now()
        if before in AROUND_SOMETHING:
            yield
            return
        # Where it is not known that they were empty, they may have held it before.
        start = await odometry_pose() if before is GraspState.EMPTY else None
        grasps.clear()
        yield
        if start is None or await state_now() not in AROUND_SOMETHING:
            return
        pose = await odometry_pose()
        if pose is not None and math.dist(pose.position, start.position) <= STAYED_M:
            grasps[:] = [_Closing(time.monotonic(), pose, request_now())]

    async def is_where_it_closed() -> bool:
        """Whether the hand rests where this request has closed the fingers on what they hold: there nothing falls."""
        if not grasps or grasps[0].request != request_now():
            return False
        try:
            rests = await robot.wait_arm_at_rest(timeout_s=REST_WAIT_S)
        except RobotLinkError:
            return False
        now, closed = await odometry_pose() if rests else None, grasps[0].pose
        if now is None or math.dist(now.position, closed.position) > SAME_PLACE_M:
            return False
        return angle_between(now.orientation, closed.orientation) <= SAME_WAY_RAD

    async def odometry_pose() -> Pose3D | None:
        """Return the flange's pose in the odometry frame, None where that is not known."""
        try:
            return await pose_in(robot, robot.file.frames.odom)
        except TransformUnavailableError:
            return None

    def request_now() -> str | None:
        grant = current_grant.get()
        return None if grant is None else grant.jti

    @server.tool(moves="gripper", limits=partial(grip_limits, "close_gripper"), around=noting_grasp)
    async def close_gripper(
        position: Finite = file.closed_position, effort: Finite = file.effort, object_size_m: ObjectSize | None = None
    ) -> GripperResult:
        """Close the gripper on what is between its fingers.

        state comes from width and force, or from a stall where no force is measured: HOLDING, EMPTY when the fingers
        met nothing, or UNKNOWN when they only touch something (ok is true then: open it and try the grasp again) or
        only the wrist camera can tell (message). position (open 0.0) and effort (N) may be left out. object_size_m: of
        the grasp pose; the arm's planner then knows the size of the held object. Failures: GRIPPER_FAILED,
        INVALID_PARAMETERS, CANCELED, BUSY, TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown: get_grasp_state first),
        STOPPED (report it).
        """
        result = await command("close_gripper", position, effort)
        await held.closed(result, object_size_m)
        return result

    @server.tool(read_only=True)
    async def get_grasp_state() -> GripperResult:
        """Tell whether the gripper holds something: HOLDING, EMPTY, MOVING or UNKNOWN.

        UNKNOWN: the fingers touch something and press too little to hold it for sure, or no effort_n is measured and
        only the wrist camera can tell (message). Measured after the fingers have come to rest; it does not say which
        object it is (the wrist camera does).
        Failures: TIMEOUT (the gripper's driver is silent), BRIDGE_UNAVAILABLE.
        """
        now = await fingers.grasp()
        held.note(now)
        if now.state is GraspState.EMPTY:
            grasps.clear()
        forget_release(now.state)
        known: dict[str, Any] = {"object_height_m": held.height_m if now.state in AROUND_SOMETHING else None}
        if releases:
            at, (position, on_map) = releases[0]
            age_s = time.monotonic() - at
            known["released"] = Release(tool_position=position, tool_position_map=on_map, age_s=age_s)
        if grasps and now.state in AROUND_SOMETHING:
            known["grasped"] = Grasp(tool_pose=grasps[0].pose, age_s=time.monotonic() - grasps[0].at)
        return now.model_copy(update=known)

    async def holds_at() -> Place | None:
        """Return where the flange is when something is between the fingers, None otherwise or when that is not known.

        What is not known must not keep the fingers from being opened.
        """
        pose = await tool_pose_or_none(robot) if await state_now() in AROUND_SOMETHING else None
        return None if pose is None else (pose.position, await on_map(pose.position))

    async def state_now() -> GraspState | None:
        """Return what the fingers hold, None where that cannot be read."""
        try:
            state = (await fingers.grasp()).state
        except (RobotLinkError, ToolError):
            return None
        forget_release(state)
        return state

    def forget_release(state: GraspState) -> None:
        if state is GraspState.HOLDING:
            releases.clear()

    async def on_map(position: Point) -> Point | None:
        """Return a point of the base frame in the map frame; it waits for no localisation, None without one."""
        try:
            base = await robot.base_pose(timeout_s=0.0)
        except TransformUnavailableError:
            return None
        c, s = math.cos(base.yaw), math.sin(base.yaw)
        x, y, z = position
        return base.x + c * x - s * y, base.y + s * x + c * y, z

    def report(feedback: Message) -> tuple[float, float | None, str]:
        position = position_in(feedback, file)
        if position is None:
            return 0.0, None, "the fingers move"
        return 0.0, None, f"the fingers are {max(0.0, file.width_at(position)) * 1000:.0f} mm apart"

    async def command(tool: str, position: float, effort: float) -> GripperResult:
        async with server.leases.acquire("gripper", tool) as lease:
            fingers.forget()
            if file.command_kind == "action":
                outcome = await server.run_goal(
                    lease,
                    robot.file.actions.gripper,
                    file.command_type,
                    gripper_goal(file, position, effort),
                    limit_s=file.settle_timeout_s,
                    progress=report,
                )
            else:
                outcome = await drive(lease, robot, position, limit_s=file.settle_timeout_s)
        # Out of the lease: who stops the robot must not wait for the fingers' reading to settle.
        values = outcome.values
        measured = await fingers.stopped(file.width_at(position), values, opens=tool == "open_gripper")
        fields: dict[str, Any] = measured.model_dump()
        fields |= {"stalled": values.get("stalled"), "reached_goal": values.get("reached_goal")}
        if outcome.status is GoalStatus.CANCELED:
            text = "the gripper was stopped on the way"
            if file.command_kind == "srv":
                text = f"canceled; {file.command} has no cancel, so the gripper ends its motion by itself"
            fields |= {"ok": False, "error_code": CommonCode.CANCELED, "message": text}
        elif outcome.status is GoalStatus.ABORTED and not values.get("stalled"):
            text = "the gripper's controller gave up; read the grasp state, then try again"
            fields |= {"ok": False, "error_code": MoveitCode.GRIPPER_FAILED, "message": text}
        return GripperResult(**fields)
