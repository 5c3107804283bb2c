"""Object tracking: everything that a task has seen keeps one opaque object_id while it can be told that it is the same.

Two cans that look alike differ by where they stand, so an object is recognised by its name and its place: within
SAME_PLACE_M of where it was seen last, nearest first. An object seen between the fingers is the one that a grasp was
last planned for; after it has left them, it is the one of its name where no known object stood. One that was grasped by
mistake and put back keeps its id, by which it is left out. A surface or container of the site file is the only one of
its name, wherever its middle seems to be from here.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from quartet_contracts import new_object_id
from quartet_contracts.tools.perception import SAME_PLACE_M
from quartet_perception.errors import UnknownObjectIdError

Point = tuple[float, float, float]

PUT_BACK_M = 0.1
"""A thing this near to where a mistaken object was put back is that object: two things hardly stand so close."""
MAX_OBJECTS, MAX_TASKS = 256, 32
"""Objects kept per task and tasks kept per robot; the least recently seen are dropped first."""


@dataclass(frozen=True)
class Observation:
    """One object in one picture."""

    name: str
    place: Point | None
    """Middle in `frame` [m]; None where depth is missing."""
    frame: str = "map"
    """A frame that is fixed while the robot drives: map or odom."""
    unique: bool = False
    """Whether the site has only one of this name, so that the name identifies it."""
    in_gripper: bool = False
    """Whether it is between the fingers."""
    doubtful: bool = False
    """Whether it fits its description too badly to be sure of its name."""


@dataclass
class TrackedObject:
    """An object that a task has seen."""

    object_id: str
    name: str
    """The name it was first found under."""
    place: Point | None
    """Where it was seen last, in `frame` [m]."""
    frame: str
    held: bool = False
    """Whether the gripper held it when it was last seen, so that `place` is out of date."""
    mistaken: bool = False
    """Whether it was grasped, was found not to be what `name` says, and stands where it was again."""
    confirmed: bool = False
    """Whether a person has said that it is what `name` says."""
    height_m: float | None = None
    """Height that the last grasp pose measured [m]."""
    seen_at: float = field(default_factory=time.monotonic)
    """When that was, on the monotonic clock [s]."""


class ObjectTracker:
    """The objects that one robot has seen, by task: an id of another task is unknown."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, OrderedDict[str, TrackedObject]] = OrderedDict()
        self._grasp_targets: dict[str, TrackedObject] = {}
        """By task, the object that a grasp was last planned for, as it stood then."""

    def get(self, task: str, object_id: str) -> TrackedObject:
        """Return the object with that id. Raises UnknownObjectIdError, also for one that was ruled out."""
        found = self._tasks.get(task, OrderedDict()).get(object_id)
        if found is None:
            raise UnknownObjectIdError(
                f"object_id {object_id!r} is unknown: this robot has not seen it in this task, or the server "
                "restarted; valid are the object_ids of this task's own results. Go on with the name, or look "
                "for it again"
            )
        if found.mistaken:
            raise UnknownObjectIdError(
                f"object_id {object_id!r} was ruled out in this task: it is another thing than its label says. Go on "
                "with the name"
            )
        return found

    def named(self, task: str, names: Collection[str]) -> list[TrackedObject]:
        """Return the objects of these names that a task has seen, the last seen first, without mistaken ones."""
        seen = reversed(self._tasks.get(task, OrderedDict()).values())
        return [one for one in seen if one.name in names and not one.mistaken]

    def mistaken(self, task: str) -> list[TrackedObject]:
        """Return the objects that a task has grasped by mistake and put back."""
        return [one for one in self._tasks.get(task, OrderedDict()).values() if one.mistaken]

    def mark_grasp_target(self, task: str, object_id: str, height_m: float | None = None) -> None:
        """Note that a grasp was planned for this object: what the gripper holds next under its name is this one.

        Raises UnknownObjectIdError.
        """
        self._grasp_targets[task] = replace(self.get(task, object_id), height_m=height_m)

    def grasped_height(self, task: str, names: Collection[str]) -> float | None:
        """Return the height of the object of the last planned grasp [m]; None where it has none of `names`."""
        target = self._grasp_targets.get(task)
        return target.height_m if target is not None and target.name in names else None

    def mark_mistaken(self, task: str, names: Collection[str]) -> TrackedObject | None:
        """Note that what a grasp was last planned for under one of `names` is another thing, and was put back.

        It is expected where it stood when the grasp was planned. Returns it; None where there is no such object. The
        grasp is then forgotten, so that it marks one object only.
        """
        target = self._grasp_targets.get(task)
        known = None if target is None else self._tasks.get(task, OrderedDict()).get(target.object_id)
        if target is None or known is None or known.name not in names:
            return None
        del self._grasp_targets[task]
        known.place, known.frame, known.held, known.mistaken = target.place, target.frame, False, True
        return known

    def settle(self, task: str, object_id: str, *, is_it: bool) -> None:
        """Note what a person said of an object that was in doubt: whether it is what its name says.

        Raises UnknownObjectIdError.
        """
        known = self.get(task, object_id)
        known.confirmed, known.mistaken = is_it, not is_it

    def confirmed(self, task: str) -> set[str]:
        """Return the ids of the objects that a person has confirmed."""
        return {one.object_id for one in self._tasks.get(task, OrderedDict()).values() if one.confirmed}

    def mark_held(self, task: str, object_id: str) -> TrackedObject:
        """Note that the gripper holds this object, and return it. Raises UnknownObjectIdError."""
        known = self.get(task, object_id)
        known.held = True
        return known

    def update(self, task: str, seen: Sequence[Observation], holding: str | None = None) -> list[str | None]:
        """Take in the objects of one picture and return their ids in the same order; None for one without a place.

        holding: id of what the gripper is known to hold, so that nothing elsewhere is taken for it.
        """
        tracked = self._of(task)
        ids = [self._id_of_unique(tracked, one) for one in seen]
        free = {object_id: known for object_id, known in tracked.items() if object_id not in ids}
        # What stands just where a mistaken object was put back is that one, before it is anything near by.
        pairs = _pairs_by_distance(seen, self.mistaken(task), PUT_BACK_M)
        pairs += _pairs_by_distance(seen, [one for one in tracked.values() if not one.mistaken], SAME_PLACE_M)
        for index, object_id in pairs:
            if ids[index] is None and object_id in free:
                ids[index] = free.pop(object_id).object_id
        in_gripper = [index for index, one in enumerate(seen) if one.in_gripper]
        for index in in_gripper:
            ids[index] = self._id_of_held(task, seen[index], free)
        for index, one in enumerate(seen):
            if ids[index] is None and one.place is not None:
                carried = [t for t in free.values() if t.held and t.name == one.name and t.object_id != holding]
                put_down = carried[0] if carried and not in_gripper and not one.doubtful else None
                ids[index] = free.pop(put_down.object_id).object_id if put_down else self._new(tracked, one)
        for one, object_id in zip(seen, ids, strict=True):
            if object_id is not None:
                _refresh(tracked, object_id, one)
        while len(tracked) > MAX_OBJECTS:
            tracked.popitem(last=False)
        return ids

    def _of(self, task: str) -> OrderedDict[str, TrackedObject]:
        tracked = self._tasks.setdefault(task, OrderedDict())
        self._tasks.move_to_end(task)
        while len(self._tasks) > MAX_TASKS:
            dropped, _ = self._tasks.popitem(last=False)
            self._grasp_targets.pop(dropped, None)
        return tracked

    def _id_of_unique(self, tracked: OrderedDict[str, TrackedObject], one: Observation) -> str | None:
        """Return the id of a surface or container: several visible pieces of one table are one table."""
        if not one.unique or one.place is None:
            return None
        known = next((t.object_id for t in tracked.values() if t.name == one.name), None)
        return known or self._new(tracked, one)

    def _id_of_held(self, task: str, one: Observation, free: dict[str, TrackedObject]) -> str:
        """Return the id of the held object of that name, else of the grasp target, else a new one."""
        tracked = self._tasks[task]
        planned = self._grasp_targets.get(task)
        target = None if planned is None else tracked.get(planned.object_id)
        likely = [t for t in free.values() if t.held and t.name == one.name]
        if target is not None and target.name == one.name and target.object_id in free:
            likely.append(target)
        return free.pop(likely[0].object_id).object_id if likely else self._new(tracked, one)

    @staticmethod
    def _new(tracked: OrderedDict[str, TrackedObject], one: Observation) -> str:
        new = TrackedObject(new_object_id(), one.name, one.place, one.frame, one.in_gripper)
        tracked[new.object_id] = new
        return new.object_id


