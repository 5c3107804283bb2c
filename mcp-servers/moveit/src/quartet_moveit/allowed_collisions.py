"""MoveIt's allowed collision matrix: the gripper among things that the cameras see."""

import asyncio
import logging
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quartet_contracts.tools import Pose3D
from quartet_moveit.planning_scene import ALLOWED_COLLISION_MATRIX, HELD_ID, apply
from quartet_robot_link import Message, Robot, RobotLinkError
from quartet_robot_link.geometry import rotate
from quartet_tool_server import ToolError

log = logging.getLogger(__name__)

OCTOMAP = "<octomap>"
"""MoveIt's name for what the cameras see, as an entry of the matrix."""
ASIDE_M, ASIDE_SHARE = 0.02, 0.2
"""A path along the fingers leads at most this far to their side: in all, or as a share of its length."""


class AllowedCollisions:
    """Lets the gripper, and what it holds, be among things while a path along the fingers is planned.

    A hand that goes straight down to a thing has its fingers beside it, in the same voxels; what is lifted stands on
    something, and what was put down is between the fingers. The arm stays checked. Without `gripper.links` in
    robot.yaml nothing is changed: who lets the gripper touch the octomap always leaves them out.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._closed = False
        """Whether the matrix is known to allow nothing; a process before this one may have died in between."""
        self._planning = asyncio.Lock()

    @asynccontextmanager
    async def gripper_among_things(self) -> AsyncIterator[None]:
        """While this lasts, the gripper may touch things; nobody plans otherwise meanwhile.

        Raises ToolError ROS_ERROR, CallTimeoutError, BridgeUnavailableError.
        """
        if not self._robot.file.gripper.links:
            yield
            return
        await self._planning.acquire()
        self._closed = False
        try:
            await self._set(allowed=True)
            yield
        finally:
            # A call that is canceled closes it all the same, and before anybody else plans.
            closing = asyncio.ensure_future(self._try_to_close())
            closing.add_done_callback(lambda _: self._planning.release())
            await asyncio.shield(closing)

    @asynccontextmanager
    async def gripper_apart(self) -> AsyncIterator[None]:
        """While this lasts, the gripper may touch nothing. Raises as `gripper_among_things`."""
        if not self._robot.file.gripper.links:
            yield
            return
        async with self._planning:
            await self._close()
            yield

    @asynccontextmanager
    async def undisturbed(self) -> AsyncIterator[None]:
        """While this lasts, nobody lets the gripper touch things; nothing is changed."""
        async with self._planning:
            yield

    async def _close(self) -> None:
        if not self._closed:
            await self._set(allowed=False)
            self._closed = True

    async def _try_to_close(self) -> None:
        try:
            await self._close()
        except (RobotLinkError, ToolError) as error:
            # What was planned is good; whoever plans next closes it first.
            log.warning("the gripper may still touch what the cameras see: %s", error)

    async def _set(self, *, allowed: bool) -> None:
        robot = self._robot
        answer = await robot.link.call_service(
            robot.file.services.get_planning_scene, {"components": {"components": ALLOWED_COLLISION_MATRIX}}
        )
        matrix: Message = (answer.get("scene") or {}).get("allowed_collision_matrix") or {}
        await apply(robot, matrix=changed(matrix, robot.file.gripper.links, allowed=allowed))


def along_fingers(start: Pose3D, goal: Pose3D) -> bool:
    """Return whether a straight path between two poses of the tool leads along its fingers, as one to a thing does."""
    along = distance_ahead(start, goal)
    aside = math.sqrt(max(0.0, math.dist(start.position, goal.position) ** 2 - along**2))
    return aside <= max(ASIDE_M, ASIDE_SHARE * abs(along))


def distance_ahead(start: Pose3D, goal: Pose3D) -> float:
    """Return how far `goal` is ahead of the tool, where the fingers point at `start` [m]; negative: behind it."""
    ahead = rotate(start.orientation, (0.0, 0.0, 1.0))
    return sum((b - a) * one for a, b, one in zip(start.position, goal.position, ahead, strict=True))


def changed(matrix: Message, links: list[str], *, allowed: bool) -> Message:
    """Return an AllowedCollisionMatrix by which the gripper and what it holds may touch things, or may not."""
    pairs = [(name, OCTOMAP) for name in (*links, HELD_ID)] + [(link, HELD_ID) for link in links]
    entries: list[str] = list(matrix.get("entry_names") or [])
    rows: list[list[bool]] = [list(row["enabled"]) for row in matrix.get("entry_values") or []]
    for name in dict.fromkeys(name for pair in pairs for name in pair):
        if name not in entries:
            entries.append(name)
            for row in rows:
                row.append(False)
            rows.append([False] * len(entries))
    for one, other in pairs:
        first, second = entries.index(one), entries.index(other)
        rows[first][second] = rows[second][first] = allowed
    return {**matrix, "entry_names": entries, "entry_values": [{"enabled": row} for row in rows]}
