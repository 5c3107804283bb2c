"""The place agent: definition, prompt and check in code."""

from quartet_place.agent import definition

__all__ = ["definition"]
