"""Models that hang, drip, break off, refuse or talk nonsense, one agent at a time, with the rest of a stack sound."""

from quartet_benchmarks.faults._suite import FaultyStack, faulty_stack, run
from quartet_benchmarks.faults.endpoint import Plan
from quartet_benchmarks.faults.kinds import FAULTS
from quartet_benchmarks.faults.trial import Case, cases, play

__all__ = ["FAULTS", "Case", "FaultyStack", "Plan", "cases", "faulty_stack", "play", "run"]
