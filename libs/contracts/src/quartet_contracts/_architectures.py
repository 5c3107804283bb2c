"""Architectures: where the policy of the work is, in several models, in one, or in Python."""

from enum import StrEnum


class Architecture(StrEnum):
    """How the same robot, tools and tasks are driven."""

    MULTI = "multi"
    """The orchestrator's model calls approach, pick and place, each an agent with a model of its own."""
    SINGLE = "single"
    """One model has the tools of all of them and does their work itself."""
    SKILL = "skill"
    """The orchestrator's model calls approach, pick and place, each a Python program: no other model is asked."""


class ResultForm(StrEnum):
    """How the orchestrator's model reads the result of approach, pick and place."""

    TYPED = "typed"
    """JSON with the error code and the fields of the skill."""
    PROSE = "prose"
    """One sentence, without code, height and object_id."""
