"""The executor: runs the programs that a team of models wrote for an arm."""

from quartet_executor.agent import definition

__all__ = ["definition"]
