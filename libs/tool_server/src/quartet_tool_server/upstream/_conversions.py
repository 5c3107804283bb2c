"""Conversions of a value on its way to an upstream or back. Lengths in metres, angles in radians, as everywhere.

A conversion takes the value and its parameter (None without one); the few that need the robot also take `Context`.
It raises ValueError, TypeError, KeyError or IndexError for a value that it cannot take.
"""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from quartet_contracts.tools.perception import Detection, clearly_held
from quartet_robot_link import Robot
from quartet_robot_link.geometry import Quaternion, Rigid, Vector, rotate, unit, yaw_quaternion
from quartet_site import SiteFile, inside

NORM_TOLERANCE = 0.05
"""A quaternion printed with few decimals still passes and is normalised; anything further off is no orientation."""


@dataclass(frozen=True)
class Context:
    """Robot and site, which some conversions need."""

    robot: Robot
    site: SiteFile


def number(value: Any) -> float:
    """A finite number, also from its text. Raises ValueError, TypeError."""
    if isinstance(value, bool):
        raise TypeError("a truth value is no number")
    found = float(value)
    if not math.isfinite(found):
        raise ValueError(f"{value} is not a finite number")
    return found


def _members(value: Any, names: str) -> list[float]:
    """Members by name, or in that order from a list."""
    if isinstance(value, Mapping):
        return [number(cast(Mapping[str, Any], value)[name]) for name in names]
    listed = [number(item) for item in cast(Sequence[Any], value)]
    if len(listed) != len(names) or isinstance(value, str):
        raise ValueError(f"{len(listed)} values where {len(names)} ({', '.join(names)}) are wanted")
    return listed


def vector(value: Any) -> Vector:
    """x, y, z from an object or a list."""
    x, y, z = _members(value, "xyz")
    return (x, y, z)


def quaternion(value: Any) -> Quaternion:
    """x, y, z, w of norm 1 from an object or a list."""
    x, y, z, w = _members(value, "xyzw")
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if abs(norm - 1.0) > NORM_TOLERANCE:
        raise ValueError(f"a quaternion of norm {norm:.3f}")
    return (x / norm, y / norm, z / norm, w / norm)


def _pose(value: Any, frame: Any) -> dict[str, Any]:
    """`frame_id`, position and orientation as lists; the parameter is the frame of a pose that does not say."""
    frame_id = value.get("frame_id") or frame
    if not frame_id:
        raise ValueError("a pose without frame_id")
    return {
        "frame_id": frame_id,
        "position": list(vector(value["position"])),
        "orientation": list(quaternion(value["orientation"])),
    }


def _raised(value: Any, by: Any) -> dict[str, Any]:
    x, y, z = vector(value["position"])
    return {**value, "position": [x, y, z + number(by)]}


async def _in_base(value: Any, _: Any, context: Context) -> dict[str, Any]:
    """A pose of any frame in the base frame, now. Raises TransformUnavailableError."""
    base = context.robot.file.frames.base
    pose = _pose(value, base)
    if pose["frame_id"] == base:
        return pose
    found = await context.robot.transform(base, str(pose["frame_id"]), timeout_s=1.0)
    placed = found.rigid @ Rigid(vector(pose["position"]), quaternion(pose["orientation"]))
    return {"frame_id": base, "position": list(placed.translation), "orientation": list(unit(placed.rotation))}


async def _arm_target(value: Any, _: Any, context: Context) -> dict[str, Any]:
    """A target of plan_and_execute that means the same to any MoveIt: joint positions, or a pose in the base frame.

    Named states become the joint positions that robot.yaml has for them.
    """
    if value.get("position") is not None:
        return await _in_base(value, None, context)
    if value.get("state_name") is not None:
        return {"joint_positions": list(context.robot.file.arm.named_states[value["state_name"]])}
    return {"joint_positions": [number(angle) for angle in value["joint_positions"]]}


def _arm_target_type(value: Any, _: Any) -> str:
    return "pose" if value.get("position") is not None else "joint_state"


def _area(value: Any, _: Any, context: Context) -> str | None:
    """The site's area that holds a point (x, y first) of the map."""
    x, y = _members(value, "xy") if isinstance(value, Mapping) else [number(item) for item in value[:2]]
    return next((area.name for area in context.site.areas if inside(area.outline, x, y)), None)


def _rows(value: Any, names: Any) -> list[list[Any]]:
    """Objects as lists of these members. Raises ValueError for one that says more than that, such as a yaw."""
    for item in value:
        more = [name for name, said in item.items() if name not in names and said]
        if more:
            raise ValueError(f"the server behind this tool takes {', '.join(names)} and no {', '.join(more)}")
    return [[item[name] for name in names] for item in value]


def _lookup(value: Any, table: Any) -> Any:
    if str(value) not in table:
        raise ValueError(f"'{value}' is none of {', '.join(map(str, table))}")
    return table[str(value)]


def _held_name(value: Any, _: Any) -> str:
    """Name of what one of these detections shows between the fingers."""
    held = clearly_held(map(Detection.model_validate, value))
    return "unknown object" if held is None else held.label


def _horizontal(value: Any, _: Any) -> float:
    x, y, _z = vector(value)
    return math.hypot(x, y)


def _yaw(value: Any, _: Any) -> float:
    x, y, _z = rotate(quaternion(value), (1.0, 0.0, 0.0))
    return math.atan2(y, x)


Plain = Callable[[Any, Any], Any]
Knowing = Callable[[Any, Any, Context], Any | Awaitable[Any]]

_PLAIN: dict[str, Plain] = {
    "number": lambda value, _: number(value),
    "text": lambda value, _: str(value),
    "prefixed": lambda value, prefix: f"{prefix}{value}",
    "degrees": lambda value, _: math.degrees(number(value)),
    "radians": lambda value, _: math.radians(number(value)),
    "scaled": lambda value, by: number(value) * number(by),
    "plus": lambda value, by: number(value) + number(by),
    "at_most": lambda value, limit: number(value) <= number(limit),
    "xyz": lambda value, _: list(vector(value)),
    "xyzw": lambda value, _: list(quaternion(value)),
    "xyz_object": lambda value, _: dict(zip("xyz", vector(value), strict=True)),
    "xyzw_object": lambda value, _: dict(zip("xyzw", quaternion(value), strict=True)),
    "yaw": _yaw,
    "quaternion_of_yaw": lambda value, _: list(yaw_quaternion(number(value))),
    "horizontal_distance": _horizontal,
    "pose": _pose,
    "raised": _raised,
    "rows": _rows,
    "lookup": _lookup,
    "held_name": _held_name,
    "listed": lambda value, _: [value],
    "to_json": lambda value, _: json.dumps(value),
    "from_json": lambda value, _: json.loads(value),
    "arm_target_type": _arm_target_type,
}
_KNOWING: dict[str, Knowing] = {"in_base": _in_base, "arm_target": _arm_target, "area": _area}

NEEDS_ROBOT = frozenset(_KNOWING)
CONVERSIONS: dict[str, Plain | Knowing] = {**_PLAIN, **_KNOWING}


async def convert(name: str, value: Any, parameter: Any, context: Context | None) -> Any:
    """`value` converted; None for `context` only without a conversion of NEEDS_ROBOT.

    Raises ValueError, TypeError, KeyError, IndexError, AttributeError, TransformUnavailableError.
    """
    if name in _PLAIN:
        return _PLAIN[name](value, parameter)
    assert context is not None
    found = _KNOWING[name](value, parameter, context)
    return await cast(Awaitable[Any], found) if isinstance(found, Awaitable) else found
