"""How much waits on each stream, and for how long."""

from collections.abc import Iterable
from dataclasses import dataclass

from quartet_bus import _scripts
from quartet_bus._keys import Keys
from quartet_bus._store import Store
from quartet_contracts import ANY_ROBOT, Skill


@dataclass(frozen=True)
class Depth:
    """One stream as it is now."""

    kind: str
    """skill or tasks."""
    name: str
    """The skill, or the robot; tasks for any robot have one of their own."""
    waiting: int
    """Entries that nobody has taken."""
    held: int
    """Entries that a consumer has taken and not finished."""
    age_s: float
    """How long the oldest waiting entry has waited, by Redis' own clock; 0 when none waits."""


class Depths:
    def __init__(self, store: Store, keys: Keys) -> None:
        self._store = store
        self._keys = keys

    async def look(self, robots: Iterable[str]) -> list[Depth]:
        """The streams of all skills, of `robots` and of tasks for any of them, in one round trip."""
        names = [("skill", str(skill)) for skill in Skill]
        names += [("tasks", robot) for robot in dict.fromkeys([*robots, ANY_ROBOT])]
        streams = [
            self._keys.skill_stream(name) if kind == "skill" else self._keys.task_stream(name) for kind, name in names
        ]
        rows = await self._store.script(_scripts.DEPTHS, streams)
        return [
            Depth(kind, name, int(waiting), int(held), int(age_ms) / 1000)
            for (kind, name), (waiting, held, age_ms) in zip(names, rows, strict=True)
        ]

    async def dead_letters(self) -> int:
        return int(await self._store.call("XLEN", self._keys.dead))
