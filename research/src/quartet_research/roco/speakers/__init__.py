"""Reference speakers of RoCo: each robot by rules, from its own prompt, with faults at a given rate.

Their figures say nothing about a language model. A speaker knows what its prompt contains: its capability, its
observation, what was said, and plans that were refused. It does not interpret the text of feedback.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.speakers.arranging import arrange, arrange_wrongly
from quartet_research.roco.speakers.grid import move, move_wrongly
from quartet_research.roco.speakers.paths import (
    move_rope,
    move_rope_wrongly,
    pack,
    pack_wrongly,
    through_table,
)
from quartet_research.roco.speakers.prompt import WAIT, Prompt, read_prompt
from quartet_research.roco.speakers.sorting import sort, sort_too_far, sort_wrongly
from quartet_research.roco.speakers.stacking import stack, stack_too_far, stack_wrongly
from quartet_research.roco.speakers.sweeping import sweep, sweep_wrongly
from quartet_teams.roco import PLANNER

COMPLETE = "The task is complete."
_SAID = re.compile(r"^(\w+): I will (.+)\.$", re.MULTILINE)
Act = Callable[[Prompt, str, Mapping[str, str]], str]
"""Returns the action of a robot, from its prompt and the actions that others announced."""
Err = Callable[[Prompt, np.random.Generator], str]
"""Returns an action that is probably wrong."""
ROLES: dict[str, tuple[Act, Err]] = {
    "Seven panels": (sort, sort_wrongly),
    "Make a": (stack, stack_wrongly),
    "Pack all groceries": (pack, pack_wrongly),
    "A rope lies": (move_rope, move_rope_wrongly),
    "Agents move": (move, move_wrongly),
    "Sweep all cubes": (sweep, sweep_wrongly),
    "A cabinet": (arrange, arrange_wrongly),
}
"""Roles by the first words of the task."""
TOO_FAR: dict[Act, Callable[[Prompt, str], str]] = {sort: sort_too_far, stack: stack_too_far}
"""Returns an action beyond a robot's reach, "" if there is none; for tasks in which each robot reaches a part."""


class Speakers(RuleSpeakers[float]):
    """Answers the prompts of all participants of a task.

    Args:
        rates: of each fault, drawn separately: a wrong action; a path through the table; a wrong claim of reach, in
            dialogues about tasks of `TOO_FAR` (a robot announces what it does not reach, or waits because it claims
            not to reach what it does); the claim that the task is complete, if robots can wait, upon which all wait;
            an early EXECUTE; a refused or failed plan that is proposed again; a missing robot; a missing keyword.
        seed: of the faults.
    """

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        prompt, talk = read_prompt(parts), parts.get("Talk now", "")
        act, err = next(role for words, role in ROLES.items() if prompt.task.startswith(words))

        def decide(robot: str, said: Mapping[str, str]) -> str:
            action = err(prompt, self._rng) if self._chance(self._rates) else act(prompt, robot, said)
            return through_table(action) if " PATH " in action and self._chance(self._rates) else action

        said, claim = dict(_SAID.findall(talk)), ""
        if prompt.can_wait and (COMPLETE in talk or self._chance(self._rates)):
            everyone = prompt.robots if participant == PLANNER else (*said, participant)
            said, claim = dict.fromkeys(everyone, WAIT), COMPLETE
        elif participant == PLANNER:
            for robot in prompt.robots:
                said[robot] = decide(robot, said)
        else:
            others = {name: text for name, text in said.items() if name != participant}
            if act in TOO_FAR and self._chance(self._rates):
                action = act(prompt, participant, others)
                said[participant], claim = self._misjudge(TOO_FAR[act](prompt, participant), action)
            else:
                said[participant] = decide(participant, others)
        if set(said) >= set(prompt.robots) or self._chance(self._rates):
            return self._execute(prompt, said)
        return "\n".join(filter(None, [f"I will {said[participant]}.", claim, "PROCEED"]))

    def _misjudge(self, too_far: str, action: str) -> tuple[str, str]:
        """Return an action and a wrong claim of reach, given an action beyond reach and the right one."""
        if too_far and self._rng.random() < 0.5:
            return too_far, f"I reach {too_far.split()[1]}."
        return WAIT, "" if action == WAIT else f"I do not reach {action.split()[1]}."

    def _execute(self, prompt: Prompt, said: Mapping[str, str]) -> str:
        plan = prompt.refused[-1] if prompt.refused and self._chance(self._rates) else said
        lines = [f"NAME {robot} ACTION {plan.get(robot, WAIT)}" for robot in prompt.robots]
        if self._chance(self._rates):
            lines = lines[1:]
        keyword = "" if self._chance(self._rates) else "EXECUTE\n"
        return keyword + "\n".join(lines)
