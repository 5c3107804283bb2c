"""Ways of the hand to a pose, from several directions: where the arm cannot go on one, it tries the next."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from quartet_contracts.tools.moveit import MoveitCode
from quartet_procedures._arm import Arm
from quartet_procedures._turns import Call, Result, Turns, carry_out

T = TypeVar("T")

NO_WAY = frozenset({MoveitCode.OUT_OF_REACH, MoveitCode.GOAL_IN_COLLISION, MoveitCode.PATH_INCOMPLETE})
"""Codes of motions that have not moved the arm, since it cannot go on that way."""


class NoWayError(Exception):
    """The arm cannot go on the way to a pose; `failed` is the result of its motion."""

    def __init__(self, failed: Result) -> None:
        super().__init__(failed.code)
        self.failed = failed


def raise_without_way(failed: Result) -> None:
    """Raise NoWayError where another direction may be free."""
    if failed.code in NO_WAY:
        raise NoWayError(failed)


def on_any_way(
    arm: Arm, pose: Result, attempt: Callable[[Result], Turns[T]], ask: Callable[[str], Call], what: str
) -> Turns[T]:
    """Return what `attempt` returns for `pose`, or for one from another direction after a NoWayError.

    ask: the call for a pose from a direction; each of `other_directions` is asked for once. Raises GaveUpError with the
    failure of the first way.
    """
    first: Result | None = None
    others = [str(one) for one in cast("list[Any]", pose.get("other_directions") or [])]
    while True:
        try:
            return (yield from attempt(pose))
        except NoWayError as blocked:
            first = first or blocked.failed
        while others:
            pose = (yield from carry_out(ask(others.pop(0))))[-1]
            if pose.ok and pose.get("reachable"):
                break
        else:
            yield from arm.give_up(first, what)