def _refresh(tracked: OrderedDict[str, TrackedObject], object_id: str, one: Observation) -> None:
    known = tracked[object_id]
    known.held, known.seen_at = one.in_gripper, time.monotonic()
    # A mistaken object keeps its place: a look that takes it for something else may be at what stands beside it.
    if one.place is not None and not known.mistaken:
        known.place, known.frame = one.place, one.frame
    tracked.move_to_end(object_id)


def _pairs_by_distance(
    seen: Sequence[Observation], tracked: Iterable[TrackedObject], within_m: float
) -> list[tuple[int, str]]:
    """Return pairs of an observation and the tracked object that it may be, nearest first.

    A doubtful observation is a confirmed object within PUT_BACK_M only: farther away it may be a lookalike.
    """
    pairs: list[tuple[float, int, str]] = []
    for index, one in enumerate(seen):
        for known in tracked:
            if known.name != one.name or one.in_gripper or one.unique or known.held:
                continue
            if one.place and known.place and one.frame == known.frame:
                distance = math.dist(one.place, known.place)
                nearest_only = one.doubtful and known.confirmed
                if distance <= (min(within_m, PUT_BACK_M) if nearest_only else within_m):
                    pairs.append((distance, index, known.object_id))
    return [(index, object_id) for _, index, object_id in sorted(pairs)]
