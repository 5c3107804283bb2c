"""One trial: a team does a task at the table, and ground truth says whether it is done."""

import time
from dataclasses import dataclass

from quartet_research.malmm.arm import TabletopArm
from quartet_research.malmm.vision import SeeingArm
from quartet_simulation.tabletop import Tabletop
from quartet_teams import Discussion, Model
from quartet_teams.malmm import MOST_CALLS, Ending, work


@dataclass(frozen=True)
class Trial:
    """Outcome of one episode."""

    succeeded: bool
    """By ground truth."""
    ending: str
    """How it ended for the team."""
    calls: int
    """Of the model."""
    tokens: int
    executions: int
    failed_executions: int
    wall_s: float

    @property
    def false_success(self) -> bool:
        """Whether the team claimed a success that is none."""
        return self.ending == Ending.COMPLETED and not self.succeeded


async def play(
    world: Tabletop,
    framework: str,
    model: Model,
    *,
    feedback: bool = True,
    most_calls: int = MOST_CALLS,
    observation: str = "state",
    seed: int = 0,
) -> Trial:
    """Let a team act at a table, in place, until it claims to be done, gives up or reaches a limit.

    Args:
        world: the episode.
        framework: sa, ma or malmm.
        model: answers for every participant.
        feedback: whether the team hears what its programs do.
        most_calls: of the model.
        observation: where the state comes from, one of OBSERVATIONS.
        seed: of the sensors' errors.
    """
    began = time.monotonic()
    discussion = Discussion(model)
    arm = SeeingArm(world, seed) if observation == "vision" else TabletopArm(world)
    try:
        outcome = await work(framework, arm, discussion, feedback=feedback, most_calls=most_calls)
    finally:
        arm.close()
    return Trial(
        succeeded=world.succeeded,
        ending=outcome.ending.value,
        calls=len(discussion.turns),
        tokens=sum(turn.answer.tokens_in + turn.answer.tokens_out for turn in discussion.turns),
        executions=outcome.executions,
        failed_executions=outcome.failed_executions,
        wall_s=time.monotonic() - began,
    )
