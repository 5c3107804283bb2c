"""The MALMM experiment: Planner, Coder and Supervisor let an arm do nine tasks at a table by programs of their own."""

from quartet_research.malmm.suite import run

__all__ = ["run"]
