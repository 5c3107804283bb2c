"""Where the simulated time of each robot of an episode went, from the journals of its tasks."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from quartet_contracts import JournalEvent
from quartet_contracts.journal import TeamStep, ToolCalled, ToolReturned

WAIT = "nav2__wait"
PARTS: tuple[str, ...] = ("driving", "arm", "waiting", "thinking", "parking", "free")
"""What a robot does: drive; move arm and gripper; let another robot pass; perceive, ask models and check within an
errand; drive to a parking pose; have no errand, as in a discussion of the team or when nothing is left to do."""
SIGNS = {"driving": "-", "arm": "A", "waiting": "W", "thinking": "t", "parking": "P", "free": "."}
"""How a timeline draws each part."""


@dataclass(frozen=True)
class Span:
    """What one robot did for a while; times are the world's since the beginning of the episode [s]."""

    begin_s: float
    end_s: float
    part: str
    """One of `PARTS`."""
    task: str = ""
    """The task of which it is a part; '' for a robot that is free."""


class WorldClock:
    """Tells the world's time of events that have wall times, between samples of both."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, float]] = []

    def sample(self, wall_s: float, world_s: float) -> None:
        """Note that the world's time was `world_s` at the wall time `wall_s` [s]; later than all before."""
        self._samples.append((wall_s, world_s))

    def at(self, wall_s: float) -> float:
        """Return the world's time at a wall time [s], linear between samples and never outside of them."""
        after = bisect_left(self._samples, (wall_s,))
        if after == 0 or after == len(self._samples):
            return self._samples[min(after, len(self._samples) - 1)][1]
        (wall, world), (next_wall, next_world) = self._samples[after - 1 : after + 1]
        return world + (next_world - world) * (wall_s - wall) / (next_wall - wall)

    def since(self, wall_s: float) -> float:
        """Return the world's time at a wall time, from the first sample on [s]."""
        return self.at(wall_s) - self._samples[0][1]

    @property
    def total_s(self) -> float:
        """World time between the first and the last sample [s]."""
        return self._samples[-1][1] - self._samples[0][1]


def parts_of_team(journal: Iterable[JournalEvent]) -> dict[str, dict[str, str]]:
    """Return the tasks of each robot of a team's task, with the action that each of them was."""
    found: dict[str, dict[str, str]] = {}
    for noted in journal:
        if isinstance(noted.event, TeamStep):
            for robot, task in noted.event.tasks.items():
                found.setdefault(robot, {})[task] = noted.event.plan[robot]
    return found


def spans_of(
    journals: Mapping[str, Sequence[JournalEvent]], parks: Mapping[str, bool], clock: WorldClock
) -> list[Span]:
    """Return what one robot did from the beginning of the episode to its end, without gaps.

    Args:
        journals: of its tasks, by task, in their order.
        parks: whether a task only drives to a parking pose.
        clock: of the world.
    """
    found: list[Span] = []
    for task, events in journals.items():
        if not events:
            continue
        found += _filled(found[-1].end_s if found else 0.0, clock.since(events[0].at), "free", "")
        end = clock.since(events[-1].at)
        if parks[task]:
            found += _filled(clock.since(events[0].at), end, "parking", task)
            continue
        done = clock.since(events[0].at)
        for begin, until, part in _motions(events, clock):
            found += _filled(done, begin, "thinking", task)
            found += _filled(max(begin, done), until, part, task)
            done = max(done, until)
        found += _filled(done, end, "thinking", task)
    return [*found, *_filled(found[-1].end_s if found else 0.0, clock.total_s, "free", "")]


def time_of(spans: Iterable[Span]) -> dict[str, float]:
    """Return the seconds of one robot by `PARTS`."""
    spent = dict.fromkeys(PARTS, 0.0)
    for span in spans:
        spent[span.part] += span.end_s - span.begin_s
    return spent


def drawn(spans: Sequence[Span], step_s: float) -> str:
    """Return a timeline: for each `step_s` the sign of what took most of it, `|` where a task begins."""
    line, ends = "", spans[-1].end_s if spans else 0.0
    begins = {
        int(span.begin_s // step_s)
        for before, span in pairwise([Span(0, 0, "free"), *spans])
        if span.task not in {"", before.task}
    }
    for place in range(math.ceil(ends / step_s)):
        if place in begins:
            line += "|"
            continue
        begin, end = place * step_s, (place + 1) * step_s
        parts = time_of(
            replace(span, begin_s=max(begin, span.begin_s), end_s=min(end, span.end_s))
            for span in spans
            if span.begin_s < end and span.end_s > begin
        )
        line += SIGNS[max(parts, key=lambda part: parts[part])]
    return line


def _filled(begin: float, end: float, part: str, task: str) -> Iterator[Span]:
    if end > begin:
        yield Span(begin, end, part, task)


def _motions(events: Sequence[JournalEvent], clock: WorldClock) -> list[tuple[float, float, str]]:
    """Return begin, end and part of each motion, in the order of their begin."""
    begun: dict[str, float] = {}
    found: list[tuple[float, float, str]] = []
    for noted in events:
        event = noted.event
        if isinstance(event, ToolCalled):
            begun[event.call_id] = clock.since(noted.at)
        elif isinstance(event, ToolReturned) and event.call_id in begun:
            part = _part(event.tool)
            if part is not None:
                found.append((begun.pop(event.call_id), clock.since(noted.at), part))
    return sorted(found)


def _part(tool: str) -> str | None:
    if tool == WAIT:
        return "waiting"
    return {"nav2": "driving", "moveit": "arm"}.get(tool.partition("__")[0])
