"""Teams of language models that plan for many robots: CMAS, DMAS, HMAS-1 and HMAS-2 in four discrete worlds."""

from quartet_research.planners.suite import run

__all__ = ["run"]
