"""The approach agent: definition, prompt and check in code."""

from quartet_approach.agent import definition

__all__ = ["definition"]
