"""MoveIt's allowed collision matrix: the gripper among things that the cameras see."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
    something, and what was put down is between the fingers. The arm stays checked. Without `gripper.links` in
    robot.yaml nothing is changed.

    Raises ToolError ROS_ERROR, CallTimeoutError, BridgeUnavailableError.
    """
    links = robot.file.gripper.links
    if not links:
        yield
        return
    await _set(robot, links, allowed=True)
    try:
        yield
    finally:
        await _set(robot, links, allowed=False)


async def _set(robot: Robot, links: list[str], *, allowed: bool) -> None:
    answer = await robot.link.call_service(
        robot.file.services.get_planning_scene, {"components": {"components": ALLOWED_COLLISION_MATRIX}}
    )
    matrix: Message = (answer.get("scene") or {}).get("allowed_collision_matrix") or {}
    await apply(robot, matrix=changed(matrix, links, allowed=allowed))


def changed(matrix: Message, links: list[str], *, allowed: bool) -> Message:
    """Return an AllowedCollisionMatrix by which the gripper and what it holds may touch things, or may not."""
    pairs = [(name, OCTOMAP) for name in (*links, OBJECT_ID)] + [(link, OBJECT_ID) for link in links]
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
