"""The tasks at the table (RoCo, Table 2): a team plays until ground truth says that the task is done."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from quartet_research.harness.study import Case
from quartet_research.roco.part import HISTORY, SWITCH, Part, Trial, tokens_of
from quartet_research.roco.published import PUBLISHED
from quartet_simulation.table_tasks import TASKS, VARIATIONS, TableTask
from quartet_teams import Discussion, Model, NoPlanError
from quartet_teams.roco import Past, Roco

WORLDS = TASKS | VARIATIONS
STEPS, STEPS_WITHOUT_FEEDBACK = 20, 40
"""Steps of a trial. The published code has 10, doubled without feedback; the printed figures need more."""


class TablePart(Part):
    """The six tasks at the table."""

    name = "rocobench"
    tasks = tuple(TASKS)
    varies = ("framework", "history", "feedback")
    published: ClassVar[Mapping[tuple[str, str], str]] = PUBLISHED
    notes: ClassVar[Sequence[str]] = (
        f"Success is by ground truth, within {STEPS} steps ({STEPS_WITHOUT_FEEDBACK} without feedback); the default of "
        "the published code is 10. Steps are means of successful trials, attempts are plans proposed a step.",
        "plan_failures: share of joint plans that passed the checks and were not executed, and then rewound, for "
        "whatever reason. The published code rewinds what cannot be planned.",
        "In the paper: GPT-4; success; steps, attempts a step, of 20 trials. A grasp is a weld there; here fingers "
        "hold by friction and cups by suction; arms, objects and their places are our own where the paper has none.",
    )

    async def play(self, case: Case, model: Model) -> Trial:
        """Let the team of a case do its task."""
        setting = case.setting
        feedback = SWITCH[setting["feedback"]]
        team = Roco(setting["framework"], history=HISTORY[setting["history"]], feedback=feedback)
        most_steps = STEPS if feedback else STEPS_WITHOUT_FEEDBACK
        world = await asyncio.to_thread(WORLDS[setting["task"]], case.instance["seed"])
        return await play(world, team, model, most_steps=most_steps)


class VariationPart(TablePart):
    """The sandwich task with other starts, recipes and reach."""

    name = "variations"
    tasks = tuple(VARIATIONS)
    published: ClassVar[Mapping[tuple[str, str], str]] = {}
    notes = (
        "Variations of the sandwich task, Figure 5 of the paper, which prints no numbers. sandwich_starts: any four "
        "foods start on each side; sandwich_recipes: each recipe as often as the others; sandwich_reach: the robots "
        "have changed sides.",
    )


async def play(world: TableTask, team: Roco, model: Model, *, most_steps: int) -> Trial:
    """Let a team do a task until it is done or the steps are used up.

    Args:
        world: the task, at its beginning.
        team: decides on the plan of each step.
        model: answers for every participant.
        most_steps: steps of the trial; one without a plan counts.
    """
    began = time.monotonic()
    past, spent = Past(), list[float]()
    steps = attempts = calls = tokens = no_plan = not_executed = idle = contacts = 0
    reason = ""
    while steps < most_steps and not world.done:
        steps += 1
        discussion = Discussion(model)
        try:
            decision = await team.decide(world, past, discussion, rounds_left=most_steps - steps + 1)
        except NoPlanError as error:
            no_plan += 1
            attempts += team.most_attempts
            reason = f"no plan: {error}"
        else:
            attempts += decision.attempts
            idle += all(action.verb == "WAIT" for action in decision.plan.values())
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
        tokens += tokens_of(discussion)
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
        idle=idle,
        arm_contacts=contacts,
        reason="" if world.done else reason[:500],
        wall_s=time.monotonic() - began,
        plan_cpu_s=tuple(round(value, 3) for value in spent),
    )
