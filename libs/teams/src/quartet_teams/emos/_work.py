"""A whole task: discussion, execution, and another discussion after failures."""

from dataclasses import dataclass, field

from quartet_teams._chat import RunProgram
from quartet_teams._discussion import Discussion
from quartet_teams.emos._act import Acted, Ending, Stage, act
from quartet_teams.emos._agree import Agreement, agree
from quartet_teams.emos._problem import Method, Problem

MOST_REPLANS = 3
"""Discussions after failures."""


@dataclass
class Result:
    """What a group did."""

    agreements: list[Agreement] = field(default_factory=list[Agreement])
    acted: list[Acted] = field(default_factory=list[Acted])

    @property
    def claims_done(self) -> bool:
        """Whether the robots ended by themselves, after calls that all ended well, and none stayed silent."""
        if not self.acted:
            return False
        last = self.acted[-1]
        return last.ending is Ending.ALL_WAIT and not last.failures and not last.silent


async def work(problem: Problem, method: Method, stage: Stage, discussion: Discussion, run: RunProgram) -> Result:
    """Let a group do a task.

    Args:
        problem: task, scene and robots.
        method: parts of the method. A faithful one plans once.
        stage: carries the calls out.
        discussion: asks the model, and keeps all turns.
        run: runs a program of a robot.

    Raises:
        NoPlanError: the leader gave no valid assignment.
        SilentError: the leader does not answer.
    """
    result = Result()
    happened = ""
    for _ in range(1 if method.faithful else 1 + MOST_REPLANS):
        agreement = await agree(problem, method, discussion, run, happened=happened)
        result.agreements.append(agreement)
        acted = await act(problem, method, agreement, stage, discussion, happened=happened)
        result.acted.append(acted)
        if acted.ending is Ending.OVER or not acted.failures:
            break
        happened = "\n".join(str(outcome) for one in result.acted for outcome in one.outcomes)
    return result
