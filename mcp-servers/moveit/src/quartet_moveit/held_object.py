"""What is in the hand, as an object attached in MoveIt's planning scene: the planner keeps it clear as well.

Without it the octomap takes what is held for an obstacle at the fingers, and the arm is in collision wherever it is.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from quartet_contracts.tools.moveit import CollisionObject, GraspState, GripperResult
from quartet_moveit.objects import ADD, BOX, REMOVE, apply, scene_objects
from quartet_robot_link import Message, Robot, RobotLinkError
from quartet_tool_server import ToolError

log = logging.getLogger(__name__)

OBJECT_ID = "held_object"
UNTOLD_M = (0.08, 0.12)
"""Extent across the fingers, and up, of something of which no size is told [m]."""


class HeldObject:
    """Attaches what the gripper holds to the tool. Where it is let go it stays an obstacle until the hand has left."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._known: bool | None = None
        """Whether it is in the planning scene; None until MoveIt was asked: it may have been there before."""
        self._released = False
        self._changing = asyncio.Lock()
        """A look at the gripper may come while another one is being answered."""

    async def grasped(self, now: GripperResult, size_m: tuple[float, float, float] | None = None) -> None:
        """Bring the planning scene in line with a reading of the gripper.

        `size_m` is that of what is held [m]: between the fingers, across them, and up.
        """
        if now.state is GraspState.HOLDING:
            self._released = False
            await self._try(self._attach(now.width_m or 0.0, size_m))
        elif now.state is GraspState.EMPTY and not self._released:
            # What slipped out may be anywhere.
            await self._forget()

    async def let_go(self, now: GripperResult) -> None:
        """Take note that the fingers were opened, with that result.

        What they held stands beside them. Depth pictures need not show it, if it is of glass for example.
        """
        if now.state is GraspState.EMPTY and self._known is not False and not self._released:
            await self._try(self._detach())

    async def left(self) -> None:
        """Take note that the hand has left for another place."""
        if self._released:
            self._released = False
            await self._forget()

    async def _try(self, change: Coroutine[Any, Any, None]) -> None:
        """Change the planning scene. MoveIt that does not answer must not keep the fingers from working."""
        try:
            async with self._changing:
                await change
        except (RobotLinkError, ToolError) as error:
            self._known = None
            log.warning("the planning scene does not show what the gripper holds or held: %s", error)

    async def _forget(self) -> None:
        if self._known is not False:
            await self._try(self._remove())

    async def _attach(self, width_m: float, size_m: tuple[float, float, float] | None) -> None:
        present = await scene_objects(self._robot)
        attached = [item.object_id for item in present if item.attached_to is not None]
        if attached and (size_m is None or attached != [OBJECT_ID]):
            # What somebody else attached is theirs.
            self._known = OBJECT_ID in attached
            return
        file = self._robot.file
        _, across, height = (0.0, *UNTOLD_M) if size_m is None else size_m
        # The fingers have measured how wide it is where they hold it; above and below it may be wider.
        width = max(width_m, 0.0 if size_m is None else size_m[0], 0.005)
        lowest = file.gripper.finger_offset_m + height - file.gripper.grasp_depth(height)
        box: Message = {
            "header": {"frame_id": file.frames.tool},
            "id": OBJECT_ID,
            "pose": {"position": {"x": 0.0, "y": 0.0, "z": lowest - height / 2}, "orientation": {"w": 1.0}},
            "primitives": [{"type": BOX, "dimensions": [width, max(across, 0.005), max(height, 0.005)]}],
            "primitive_poses": [{"orientation": {"w": 1.0}}],
            "operation": ADD,
        }
        await self._remove(present)
        touching = sorted({file.frames.tool, *file.gripper.links})
        await apply(
            self._robot,
            attached=[{"link_name": file.frames.tool, "object": box, "touch_links": touching, "weight": 0.0}],
        )
        self._known = True

    async def _detach(self) -> None:
        """Make an obstacle of it where it is now, as MoveIt does with what is detached."""
        for item in await scene_objects(self._robot):
            if item.object_id == OBJECT_ID and item.attached_to is not None:
                gone: Message = {"link_name": item.attached_to, "object": {"id": OBJECT_ID, "operation": REMOVE}}
                await apply(self._robot, attached=[gone])
                self._known = self._released = True
                return
        self._known = False

    async def _remove(self, present: list[CollisionObject] | None = None) -> None:
        for item in await scene_objects(self._robot) if present is None else present:
            if item.object_id == OBJECT_ID:
                gone: Message = {"id": OBJECT_ID, "operation": REMOVE}
                if item.attached_to is not None:
                    await apply(self._robot, attached=[{"link_name": item.attached_to, "object": gone}])
                await apply(self._robot, world=[gone])
        self._known = False
