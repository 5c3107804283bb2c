"""Answers a prompt of a team that writes programs, without faults, for the scripted model."""

import re

from quartet_scripted_model.programs.speakers import CODER, PLANNER, SINGLE, SUPERVISOR, ArmSpeakers, Rates

_ROLES = {
    "# Your role\nYou are the Planner. You plan what one robot arm": PLANNER,
    "# Your role\nYou are the Coder. You write small Python programs": CODER,
    "# Your role\nYou are the Supervisor of two others, who let one robot arm": SUPERVISOR,
    "# Your role\nYou let one robot arm with a parallel gripper do a task": SINGLE,
}
_SPEAKERS = ArmSpeakers(Rates(), seed=0)
_NOTHING = "I am Quartet's scripted model, not an LLM: I plan programs for simple tasks only. "


def answer(prompt: str) -> str | None:
    """Return what is said to a prompt of a team that writes programs, None for any other prompt."""
    role = next((role for beginning, role in _ROLES.items() if prompt.startswith(beginning)), None)
    if role is None:
        return None
    try:
        return _SPEAKERS.say(role, prompt)
    except ValueError as error:
        return _NOTHING + re.sub(r"\s+", " ", str(error))
