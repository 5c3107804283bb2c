"""Descriptions of tool calls and skills in plain English."""

import json
import math
from collections.abc import Callable
from typing import Any, cast

from quartet_contracts.skills import PARKING

Arguments = dict[str, Any]


def skill_words(skill: str, arguments: Arguments) -> str:
    """Return a request for a skill as an instruction to the robot; a program in one line."""
    a = arguments
    if skill == "approach" and a.get("object_name") == PARKING:
        return f"park in the {_name(a, 'target_area')}, in nobody's way"
    if skill == "approach" and a.get("next_action") == "floor_place" and _name(a, "object_name").lower() == "floor":
        return f"go to a free place on the floor of the {_name(a, 'target_area')}"
    if skill == "approach" and a.get("next_action") == "look" and a.get("object_name") == a.get("target_area"):
        return f"go to the {_name(a, 'target_area')} and look"
    if skill == "approach":
        purpose = {
            "look": "to look",
            "pick": "to pick it up",
            "surface_place": "to put something on it",
            "container_place": "to put something into it",
            "floor_place": "to put something on the floor",
        }.get(str(a.get("next_action")), "")
        return f"go to the {_name(a, 'object_name')} in the {_name(a, 'target_area')} {purpose}".rstrip()
    if skill == "pick":
        return f"pick up the {_name(a, 'object_name')}"
    if skill == "place":
        target = _name(a, "target_location")
        return f"put the {_name(a, 'object_name')} down at the {target}"
    if skill == "executor":
        lines = [" ".join(line.split()) for line in str(a.get("code", "")).splitlines()]
        return f"run {'; '.join(filter(None, lines))}" if any(lines) else "look at what the arm has before it"
    return f"{skill} {json.dumps(arguments)}"


def drive_words(approach: Arguments, *, seen: bool) -> str:
    """Return where an approach with these arguments drives; `seen`: a camera has shown its target."""
    area, thing = f"the {_name(approach, 'target_area')}", f"the {_name(approach, 'object_name')}"
    if approach.get("object_name") == PARKING:
        return f"drives to a parking pose in {area}"
    if approach.get("next_action") == "floor_place" or area == thing:
        return f"drives into {area}"
    if approach.get("next_action") == "pick" and not seen:
        return f"drives in {area} to look for {thing}"
    return f"drives to {thing} in {area}"


def tool_words(tool: str, arguments: Arguments) -> str:
    """Return a tool call as an activity of the robot."""
    say = _WORDS.get(tool.rpartition("__")[2])
    try:
        return say(arguments) if say else f"calls {tool}"
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        # A model wrote the arguments: they may have any shape and size.
        return f"calls {tool}"


QUIET = frozenset(
    {
        "get_robot_pose",
        "get_path_from_robot",
        "clear_costmaps",
        "get_grasp_state",
        "clear_planning_scene",
        "get_current_pose",
        "last_seen",
        "measure_spot",
    }
)
"""Tools whose calls are shown only when they fail, or with --verbose."""


def is_quiet(tool: str) -> bool:
    """Return whether a call of `tool` is shown only when it fails."""
    return tool.rpartition("__")[2] in QUIET


def _name(arguments: Arguments, key: str) -> str:
    words = str(arguments.get(key, "?"))
    return words[4:] if words.lower().startswith("the ") else words


def _on_map(x: Any, y: Any) -> str:
    return f"x {float(x):.2f} m, y {float(y):.2f} m on the map"


def _before_robot(a: Arguments) -> str:
    """Return a point of the base frame [m] (x forward, y left, z up) as a person would say it."""
    if a.get("frame_id") not in {None, "", "base_footprint", "base_link"}:
        return "a given pose"
    x, y, z = (float(value) for value in a["position"])
    side = f" and {abs(y):.2f} m to the {'left' if y > 0 else 'right'}" if abs(y) >= 0.005 else ""
    return f"{abs(x):.2f} m {'ahead' if x >= 0 else 'behind'}{side}, {z:.2f} m high"


