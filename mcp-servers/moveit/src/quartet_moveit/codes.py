"""Numeric codes of MoveIt on ROS 2 Jazzy, their names, and the tool's error code for each.

Source: moveit/moveit_msgs, ros2 branch, msg/MoveItErrorCodes.msg.
"""

from quartet_contracts.tools.moveit import MoveitCode
from quartet_contracts.tools.results import CommonCode

SUCCESS = 1
INVALID_MOTION_PLAN = -2
"""Of a planner: the timed trajectory that it found is in collision (ValidateSolution). Of an execution: the trajectory
does not begin where the arm is. Nothing has moved."""

NAMES: dict[int, str] = {
    1: "SUCCESS",
    99999: "FAILURE",
    -1: "PLANNING_FAILED",
    -2: "INVALID_MOTION_PLAN",
    -3: "MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE",
    -4: "CONTROL_FAILED",
    -5: "UNABLE_TO_AQUIRE_SENSOR_DATA",
    -6: "TIMED_OUT",
    -7: "PREEMPTED",
    -10: "START_STATE_IN_COLLISION",
    -11: "START_STATE_VIOLATES_PATH_CONSTRAINTS",
    -12: "GOAL_IN_COLLISION",
    -13: "GOAL_VIOLATES_PATH_CONSTRAINTS",
    -14: "GOAL_CONSTRAINTS_VIOLATED",
    -15: "INVALID_GROUP_NAME",
    -16: "INVALID_GOAL_CONSTRAINTS",
    -17: "INVALID_ROBOT_STATE",
    -18: "INVALID_LINK_NAME",
    -19: "INVALID_OBJECT_NAME",
    -21: "FRAME_TRANSFORM_FAILURE",
    -22: "COLLISION_CHECKING_UNAVAILABLE",
    -23: "ROBOT_STATE_STALE",
    -24: "SENSOR_INFO_STALE",
    -25: "COMMUNICATION_FAILURE",
    -26: "START_STATE_INVALID",
    -27: "GOAL_STATE_INVALID",
    -28: "UNRECOGNIZED_GOAL_TYPE",
    -29: "CRASH",
    -30: "ABORT",
    -31: "NO_IK_SOLUTION",
}

_TOOL_CODES: dict[int, str] = {
    -3: MoveitCode.EXECUTION_FAILED,
    -4: MoveitCode.EXECUTION_FAILED,
    -7: CommonCode.CANCELED,
    -10: MoveitCode.START_IN_COLLISION,
    -12: MoveitCode.GOAL_IN_COLLISION,
    -15: MoveitCode.INVALID_GROUP,
    -21: CommonCode.TRANSFORM_UNAVAILABLE,
    -31: MoveitCode.OUT_OF_REACH,
}

ADVICE: dict[str, str] = {
    MoveitCode.PLANNING_FAILED: "no collision-free way was found: once more, since the planner tries at random",
    MoveitCode.EXECUTION_FAILED: "the arm did not get there: plan again from where it is",
    MoveitCode.START_IN_COLLISION: "the arm touches something in the planning scene: clear the scene, then try again",
    MoveitCode.GOAL_IN_COLLISION: "the arm would touch something there: choose a higher pose; to an object to be "
    "grasped go straight down",
    MoveitCode.OUT_OF_REACH: "the arm cannot reach that pose from here: drive nearer, or choose another pose",
    CommonCode.CANCELED: "the motion was canceled; look where the arm is before going on",
}


def name_of(code: int) -> str:
    """Name of a code, `CODE_<number>` for one that MoveIt does not define."""
    return NAMES.get(code, f"CODE_{code}")


def tool_code(code: int, *, planned: bool) -> str:
    """error_code of the tool for MoveIt's code; `planned`: a path was found, so it is the execution that failed."""
    known = _TOOL_CODES.get(code)
    return known or (MoveitCode.EXECUTION_FAILED if planned else MoveitCode.PLANNING_FAILED)
