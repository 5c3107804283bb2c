"""The chaos suite: processes are killed or frozen and messages repeated, and the work is scored."""

from quartet_benchmarks.chaos.small_world import SmallWorld, small_world
from quartet_benchmarks.chaos.suite import SHORT_FROZEN, SHORT_REPEATS, run

__all__ = ["SHORT_FROZEN", "SHORT_REPEATS", "SmallWorld", "run", "small_world"]
