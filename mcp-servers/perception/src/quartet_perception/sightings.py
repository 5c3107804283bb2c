"""Which thing is which: what a task has seen keeps one opaque id for as long as it can be told that it is the same.

Two cans that look alike differ by where they stand. So a thing is known again by its name and its place: within
SAME_M of where it was seen last, nearest first. A thing that was seen between the fingers is the one whose grasp was
worked out last, and when it has left them it is the one of its name that stands where nothing known stood. A surface or
container of the site file is the only one of its name, wherever its middle seems to be from here.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from quartet_contracts import new_object_id
from quartet_perception.errors import UnknownObjectId

Point = tuple[float, float, float]

SAME_M = 0.2
"""Localisation, depth from afar and a nudge by the fingers stay below it; two things side by side are told apart since
each takes the nearest."""
MAX_THINGS, MAX_TASKS = 256, 32
"""Kept per task, and tasks kept per robot; what was not seen for longest is forgotten first."""


@dataclass(frozen=True)
class Seen:
    """One thing in one picture."""

    name: str
    place: Point | None
    """Middle [m]; None where depth is missing."""
    frame: str = "map"
    """Of `place`: one that stays while the robot drives."""
    only_one: bool = False
    """The site has one of this name: its name tells which it is."""
    in_gripper: bool = False


@dataclass
class Sighting:
    """A thing that a task has seen."""

    object_id: str
    name: str
    """What it was asked for as."""
    place: Point | None
    frame: str
    carried: bool = False
    """It was in the gripper when last heard of, so that `place` says nothing."""


class Sightings:
    """What one robot has seen, by task: an id of another task is not known here."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, OrderedDict[str, Sighting]] = OrderedDict()
        self._grasping: dict[str, str] = {}
        """Id of the thing whose grasp was worked out last, by task."""

    def get(self, task: str, object_id: str) -> Sighting:
        """Raises UnknownObjectId."""
        found = self._tasks.get(task, OrderedDict()).get(object_id)
        if found is None:
            raise UnknownObjectId(
                f"object_id {object_id!r} is no thing that this robot has seen in this task, or is forgotten since the "
                "perception server was started anew; valid are the object_ids of this task's own results. Go on with "
                "the name, or call detect_objects again"
            )
        return found

    def grasp(self, task: str, object_id: str) -> None:
        """A grasp of this thing was worked out: what appears between the fingers under its name is it."""
        self._grasping[task] = self.get(task, object_id).object_id

    def carry(self, task: str, object_id: str) -> Sighting:
        """This thing is in the gripper. Raises UnknownObjectId."""
        thing = self.get(task, object_id)
        thing.carried = True
        return thing

    def note(self, task: str, seen: Sequence[Seen]) -> list[str | None]:
        """The id of each thing in one picture, in its order; None for one without a place."""
        things = self._of(task)
        ids: list[str | None] = [None] * len(seen)
        for index, one in enumerate(seen):
            if one.only_one and one.place is not None:
                # Several pieces of a table that something hides in part are one table.
                known = next((thing.object_id for thing in things.values() if thing.name == one.name), None)
                ids[index] = known or self._new(things, one)
        free = {object_id: thing for object_id, thing in things.items() if object_id not in ids}
        for index, object_id in _known(seen, things):
            if ids[index] is None and object_id in free:
                ids[index] = free.pop(object_id).object_id
        held = [index for index, one in enumerate(seen) if one.in_gripper]
        for index in held:
            ids[index] = self._in_hand(task, seen[index], free)
        for index, one in enumerate(seen):
            if ids[index] is None and one.place is not None:
                put_down = next((t for t in free.values() if t.carried and t.name == one.name and not held), None)
                ids[index] = free.pop(put_down.object_id).object_id if put_down else self._new(things, one)
        for one, object_id in zip(seen, ids, strict=True):
            if object_id is not None:
                thing = things[object_id]
                thing.carried = one.in_gripper
                if one.place is not None:
                    thing.place, thing.frame = one.place, one.frame
                things.move_to_end(object_id)
        while len(things) > MAX_THINGS:
            things.popitem(last=False)
        return ids

    def _of(self, task: str) -> OrderedDict[str, Sighting]:
        things = self._tasks.setdefault(task, OrderedDict())
        self._tasks.move_to_end(task)
        while len(self._tasks) > MAX_TASKS:
            gone, _ = self._tasks.popitem(last=False)
            self._grasping.pop(gone, None)
        return things

    def _in_hand(self, task: str, one: Seen, free: dict[str, Sighting]) -> str:
        """The carried thing of that name, else the one that was to be grasped, else a new one."""
        things = self._tasks[task]
        grasped = things.get(self._grasping.get(task, ""))
        likely = [t for t in free.values() if t.carried and t.name == one.name]
        if grasped is not None and grasped.name == one.name and grasped.object_id in free:
            likely.append(grasped)
        return free.pop(likely[0].object_id).object_id if likely else self._new(things, one)

    @staticmethod
    def _new(things: OrderedDict[str, Sighting], one: Seen) -> str:
        thing = Sighting(new_object_id(), one.name, one.place, one.frame, one.in_gripper)
        things[thing.object_id] = thing
        return thing.object_id


def _known(seen: Sequence[Seen], things: OrderedDict[str, Sighting]) -> list[tuple[int, str]]:
    """Pairs of what is seen and what may be it, the likeliest first."""
    pairs: list[tuple[float, int, str]] = []
    for index, one in enumerate(seen):
        for thing in things.values():
            if thing.name != one.name or one.in_gripper or one.only_one or thing.carried:
                continue
            if one.place and thing.place and one.frame == thing.frame:
                apart = math.dist(one.place, thing.place)
                if apart <= SAME_M:
                    pairs.append((apart, index, thing.object_id))
    return [(index, object_id) for _, index, object_id in sorted(pairs)]
