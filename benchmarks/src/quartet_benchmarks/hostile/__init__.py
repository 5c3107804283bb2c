"""The hostile suite: what an agent with a grant, and a client of rosbridge, try beyond what they may."""

from quartet_benchmarks.hostile.suite import run

__all__ = ["run"]
