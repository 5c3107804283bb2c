"""Reads the braced replies of leader and robots."""

import re
from collections.abc import Sequence

from quartet_teams.emos._problem import Assignment
from quartet_teams.errors import ContradictoryPlanError, MalformedPlanError, NoPlanFoundError

NOTHING = "Nothing to do"
"""Subtask of a robot that waits."""
_ITEM = re.compile(r"\{([^{}|]*)\|\|([^{}]*)\}")
_VERDICT = re.compile(r"\{\s*(yes|no)\s*(?:\|\|([^{}]*))?\}", re.IGNORECASE)
_QUOTED = 200
"""Characters of an answer that an error quotes."""


def parse_assignment(answer: str, robots: Sequence[str], *, lenient: bool = False) -> Assignment:
    """Return the assignment of the braced items `{robot||subtask}` in an answer, in the order of the robots.

    Args:
        answer: reply of the leader.
        robots: names of the robots.
        lenient: unknown robots are left out, robots without an item have nothing to do, and the last item of a robot
            counts, as in the published code.

    Raises:
        NoPlanFoundError, MalformedPlanError, ContradictoryPlanError: their text is meant for the model, too.
    """
    items = [(robot.strip(), " ".join(subtask.split())) for robot, subtask in _ITEM.findall(answer)]
    if lenient:
        found = dict(items)
        return {robot: found.get(robot) or NOTHING for robot in robots}
    if not items:
        raise NoPlanFoundError(f"the answer has no item such as {{{robots[0]}||subtask}}: {answer[:_QUOTED]!r}")
    assigned: Assignment = {}
    for robot, subtask in items:
        if robot not in robots:
            raise MalformedPlanError(f"there is no robot {robot[:_QUOTED]!r}; the robots are {', '.join(robots)}")
        if not subtask:
            raise MalformedPlanError(f"the subtask of {robot} is empty; write '{NOTHING}' for a robot that waits")
        if assigned.setdefault(robot, subtask) != subtask:
            raise ContradictoryPlanError(
                f"{robot} has two items; write one item for each robot, with its whole subtask"
            )
    if missing := [robot for robot in robots if robot not in assigned]:
        raise MalformedPlanError(f"there is no item for {', '.join(missing)}; write '{NOTHING}' for a robot that waits")
    if all(is_nothing(subtask) for subtask in assigned.values()):
        raise MalformedPlanError("no robot has a subtask; assign every goal of the task to a robot")
    return {robot: assigned[robot] for robot in robots}


def parse_verdict(answer: str) -> str | None:
    """Return the reason of a robot that refuses its subtask, None if it accepts.

    The last braced reply counts. Without one, the answer counts as a refusal with its whole text as the reason.
    """
    found = _VERDICT.findall(answer)
    if not found:
        return answer.strip() or "no reply"
    word, reason = found[-1]
    return None if word.lower() == "yes" else reason.strip() or "no reason given"


def has_verdict(answer: str) -> bool:
    """Return whether an answer has a braced yes or no."""
    return _VERDICT.search(answer) is not None


def is_nothing(subtask: str) -> bool:
    """Return whether a subtask says that the robot waits."""
    return subtask.strip(" .!").lower() == NOTHING.lower()
