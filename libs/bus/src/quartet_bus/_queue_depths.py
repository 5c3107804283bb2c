"""Depth of each queue and age of its oldest entry."""

from collections.abc import Iterable
from dataclasses import dataclass

from quartet_bus._part import Part
from quartet_bus.functions.queues import MeasureQueues
from quartet_contracts import ANY_ROBOT, Skill


@dataclass(frozen=True)
class QueueDepth:
    """Depth of one queue."""

    kind: str
    """skill or tasks."""
    name: str
    """The skill, or the robot; tasks for any robot have one of their own."""
    waiting: int
    """Number of entries that no consumer has taken."""
    taken: int
    """Number of entries that a consumer has taken and not finished."""
    age_s: float
    """Age of the oldest waiting entry by Redis' own clock [s]; 0 when none waits."""


class QueueDepths(Part):
    """Measures the queues of a deployment."""

    async def look(self, robots: Iterable[str]) -> list[QueueDepth]:
        """The streams of all skills, of `robots` and of tasks for any of them, in one round trip."""
        names = [("skill", str(skill)) for skill in Skill]
        names += [("tasks", robot) for robot in dict.fromkeys([*robots, ANY_ROBOT])]
        streams = [
            self._keys.skill_stream(name) if kind == "skill" else self._keys.task_stream(name) for kind, name in names
        ]
        rows = await self._store.run(MeasureQueues(tuple(streams)))
        return [
            QueueDepth(kind, name, waiting, taken, age_ms / 1000)
            for (kind, name), (waiting, taken, age_ms) in zip(names, rows, strict=True)
        ]
