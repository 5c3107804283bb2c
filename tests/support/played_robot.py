"""A robot that answers the calls of procedures as the tools do, and a way to play a procedure with it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quartet_contracts import NOT_RUN
from quartet_procedures import Call, Result, Turns

ENTRY = {"x": 1.0, "y": 2.0, "yaw": 0.5}
STAND = {"x": 4.0, "y": 5.0, "yaw": -1.0}
SPOT = {"x": 7.0, "y": 6.0, "yaw": 0.0}
FACTS: dict[str, Any] = {
    "areas": [
        {"name": "kitchen", "aliases": ["galley"], "entry": ENTRY, "landmarks": ["oven"], "parking": [SPOT]},
        {"name": "living room", "aliases": [], "entry": {"x": 9.0, "y": 9.0, "yaw": 0.0}, "landmarks": []},
    ],
    "places": [
        {"name": "kitchen counter", "aliases": ["counter"], "area": "kitchen", "kind": "surface", "approach": STAND},
        {"name": "bin", "aliases": [], "area": "kitchen", "kind": "container", "approach": None},
    ],
    "arm": {"transit_state": "folded"},
}
MAX_TURNS = 60


def pose(z: float) -> dict[str, Any]:
    """Return a pose of the tool at height `z` [m]."""
    return {"frame_id": "base_footprint", "position": [0.6, 0.0, z], "orientation": [1.0, 0.0, 0.0, 0.0]}


GRASP = {"pre_grasp_pose": pose(0.5), "grasp_pose": pose(0.3), "lift_pose": pose(0.6)}
DROP = {"pre_place_pose": pose(0.7), "place_pose": pose(0.5)}


def short(tool: str) -> str:
    """Return the name of a tool without its server."""
    return tool.rpartition("__")[2]


class Robot:
    """Answers every call with success, except where `say`, `fail` or `fail_at` prescribes something else.

    Attributes:
        held: The gripper holds an object.
        area: Area in which the robot stands.
        forgetful: The perception server knows no object id.
        calls: Calls that were made, with their arguments.
    """

    def __init__(self, *, held: bool = False) -> None:
        self.held, self.area, self.forgetful = held, "kitchen", False
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._queue: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._fault: tuple[int, str, bool] | None = None
        self._broken = ""

    def say(self, tool: str, *results: dict[str, Any]) -> "Robot":
        """Answer the next calls of `tool` with `results`."""
        self._queue[tool] += [{"ok": True, "error_code": "NONE", "message": "", **result} for result in results]
        return self

    def fail(self, tool: str, code: str, times: int = 1) -> "Robot":
        """Let the next `times` calls of `tool` fail with `code`."""
        return self.say(tool, *[{"ok": False, "error_code": code, "message": f"{code} happened"}] * times)

    def fail_at(self, number: int, code: str, *, for_good: bool = False) -> "Robot":
        """Let the call with this number fail, and `for_good` all later ones of the same tool."""
        self._fault = number, code, for_good
        return self

    def made(self, tool: str) -> list[dict[str, Any]]:
        """Return the arguments of each call of `tool`."""
        return [given for name, given in self.calls if short(name) == tool]

    def turn(self, calls: Sequence[Call]) -> list[Result]:
        """Make the calls of one turn as the agent loop does."""
        results: list[Result] = []
        for call in calls:
            stopped = bool(results) and not results[-1].ok
            results.append(Result({"ok": False, "error_code": NOT_RUN} if stopped else self(call.name, call.arguments)))
        return results

    def __call__(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a call."""
        number, tool = len(self.calls), short(name)
        self.calls.append((name, given))
        if self._fault is not None and (number == self._fault[0] or name == self._broken):
            self._broken = name if self._fault[2] else ""
            return {"ok": False, "error_code": self._fault[1], "message": f"{self._fault[1]} happened"}
        if self.forgetful and {"object_id", "object_ids", "target_id", "held_id"} & set(given):
            return {"ok": False, "error_code": "UNKNOWN_OBJECT_ID", "message": "no such id"}
        if self._queue[tool]:
            return self._queue[tool].pop(0)
        self.held = {"close_gripper": True, "open_gripper": False}.get(tool, self.held)
        state = {"state": "HOLDING" if self.held else "EMPTY"}
        extra: dict[str, Any] = {
            "look": {"area": self.area},
            "detect_objects": {"detections": [{"label": "it", "in_gripper": False}]},
            "get_topdown_grasp_pose": {**GRASP, "reachable": True, "distance_m": 0.8},
            "get_topdown_placing_pose": {**DROP, "reachable": True, "distance_m": 0.6},
            "get_grasp_state": state,
            "open_gripper": state,
            "close_gripper": state,
        }.get(tool, {})
        return {"ok": True, "error_code": "NONE", "message": "", **extra}


@dataclass
class Played:
    """What a procedure did: its report, and the tools of each turn."""

    report: Any
    turns: list[list[str]]


def play(work: Turns[Any], robot: Robot) -> Played:
    """Let `robot` make the calls of `work` until it ends. Raises GaveUpError as `work` does."""
    turns: list[list[str]] = []
    try:
        calls = next(work)
        while len(turns) < MAX_TURNS:
            assert calls, "a turn without a call"
            turns.append([short(call.name) for call in calls])
            calls = work.send(robot.turn(calls))
    except StopIteration as end:
        return Played(end.value, turns)
    raise AssertionError(f"no end after {MAX_TURNS} turns: {turns}")
