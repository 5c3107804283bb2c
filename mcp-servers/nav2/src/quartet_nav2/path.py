"""get_path, get_path_from_robot."""

import math
from itertools import pairwise

from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import PathResult
from quartet_nav2.motion import pose_stamped, run_without_lease, verdict
from quartet_robot_link import Message, seconds
from quartet_tool_server import Finite, ToolServer

LIMIT_S = 15.0
MOST_POSES = 40
"""Poses of a path that are returned: enough to see where it goes."""


def register(server: ToolServer) -> None:
    """Add get_path and get_path_from_robot."""
    robot = server.robot

    @server.tool(read_only=True)
    async def get_path(
        start_x: Finite,
        start_y: Finite,
        goal_x: Finite,
        goal_y: Finite,
        start_yaw: Finite = 0.0,
        goal_yaw: Finite = 0.0,
        planner_id: str = "",
    ) -> PathResult:
        """The way that Nav2 would drive from one pose of the map to another; nothing moves.

        x, y in metres, yaw in radians, map frame. length_m is its length; poses are along it, at most 40. planner_id
        may be left out. Failures: NAVIGATION_FAILED (nav2_error says why, e.g. PLANNER_GOAL_OCCUPIED,
        PLANNER_NO_VALID_PATH), INVALID_PARAMETERS, NAV2_NOT_ACTIVE, TRANSFORM_UNAVAILABLE, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        start = pose_stamped(robot, start_x, start_y, start_yaw)
        return await plan(goal_x, goal_y, goal_yaw, planner_id, {"start": start, "use_start": True})

    @server.tool(read_only=True)
    async def get_path_from_robot(
        goal_x: Finite, goal_y: Finite, goal_yaw: Finite = 0.0, planner_id: str = ""
    ) -> PathResult:
        """The way that Nav2 would drive from where the robot stands to a pose of the map; nothing moves.

        As get_path: use it to learn whether a place can be reached, and how far it is, before navigate_to_pose.
        """
        return await plan(goal_x, goal_y, goal_yaw, planner_id, {"use_start": False})

    async def plan(x: float, y: float, yaw: float, planner_id: str, start: Message) -> PathResult:
        goal = {"goal": pose_stamped(robot, x, y, yaw), "planner_id": planner_id, **start}
        action = robot.file.actions.compute_path_to_pose
        outcome = await run_without_lease(robot, action, "ComputePathToPose", goal, limit_s=LIMIT_S)
        fields = verdict(outcome)
        del fields["duration_s"]
        poses = [pose_2d(message) for message in (outcome.values.get("path") or {}).get("poses") or []]
        if not fields.get("ok", True):
            return PathResult(**fields)
        length = sum(math.hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(poses))
        spent = outcome.values.get("planning_time")
        return PathResult(
            **fields,
            length_m=length,
            poses=thinned(poses),
            num_poses=len(poses),
            planning_time_s=None if spent is None else seconds(spent),
        )


def pose_2d(stamped: Message) -> Pose2D:
    """A PoseStamped on the floor."""
    position, q = stamped["pose"]["position"], stamped["pose"]["orientation"]
    yaw = math.atan2(2 * (q["w"] * q["z"] + q["x"] * q["y"]), 1 - 2 * (q["y"] ** 2 + q["z"] ** 2))
    return Pose2D(x=position["x"], y=position["y"], yaw=yaw, frame_id=stamped["header"]["frame_id"])


def thinned(poses: list[Pose2D]) -> list[Pose2D]:
    """At most MOST_POSES of them, evenly spread, both ends among them."""
    if len(poses) <= MOST_POSES:
        return poses
    step = (len(poses) - 1) / (MOST_POSES - 1)
    return [poses[round(number * step)] for number in range(MOST_POSES)]
