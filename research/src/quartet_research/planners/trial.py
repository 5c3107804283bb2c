"""One trial: a team brings an instance of a world to its end, or fails for a reason."""

import json
import time
from dataclasses import dataclass

from quartet_research.planners.grid_worlds import World
from quartet_teams import (
    Answer,
    Discussion,
    Model,
    NoAgreementError,
    PastStep,
    Plan,
    Prompts,
    Team,
    TeamError,
    Turn,
    Window,
)


@dataclass(frozen=True)
class Trial:
    """Outcome of one instance."""

    succeeded: bool
    steps: int
    calls: int
    tokens: int
    reason: str
    """Why it failed; empty when it succeeded."""
    harness_s: float
    """Processor time beside the model's [s], which a busy machine does not prolong."""
    plans: tuple[Plan, ...] = ()
    """What was carried out, step by step."""


async def play(world: World, team: Team, model: Model, window: Window) -> Trial:
    """Let a team act in a world, in place, until the episode ends or the team gives up."""
    past: list[PastStep] = []
    plans: list[Plan] = []
    turns: list[Turn] = []
    waited_s = 0.0

    async def timed(participant: str, prompt: str) -> Answer:
        nonlocal waited_s
        began = time.thread_time()
        try:
            return await model(participant, prompt)
        finally:
            waited_s += time.thread_time() - began

    began = time.thread_time()
    reason = ""
    idle = 0
    while not world.ended and not reason:
        discussion = Discussion(timed)
        plan: Plan | None = None
        told = ""
        try:
            plan = await team.decide(world, Prompts(world, past, window), discussion)
        except NoAgreementError as error:
            # As in the paper's code: in this step nobody acts, and then the robots discuss anew.
            plan, told = {}, f"Nobody acted: {error}."
            idle += 1
        except TeamError as error:
            reason = f"{type(error).__name__}: {error}"
        turns += discussion.turns
        if plan is not None:
            state = world.describe()
            step = world.step(plan)
            plans.append(plan)
            dialogue = "\n".join(f"{turn.participant}: {turn.answer.text}" for turn in discussion.turns)
            past.append(PastStep(state, json.dumps(plan), told or step.feedback, dialogue))
            reason = f"collision: {step.collision}" if step.collision else ""
    if not world.done and not reason:
        reason = f"not done in {world.step_limit} steps"
        reason += f": in {idle} of them the robots did not agree" if idle else ""
    return Trial(
        succeeded=not reason,
        steps=world.steps,
        calls=len(turns),
        tokens=sum(turn.answer.tokens_in + turn.answer.tokens_out for turn in turns),
        reason=reason,
        harness_s=time.thread_time() - began - waited_s,
        plans=tuple(plans),
    )
