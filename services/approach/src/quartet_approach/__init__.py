"""The approach agent: definition, prompt and check in code."""

from quartet_approach.definition import definition

__all__ = ["definition"]
