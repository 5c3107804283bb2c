"""The tokens suite: what tool schemas, prompts, facts, history, results and images of the main job cost, per call."""

from quartet_benchmarks.tokens.suite import run

__all__ = ["run"]
