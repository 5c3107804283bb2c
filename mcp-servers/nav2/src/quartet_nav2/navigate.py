"""navigate_to_pose, get_robot_pose, and the metrics of pose and battery."""

import math

from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.nav2 import MotionResult, RobotPoseResult
from quartet_nav2.motion import drive, pose_stamped, verdict, where
from quartet_robot_link import BridgeUnavailableError, Message, number
from quartet_site import Area, SiteFile, inside
from quartet_tool_server import Finite, ToolServer, metrics


def register(server: ToolServer) -> None:
    """Add navigate_to_pose and get_robot_pose; pose and battery are measured whenever somebody asks for the metrics."""
    robot, names = server.robot, server.robot.file

    def navigate_goal(x: float, y: float, yaw: float) -> tuple[str, Message]:
        return "NavigateToPose", {"pose": pose_stamped(robot, x, y, yaw)}

    @server.tool(moves="base", goal=navigate_goal)
    async def navigate_to_pose(x: Finite, y: Finite, yaw: Finite = 0.0) -> MotionResult:
        """Drive the base to a pose on the map, around obstacles. Tuck the arm first.

        x, y in metres and yaw in radians (0 looks along +x, positive to the left), in the map frame. Returns when the
        robot has arrived or given up; progress is reported meanwhile. The result holds the pose reached.
        Failures: NAVIGATION_FAILED (nav2_error says why; e.g. PLANNER_GOAL_OCCUPIED: choose a pose further from
        furniture; CONTROLLER_FAILED_TO_MAKE_PROGRESS or PLANNER_NO_VALID_PATH: clear_costmaps, then once more),
        NAVIGATION_CANCELED, NAV2_NOT_ACTIVE (wait), TRANSFORM_UNAVAILABLE (not localised), BUSY (another motion runs),
        TIMEOUT or BRIDGE_UNAVAILABLE (outcome unknown: get_robot_pose before trying again), STOPPED (report it).
        """

        def report(feedback: Message) -> tuple[float, float | None, str]:
            left = number(feedback.get("distance_remaining"))
            pose = feedback["current_pose"]["pose"]["position"]
            left = math.hypot(x - pose["x"], y - pose["y"]) if left is None else left
            total = math.hypot(pose["x"] - start[0], pose["y"] - start[1]) + left
            return max(0.0, total - left), total, f"{left:.2f} m to go"

        kind, goal = navigate_goal(x, y, yaw)
        async with server.leases.acquire("base", "navigate_to_pose") as lease:
            here = await where(robot)
            start = (x, y) if here is None else (here.x, here.y)
            outcome = await drive(
                server,
                lease,
                names.actions.navigate_to_pose,
                kind,
                goal,
                limit_s=names.base.navigation_timeout_s,
                progress=report,
            )
            pose = await where(robot)
        left = None if pose is None else math.hypot(x - pose.x, y - pose.y)
        return MotionResult(pose=pose, distance_remaining_m=left, **verdict(outcome))

    @server.tool(read_only=True)
    async def get_robot_pose() -> RobotPoseResult:
        """Where the base stands now: x, y [m], yaw [rad] in the map frame, and the area of the home it is in.

        area is null between areas. Failures: TRANSFORM_UNAVAILABLE (the message names the missing frame; the robot is
        not localised: wait and try again), BRIDGE_UNAVAILABLE.
        """
        if not robot.link.connected:
            # The transforms that have arrived stay usable for seconds, and the base may be driving.
            raise BridgeUnavailableError("no connection to the robot's rosbridge, so its pose is not known")
        found = await robot.base_pose()
        pose = Pose2D(x=found.x, y=found.y, yaw=found.yaw, frame_id=found.frame)
        area = area_at(server.site, pose.x, pose.y)
        return RobotPoseResult(pose=pose, area=None if area is None else area.name)

    def measure() -> None:
        robot.battery.start()
        if (pose := robot.last_base_pose()) is not None:
            for name, value in ((metrics.POSE_X, pose.x), (metrics.POSE_Y, pose.y), (metrics.POSE_YAW, pose.yaw)):
                server.metrics.set(name, value)
        if (ratio := robot.battery.ratio) is not None:
            server.metrics.set(metrics.BATTERY, ratio)

    server.gauges.append(measure)


def area_at(site: SiteFile, x: float, y: float) -> Area | None:
    """The area whose outline holds the point (map frame, m); the first one where outlines overlap."""
    return next((area for area in site.areas if inside(area.outline, x, y)), None)
