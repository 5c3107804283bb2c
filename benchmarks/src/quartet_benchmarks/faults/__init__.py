"""The faults suite: models that hang, drip, break off, refuse or answer nonsense, one agent at a time."""

from quartet_benchmarks.faults.endpoint import Plan
from quartet_benchmarks.faults.kinds import FAULTS, HABITS, MISREADINGS
from quartet_benchmarks.faults.suite import FaultyStack, faulty_stack, run
from quartet_benchmarks.faults.trial import Case, cases, play

__all__ = ["FAULTS", "HABITS", "MISREADINGS", "Case", "FaultyStack", "Plan", "cases", "faulty_stack", "play", "run"]
