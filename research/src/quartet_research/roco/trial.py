"""One trial: a team does a task at the table, and ground truth says whether it is done."""

import asyncio
import time
from dataclasses import dataclass

from quartet_simulation.table_tasks import TASKS
from quartet_teams import Answer, Discussion, Model, NoPlanError
from quartet_teams.roco import Past, Roco

STEPS, STEPS_WITHOUT_FEEDBACK = 20, 40
"""Steps of a trial. The published code has 10, doubled without feedback; the printed figures need more."""


@dataclass(frozen=True)
class Trial:
    """Outcome of one episode."""

    succeeded: bool
    """By ground truth."""
    steps: int
    attempts: int
    """Plans proposed in all steps."""
    calls: int
    tokens: int
    no_plan: int
    """Steps without a plan that passed the checks."""
    not_executed: int
    """Plans that passed the checks and were not executed."""
    arm_contacts: int
    """Contacts between arms in executed plans."""
    reason: str
    """Why it failed; empty if it succeeded."""
    wall_s: float
    plan_cpu_s: tuple[float, ...] = ()
    """Processor time of each motion plan [s]."""


async def play(task: str, seed: int, team: Roco, model: Model, *, most_steps: int) -> Trial:
    """Let a team do a task until it is done or the steps are used up.

    Args:
        task: name of the task.
        seed: of the episode.
        team: that decides.
        model: answers for every participant.
        most_steps: steps of the trial; one without a plan counts.
    """
    began = time.monotonic()
    world = await asyncio.to_thread(TASKS[task], seed)
    past, spent = Past(), list[float]()
    steps = attempts = calls = tokens = no_plan = not_executed = contacts = 0
    reason = ""
    while steps < most_steps and not world.done:
        steps += 1
        discussion = Discussion(model)
        try:
            decision = await team.decide(world, past, discussion)
        except NoPlanError as error:
            no_plan += 1
            attempts += team.most_attempts
            reason = f"no plan: {error}"
        else:
            attempts += decision.attempts
            outcome = await asyncio.to_thread(world.step, decision.plan)
            spent += outcome.plan_cpu_s
            contacts += outcome.arm_contacts
            reason = outcome.failure
            if outcome.failure:
                not_executed += 1
                past.add_failed(decision.plan, outcome.failure)
            else:
                past.add_executed(decision.plan, decision.chat)
        calls += len(discussion.turns)
        tokens += sum(_tokens(turn.answer) for turn in discussion.turns)
    if not world.done:
        reason = f"not done in {most_steps} steps" + (f"; the last: {reason}" if reason else "")
    return Trial(
        succeeded=world.done,
        steps=steps,
        attempts=attempts,
        calls=calls,
        tokens=tokens,
        no_plan=no_plan,
        not_executed=not_executed,
        arm_contacts=contacts,
        reason="" if world.done else reason[:500],
        wall_s=time.monotonic() - began,
        plan_cpu_s=tuple(round(value, 3) for value in spent),
    )


def _tokens(answer: Answer) -> int:
    return answer.tokens_in + answer.tokens_out