def _camera(arguments: Arguments, default: str) -> str:
    camera = arguments.get("camera") or default
    return "both cameras" if camera == "both" else f"the {camera} camera"


def _sought(arguments: Arguments) -> str:
    if ids := arguments.get("object_ids"):
        return "for " + ", ".join(str(one) for one in ids)
    names = arguments.get("names")
    names = [names] if isinstance(names, str) else names
    return "for " + ", ".join(f"'{name}'" for name in names) if names else "what is there"


def id_of(arguments: Arguments) -> Any:
    """Return the id of the object or place that a call is about; older journals have it as object_id for both."""
    return arguments.get("target_id") or arguments.get("object_id")


def _which(arguments: Arguments, key: str) -> str:
    """Return the object of a call: its id, or its name in quotes."""
    object_id = id_of(arguments)
    return f"'{arguments[key]}'" if object_id is None else str(object_id)


def _degrees(value: Any) -> str:
    return f"{abs(math.degrees(float(value))):.0f}° to the {'left' if float(value) >= 0 else 'right'}"


def _arm(a: Arguments) -> str:
    target = a.get("target")
    fields = cast("Arguments", target) if isinstance(target, dict) else a
    if "state_name" in fields:
        return f"moves the arm to '{fields['state_name'].replace('_', ' ')}'"
    if "position" in fields:
        return f"moves the gripper to {_before_robot(fields)}"
    return "moves the arm"


def _straight(a: Arguments) -> str:
    waypoints: list[Any] = a.get("waypoints") or []
    last: Any = waypoints[-1] if waypoints else a
    goal: Arguments = cast("Arguments", last) if isinstance(last, dict) else {**a, "position": last}
    in_line = "moves the gripper in a straight line"
    return f"{in_line} to {_before_robot(goal)}" if goal.get("position") else in_line


_WORDS: dict[str, Callable[[Arguments], str]] = {
    "navigate_to_pose": lambda a: f"drives to {_on_map(a['x'], a['y'])}",
    "spin_robot": lambda a: f"turns by {_degrees(a['angle'])}",
    "approach_target": lambda a: "drives in to the target",
    "drive_on_heading": lambda a: f"drives {float(a['distance']):.2f} m ahead",
    "backup_robot": lambda a: f"backs up {float(a['distance']):.2f} m",
    "wait": lambda a: f"waits {float(a['seconds']):.0f} s",
    "get_path_from_robot": lambda a: f"looks for a way to {_on_map(a['goal_x'], a['goal_y'])}",
    "get_robot_pose": lambda a: "reads where it stands",
    "clear_costmaps": lambda a: "forgets old obstacles",
    "cancel_navigation": lambda a: "halts the base",
    "plan_and_execute": _arm,
    "plan_cartesian_path": _straight,
    "clear_planning_scene": lambda a: "clears the arm's map of obstacles",
    "get_current_pose": lambda a: "reads where the gripper is",
    "stop_execution": lambda a: "halts the arm",
    "open_gripper": lambda a: "opens the gripper",
    "close_gripper": lambda a: "closes the gripper",
    "get_grasp_state": lambda a: "feels whether it holds something",
    "segment_objects": lambda a: f"searches for {_which(a, 'prompt')} with {_camera(a, 'arm')}",
    "detect_objects": lambda a: f"looks {_sought(a)} with {_camera(a, 'front')}",
    "get_topdown_grasp_pose": lambda a: f"works out how to grasp {_which(a, 'object_name')}",
    "get_topdown_placing_pose": lambda a: f"works out where to put it down at {_which(a, 'object_name')}",
    "last_seen": lambda a: f"recalls what the cameras have seen of {', '.join(repr(str(name)) for name in a['names'])}",
    "measure_spot": lambda a: f"measures what stands where it was put down, with {_camera(a, 'front')}",
    "look": lambda a: f"looks around with {_camera(a, 'front')}",
    "ask_person": lambda a: "asks a person",
}
