"""What the code of several agents does in place of a model: questions asked again, motions made again, giving up."""

from collections.abc import Set
from typing import Any, TypeVar

from quartet_agent_runtime._request_context import RequestContext
from quartet_agent_runtime.errors import GaveUpError, VerificationError
from quartet_contracts.tools import Pose3D, ToolResult
from quartet_contracts.tools.moveit import (
    SCENE_MAY_BE_WRONG,
    ArmResult,
    GraspState,
    GripperResult,
    MoveitCode,
    SceneResult,
)
from quartet_contracts.tools.perception import PerceptionCode
from quartet_contracts.tools.results import CommonCode, PolicyCode

R = TypeVar("R", bound=ToolResult)

TRANSIENT = frozenset(
    {CommonCode.TIMEOUT, CommonCode.ROS_ERROR, CommonCode.TRANSFORM_UNAVAILABLE, CommonCode.UNKNOWN, CommonCode.BUSY}
)
"""Codes of a question that may be answered the next time."""
SAME_AGAIN = frozenset(
    {
        MoveitCode.OUT_OF_REACH,
        MoveitCode.PATH_INCOMPLETE,
        MoveitCode.INVALID_GROUP,
        MoveitCode.UNKNOWN_STATE,
        CommonCode.INVALID_PARAMETERS,
    }
)
"""Codes of a motion that would end in the same way again. What bars a straight path is mostly there still."""
BLOCKED = frozenset({MoveitCode.EXECUTION_FAILED})
"""Codes of a motion on which something stopped the arm: most likely a thing that the planner did not see."""
WITHDRAWN = frozenset({CommonCode.CANCELED, "NAVIGATION_CANCELED", *PolicyCode})
"""Codes after which nothing more is to be tried: a person or a rule has decided."""
GRASP_LOOKS = 3
"""How often the grasp state is asked for while the fingers move or nothing is known."""


async def ask(check: RequestContext, result: type[R], tool: str, **arguments: Any) -> R:
    """Call a tool that moves nothing, once more after a failure that may pass; return the last result."""
    given = {name: value for name, value in arguments.items() if value is not None}
    answer = await check.call(result, tool, **given)
    if answer.error_code in TRANSIENT:
        answer = await check.call(result, tool, **given)
    return answer


async def about(
    check: RequestContext, result: type[R], tool: str, object_id: str | None, named: dict[str, str], **arguments: Any
) -> R:
    """`ask` about the very thing with `object_id`; where there is none, or it is forgotten, about what is `named`."""
    if object_id:
        answer = await ask(check, result, tool, object_id=object_id, **arguments)
        if answer.error_code != PerceptionCode.UNKNOWN_OBJECT_ID:
            return answer
    return await ask(check, result, tool, **named, **arguments)


