"""Results of the moveit server's tools."""

from enum import StrEnum

from quartet_contracts.tools.base import Metres, Pose3D, ToolResult


class MoveitCode(StrEnum):
    """Codes beside CommonCode."""

    PLANNING_FAILED = "PLANNING_FAILED"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    OUT_OF_REACH = "OUT_OF_REACH"
    """No inverse kinematics for the pose."""
    START_IN_COLLISION = "START_IN_COLLISION"
    GOAL_IN_COLLISION = "GOAL_IN_COLLISION"
    PATH_INCOMPLETE = "PATH_INCOMPLETE"
    """A straight path was possible only in part; nothing was moved."""
    INVALID_GROUP = "INVALID_GROUP"
    UNKNOWN_STATE = "UNKNOWN_STATE"
    GRIPPER_FAILED = "GRIPPER_FAILED"


class ArmResult(ToolResult):
    """plan_and_execute, plan_cartesian_path."""

    moveit_error_code: int = 0
    """Numeric moveit_msgs/MoveItErrorCodes value; 1 is success, 0 means that MoveIt did not come to an answer."""
    moveit_error: str = ""
    planned: bool = False
    executed: bool = False
    fraction: float | None = None
    """Part of a Cartesian path that could be planned, 0 to 1."""
    pose: Pose3D | None = None
    """Tool pose in the base frame after the motion."""
    duration_s: float | None = None


class CurrentPoseResult(ToolResult):
    pose: Pose3D | None = None
    joint_positions: dict[str, float] = {}


class SceneResult(ToolResult):
    """clear_planning_scene."""

    removed_objects: list[str] = []
    octomap_cleared: bool = False


class GraspState(StrEnum):
    HOLDING = "HOLDING"
    EMPTY = "EMPTY"
    """Closed on nothing, or open with nothing between the fingers."""
    MOVING = "MOVING"
    UNKNOWN = "UNKNOWN"


class GripperResult(ToolResult):
    """open_gripper, close_gripper, get_grasp_state. What is held comes from width and force, never from a name."""

    state: GraspState = GraspState.UNKNOWN
    width_m: Metres | None = None
    """Distance between the finger pads."""
    effort_n: float | None = None
    stalled: bool | None = None
    reached_goal: bool | None = None
    attached_object: str | None = None
    """Only where the site's gripper driver publishes `attached:<name>`."""
