"""Splits the wall time of one task over the parts of the system that worked on it."""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

PARTS: tuple[str, ...] = (
    "model",
    "gateway",
    "mcp",
    "rosbridge",
    "motion",
    "rendering",
    "perception",
    "bus",
    "journal",
    "agents",
    "other",
)
"""agents: their own code, between all that they wait for. other: no span covers it, or none of a known kind."""
ROBOT = ("rosbridge", "motion")
"""Parts that wait for the simulation, so that its rendering is a part of theirs."""
SERVERS = ("nav2", "moveit", "ros")
NS = 1e-9
SIMULATION, RENDER = "quartet_simulation", "render "
CLIENT = 3


@dataclass(frozen=True)
class Span:
    """A span of a trace, as a process has sent it."""

    service: str
    """Process that sent it."""
    name: str
    trace: str
    span: str
    parent: str
    """Id of the span that it is in; empty: it is the root of its trace."""
    kind: int = 1
    """SpanKind of OTLP: 1 internal, 2 server, 3 client."""
    start_ns: int = 0
    end_ns: int = 0
    """Unix time [ns]."""
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stretch:
    """A stretch of wall time that belongs to one part."""

    part: str
    name: str
    """Name of the span; empty where none covers it."""
    seconds: float


def stretches(spans: Iterable[Span], trace: str, start_ns: int, end_ns: int) -> list[Stretch]:
    """Split the time from `start_ns` to `end_ns` [Unix ns]; the stretches add up to it.

    Each instant belongs to the innermost span of the trace that is open then: the one with the most spans around it,
    of several the one that began first. Of what a sub-agent does and what the orchestrator copies meanwhile, the former
    counts. Rendering has traces of its own; it counts where the innermost span waits for the robot.
    """
    arrived = list(spans)
    own = {one.span: one for one in arrived if one.trace == trace}
    rendered = _union((one.start_ns, one.end_ns) for one in arrived if _is_rendering(one))
    depths = {key: _depth(one, own) for key, one in own.items()}
    ordered = sorted(own.values(), key=lambda one: one.start_ns)
    edges = {start_ns, end_ns}
    for one in ordered:
        edges |= {one.start_ns, one.end_ns}
    for begin, end in rendered:
        edges |= {begin, end}
    times = sorted(edge for edge in edges if start_ns <= edge <= end_ns)
    found: list[Stretch] = []
    open_: list[tuple[int, int, str]] = []
    next_span, next_render = 0, 0
    for begin, end in itertools.pairwise(times):
        while next_span < len(ordered) and ordered[next_span].start_ns <= begin:
            one = ordered[next_span]
            heapq.heappush(open_, (-depths[one.span], one.start_ns, one.span))
            next_span += 1
        while open_ and own[open_[0][2]].end_ns <= begin:
            heapq.heappop(open_)
        while next_render < len(rendered) and rendered[next_render][1] <= begin:
            next_render += 1
        innermost = own[open_[0][2]] if open_ else None
        part = "other" if innermost is None else part_of(innermost, own)
        name = "" if innermost is None else innermost.name
        if part in ROBOT and next_render < len(rendered) and rendered[next_render][0] <= begin:
            part, name = "rendering", f"{RENDER}while {name}"
        found.append(Stretch(part, name, (end - begin) * NS))
    return found


def seconds_by_part(found: Iterable[Stretch]) -> dict[str, float]:
    """Return the seconds of every part, also of those that have none."""
    sums: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    for one in found:
        sums[one.part] += one.seconds
    return sums


def seconds_by_name(found: Iterable[Stretch], part: str) -> dict[str, float]:
    """Return the seconds of one part by the names of its spans, longest first."""
    sums: defaultdict[str, float] = defaultdict(float)
    for one in found:
        if one.part == part:
            sums[one.name or "no span"] += one.seconds
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def part_of(one: Span, own: dict[str, Span]) -> str:
    """Return the part to which the time belongs that a span of the trace spends in no span of its own.

    own: the spans of its trace by their ids.
    """
    if any(above.name.startswith("journal") for above in _line(one, own)):
        return "journal"
    kind = one.name.split(" ", 1)[0]
    if kind in {"redis", "rosbridge", "goal"}:
        return {"redis": "bus", "rosbridge": "rosbridge", "goal": "motion"}[kind]
    if one.service == "gateway":
        return "model" if kind == "chat" else "gateway"
    if kind == "chat":
        return "gateway"
    if one.service == "perception":
        return "perception"
    if one.service in SERVERS or kind == "execute_tool" or one.name.startswith(("tools/", "MCP ")):
        return "mcp"
    if kind == "invoke_agent":
        return "bus" if one.kind == CLIENT else "agents"
    return "other"


def _is_rendering(one: Span) -> bool:
    return one.service == SIMULATION and one.name.startswith(RENDER)


def _line(one: Span, own: dict[str, Span]) -> list[Span]:
    """Return a span and those around it, innermost first."""
    line = [one]
    while (above := own.get(line[-1].parent)) is not None and above not in line:
        line.append(above)
    return line


def _depth(one: Span, own: dict[str, Span]) -> int:
    return len(_line(one, own))


def _union(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return intervals in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged
