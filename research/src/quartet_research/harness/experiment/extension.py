"""Task that Inspect finds by its entry point: `quartet_research/experiment`."""

from quartet_research.harness.experiment.inspect_task import experiment

__all__ = ["experiment"]
