"""The functions that a program can call; each is a call of the arm's server under the task's grant and policy."""

import math
import re
import time
from collections.abc import Mapping
from typing import Any

from quartet_agent_runtime import RequestContext
from quartet_contracts import ArmScene, SceneObject
from quartet_contracts.tools.moveit import (
    SCENE_MAY_BE_WRONG,
    ArmResult,
    CurrentPoseResult,
    GraspState,
    GripperResult,
    MoveitCode,
    SceneResult,
)
from quartet_contracts.tools.results import ToolResult
from quartet_executor.poses import Hand, Point, hand_at, tool_at
from quartet_executor.wording import why
from quartet_sandbox import Function, FunctionError

COMPLETED = "The task is completed; no further motion is made."
STRAIGHT_M, STRAIGHT_RAD = 0.02, 0.1
"""A motion that goes no further to the side and turns no further is made in a straight line: down to an object, or up
from one."""
NEAR_M = 0.04
"""How far beyond its own sides an object may be from the hand that closes on it."""
MOST = 1000.0
"""Largest coordinate and turn that a program may name [m, rad]."""
_NUMBER = re.compile(r" \d+$")
"""What tells one of several things of a name."""
AGAIN = frozenset(
    {
        MoveitCode.START_IN_COLLISION,
        MoveitCode.GOAL_IN_COLLISION,
        MoveitCode.PLANNING_FAILED,
    }
)
"""Codes after which a motion is made once more, as the pick agent does."""


