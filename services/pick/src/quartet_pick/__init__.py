"""The pick agent: definition, prompt and check in code."""

from quartet_pick.definition import definition

__all__ = ["definition"]
