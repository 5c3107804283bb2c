"""Joint positions for a tool pose: for the pose itself, or for the highest below it that is possible."""

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


async def _ask(robot: Robot, group: str, pose: Pose3D, *, avoid_collisions: bool) -> tuple[int, list[float] | None]:
    """Return MoveIt's code, and the joint positions nearest to the present ones or None."""
    request = ik_request(robot, group, pose, avoid_collisions=avoid_collisions)
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
