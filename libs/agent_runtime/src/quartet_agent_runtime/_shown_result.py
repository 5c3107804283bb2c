"""What a model is shown of a tool's result: no more than it needs, since every later turn pays for it again.

Journal and checks have the whole result. Failures are shown whole, and so are results of tools that are not in UNREAD.
"""

from typing import Any, cast

_SKILL = frozenset({"ok", "tool_calls_used", "checks"})
_ARM = frozenset(
    {
        "moveit_error_code",
        "moveit_error",
        "planned",
        "executed",
        "fraction",
        "pose",
        "lowered_m",
        "duration_s",
    }
)
_GRIPPER = frozenset({"stalled", "reached_goal", "released", "grasped", "width_m", "effort_n"})
_SEEN = frozenset(
    {
        "box_xyxy",
        "position_base",
        "position_base_sd",
        "position_map",
        "position_map_sd",
        "near_point_base",
        "bearing_rad",
        "size_m",
        "visible",
    }
)
UNREAD: dict[str, frozenset[str]] = {
    "approach": _SKILL,
    "pick": _SKILL,
    "place": _SKILL,
    "moveit__plan_and_execute": _ARM,
    "moveit__plan_cartesian_path": _ARM,
    "moveit__open_gripper": _GRIPPER,
    "moveit__close_gripper": _GRIPPER,
    "moveit__get_grasp_state": _GRIPPER,
    "nav2__navigate_to_pose": frozenset(
        {"pose", "nav2_error_code", "nav2_error", "distance_remaining_m", "duration_s"}
    ),
    "perception__look": frozenset({"cameras"}),
    "perception__detect_objects": _SEEN,
    "perception__get_topdown_grasp_pose": frozenset(
        {
            "bounding_box",
            "camera",
            "centroid_base",
            "centroid_camera",
            "grasp_width_m",
            "gripper_offset_m",
            "needed_room_m",
            "num_points",
            "object_id",
            "object_name",
            "oriented",
            "position_sd_m",
            "room_m",
            "width_sd_m",
            "yaw_sd_rad",
        }
    ),
    "perception__get_topdown_placing_pose": frozenset(
        {"camera", "drop_point", "mode", "object_id", "surface_centroid", "surface_height_m", "target_name"}
    ),
}
"""By tool: the fields of its result, at any depth, that no prompt speaks of."""
DECIMALS = 3
"""Of numbers: millimetres, and milliradians in quaternions, which is finer than the robot measures and moves."""


def shown_result(tool: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call that succeeded, without fields that are UNREAD or empty, and with DECIMALS.

    Empty lists are kept: they say that nothing was found. The code of a tool that is `ok` is always NONE and left out;
    that of a skill stays, since the orchestrator decides by it.
    """
    unread = UNREAD.get(tool)
    if unread is None:
        return content
    lean = cast("dict[str, Any]", _lean(content, unread))
    if "__" in tool:  # a tool of an MCP server
        lean.pop("error_code", None)
    return lean


def _lean(value: Any, unread: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_lean(one, unread) for one in cast("list[Any]", value)]
    if isinstance(value, float):
        return round(value, DECIMALS)
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    return {name: _lean(one, unread) for name, one in fields.items() if name not in unread and one not in ("", None)}
