"""What the robot's servers have measured of the things that a team has moved, beside what the executor tells of them.

The executor is a sub-agent: what it tells of a program may be made up. The memory of the perception server and the last
release of the gripper's server are asked for by the orchestrator itself, without a new picture.
"""

import math
import time
from collections.abc import Awaitable, Callable, Sequence

from quartet_contracts.tools.moveit import Release
from quartet_contracts.tools.perception import LastSighting
from quartet_site import SiteFile, normalise

STAYED_M = 0.02
"""A thing that is nearer to where it was seen first has not been moved: a camera errs by less."""
OPENING_M = 0.05
"""How far beside the opening of a container the flange may have let go."""

Point = tuple[float, float, float]
Measure = Callable[[Sequence[str]], Awaitable[tuple[list[LastSighting], Release | None] | None]]
"""Returns what the perception server has seen of these names in this task, and the last release; None: nobody tells."""


class Sightings:
    """The things of one team's task as the servers have seen them, in the map frame."""

    def __init__(self, measure: Measure, site: SiteFile) -> None:
        self._measure = measure
        self._kinds: dict[str, str] = {}
        """The site's name of a thing by all of its names."""
        for thing in (*site.objects, *site.containers):
            self._kinds |= dict.fromkeys((normalise(thing.name), *map(normalise, thing.aliases)), thing.name)
        self._opening = {one.name: min(one.appearance.known_size_m[:2]) / 2 + OPENING_M for one in site.containers}
        self._began = time.monotonic()
        self._tells: bool | None = None
        """Whether the servers have answered from the start; None before it."""
        self._first: dict[str, tuple[str, Point]] = {}
        """Kind and place of each thing when it was seen first, by its id."""
        self._now: dict[str, Point] = {}
        self._appeared: set[str] = set()
        """Ids of things that lay where none of their kind had been seen before: one that was moved may get a new id."""
        self._carried: set[str] = set()
        """Kinds that the cameras have seen between the fingers: one that was held at the start stood nowhere before."""
        self._released = False
        """Whether the gripper was measured to let something go."""
        self._over: set[str] = set()
        """Containers over which the gripper was measured to let something go."""

    async def note(self) -> None:
        """Take in what the servers know now: at the start, and after each program."""
        if self._tells is False:
            return
        measured = await self._measure(sorted(set(self._kinds.values())))
        if self._tells is None:
            # A robot that is not localised has no places in the map frame.
            self._tells = measured is not None and (
                not measured[0] or any(one.position_map is not None for one in measured[0])
            )
        if measured is None:
            return
        sightings, released = measured
        before = list(self._first.values())
        for one in sightings:
            kind = self._kinds.get(normalise(one.label))
            if kind is not None and one.in_gripper:
                self._carried.add(kind)
            if kind is None or one.position_map is None or one.in_gripper:
                continue
            if one.object_id not in self._first:
                self._first[one.object_id] = kind, one.position_map
                others = [at for other, at in before if other == kind]
                if others and min(math.dist(at, one.position_map) for at in others) > STAYED_M:
                    self._appeared.add(one.object_id)
            self._now[one.object_id] = one.position_map
        if released is not None and released.age_s <= time.monotonic() - self._began:
            self._note_release(released)

    def forget(self) -> None:
        """Judge nothing from now on: another process has begun the task, and where things lay then is not known."""
        self._tells = False

    def _note_release(self, released: Release) -> None:
        self._released, at = True, released.tool_position_map
        for one, (kind, _) in self._first.items():
            near = at is not None and kind in self._opening
            if at is not None and near and math.dist(at[:2], self._now[one][:2]) <= self._opening[kind]:
                self._over.add(kind)

    def bear_out_move(self, thing: str) -> bool:
        """Return whether a thing of this kind was seen in another place than at first, or was carried and let go.

        True where nobody can tell.
        """
        if not self._tells or (thing in self._carried and self._released):
            return True
        ids = [one for one, (kind, _) in self._first.items() if kind == thing]
        return any(one in self._appeared or math.dist(self._first[one][1], self._now[one]) > STAYED_M for one in ids)

    def bear_out_release(self, container: str) -> bool:
        """Return whether something was measured to be let go over a container; True where nobody can tell."""
        return not self._tells or container in self._over
