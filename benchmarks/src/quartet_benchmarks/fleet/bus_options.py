"""The bus of the benchmark, the same in all its processes."""

from quartet_bus import BusOptions

OPTIONS = BusOptions(lease_s=10.0)
"""A machine that is busy with a benchmark must not take a slow process for a dead one."""
