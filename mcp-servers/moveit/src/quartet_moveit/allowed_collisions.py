"""MoveIt's allowed collision matrix: the gripper among things that the cameras see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from quartet_moveit.held_object import OBJECT_ID
from quartet_moveit.objects import apply
from quartet_robot_link import Message, Robot

OCTOMAP = "<octomap>"
"""MoveIt's name for what the cameras see, as an entry of the matrix."""
ALLOWED_COLLISION_MATRIX = 128
"""Component of moveit_msgs/msg/PlanningSceneComponents."""


@asynccontextmanager
async def gripper_among_things(robot: Robot) -> AsyncIterator[None]:
    """While this lasts, the gripper and what it holds may be where the cameras see something.

    A hand that goes straight down to a thing has its fingers beside it, in the same voxels; what is lifted stands on
    something. The arm stays checked. Without `gripper.links` in robot.yaml nothing is changed.

    Raises ToolError ROS_ERROR, CallTimeoutError, BridgeUnavailableError.
    """
    links = robot.file.gripper.links
    if not links:
        yield
        return
    names = [*links, OBJECT_ID]
    await _set(robot, names, allowed=True)
    try:
        yield
    finally:
        await _set(robot, names, allowed=False)


async def _set(robot: Robot, names: list[str], *, allowed: bool) -> None:
    answer = await robot.link.call_service(
        robot.file.services.get_planning_scene, {"components": {"components": ALLOWED_COLLISION_MATRIX}}
    )
    matrix: Message = (answer.get("scene") or {}).get("allowed_collision_matrix") or {}
    await apply(robot, matrix=changed(matrix, names, allowed=allowed))


def changed(matrix: Message, names: list[str], *, allowed: bool) -> dict[str, Any]:
    """Return an AllowedCollisionMatrix in which each of `names` may touch the octomap, or may not."""
    entries: list[str] = list(matrix.get("entry_names") or [])
    rows: list[list[bool]] = [list(row["enabled"]) for row in matrix.get("entry_values") or []]
    for name in (OCTOMAP, *names):
        if name not in entries:
            entries.append(name)
            for row in rows:
                row.append(False)
            rows.append([False] * len(entries))
    seen = entries.index(OCTOMAP)
    for name in names:
        index = entries.index(name)
        rows[index][seen] = rows[seen][index] = allowed
    return {**matrix, "entry_names": entries, "entry_values": [{"enabled": row} for row in rows]}
