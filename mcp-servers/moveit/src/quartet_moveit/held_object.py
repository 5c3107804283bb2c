"""What is in the hand, as an object attached in MoveIt's planning scene: the planner keeps it clear as well.

Without it the octomap takes what is held for an obstacle at the fingers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from quartet_contracts.tools.moveit import CollisionObject, GraspState, GripperResult
from quartet_moveit.planning_scene import ADD, BOX, HELD_ID, REMOVE, apply, scene_objects
from quartet_robot_link import Message, Robot, RobotLinkError
from quartet_tool_server import ToolError

log = logging.getLogger(__name__)

DEFAULT_ACROSS_M, DEFAULT_HEIGHT_M = 0.08, 0.12
"""Extent across the fingers, and up, of something of which no size is told."""
LEAST_M = 0.005
"""Least extent of the attached box."""

Size = tuple[float, float, float]
"""Extent between the fingers, across them, and up [m]."""


class HeldObject:
    """Attaches what the gripper holds to the tool. Where it is let go it stays an obstacle until the hand has left.

    Readings of the gripper are only noted; the planning scene is changed when the gripper was closed or opened, and
    before a plan is made. The gripper is read then: something may have been put into it, or have slipped. A robot
    file without `gripper.links` leaves the planning scene alone: MoveIt would take the fingers that touch the object
    for a collision.
    """

    def __init__(
        self, robot: Robot, read: Callable[[], Awaitable[GripperResult]], changed: Callable[[str], None]
    ) -> None:
        """`read` reads the gripper; `changed` is called with the reason when earlier plans are outdated."""
        self._robot, self._read, self._changed = robot, read, changed
        self._noted = False
        self._width: float | None = None
        """Between the fingers [m]; None: they hold nothing, or nothing was noted yet."""
        self._size: Size | None = None
        """As it was told when the fingers closed, until they are empty."""
        self._attached = False
        self._attached_size: Size | None = None
        """Size of what is attached; None: of something of which none was told."""
        self._released = False
        """Whether the box is where it was let go."""
        self._asked = False
        """Whether the planning scene was looked at: this process may be younger than a grasp."""
        self._changing = asyncio.Lock()
        """A look at the gripper may come while another one is being answered."""

    @property
    def holds(self) -> bool:
        """Whether the last reading found something between the fingers."""
        return self._width is not None

    @property
    def height_m(self) -> float | None:
        """Height of the held object [m], as given when the fingers closed; None if it was not given."""
        return None if self._size is None else self._size[2]

    def note(self, now: GripperResult, size_m: Size | None = None) -> None:
        """Note a reading of the gripper, and the size of what it closed on where that is told."""
        if now.state is GraspState.HOLDING:
            self._noted, self._width, self._size = True, now.width_m or 0.0, size_m or self._size
        elif now.state is GraspState.EMPTY:
            self._noted, self._width, self._size = True, None, None

    async def closed(self, now: GripperResult, size_m: Size | None) -> None:
        """Bring the planning scene in line with the gripper after it was closed on something of that size.

        Where no effort is measured, fingers that closed and stay apart are taken to hold something.
        """
        if now.state is GraspState.UNKNOWN and now.effort_n is None:
            now = now.model_copy(update={"state": GraspState.HOLDING})
        self.note(now, size_m)
        await self.update()

    async def opened(self, now: GripperResult, *, held: bool) -> None:
        """Make an obstacle of what was let go, where the fingers `held` something before they were opened.

        It stands beside them, and depth pictures need not show it, if it is of glass for example.
        """
        self.note(now)
        if self._width is None and held and self._robot.file.gripper.links:
            async with self._changing:
                await self._try(self._detach)
        else:
            await self.update()

    async def hand_has_left(self) -> None:
        """Remove what was let go: the hand has left for another place."""
        if self._released:
            self._released = False
            async with self._changing:
                await self._try(self._remove)

    async def look(self) -> None:
        """Read the gripper and bring the planning scene in line with it; as it was where the gripper is silent."""
        if self._robot.file.gripper.links:
            try:
                self.note(await self._read())
            except (RobotLinkError, ToolError) as error:
                log.warning("what the gripper holds is not known: %s", error)
            await self.update()

    async def update(self) -> None:
        """Bring the planning scene in line with what was noted of the gripper.

        MoveIt that does not answer must keep nothing from working: its planner then knows nothing of what is held.
        """
        if not self._noted or not self._robot.file.gripper.links:
            return
        async with self._changing:
            if self._width is not None:
                await self._try(self._attach)
            elif not self._released and (self._attached or not self._asked):
                await self._try(self._remove)

    async def _try(self, change: Callable[[], Awaitable[None]]) -> None:
        try:
            await change()
        except (RobotLinkError, ToolError) as error:
            log.warning("the planning scene does not show what the gripper holds or held: %s", error)

    async def _attach(self) -> None:
        assert self._width is not None
        present = await scene_objects(self._robot)
        attached = {item.object_id for item in present if item.attached_to is not None}
        if attached - {HELD_ID}:
            # What somebody else attached is theirs.
            return
        if attached and self._attached and self._attached_size == self._size:
            # As long as MoveIt was not started anew.
            return
        await self._remove(present)
        file = self._robot.file
        between, across, height = self._size or (0.0, DEFAULT_ACROSS_M, DEFAULT_HEIGHT_M)
        # The fingers have measured how wide it is where they hold it; above and below it may be wider.
        size = [max(side, LEAST_M) for side in (max(self._width, between), across, height)]
        lowest = file.gripper.finger_offset_m + height - file.gripper.grasp_depth(height)
        box: Message = {
            "header": {"frame_id": file.frames.tool},
            "id": HELD_ID,
            "pose": {"position": {"x": 0.0, "y": 0.0, "z": lowest - size[2] / 2}, "orientation": {"w": 1.0}},
            "primitives": [{"type": BOX, "dimensions": size}],
            "primitive_poses": [{"orientation": {"w": 1.0}}],
            "operation": ADD,
        }
        links = sorted({file.frames.tool, *file.gripper.links})
        await apply(self._robot, attached=[{"link_name": file.frames.tool, "object": box, "touch_links": links}])
        self._attached, self._attached_size, self._released = True, self._size, False
        self._changed("the hand holds something")

    async def _detach(self) -> None:
        """Make an obstacle of it where it is now, as MoveIt does with what is detached."""
        self._attached, self._asked = False, True
        for item in await scene_objects(self._robot):
            if item.object_id == HELD_ID and item.attached_to is not None:
                gone: Message = {"link_name": item.attached_to, "object": {"id": HELD_ID, "operation": REMOVE}}
                await apply(self._robot, attached=[gone])
                self._released = True
                self._changed("something was let go")

    async def _remove(self, present: list[CollisionObject] | None = None) -> None:
        for item in await scene_objects(self._robot) if present is None else present:
            if item.object_id == HELD_ID:
                gone: Message = {"id": HELD_ID, "operation": REMOVE}
                if item.attached_to is not None:
                    await apply(self._robot, attached=[{"link_name": item.attached_to, "object": gone}])
                await apply(self._robot, world=[gone])
        self._attached, self._asked = False, True
