"""Staged checks of a plan: which check refuses it, and why."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeVar, get_args

Stage = Literal["parse", "constraints", "reach", "ik", "collision", "waypoints", "spacing"]
"""Name of a check (Mandi et al. 2024): the format, the rules of the task, then reach, inverse kinematics and collision
at the goal, the same at each waypoint, and the spacing of the waypoints."""
STAGES: tuple[Stage, ...] = get_args(Stage)
"""Stages in the order in which a plan is checked."""
Complaint = tuple[Stage, str]
"""The check that refuses a plan, and the reason in words for the model."""
PlanT = TypeVar("PlanT")
CheckedT = TypeVar("CheckedT", contravariant=True)


class Checker(Protocol[CheckedT]):
    """The part of a scene that checks plans."""

    def check(self, plan: CheckedT) -> Sequence[Complaint]:
        """Return the complaints about a plan, [] for a valid one."""
        ...


def check_in_order(plan: PlanT, checks: Mapping[Stage, Callable[[PlanT], Iterable[str]]]) -> list[Complaint]:
    """Return the complaints of the first stage that has any; the later stages do not run.

    Args:
        plan: a plan to check.
        checks: the check of each stage, in any order; stages without one pass.
    """
    for stage in STAGES:
        if stage in checks and (reasons := list(checks[stage](plan))):
            return [(stage, reason) for reason in reasons]
    return []
