"""What Inspect finds of ours by its entry point: the task `planners` and the reference speakers as a model."""

from quartet_research.planners.experiment.speakers_model import ReferenceSpeakers
from quartet_research.planners.experiment.task import planners

__all__ = ["ReferenceSpeakers", "planners"]
