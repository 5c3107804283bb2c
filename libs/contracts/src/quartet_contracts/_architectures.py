"""Architectures: where the policy of the work is, in several models, in one, or in Python."""

from enum import StrEnum


class Architecture(StrEnum):
    """How the same robot, tools and tasks are driven."""

    MULTI = "multi"
    """The orchestrator's model calls approach, pick and place, each an agent with a model of its own."""
    SINGLE = "single"
    """One model has the tools of all of them and does their work itself."""
