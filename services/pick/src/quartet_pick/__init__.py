"""The pick agent: definition, prompt and check in code."""

from quartet_pick.agent import definition

__all__ = ["definition"]
