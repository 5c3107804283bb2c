"""What a robot does for an errand, by an estimate: when it drives where, and when it works where."""

from collections.abc import Sequence
from dataclasses import dataclass

from quartet_orchestrator.tasks.ways import Drive, Point, Stay, Ways

PICK_S = 25.0
"""From the entry of an area until an object is held: search, drive-in, grasp [s].

This and the one below are means of the simulated home with the scripted model (`quartet bench teams`); how they compare
with each other and with the time of driving matters more than their size.
"""
PLACE_S = 17.0
"""From the entry of an area until an object is put down [s]."""
MEETING_MARGIN_S = 10.0
"""How far apart two visits of an area must be at least for the estimate to be sure that they do not meet [s]."""

Visit = tuple[str, float, float]
"""Area, and from when until when a robot works in it [s]."""


@dataclass(frozen=True)
class Stop:
    """Where a robot works on an errand, and for how long [s]; None and '' where that is not known."""

    at: Point | None
    area: str
    work_s: float


@dataclass(frozen=True)
class Course:
    """When a robot is done with an errand, and what it does until then: where it drives and where it works."""

    end_s: float = 0.0
    drives: tuple[Drive, ...] = ()
    visits: tuple[Visit, ...] = ()
    stays: tuple[Stay, ...] = ()
    """Where the visits are, as far as that is known."""


def course(ways: Ways, at: Point | None, stops: Sequence[Stop], begin_s: float = 0.0) -> Course:
    """Return the course of a robot that is at `at` at `begin_s` and works at these stops, one after the other."""
    now, drives, visits, stays = begin_s, list[Drive](), list[Visit](), list[Stay]()
    for stop in stops:
        arrival = now + ways.seconds(at, stop.at)
        if at is not None and stop.at is not None and arrival > now:
            drives.append(Drive(ways.line(at, stop.at), now, arrival))
        at, now = stop.at, arrival + stop.work_s
        visits.append((stop.area, arrival, now))
        if stop.at is not None:
            stays.append(Stay(stop.at, arrival, now))
    return Course(now, tuple(drives), tuple(visits), tuple(stays))


def meeting_s(one: Sequence[Visit], other: Sequence[Visit]) -> float:
    """Return for how long two robots may be in the same area [s], with a margin for what estimates are off."""
    return sum(
        max(0.0, min(end, end_there) - max(begin, begin_there) + MEETING_MARGIN_S)
        for area, begin, end in one
        for area_there, begin_there, end_there in other
        if area and area == area_there
    )