class ArmFunctions:
    """The functions of one program.

    Args:
        check: the request, with the tools of its grant.
        before: state before the program; None: nothing is known.
    """

    def __init__(self, check: RequestContext, before: ArmScene | None) -> None:
        self._check = check
        self._before = before
        self._hand: Hand | None = None
        self.completed = False
        """The program has called task_completed()."""
        self.held = before.held if before else None
        """What the gripper holds, as far as the program's own calls tell."""
        self._released: dict[str, Point | None] = {}
        """What the program has let go: the middle between the finger tips as the arm's server measured it, base frame
        [m]; None where it measured no release."""

    @property
    def by_name(self) -> Mapping[str, Function]:
        """What the program may call."""
        return {
            "execute_trajectory": self._execute_trajectory,
            "open_gripper": self._open_gripper,
            "close_gripper": self._close_gripper,
            "task_completed": self._task_completed,
        }

    @property
    def scene(self) -> ArmScene | None:
        """The state before the program, with what its calls have told of the hand and of what it let go since.

        What was let go over the opening of a container is inside it; where else it is, is not known until it is seen.
        """
        if self._before is None:
            return None
        objects = tuple(
            self._let_go(one, self._released[one.name]) if one.name in self._released else one
            for one in self._before.objects
        )
        told: dict[str, Any] = {"held": self.held, "objects": objects}
        if self._hand is not None:
            told |= {"hand_position": self._hand.position, "hand_yaw": self._hand.yaw}
        return self._before.model_copy(update=told)

    async def _execute_trajectory(self, position: list[float], yaw: float) -> None:
        self._refuse_after_end()
        x, y, z, turn = _numbers(position, yaw)
        target = tool_at((x, y, z), turn, self._check.robot)
        hand = await self._current()
        aside = math.dist(hand.position[:2], (x, y)) >= STRAIGHT_M
        turns = abs(math.remainder(turn - hand.yaw, 2 * math.pi)) >= STRAIGHT_RAD
        straight = hand.points_down and not aside and not turns
        result = await self._move(target, straight=straight)
        if not result.ok and result.error_code in AGAIN:
            if result.error_code in SCENE_MAY_BE_WRONG:
                await self._check.call(SceneResult, "moveit__clear_planning_scene")
            result = await self._move(target, straight=straight)
        if result.pose is not None:
            self._hand = hand_at(result.pose, self._check.robot)
        if not result.ok:
            where = f"[{x:.4f}, {y:.4f}, {z:.4f}] with yaw {turn:.4f}"
            raise FunctionError(f"the gripper did not get to {where}: {self._why(result)}")

    async def _move(self, target: dict[str, Any], *, straight: bool) -> ArmResult:
        group = self._check.robot.arm.group
        if straight:
            return await self._check.call(ArmResult, "moveit__plan_cartesian_path", group=group, **target)
        return await self._check.call(
            ArmResult, "moveit__plan_and_execute", group=group, target_type="pose", target=target
        )

    async def _current(self) -> Hand:
        if self._hand is None:
            now = await self._check.call(CurrentPoseResult, "moveit__get_current_pose")
            if now.pose is None:
                raise FunctionError(f"the pose of the gripper is not known: {self._why(now)}")
            self._hand = hand_at(now.pose, self._check.robot)
        return self._hand

    async def _open_gripper(self) -> None:
        self._refuse_after_end()
        begun = time.monotonic()
        result = await self._check.call(GripperResult, "moveit__open_gripper")
        if not result.ok:
            raise FunctionError(f"the gripper did not open: {self._why(result)}")
        if self.held is not None:
            self._released[self.held] = await self._released_since(begun)
        self.held = None

    async def _released_since(self, begun: float) -> Point | None:
        """Return where the finger tips were at a release after `begun` (monotonic clock [s]), None without one."""
        release = (await self._check.call(GripperResult, "moveit__get_grasp_state")).released
        if release is None or release.age_s > time.monotonic() - begun:
            return None
        # The server tells the place of the flange alone; a program's hand points down.
        x, y, z = release.tool_position
        return x, y, z - self._check.robot.gripper.finger_offset_m

    def _let_go(self, one: SceneObject, place: Point | None) -> SceneObject:
        """Return an object that was let go at a place and that nobody has looked for since."""
        if place is None or self._before is None:
            return one.model_copy(update={"unsure": True, "inside": None})
        x, y, z = place
        names = {container.name for container in self._check.site.containers}
        for container in self._before.objects:
            bottom = container.position[2] - container.size_m[2] / 2
            over = math.dist((x, y), container.position[:2]) <= min(container.size_m[:2]) / 2 and z > bottom
            if over and _NUMBER.sub("", container.name) in names:
                lies = (x, y, bottom + one.size_m[2] / 2)
                return one.model_copy(update={"position": lies, "inside": container.name, "unsure": False})
        return one.model_copy(update={"position": place, "inside": None, "unsure": True})

    async def _close_gripper(self, object_name: str) -> None:
        self._refuse_after_end()
        known = {one.name: one for one in self._before.objects} if self._before else {}
        if object_name not in known:
            names = ", ".join(f"'{name}'" for name in known) or "none is seen"
            raise FunctionError(f"there is no object {object_name!r} in the state; valid: {names}")
        hand = await self._current()
        result = await self._check.call(GripperResult, "moveit__close_gripper")
        if not result.ok:
            raise FunctionError(f"the gripper did not close: {self._why(result)}")
        if result.state in {GraspState.MOVING, GraspState.UNKNOWN}:
            result = await self._check.call(GripperResult, "moveit__get_grasp_state")
        if result.state is not GraspState.HOLDING:
            raise FunctionError(f"the gripper closed and holds nothing ({result.state}); is it at '{object_name}'?")
        # What is held is what lies where the fingers closed, whatever the program calls it.
        site = self._check.site
        fixed = {place.name for place in (*site.surfaces, *site.containers)}
        away = {name: _away(hand, one.position, one.size_m) for name, one in known.items() if name not in fixed}
        nearest = min(away, key=lambda name: away[name], default=object_name)
        self.held = nearest if away.get(nearest, math.inf) < NEAR_M else object_name
        self._released.pop(self.held, None)
        if self.held != object_name:
            raise FunctionError(f"the gripper holds '{self.held}', not '{object_name}'")

    def _why(self, result: ToolResult) -> str:
        return why(result, self._check.robot.gripper.finger_offset_m)

    async def _task_completed(self) -> str:
        self.completed = True
        return COMPLETED

    def _refuse_after_end(self) -> None:
        if self.completed:
            raise FunctionError(COMPLETED)


def _numbers(position: object, yaw: object) -> tuple[float, float, float, float]:
    """Return x, y, z and yaw. Raises FunctionError for anything that is not four numbers up to MOST."""
    try:
        x, y, z = (float(value) for value in position)  # type: ignore[attr-defined]
        turn = float(yaw)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        x = y = z = turn = math.nan
    if not all(abs(value) <= MOST for value in (x, y, z, turn)):
        raise FunctionError(
            f"execute_trajectory(position, yaw): position {position!r} must be three numbers [x, y, z] in metres and "
            f"yaw {yaw!r} one in radians, none beyond {MOST:g}"
        )
    return x, y, z, turn


def _away(hand: Hand, centre: tuple[float, float, float], size: tuple[float, float, float]) -> float:
    """Return how far the hand is outside of the ball round an object that has half its largest size [m]."""
    return max(0.0, math.dist(hand.position, centre) - max(size) / 2)
