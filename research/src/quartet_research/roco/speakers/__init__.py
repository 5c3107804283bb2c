"""Reference speakers of RoCo: each robot by rules, from its own prompt, with faults at a given rate.

Their figures say nothing about a language model. A speaker knows what its prompt contains: its capability, its
observation, what was said, and plans that were refused. It does not interpret the text of feedback.
"""

import re
from collections.abc import Callable, Mapping

import numpy as np

from quartet_research.harness.speakers import RuleSpeakers
from quartet_research.roco.speakers.arranging import arrange, arrange_wrongly
from quartet_research.roco.speakers.paths import (
    move_rope,
    move_rope_wrongly,
    pack,
    pack_wrongly,
    through_table,
)
from quartet_research.roco.speakers.prompt import WAIT, Prompt, read_prompt
from quartet_research.roco.speakers.sorting import sort, sort_wrongly
from quartet_research.roco.speakers.stacking import stack, stack_wrongly
from quartet_teams.roco import PLANNER

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
    "A cabinet": (arrange, arrange_wrongly),
}
"""Roles by the first words of the task."""


class Speakers(RuleSpeakers):
    """Answers the prompts of all participants of a task.

    Args:
        rate: of each fault: a wrong action, a path through the table, a missing keyword, a missing robot, an early
            EXECUTE.
        seed: of the faults.
    """

    def __init__(self, rate: float, seed: int) -> None:
        super().__init__(seed)
        self._rate = rate

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        prompt = read_prompt(parts)
        act, err = next(role for words, role in ROLES.items() if prompt.task.startswith(words))

        def decide(robot: str, said: Mapping[str, str]) -> str:
            action = err(prompt, self._rng) if self._chance(self._rate) else act(prompt, robot, said)
            return through_table(action) if " PATH " in action and self._chance(self._rate) else action

        if participant == PLANNER:
            plan: dict[str, str] = {}
            for robot in prompt.robots:
                plan[robot] = decide(robot, plan)
            return self._execute(prompt, plan)
        said = dict(_SAID.findall(parts["Talk now"]))
        said[participant] = decide(participant, {name: text for name, text in said.items() if name != participant})
        if set(said) >= set(prompt.robots) or self._chance(self._rate):
            return self._execute(prompt, said)
        return f"I will {said[participant]}.\nPROCEED"

    def _execute(self, prompt: Prompt, said: Mapping[str, str]) -> str:
        lines = [f"NAME {robot} ACTION {said.get(robot, WAIT)}" for robot in prompt.robots]
        if self._chance(self._rate / 2):
            lines = lines[1:]
        keyword = "" if self._chance(self._rate / 2) else "EXECUTE\n"
        return keyword + "\n".join(lines)
