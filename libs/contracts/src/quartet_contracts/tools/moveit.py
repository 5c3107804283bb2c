"""Results of the moveit server's tools."""

from enum import StrEnum
from typing import Literal

from quartet_contracts.messages import Model
from quartet_contracts.tools.results import Metres, Pose3D, Radians, ToolResult


class MoveitCode(StrEnum):
    """Error codes of these tools, in addition to CommonCode."""

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
    WOULD_DROP = "WOULD_DROP"
    """A place would let go of what it holds where its last motion kept clear of everything; nothing was moved."""
    UNKNOWN_OBJECT = "UNKNOWN_OBJECT"
    """The planning scene has no such object."""
    UNKNOWN_OPERATION = "UNKNOWN_OPERATION"
    """No plan of this attempt has that operation_id."""
    PLAN_OUTDATED = "PLAN_OUTDATED"
    """The plan cannot be executed any more: plan again."""


SCENE_MAY_BE_WRONG = frozenset({MoveitCode.START_IN_COLLISION, MoveitCode.GOAL_IN_COLLISION})
"""Codes after which the planning scene may be cleared: it may show something where the arm is, or is to be.

After others it may not. It also knows what no camera shows just now, such as the top of a table over the hand, and the
arm would then be moved into that."""


class ArmResult(ToolResult):
    """plan_and_execute, plan_cartesian_path."""

    moveit_error_code: int = 0
    """Numeric moveit_msgs/MoveItErrorCodes value; 1 is success, 0 means that MoveIt has not answered."""
    moveit_error: str = ""
    planned: bool = False
    executed: bool = False
    fraction: float | None = None
    """Part of a Cartesian path that could be planned, 0 to 1."""
    pose: Pose3D | None = None
    """Tool pose in the base frame after the motion."""
    lowered_m: Metres = 0.0
    """How far below the wanted pose the motion was to end, because the arm cannot be any higher there."""
    duration_s: float | None = None


class CurrentPoseResult(ToolResult):
    """get_current_pose: tool pose in the base frame, joint positions [rad or m] by name."""

    pose: Pose3D | None = None
    joint_positions: dict[str, float] = {}


class SceneResult(ToolResult):
    """clear_planning_scene."""

    removed_objects: list[str] = []
    octomap_cleared: bool = False


class GraspState(StrEnum):
    """Content of the gripper, derived from its width and force, or how it stalled where no force is measured."""

    HOLDING = "HOLDING"
    EMPTY = "EMPTY"
    """Closed on nothing, or open with nothing between the fingers."""
    MOVING = "MOVING"
    UNKNOWN = "UNKNOWN"
    """The fingers touch something, but press too weakly for a certain grasp; or no force is measured and they did not
    stall, so that only the wrist camera can tell (`effort_n` is None)."""


class Release(Model):
    """The last time that fingers with something between them were opened and had nothing between them afterwards."""

    tool_position: tuple[Metres, Metres, Metres]
    """Of the flange just before, in the base frame as it was then."""
    tool_position_map: tuple[Metres, Metres, Metres] | None = None
    """The same in the map frame; None when the robot was not localised."""
    age_s: float
    """Time since then."""


class Grasp(Model):
    """Where the fingers closed on what they have held since."""

    tool_pose: Pose3D
    """Of the flange, in the odometry frame: as right as that frame is, it still holds after the base has moved."""
    age_s: float
    """Time since then."""


class GripperResult(ToolResult):
    """open_gripper, close_gripper, get_grasp_state. `state` never comes from a name."""

    state: GraspState = GraspState.UNKNOWN
    width_m: Metres | None = None
    """Distance between the finger pads."""
    effort_n: float | None = None
    stalled: bool | None = None
    reached_goal: bool | None = None
    attached_object: str | None = None
    """Only where the site's gripper driver publishes `attached:<name>`."""
    object_height_m: Metres | None = None
    """Of get_grasp_state: height of the held object, as given to close_gripper; None if it was not given."""
    released: Release | None = None
    """Of get_grasp_state; None when nothing was released since the server started, or its place is not known."""
    grasped: Grasp | None = None
    """Of get_grasp_state; None when nothing is held, or it is not known where the fingers closed on it."""


class CollisionObject(Model):
    """Obstacle of the planning scene, or an object attached to the gripper."""

    object_id: str
    shape: Literal["box", "sphere", "cylinder", "other"] = "other"
    dimensions_m: list[Metres] = []
    """Box: x, y, z; sphere: radius; cylinder: height, radius."""
    pose: Pose3D | None = None
    """Present pose in the base frame."""
    attached_to: str | None = None
    """Link to which the object is attached; None for an obstacle."""


class CollisionObjectResult(ToolResult):
    """add_collision_box, add_collision_sphere, remove_collision_object, attach_object, detach_object."""

    object: CollisionObject | None = None


class CollisionObjectsResult(ToolResult):
    """list_collision_objects."""

    objects: list[CollisionObject] = []


class Contact(Model):
    """Pair of bodies in contact: robot links, added objects, or `<octomap>` for what the sensors see."""

    first: str
    second: str
    depth_m: Metres | None = None


class StateCollisionResult(ToolResult):
    """check_state_collision."""

    in_collision: bool | None = None
    contacts: list[Contact] = []


class JointStateResult(ToolResult):
    """get_current_joint_state, compute_ik."""

    group: str = ""
    joint_names: list[str] = []
    joint_positions: list[Radians] = []
    """In the order of `joint_names`."""


class LinkPoseResult(ToolResult):
    """compute_fk."""

    link_name: str = ""
    pose: Pose3D | None = None


class PlanningGroup(Model):
    """Planning group of MoveIt."""

    name: str
    joint_names: list[str] = []
    named_states: dict[str, list[Radians]] = {}
    base_frame: str = ""
    tool_frame: str = ""


class PlanningGroupsResult(ToolResult):
    """list_planning_groups."""

    groups: list[PlanningGroup] = []


class OperationState(StrEnum):
    """State of a plan or an execution."""

    PLANNED = "PLANNED"
    PLAN_FAILED = "PLAN_FAILED"
    OUTDATED = "OUTDATED"
    """The planning scene has changed since: the plan is not executed any more."""
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    UNKNOWN = "UNKNOWN"
    """The outcome of the execution was lost, and the arm is not where the plan ends."""


class PlanResult(ToolResult):
    """plan_to_pose, plan_to_joint_state, plan_to_named_state, get_plan_result. Nothing moves."""

    operation_id: str = ""
    """Id of the plan for execute_plan."""
    state: OperationState | None = None
    moveit_error_code: int = 0
    moveit_error: str = ""
    num_points: int = 0
    planned_duration_s: float | None = None
    """Duration of the planned motion."""
    planning_time_s: float | None = None
    joint_names: list[str] = []
    final_positions: list[Radians] = []
    """Joint positions at the end of the path, in the order of `joint_names`."""


class ExecutionResult(ArmResult):
    """execute_plan, get_execution_status."""

    operation_id: str = ""
    state: OperationState | None = None
