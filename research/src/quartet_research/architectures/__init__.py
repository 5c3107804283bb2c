"""The architectures suite: the same episodes of the home, with the policy in several models, in one, or in Python."""

from quartet_research.architectures.suite import run

__all__ = ["run"]
