"""The place agent: definition, prompt and check in code."""

from quartet_place.definition import definition

__all__ = ["definition"]
