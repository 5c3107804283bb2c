"""What is in the hand, as an object attached in MoveIt's planning scene: the planner keeps it clear as well.

Without it the octomap takes what is held for an obstacle at the fingers, and the arm is in collision wherever it is.
"""

import logging

from quartet_contracts.tools.moveit import GraspState, GripperResult
from quartet_moveit.objects import ADD, BOX, REMOVE, apply, scene_objects
from quartet_robot_link import Message, Robot, RobotLinkError
from quartet_tool_server import ToolError

log = logging.getLogger(__name__)

OBJECT_ID = "held_object"
UNTOLD_M = (0.08, 0.12)
"""Extent across the fingers, and up, of something of which no size is told [m]."""


class HeldObject:
    """Attaches what the gripper holds to the tool, and removes it when it is let go."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._attached: bool | None = None
        """None until MoveIt was asked: this process may be younger than the grasp."""

    async def follow(self, now: GripperResult, size_m: tuple[float, float, float] | None = None) -> None:
        """Bring the planning scene in line with a reading of the gripper.

        `size_m` is that of what is held [m]: between the fingers, across them, and up. MoveIt that does not answer must
        not keep the fingers from working: its planner then knows nothing of what is held, as before.
        """
        try:
            if now.state is GraspState.HOLDING:
                await self._attach(now.width_m or 0.0, size_m)
            elif now.state is GraspState.EMPTY and self._attached is not False:
                await self._remove()
        except (RobotLinkError, ToolError) as error:
            self._attached = None
            log.warning("the planning scene does not show what the gripper holds: %s", error)

    async def _attach(self, width_m: float, size_m: tuple[float, float, float] | None) -> None:
        attached = [item.object_id for item in await scene_objects(self._robot) if item.attached_to is not None]
        if attached and (size_m is None or attached != [OBJECT_ID]):
            # What somebody else attached is theirs.
            self._attached = OBJECT_ID in attached
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
        touching = sorted({file.frames.tool, *file.gripper.links})
        await apply(
            self._robot,
            attached=[{"link_name": file.frames.tool, "object": box, "touch_links": touching, "weight": 0.0}],
        )
        self._attached = True

    async def _remove(self) -> None:
        for item in await scene_objects(self._robot):
            if item.object_id == OBJECT_ID and item.attached_to is not None:
                gone: Message = {"id": OBJECT_ID, "operation": REMOVE}
                await apply(self._robot, attached=[{"link_name": item.attached_to, "object": gone}])
                # MoveIt makes an obstacle of what is detached. The cameras see it, wherever it is now.
                await apply(self._robot, world=[gone])
        self._attached = False
