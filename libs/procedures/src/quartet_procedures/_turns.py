"""Turns of a procedure: calls that run in order, their results, and which of them are worth a repetition."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from quartet_contracts.tools.moveit import SCENE_MAY_BE_WRONG, MoveitCode
from quartet_contracts.tools.perception import PerceptionCode
from quartet_contracts.tools.results import CommonCode, PolicyCode
from quartet_procedures.errors import GaveUpError

P = ParamSpec("P")
T = TypeVar("T")

MOVE = "moveit__plan_and_execute"
STRAIGHT = "moveit__plan_cartesian_path"
CLEAR_SCENE = "moveit__clear_planning_scene"
OPEN, CLOSE = "moveit__open_gripper", "moveit__close_gripper"
GRASP_STATE = "moveit__get_grasp_state"
DRIVE = "nav2__navigate_to_pose"

FINAL = frozenset(
    {
        *PolicyCode,
        CommonCode.STOPPED,
        CommonCode.FENCED,
        CommonCode.DENIED,
        CommonCode.CANCELED,
        CommonCode.BRIDGE_UNAVAILABLE,
        "NAVIGATION_CANCELED",
    }
)
"""Codes after which nothing more is tried: a person or a rule has decided, or the robot cannot be reached."""
TRANSIENT = frozenset(
    {CommonCode.TIMEOUT, CommonCode.ROS_ERROR, CommonCode.TRANSFORM_UNAVAILABLE, CommonCode.UNKNOWN, CommonCode.BUSY}
)
"""Codes after which a call that only reads may succeed the next time."""
SAME_AGAIN = frozenset(
    {
        MoveitCode.OUT_OF_REACH,
        MoveitCode.PATH_INCOMPLETE,
        MoveitCode.INVALID_GROUP,
        MoveitCode.UNKNOWN_STATE,
        CommonCode.INVALID_PARAMETERS,
    }
)
"""Codes of an arm motion that would fail in the same way again."""


@dataclass(frozen=True)
class Call:
    """One tool call, and the text `say` that a model would write with it."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    say: str = ""
    by_name: dict[str, Any] | None = None
    """Arguments without object ids, for a server that has forgotten them (UNKNOWN_OBJECT_ID)."""


@dataclass(frozen=True)
class Result:
    """Result of a call."""

    data: Mapping[str, Any]

    @property
    def code(self) -> str:
        """The `error_code`; without one NONE for a result that is ok, else UNKNOWN."""
        code = self.data.get("error_code")
        if isinstance(code, str) and code:
            return code
        return "NONE" if self.data.get("ok", self.data.get("success", True)) else "UNKNOWN"

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.code == "NONE" and self.data.get("ok", self.data.get("success", True)) is not False

    @property
    def message(self) -> str:
        """Text that explains the code, without advice on further lines, at most 300 characters."""
        for key in ("message", "reason", "error"):
            if isinstance(self.data.get(key), str) and self.data[key]:
                return str(self.data[key]).partition("\n")[0][:300]
        return ""

    def get(self, key: str) -> Any:
        """Return a field of the result, or None."""
        return self.data.get(key)


Turns = Generator[tuple[Call, ...], Sequence[Result], T]
"""Yields the calls of one turn and is sent their results in the same order."""
Procedure = Turns[dict[str, Any]]
"""Returns the fields of the report."""


def procedure(work: Callable[P, Procedure]) -> Callable[P, Procedure]:
    """Return `work` with the report of a GaveUpError in place of the error."""

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> Procedure:
        try:
            return (yield from work(*args, **kwargs))
        except GaveUpError as end:
            return end.report

    return run


def moves(tool: str) -> bool:
    """Return whether a tool moves the robot."""
    return tool in {MOVE, STRAIGHT, OPEN, CLOSE, DRIVE}


def carry_out(*calls: Call, clears_scene: bool = True) -> Turns[list[Result]]:
    """Make the calls in one turn; after a failure that may pass, repeat the failed one and go on with the rest.

    `clears_scene`: the planning scene may be cleared first. Return one result per call, up to and including the first
    that failed for good. Raises GaveUpError(UNKNOWN) after a code in FINAL, and after a motion whose outcome is not
    known (TIMEOUT).
    """
    done: list[Result] = []
    todo, repeated = list(calls), False
    while todo:
        results = yield tuple(todo)
        good = next((number for number, result in enumerate(results) if not result.ok), len(results))
        done += results[:good]
        repeated = repeated and good == 0
        todo = todo[good:]
        if not todo:
            break
        call, failed = todo[0], results[good]
        _end_if_final(call, failed)
        if failed.code == PerceptionCode.UNKNOWN_OBJECT_ID and call.by_name is not None:
            todo[0] = replace(call, arguments=call.by_name, by_name=None)
        elif not repeated and _may_pass(call, failed.code):
            repeated = True
            if clears_scene and failed.code in SCENE_MAY_BE_WRONG:
                cleared = yield (Call(CLEAR_SCENE),)
                _end_if_final(Call(CLEAR_SCENE), cleared[0])
        else:
            return [*done, failed]
    return done


def _end_if_final(call: Call, failed: Result) -> None:
    if failed.code in FINAL or (failed.code == CommonCode.TIMEOUT and moves(call.name)):
        raise GaveUpError("UNKNOWN", f"{call.name}: {why(failed)}", because=failed.code)


def _may_pass(call: Call, code: str) -> bool:
    """Return whether the same call may succeed the next time."""
    if call.name in {OPEN, CLOSE}:
        return True
    if call.name == MOVE and call.arguments.get("target_type") == "named_state":
        return code not in SAME_AGAIN
    if call.name in {MOVE, STRAIGHT}:
        # Something stopped the arm on its way to a pose: it would be pushed again.
        return code not in SAME_AGAIN and code != MoveitCode.EXECUTION_FAILED
    return code in TRANSIENT and not moves(call.name)


def sees(result: Result) -> bool:
    """Return whether a detection found an object that is not between the fingers."""
    found = cast("list[Any]", result.get("detections") or [])
    return any(isinstance(one, dict) and not cast("dict[str, Any]", one).get("in_gripper") for one in found)


def why(result: Result) -> str:
    """Return code and message of a failed result."""
    return f"{result.code}: {result.message}" if result.message else result.code