class CodedArm:
    """The arm in the hands of an agent's own code: a motion that fails is made once more.

    A motion to a pose on which something stopped the arm is not: the arm would push it again.

    The methods raise GaveUpError(UNKNOWN) when a person or a rule took the robot away, and VerificationError as
    RequestContext.call does and where what a motion did is not known: it is not made again then.
    """

    def __init__(self, check: RequestContext, *, failed: str, out_of_reach: str) -> None:
        """`failed` and `out_of_reach` are the codes with which `towards` and `transit` give up."""
        self._check = check
        self._failed = failed
        self._out_of_reach = out_of_reach

    async def above(self, pose: Pose3D, lower_by_m: float) -> ArmResult:
        """Bring the tool to `pose`, or up to `lower_by_m` [m] below it where it cannot be there."""
        return await self._move(
            "moveit__plan_and_execute", BLOCKED, target_type="pose", target=_target(pose), lower_by_m=lower_by_m
        )

    async def straight(self, pose: Pose3D, min_fraction: float | None = None) -> ArmResult:
        """Bring the tool to `pose` in a straight line, or at least `min_fraction` (0 to 1) of the way."""
        least = {} if min_fraction is None else {"min_fraction": min_fraction}
        return await self._move("moveit__plan_cartesian_path", BLOCKED, **_target(pose), **least)

    async def down(
        self, pose: Pose3D, above: Pose3D, min_fraction: float | None, what: str, least: float | None = None
    ) -> None:
        """Bring the tool straight from `above` down to `pose`; where that fails, to transit, and raise GaveUpError.

        Where not all of the way is free, `least` (0 to 1) of it is enough. What stopped the hand on its way is left as
        the hand came, straight up, before the arm swings: at least `min_fraction` of the way.
        """
        moved = await self.straight(pose, least)
        if moved.error_code in BLOCKED:
            await self.straight(above, min_fraction)
        await self.towards(moved, what)

    async def up(self, pose: Pose3D, min_fraction: float | None, lower_by_m: float) -> ArmResult:
        """Bring the tool straight up to `pose`, or in any way where that is not possible."""
        moved = await self.straight(pose, min_fraction)
        return moved if moved.ok else await self.above(pose, lower_by_m)

    async def towards(self, moved: ArmResult, what: str) -> None:
        """Where a motion towards `what` failed, bring the arm to its transit state and raise GaveUpError."""
        if moved.ok:
            return
        await self.transit()
        code = self._out_of_reach if moved.error_code == MoveitCode.OUT_OF_REACH else self._failed
        raise GaveUpError(code, f"the arm did not get to {what}: {code_and_message(moved)}")

    async def transit(self, note: str = "", **fields: Any) -> None:
        """Bring the arm to its transit state; raise GaveUpError with `note` and `fields` when it does not get there."""
        state = self._check.robot.arm.transit_state
        moved = await self._move("moveit__plan_and_execute", target_type="named_state", target={"state_name": state})
        if not moved.ok:
            raise GaveUpError(
                self._failed,
                f"{note}the arm did not reach its transit state '{state}': {code_and_message(moved)}",
                **fields,
            )

    async def fingers(
        self, tool: str, position: float | None = None, object_size_m: tuple[float, float, float] | None = None
    ) -> GripperResult:
        """Open or close the gripper (`open_gripper`, `close_gripper`), once more if that fails.

        `position` is that of the gripper's joint; None: wholly. `object_size_m` is that of what it closes on.
        """
        given = {"position": position, "object_size_m": object_size_m}
        given = {name: value for name, value in given.items() if value is not None}
        moved = await self._check.call(GripperResult, f"moveit__{tool}", **given)
        if not moved.ok and moved.error_code not in WITHDRAWN:
            # Fingers that are where they should be already do nothing.
            moved = await self._check.call(GripperResult, f"moveit__{tool}", **given)
        end_unless_repeatable(moved, tool)
        return moved

    async def grasp(self) -> GripperResult:
        """Return the grasp state, asked again while the fingers move or nothing is known."""
        looks = GRASP_LOOKS
        while True:
            grasp = await self._check.call(GripperResult, "moveit__get_grasp_state")
            looks -= 1
            if looks == 0 or (grasp.ok and grasp.state in {GraspState.HOLDING, GraspState.EMPTY}):
                return grasp

    async def _move(self, tool: str, once: Set[str] = frozenset(), **arguments: Any) -> ArmResult:
        group = self._check.robot.arm.group
        moved = await self._check.call(ArmResult, tool, group=group, **arguments)
        end_unless_repeatable(moved, tool)
        if moved.ok or moved.error_code in SAME_AGAIN or moved.error_code in once:
            return moved
        if moved.error_code in SCENE_MAY_BE_WRONG:
            await self._check.call(SceneResult, "moveit__clear_planning_scene")
        moved = await self._check.call(ArmResult, tool, group=group, **arguments)
        end_unless_repeatable(moved, tool)
        return moved


def code_and_message(result: ToolResult) -> str:
    """Return code and message of a failed result."""
    return f"{result.error_code}: {result.message}" if result.message else result.error_code


def end_unless_repeatable(moved: ToolResult, tool: str) -> None:
    """End the work after a motion that nobody may make again.

    Raises:
        GaveUpError: UNKNOWN, where a person or a rule has decided (WITHDRAWN).
        VerificationError: What the motion did is not known (TIMEOUT), so that the world must be looked at.
    """
    if moved.error_code in WITHDRAWN:
        withdrawn = GaveUpError("UNKNOWN", f"{tool}: {code_and_message(moved)}")
        withdrawn.because = moved.error_code
        raise withdrawn
    if moved.error_code == CommonCode.TIMEOUT:
        raise VerificationError(f"{tool}: {code_and_message(moved)}", uncertain=True)


def _target(pose: Pose3D) -> dict[str, Any]:
    return pose.model_dump(mode="json")
