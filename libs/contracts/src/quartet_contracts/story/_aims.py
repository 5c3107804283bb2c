"""What the poses are for that an arm is moved to: to grasp a thing, to lift it, to put it down."""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal, cast

SAME_M = 0.02
"""Positions that are closer in each coordinate are the same."""


@dataclass(frozen=True)
class _Aim:
    position: tuple[float, float, float]
    before: str
    """What a motion to it is for until the gripper has done `work`."""
    after: str
    work: Literal["open", "close"]


class ArmAims:
    """Knows the poses that perception has worked out in each request, and whether the gripper has closed or opened."""

    def __init__(self) -> None:
        self._aims: dict[str | None, list[_Aim]] = {}
        self._worked: dict[str | None, str] = {}
        """What the gripper did last."""

    def hear(self, request_id: str | None, tool: str, thing: str, text: str) -> None:
        """Note the successful result `text` of `tool`, which was about `thing`."""
        name = tool.rpartition("__")[2]
        if name in {"open_gripper", "close_gripper"}:
            self._worked[request_id] = name.partition("_")[0]
        elif name == "get_topdown_grasp_pose":
            above, lifts = f"moves the gripper above {thing}", f"lifts {thing}"
            words = {
                "grasp_pose": (f"lowers the gripper to {thing}", f"lowers {thing}"),
                "pre_grasp_pose": (above, lifts),
                "lift_pose": (above, lifts),
            }
            self._aims[request_id] = list(_aims(text, words, "close"))
        elif name == "get_topdown_placing_pose":
            words = {
                "place_pose": (f"lowers what it holds to {thing}", f"moves the gripper back to {thing}"),
                "pre_place_pose": (f"moves what it holds above {thing}", "moves the gripper up again"),
            }
            self._aims[request_id] = list(_aims(text, words, "open"))

    def words(self, request_id: str | None, tool: str, arguments: dict[str, Any]) -> str | None:
        """Return what a call that moves the arm to a pose is for; None when that is not known."""
        if tool.rpartition("__")[2] not in {"plan_and_execute", "plan_cartesian_path"}:
            return None
        target = arguments.get("target", arguments)
        position = _position(target)
        for aim in self._aims.get(request_id, []):
            if position and all(abs(a - b) <= SAME_M for a, b in zip(position, aim.position, strict=True)):
                return aim.after if self._worked.get(request_id) == aim.work else aim.before
        return None


def _aims(text: str, words: dict[str, tuple[str, str]], work: Literal["open", "close"]) -> list[_Aim]:
    try:
        fields: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(fields, dict):
        return []
    poses = ((_position(cast("dict[str, Any]", fields).get(name)), said) for name, said in words.items())
    return [_Aim(position, *said, work) for position, said in poses if position]


def _position(pose: Any) -> tuple[float, float, float] | None:
    """Return the position [m] of a pose that a model or a server wrote; None where there is none."""
    given: Any = cast("dict[str, Any]", pose).get("position") if isinstance(pose, dict) else None
    if not isinstance(given, list | tuple):
        return None
    values = [float(v) for v in cast("list[Any]", given) if isinstance(v, int | float) and abs(v) < 1e9]
    return (values[0], values[1], values[2]) if len(values) == 3 and all(map(math.isfinite, values)) else None
