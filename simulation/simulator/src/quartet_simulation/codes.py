"""Numeric result codes as ROS 2 Jazzy's own messages define them.

Sources: nav2_msgs/action/{ComputePathToPose,FollowPath,Spin,BackUp,DriveOnHeading,DockRobot}.action (Jazzy),
moveit_msgs/msg/MoveItErrorCodes.msg. On Jazzy NavigateToPose defines no code of its own, and FollowWaypoints none for
a missed waypoint or an empty list: those end aborted with code 0 and a text.
"""

from enum import IntEnum


class NavCode(IntEnum):
    """Error codes that NavigateToPose hands up from its planner and controller."""

    NONE = 0
    CONTROLLER_UNKNOWN = 100
    FAILED_TO_MAKE_PROGRESS = 105
    NO_VALID_CONTROL = 106
    PLANNER_UNKNOWN = 200
    INVALID_PLANNER = 201
    TF_ERROR = 202
    START_OUTSIDE_MAP = 203
    GOAL_OUTSIDE_MAP = 204
    START_OCCUPIED = 205
    GOAL_OCCUPIED = 206
    PLANNER_TIMEOUT = 207
    NO_VALID_PATH = 208


class SpinCode(IntEnum):
    """Error codes of nav2_msgs/action/Spin."""

    NONE = 0
    UNKNOWN = 700
    TIMEOUT = 701
    TF_ERROR = 702
    COLLISION_AHEAD = 703


class BackUpCode(IntEnum):
    """Error codes of nav2_msgs/action/BackUp."""

    NONE = 0
    UNKNOWN = 710
    TIMEOUT = 711
    TF_ERROR = 712
    INVALID_INPUT = 713
    COLLISION_AHEAD = 714


class DriveCode(IntEnum):
    """Error codes of nav2_msgs/action/DriveOnHeading."""

    NONE = 0
    UNKNOWN = 720
    TIMEOUT = 721
    TF_ERROR = 722
    COLLISION_AHEAD = 723
    INVALID_INPUT = 724


class DockCode(IntEnum):
    """nav2_msgs/action/{DockRobot,UndockRobot}."""

    NONE = 0
    DOCK_NOT_IN_DB = 901
    DOCK_NOT_VALID = 902
    FAILED_TO_STAGE = 903
    FAILED_TO_DETECT_DOCK = 904
    FAILED_TO_CONTROL = 905
    FAILED_TO_CHARGE = 906
    UNKNOWN = 999


class MoveItCode(IntEnum):
    """Values of moveit_msgs/msg/MoveItErrorCodes."""

    SUCCESS = 1
    FAILURE = 99999
    PLANNING_FAILED = -1
    INVALID_MOTION_PLAN = -2
    CONTROL_FAILED = -4
    TIMED_OUT = -6
    PREEMPTED = -7
    START_STATE_IN_COLLISION = -10
    GOAL_IN_COLLISION = -12
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    NO_IK_SOLUTION = -31
