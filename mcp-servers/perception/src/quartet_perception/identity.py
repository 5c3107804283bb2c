"""What a tool is asked for, by name or by object_id, and which of the things in a picture it is."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quartet_perception.catalogue import KINDS, Kind
from quartet_perception.describe import extent
from quartet_perception.errors import BadParameters, UnknownObjectId
from quartet_perception.segmenter import Found
from quartet_perception.sightings import Point, Seen
from quartet_perception.view import View
from quartet_tool_server.middleware import current_grant

if TYPE_CHECKING:
    from quartet_perception.perceiver import Perceiver


IN_PLACE_OF = {"object_id": ("object_name", "prompt"), "held_object_id": ("held_object",), "object_ids": ("names",)}
"""Arguments of the tools that take ids, and those that say the same by name."""


@dataclass(frozen=True)
class Wanted:
    """One thing: all that is called so, or the very one with an id."""

    names: Sequence[str]
    """What the segmenter is asked for."""
    text: str
    """For messages."""
    object_id: str | None = None

    def of(self, found: Sequence[Found]) -> list[Found]:
        """Those of `found` that are wanted."""
        return [f for f in found if self.object_id is None or f.object_id == self.object_id]


def wanted(
    eyes: "Perceiver", name: str | None, object_id: str | None, argument: str, kinds: tuple[Kind, ...] = KINDS
) -> Wanted:
    """What a caller means by the text in `argument`, or by object_id. Raises BadParameters unless there is exactly one
    of both, UnknownObjectId, UnknownObject.
    """
    if (name is None) == (object_id is None):
        what = "neither was given" if name is None else "both were given"
        raise BadParameters(f"give {argument} (a name) or object_id (of an earlier result), not both: {what}")
    if object_id is None:
        assert name is not None
        return Wanted(eyes.names(name, kinds), name)
    thing = eyes.sightings.get(task(), object_id)
    return Wanted(eyes.names(thing.name, kinds), f"{thing.name} ({object_id})", object_id)


def by_name(eyes: "Perceiver", given: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the ids in a call's arguments stand for; `given` is as it came, so it may be anything. An id that
    is not known says nothing: the tool refuses it."""
    said: dict[str, Any] = {}
    for argument, names in IN_PLACE_OF.items():
        ids = given.get(argument)
        known: list[str] = []
        for object_id in ids if isinstance(ids, list) else [ids]:
            with contextlib.suppress(UnknownObjectId):
                known += [eyes.sightings.get(task(), object_id).name] if isinstance(object_id, str) else []
        if known:
            said |= dict.fromkeys(names, known if argument == "object_ids" else known[0])
    return said


def task() -> str:
    """Whose ids count: those of the caller's task, or, for a client without one, those of its grant."""
    grant = current_grant.get()
    if grant is None:
        return ""
    return f"task {grant.task}" if grant.task else f"client {grant.sub} {grant.jti}"


def identified(
    eyes: "Perceiver", view: View, found: Sequence[Found], base: tuple[float, float, float] | None
) -> list[Found]:
    """`found` with their ids. `base` is the pose in the odometry frame, for a robot that is not localised."""
    seen = [_seen(view, one, base, eyes.file.frames.odom) for one in found]
    return [replace(one, object_id=i) for one, i in zip(found, eyes.sightings.note(task(), seen), strict=True)]


def _seen(view: View, found: Found, base: tuple[float, float, float] | None, odom: str) -> Seen:
    measured = extent(view, found)
    only_one = found.thing is not None and found.kind != "object"
    frame, place = "map", None
    if measured is not None and view.map_from_base is not None:
        place = _point(view.map_from_base @ [*measured[1], 1.0])
    elif measured is not None and base is not None:
        x, y, yaw = base
        c, s = np.cos(yaw), np.sin(yaw)
        centre = measured[1]
        frame, place = odom, (x + c * centre[0] - s * centre[1], y + s * centre[0] + c * centre[1], centre[2])
    return Seen(found.label, place, frame, only_one, found.in_gripper)


def _point(values: "np.ndarray") -> Point:
    return float(values[0]), float(values[1]), float(values[2])
