"""Joint positions for a tool pose: for the pose itself, or for the highest below it that is possible."""

import math
from collections.abc import Sequence
from random import Random

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import MoveitCode
from quartet_moveit.arm import moveit_code
from quartet_moveit.codes import ADVICE, SUCCESS, name_of
from quartet_moveit.requests import ik_request
from quartet_robot_link import Robot
from quartet_tool_server import ToolError

IK_TIMEOUT_S = 5.0
LOWER_STEP_M = 0.02
"""Distance between the heights that are tried. It is also the room that is left to what stopped the arm higher up, more
than an arm may miss its target by (arm.REACHED_M)."""
MAX_LOWER_M = 0.5
BEGINNINGS = 12
"""Places where searches for other joint positions begin: the eight solutions that many arms have are mostly found."""
SAME_RAD = 0.1
"""Joint positions nearer than this are the same solution."""


async def solve(robot: Robot, group: str, pose: Pose3D) -> list[float]:
    """Joint positions for a tool pose. Raises ToolError OUT_OF_REACH or GOAL_IN_COLLISION."""
    code, joints = await _ask(robot, group, pose, avoid_collisions=True)
    if joints is not None:
        return joints
    x, y, z = pose.position
    where = f"({x:.3f}, {y:.3f}, {z:.3f}) in {pose.frame_id}"
    code, touching = await _ask(robot, group, pose, avoid_collisions=False)
    if touching is None:
        raise _unreachable(code, f"no joint positions bring the tool to {where}", MoveitCode.OUT_OF_REACH)
    text = f"at {where} the arm would touch something in the planning scene"
    raise _unreachable(-12, text, MoveitCode.GOAL_IN_COLLISION)


async def highest(robot: Robot, group: str, pose: Pose3D, lower_by_m: float) -> tuple[Pose3D, list[float]]:
    """Return the highest pose that the arm reaches free of collisions, at most lower_by_m below `pose`, and its joints.

    A pose that had to be lowered is LOWER_STEP_M below the highest possible one where that is allowed and free as well.
    Raises ToolError OUT_OF_REACH or GOAL_IN_COLLISION of `pose` itself.
    """
    try:
        return pose, await solve(robot, group, pose)
    except ToolError as error:
        if lower_by_m <= 0 or error.code not in {MoveitCode.OUT_OF_REACH, MoveitCode.GOAL_IN_COLLISION}:
            raise
        found: tuple[Pose3D, list[float]] | None = None
        for down in _steps(lower_by_m):
            x, y, z = pose.position
            lower = pose.model_copy(update={"position": (x, y, z - down)})
            _, joints = await _ask(robot, group, lower, avoid_collisions=True)
            if found is not None:
                return found if joints is None else (lower, joints)
            if joints is not None:
                found = lower, joints
        if found is None:
            raise ToolError(
                f"{error} Nor is anything up to {lower_by_m:.2f} m lower possible.", code=error.code, **error.fields
            ) from None
        return found


def _steps(most: float) -> list[float]:
    """Distances [m] downward in steps of LOWER_STEP_M; `most` is the last one."""
    return [*(number * LOWER_STEP_M for number in range(1, int(most / LOWER_STEP_M - 1e-6) + 1)), most]


async def other_solutions(robot: Robot, group: str, pose: Pose3D, now: Sequence[float]) -> list[list[float]]:
    """Return other joint positions than `now` that bring the tool to `pose` without collisions, nearest to `now` first.

    MoveIt gives one solution for each place where its search begins: some are drawn, the same ones for the same arm.
    """
    found = list[list[float]]()
    begins = Random(len(now))
    for _ in range(BEGINNINGS):
        near = [begins.uniform(-math.pi, math.pi) for _ in now]
        _, joints = await _ask(robot, group, pose, avoid_collisions=True, near=near)
        if joints is None:
            continue
        # Without whole turns it is nearer; MoveIt knows whether the joints get there.
        turned = [a + math.remainder(b - a, math.tau) for a, b in zip(now, joints, strict=True)]
        if _apart(turned, joints) > SAME_RAD:
            _, nearer = await _ask(robot, group, pose, avoid_collisions=True, near=turned)
            joints = nearer or joints
        if all(_apart(joints, known) > SAME_RAD for known in (now, *found)):
            found.append(joints)
    return sorted(found, key=lambda joints: sum(abs(a - b) for a, b in zip(joints, now, strict=True)))


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the largest difference of a joint between two positions of the arm [rad]."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


async def _ask(
    robot: Robot, group: str, pose: Pose3D, *, avoid_collisions: bool, near: Sequence[float] | None = None
) -> tuple[int, list[float] | None]:
    """Return MoveIt's code, and the joint positions nearest to `near` (None: to the present ones), or None."""
    request = ik_request(robot, group, pose, avoid_collisions=avoid_collisions, near=near)
    response = await robot.link.call_service(robot.file.services.compute_ik, request, timeout_s=IK_TIMEOUT_S)
    code = moveit_code(response)
    if code != SUCCESS:
        return code, None
    state = response["solution"]["joint_state"]
    found = dict(zip(state["name"], map(float, state["position"]), strict=True))
    return code, [found[name] for name in robot.file.arm.joints]


def _unreachable(code: int, text: str, wire: MoveitCode) -> ToolError:
    return ToolError(
        f"{text}; {ADVICE[wire]}. Nothing moved.", code=wire, moveit_error_code=code, moveit_error=name_of(code)
    )
