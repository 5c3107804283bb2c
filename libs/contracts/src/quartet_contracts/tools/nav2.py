"""Results of the nav2 server's tools."""

from enum import StrEnum

from quartet_contracts.messages import Model
from quartet_contracts.tools.results import Metres, Pose2D, Radians, ToolResult


class NavCode(StrEnum):
    """Error codes of these tools, in addition to CommonCode."""

    NAVIGATION_FAILED = "NAVIGATION_FAILED"
    NAVIGATION_CANCELED = "NAVIGATION_CANCELED"
    NAV2_NOT_ACTIVE = "NAV2_NOT_ACTIVE"
    INVALID_WAYPOINTS = "INVALID_WAYPOINTS"


class MotionResult(ToolResult):
    """navigate_to_pose, spin_robot, drive_on_heading, backup_robot."""

    pose: Pose2D | None = None
    """Pose of the base after the motion."""
    nav2_error_code: int = 0
    """Numeric code of the Nav2 action result; 0 is none."""
    nav2_error: str = ""
    """Name of that code."""
    distance_remaining_m: Metres | None = None
    duration_s: float | None = None
    """ROS time that the motion took."""


class ApproachTargetResult(MotionResult):
    """approach_target. Distances are from base_footprint to the target on the floor plane."""

    distance_before_m: Metres = 0.0
    bearing_before_rad: Radians = 0.0
    distance_after_m: Metres | None = None
    """From odometry: `distance_before_m` minus the driven distance."""
    bearing_after_rad: Radians | None = None
    turned_rad: Radians = 0.0
    driven_m: Metres = 0.0
    within_tolerance: bool = False


class MissedWaypoint(Model):
    """A waypoint that was not reached."""

    index: int
    nav2_error_code: int = 0
    nav2_error: str = ""


class WaypointsResult(MotionResult):
    """follow_waypoints; it ends at the first waypoint that is missed."""

    waypoints: int = 0
    """Number of waypoints in the call."""
    reached: int | None = None
    """Number of waypoints that were certainly reached; None when it is unknown."""
    missed: list[MissedWaypoint] = []


class PathResult(ToolResult):
    """get_path, get_path_from_robot. Nothing moves."""

    length_m: Metres | None = None
    poses: list[Pose2D] = []
    """From start to goal in the map frame, thinned out; both ends are among them."""
    num_poses: int = 0
    """Number of poses of the whole path."""
    planning_time_s: float | None = None
    nav2_error_code: int = 0
    nav2_error: str = ""


class WaitResult(ToolResult):
    """wait. Nothing moves."""

    waited_s: float | None = None
    """Waited ROS time, as Nav2 reports it."""


class DockResult(MotionResult):
    """dock_robot, undock_robot."""

    num_retries: int = 0


class LifecycleResult(ToolResult):
    """nav2_lifecycle."""

    operation: str = ""
    done: bool = False
    """Whether Nav2's lifecycle manager confirmed the transition of all its nodes."""


class RobotPoseResult(ToolResult):
    """get_robot_pose."""

    pose: Pose2D | None = None
    area: str | None = None
    """Area of the site whose outline holds the pose, if any."""


class ClearCostmapsResult(ToolResult):
    """clear_costmaps: names of the costmaps that were cleared."""

    cleared: list[str] = []


class CancelResult(ToolResult):
    """cancel_navigation."""

    canceled: list[str] = []
    """Actions whose goals were canceled."""
    running: list[str] = []
    """Actions and tools that go on although they were to be canceled; there are some with ok false only."""
    standstill: bool | None = None
