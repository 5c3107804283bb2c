"""The mutations suite: mutated messages to every interface of a stack; crashes, motions and memory growth count."""

from quartet_benchmarks.mutations.suite import Report, play, run

__all__ = ["Report", "play", "run"]
