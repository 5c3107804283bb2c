"""Numeric error codes of Nav2's action results on ROS 2 Jazzy, their names, and what to do about them.

Source: ros-navigation/navigation2, branch jazzy, nav2_msgs/action/*.action; 602, 603 and those from 9000 on came after
it. NavigateToPose hands up the codes of its planner (200), controller (100), smoother (500) and behaviours (700).
"""

_GROUPS: dict[str, dict[int, str]] = {
    "CONTROLLER": {
        100: "UNKNOWN",
        101: "INVALID_CONTROLLER",
        102: "TF_ERROR",
        103: "INVALID_PATH",
        104: "PATIENCE_EXCEEDED",
        105: "FAILED_TO_MAKE_PROGRESS",
        106: "NO_VALID_CONTROL",
        107: "CONTROLLER_TIMED_OUT",
    },
    "PLANNER": {
        200: "UNKNOWN",
        201: "INVALID_PLANNER",
        202: "TF_ERROR",
        203: "START_OUTSIDE_MAP",
        204: "GOAL_OUTSIDE_MAP",
        205: "START_OCCUPIED",
        206: "GOAL_OCCUPIED",
        207: "TIMEOUT",
        208: "NO_VALID_PATH",
    },
    "SMOOTHER": {
        500: "UNKNOWN",
        501: "INVALID_SMOOTHER",
        502: "TIMEOUT",
        503: "SMOOTHED_PATH_IN_COLLISION",
        504: "FAILED_TO_SMOOTH_PATH",
        505: "INVALID_PATH",
    },
    "WAYPOINTS": {
        600: "UNKNOWN",
        601: "TASK_EXECUTOR_FAILED",
        602: "NO_VALID_WAYPOINTS",
        603: "STOP_ON_MISSED_WAYPOINT",
    },
    "SPIN": {700: "UNKNOWN", 701: "TIMEOUT", 702: "TF_ERROR", 703: "COLLISION_AHEAD"},
    "BACKUP": {710: "UNKNOWN", 711: "TIMEOUT", 712: "TF_ERROR", 713: "INVALID_INPUT", 714: "COLLISION_AHEAD"},
    "DRIVE": {720: "UNKNOWN", 721: "TIMEOUT", 722: "TF_ERROR", 723: "COLLISION_AHEAD", 724: "INVALID_INPUT"},
    "DOCKING": {
        901: "DOCK_NOT_IN_DB",
        902: "DOCK_NOT_VALID",
        903: "FAILED_TO_STAGE",
        904: "FAILED_TO_DETECT_DOCK",
        905: "FAILED_TO_CONTROL",
        906: "FAILED_TO_CHARGE",
        999: "UNKNOWN",
    },
    "NAVIGATOR": {9000: "UNKNOWN", 9001: "FAILED_TO_LOAD_BEHAVIOR_TREE", 9002: "TF_ERROR", 9003: "TIMEOUT"},
}

NAMES: dict[int, str] = {
    0: "NONE",
    **{code: f"{group}_{name}" for group, names in _GROUPS.items() for code, name in names.items()},
}

MISSED_WAYPOINT = "missed says at which waypoint and why: look, then go on from there or choose another pose"
"""The advice for it; Jazzy itself has no code for a missed waypoint."""

_ADVICE: tuple[tuple[str, str], ...] = (
    ("GOAL_OCCUPIED", "the goal is inside an obstacle: choose a pose further from furniture and walls"),
    ("GOAL_OUTSIDE_MAP", "the goal is outside the map: check x and y (map frame, metres)"),
    ("START_OCCUPIED", "the robot touches an obstacle in the costmap: clear_costmaps, or back up a little"),
    ("NO_VALID_PATH", "no free way leads there: clear_costmaps and try once more, then choose another pose"),
    ("INVALID_PLANNER", "leave planner_id out: the robot's default is used then"),
    ("START_OUTSIDE_MAP", "the start is outside the map: check its x and y (map frame, metres)"),
    ("MISSED_WAYPOINT", MISSED_WAYPOINT),
    ("DOCK_NOT_IN_DB", "the docking server knows no such dock: give the dock's pose (x, y, yaw) instead"),
    ("DOCK_NOT_VALID", "leave dock_type out, or use one that the docking server is configured with"),
    ("FAILED_TO_STAGE", "the pose before the dock could not be reached: look whether something stands there"),
    ("FAILED_TO_MAKE_PROGRESS", "the robot was blocked: clear_costmaps and try once more"),
    ("COLLISION_AHEAD", "an obstacle is in the way: the robot stopped before it; look, then turn or back up"),
    ("TF_ERROR", "the robot does not know where it is: wait for localisation, then try once more"),
    ("TIMEOUT", "it took too long: look where the robot stands and try once more"),
    ("NO_VALID_CONTROL", "the controller found no safe velocity: clear_costmaps, or back up a little"),
)


def name_of(code: int) -> str:
    """Name of a code, `CODE_<number>` for one that Jazzy does not define."""
    return NAMES.get(code, f"CODE_{code}")


def advice(name: str) -> str:
    """Return what to do about a code."""
    return next(
        (text for end, text in _ADVICE if name.endswith(end)), "look where the robot stands before trying again"
    )
