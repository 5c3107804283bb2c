"""What a team is told of a call that failed: in terms of the functions that its programs have, not of the servers'."""

import re

from quartet_contracts.tools.moveit import ArmResult, MoveitCode
from quartet_contracts.tools.results import CommonCode, PolicyCode, ToolResult

_AGAIN = "choose another position or yaw, or go by more waypoints"
_TOLD: dict[str, str] = {
    MoveitCode.PLANNING_FAILED: f"no way without a collision was found, and nothing moved; {_AGAIN}",
    MoveitCode.EXECUTION_FAILED: "the arm stopped on the way; go up first, then there again",
    MoveitCode.OUT_OF_REACH: "the arm does not reach it, and nothing moved; choose another position or yaw",
    MoveitCode.START_IN_COLLISION: "the arm touches something where it is, and nothing moved; go up first",
    MoveitCode.GOAL_IN_COLLISION: "the arm would touch something there, and nothing moved; choose a higher position or "
    "another yaw",
    MoveitCode.PATH_INCOMPLETE: "part of the straight way is out of reach or not free; go by a waypoint aside, or "
    "choose another position",
    MoveitCode.GRIPPER_FAILED: "something is in the fingers' way, or their drive gave up; go up, or try it again",
    CommonCode.CANCELED: "the motion was canceled",
}
"""By code, where the server's own advice is for an agent that has all its tools."""
_TERMS = {
    "plan_and_execute": "execute_trajectory",
    "plan_cartesian_path": "execute_trajectory",
    "get_current_pose": "reading the arm's pose",
    "get_grasp_state": "reading the gripper's sensors",
    "clear_planning_scene": "clearing the planning scene",
    "detect_objects": "looking with the cameras",
    "get_topdown_grasp_pose": "looking with the cameras",
}
"""What the tools are to a program that calls one of the functions."""
_TOOL = re.compile(rf"\b(?:[a-z]+__)?({'|'.join(_TERMS)})\b")
_SERVER = re.compile(r"\b(?:moveit|perception)__")


def why(result: ToolResult, flange_above_m: float) -> str:
    """Return code and reason of a failed call; `flange_above_m`: how far the flange is above a program's position."""
    text = _TOLD.get(result.error_code) or in_terms_of_functions(result.message)
    part = result.fraction if isinstance(result, ArmResult) else None
    if result.error_code == MoveitCode.PATH_INCOMPLETE and part is not None:
        text = f"only {part:.0%} of the way is possible: {text}"
    if result.error_code == PolicyCode.OUTSIDE_WORKSPACE:
        text = f"{text} The flange is {flange_above_m:.3f} m above the position of execute_trajectory."
    return f"{result.error_code}: {text}"


def in_terms_of_functions(text: str) -> str:
    """Return a text with the functions of a program in place of the servers' tools."""
    return _SERVER.sub("", _TOOL.sub(lambda found: _TERMS[found[1]], text))
