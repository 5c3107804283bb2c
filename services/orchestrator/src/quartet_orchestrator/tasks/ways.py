"""Ways of robots between areas, as Nav2 plans them, and whether two robots that drive would meet on theirs."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
"""x, y [m] in the map frame."""
Line = tuple[Point, ...]
"""A way: points from its begin to its end."""
Heading = tuple[float, float]
"""Direction of driving, a unit vector in the map frame."""

DRIVE_SLOWNESS, DRIVE_S = 0.775, 2.8
"""Time of a way as a multiple of that at the robot's speed limit, and what each drive takes longer for its turns [s].

Fitted to the 30 ways between the areas of the simulated home, each driven alone."""
SPEED_M_S = 0.5
"""Speed limit of the home's robot."""
SPACING_M = 0.5
"""Distance of the points of a way that are compared with those of another one [m]."""
APART_M = 1.0
"""Ways nearer to each other than this have no room for two robots side by side, as in a door or a corridor [m]."""
BLOCKED_M = 0.8
"""A robot that works nearer to a way than this is in the way of one that drives past [m]."""
PASSED_M = 1.5
"""The end of a way: a robot that works there is where the way leads, not where it leads past [m]."""
MEETING_SLACK_S = 4.0
"""How far apart in time two robots must be at one place at least to be sure that they do not meet there [s]."""
SAME_WAY = 0.5
"""Two robots whose headings have a scalar product above this follow one another."""
ONTO_LINE_M = 1.5
"""A robot this near to a known way joins it [m]."""


class Ways:
    """Ways between points that are known, such as the entries of areas; a straight line where none is."""

    def __init__(self, known: Iterable[Line] = (), speed_m_s: float = SPEED_M_S) -> None:
        """`known` are ways as a robot's Nav2 plans them; each is the way back, too. `speed_m_s` is its speed limit."""
        self._s_per_m = DRIVE_SLOWNESS / speed_m_s
        lines = [line for line in known if len(line) > 1]
        self._lines: Mapping[tuple[Point, Point], Line] = {
            (line[0], line[-1]): line for way in lines for line in (way[::-1], way)
        }
        self._times: dict[tuple[Point, Point], float] = {}

    def line(self, start: Point, end: Point) -> Line:
        """Return the way between two points: a known one, else the rest of one by which `start` lies, else straight."""
        if start == end:
            return (start,)
        if (known := self._lines.get((start, end))) is not None:
            return known
        rests = [_from(line, start) for (_, goal), line in self._lines.items() if goal == end]
        return min(((start, *rest) for rest in rests if rest), key=length, default=(start, end))

    def seconds(self, start: Point | None, end: Point | None) -> float:
        """Return the time of a drive [s]; 0 when one end is not known."""
        if start is None or end is None:
            return 0.0
        if (start, end) not in self._times:
            way = length(self.line(start, end))
            self._times[start, end] = DRIVE_S + self._s_per_m * way if way else 0.0
        return self._times[start, end]


def _from(line: Line, at: Point) -> Line:
    """Return the rest of a way for a robot that stands at `at`; () when it is not on it."""
    nearest = min(range(len(line)), key=lambda place: math.dist(line[place], at))
    return line[nearest:] if math.dist(line[nearest], at) <= ONTO_LINE_M else ()


def length(line: Line) -> float:
    """Return the length of a way [m]."""
    return sum(math.dist(one, other) for one, other in pairwise(line))


@dataclass(frozen=True)
class Drive:
    """A robot's way and when it drives it [s]."""

    line: Line
    begin_s: float
    end_s: float

    @functools.cached_property
    def passes(self) -> tuple[tuple[float, Point, Heading], ...]:
        """When the robot is where on its way, and where it is heading."""
        return tuple(self._passes())

    def _passes(self) -> Iterator[tuple[float, Point, Heading]]:
        whole = length(self.line)
        done = 0.0
        for (ax, ay), (bx, by) in pairwise(self.line):
            piece = math.dist((ax, ay), (bx, by))
            if piece <= 0:
                continue
            count = max(1, round(piece / SPACING_M))
            for number in range(count):
                share = (number + 0.5) / count
                time = self.begin_s + (self.end_s - self.begin_s) * (done + share * piece) / whole
                yield time, (ax + share * (bx - ax), ay + share * (by - ay)), ((bx - ax) / piece, (by - ay) / piece)
            done += piece


@dataclass(frozen=True)
class Stay:
    """Where a robot works, and when [s]."""

    at: Point
    begin_s: float
    end_s: float


def meet(one: Drive, other: Drive) -> bool:
    """Whether two robots come to the same place at about the same time, in opposite directions or across."""
    if one.begin_s > other.end_s + MEETING_SLACK_S or other.begin_s > one.end_s + MEETING_SLACK_S:
        return False
    return _runs_into(one, other) or _runs_into(other, one)


def _runs_into(one: Drive, other: Drive) -> bool:
    for time, at, (a, b) in one.passes:
        # Nearest, so that a robot that follows another one round a corner does not cross its way.
        near = min(other.passes, key=lambda there: math.dist(there[1], at), default=None)
        if near is not None and abs(time - near[0]) <= MEETING_SLACK_S and math.dist(near[1], at) <= APART_M:
            c, d = near[2]
            if a * c + b * d <= SAME_WAY:
                return True
    return False


def blocks(stay: Stay, drive: Drive) -> bool:
    """Whether a robot drives past another one that works so near to its way that it has to wait."""
    if any(math.dist(stay.at, end) <= PASSED_M for end in (drive.line[0], drive.line[-1])):
        return False
    return any(
        stay.begin_s - MEETING_SLACK_S <= time <= stay.end_s + MEETING_SLACK_S and math.dist(at, stay.at) <= BLOCKED_M
        for time, at, _ in drive.passes
    )
