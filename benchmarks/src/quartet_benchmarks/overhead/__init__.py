"""What an agent costs beside the model: Quartet's loop beside a bare one and the loops of agent frameworks."""

from quartet_benchmarks.overhead.suite import run

__all__ = ["run"]
