"""The state of the table by its cameras: what the paper's `vision` observation is here."""

from quartet_research.malmm.vision.arm import SeeingArm
from quartet_research.malmm.vision.sight import Sight

__all__ = ["SeeingArm", "Sight"]
