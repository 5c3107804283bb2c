"""All parts of RoCo's experiments, and their tasks."""

from quartet_research.roco.grid_part import GridPart
from quartet_research.roco.part import Part
from quartet_research.roco.person.part import PersonPart
from quartet_research.roco.planning_part import PlanningPart
from quartet_research.roco.table_part import TablePart, VariationPart
from quartet_research.roco.text_part import TextPart
from quartet_research.roco.waypoint_part import WaypointPart

PARTS: tuple[Part, ...] = (
    TablePart(),
    VariationPart(),
    GridPart(),
    PlanningPart(),
    WaypointPart(),
    TextPart(),
    PersonPart(),
)
PART_OF: dict[str, Part] = {task: part for part in PARTS for task in part.tasks}
"""Part of each task."""
GROUPS: dict[str, tuple[str, ...]] = {part.name: part.tasks for part in PARTS}
"""Names that stand for all tasks of a part."""
