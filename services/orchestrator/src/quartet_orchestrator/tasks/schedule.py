"""Estimate of when all errands of a team are done, and of who does which so that it is soonest.

Minimising the makespan of robots with different ways is NP-hard; this inserts each errand where it costs least, then
moves and swaps errands while that helps, and does so in several orders: exact enough for times that are rough.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from random import Random

Point = tuple[float, float]
"""x, y [m] in the map frame."""

DRIVE_S_PER_M = 2.5
"""Time of driving per metre of the straight line between entries, with turns and doors [s/m].

This and the two below are means of the simulated home with the scripted model (`quartet bench teams`, 24 errands of two
robots); how they compare with each other matters more than their size.
"""
PICK_S = 25.0
"""From the entry of an area until an object is held: search, drive-in, grasp [s]."""
PLACE_S = 17.0
"""From the entry of an area until an object is put down [s]."""
MEETING_MOST_S = 20.0
"""Largest cost of two robots that work in the same area at the same time [s]: about every second time one of them
has to leave it and wait. Less than an errand takes, so that all robots work where there is one area only."""
MEETING_WEIGHT = 0.1
"""Weight of the sum of all meetings beside the longest one: robots wait at the same time."""
MEETING_MARGIN_S = 10.0
"""How far apart two visits of an area must be at least for the estimate to be sure that they do not meet [s]."""
DRIVE_WEIGHT = 0.05
"""Weight of the sum of all robots' work beside the end of the last: of plans that end together, the shorter ways."""
IMPOSSIBLE_S = 1e6
ORDERS = 6
"""Orders in which the jobs are inserted."""
MOST_TRIED = 5_000
"""Schedules that are compared, in all of them, before the best so far is taken."""

Visit = tuple[str, float, float]
"""Area, and from when until when a robot works in it [s]."""
Queues = dict[str, tuple[str, ...]]
"""Errands of each robot, in order."""


@dataclass(frozen=True)
class Job:
    """One errand: where its object is and where it goes; None and '' where that is not known."""

    start: Point | None
    end: Point | None
    start_area: str = ""
    end_area: str = ""
    held_by: str = ""
    """The robot that holds the object already."""


@dataclass(frozen=True)
class Worker:
    """One robot: where it will be free, and after which time [s]; a position that is not known costs no way."""

    at: Point | None
    ready_s: float = 0.0
    visits: tuple[Visit, ...] = ()
    """Where it works until then."""


@dataclass(frozen=True)
class Schedule:
    """Errands of each robot in order, and the estimated time until all are done [s]."""

    queues: Queues
    end_s: float
    possible: bool = True
    """Whether the free robots may begin so; False only where what they hold does not go together."""

    def first(self, robots: Sequence[str]) -> dict[str, str]:
        """Return the first errand of each of these robots that has one."""
        return {robot: self.queues[robot][0] for robot in robots if self.queues.get(robot)}


class Scheduler:
    """Shares jobs out among workers.

    Args:
        workers: robots by name; those with `ready_s` 0 are free and begin their first job now.
        jobs: errands by name.
        may_begin: whether a free robot may do a job now.
        together: whether two jobs may begin together.
    """

    def __init__(
        self,
        workers: Mapping[str, Worker],
        jobs: Mapping[str, Job],
        may_begin: Callable[[str, str], bool] = lambda _robot, _job: True,
        together: Callable[[str, str], bool] = lambda _one, _other: True,
    ) -> None:
        self._workers, self._jobs = workers, jobs
        self._may_begin, self._together = may_begin, together
        self._times: dict[tuple[str, tuple[str, ...]], float] = {}
        self._allowed: dict[tuple[str, str], bool] = {}
        self._waits_until: dict[str, float] = {}
        self._tried = 0

    def best(self, fixed: Mapping[str, str] | None = None) -> Schedule:
        """Return the schedule that ends soonest; with `fixed`, of those in which the free robots begin just so.

        A free robot that `fixed` leaves out waits until another one has done its errand.
        """
        fixed_now = dict(fixed or {})
        self._times.clear()
        self._waits_until = self._waiting(fixed_now) if fixed is not None else {}
        held = {job.held_by: name for name, job in self._jobs.items() if job.held_by in self._workers}
        queues: Queues = dict.fromkeys(self._workers, ())
        for robot in queues:
            if (head := fixed_now.get(robot) or held.get(robot)) is not None:
                queues[robot] = (head,)
        placed = {name for queue in queues.values() for name in queue}
        bound = {robot for robot, queue in queues.items() if queue}
        order = [name for name in self._jobs if name not in placed]
        rng, self._tried = Random(0), 0
        found: list[Queues] = []
        while len(found) < ORDERS and (not found or self._tried < MOST_TRIED):
            begun = queues
            for name in order:
                begun = min(self._inserted(begun, name, bound), key=self._cost)
            found.append(self._improved(begun, bound))
            rng.shuffle(order)
        best = min(found, key=self._cost)
        end_s = max((self._time(robot, queue) for robot, queue in best.items()), default=0.0)
        return Schedule(best, end_s, possible=self._cost(best) < IMPOSSIBLE_S)

    def _waiting(self, fixed: Mapping[str, str]) -> dict[str, float]:
        """Return until when each free robot waits that begins nothing: until the first of the others is done."""
        ends = [self._time(robot, (job,)) for robot, job in fixed.items() if robot in self._workers]
        ends += [worker.ready_s for worker in self._workers.values() if worker.ready_s > 0]
        idle = [robot for robot, worker in self._workers.items() if worker.ready_s <= 0 and robot not in fixed]
        self._times.clear()
        return dict.fromkeys(idle, min(ends, default=0.0))

    def _improved(self, queues: Queues, bound: set[str]) -> Queues:
        best, cost = queues, self._cost(queues)
        better = True
        while better and self._tried < MOST_TRIED:
            better = False
            for other in self._neighbours(best, bound):
                self._tried += 1
                if (found := self._cost(other)) < cost - 1e-6:
                    best, cost, better = other, found, True
                    break
        return best

    def _neighbours(self, queues: Queues, bound: set[str]) -> Iterator[Queues]:
        """All schedules with one job elsewhere or two jobs exchanged; the first jobs of `bound` robots stay."""
        spots = [
            (robot, place) for robot, queue in queues.items() for place in range(1 if robot in bound else 0, len(queue))
        ]
        for robot, place in spots:
            name = queues[robot][place]
            without = {**queues, robot: queues[robot][:place] + queues[robot][place + 1 :]}
            yield from self._inserted(without, name, bound)
        for (one, at), (other, there) in combinations(spots, 2):
            changed = {robot: list(queue) for robot, queue in queues.items()}
            changed[one][at], changed[other][there] = changed[other][there], changed[one][at]
            yield {robot: tuple(queue) for robot, queue in changed.items()}

    def _inserted(self, queues: Queues, name: str, bound: set[str]) -> Iterator[Queues]:
        for robot, queue in queues.items():
            for place in range(1 if robot in bound else 0, len(queue) + 1):
                yield {**queues, robot: (*queue[:place], name, *queue[place:])}

    def _cost(self, queues: Queues) -> float:
        times = {robot: self._time(robot, queue) for robot, queue in queues.items()}
        work = sum(time - self._workers[robot].ready_s for robot, time in times.items())
        return max(times.values(), default=0.0) + DRIVE_WEIGHT * work + self._meetings(queues)

    def _meetings(self, queues: Queues) -> float:
        """Return what it costs that robots begin in each other's areas, or may not begin so at all [s]."""
        free = {
            robot: queue[0]
            for robot, queue in queues.items()
            if queue and self._workers[robot].ready_s <= 0 and robot not in self._waits_until
        }
        cost = sum(IMPOSSIBLE_S for robot, job in free.items() if not self._may(robot, job))
        cost += sum(IMPOSSIBLE_S for one, other in combinations(free.values(), 2) if not self._together(one, other))
        visited = [visits(self._workers[robot].at, self._jobs[job], robot) for robot, job in free.items()]
        busy = [worker.visits for worker in self._workers.values() if worker.ready_s > 0]
        pairs = [*combinations(visited, 2), *product(visited, busy)]
        meetings = [min(MEETING_MOST_S, meeting_s(one, other)) for one, other in pairs]
        return cost + max(meetings, default=0.0) + MEETING_WEIGHT * sum(meetings)

    def _may(self, robot: str, job: str) -> bool:
        key = robot, job
        if key not in self._allowed:
            self._allowed[key] = self._may_begin(robot, job)
        return self._allowed[key]

    def _time(self, robot: str, queue: tuple[str, ...]) -> float:
        """Return when a robot has done these jobs, one after the other [s]."""
        key = robot, queue
        if key not in self._times:
            if not queue:
                self._times[key] = self._workers[robot].ready_s
            else:
                *earlier, last = queue
                begin = max(self._time(robot, tuple(earlier)), self._waits_until.get(robot, 0.0))
                at = self._jobs[earlier[-1]].end if earlier else self._workers[robot].at
                self._times[key] = begin + duration(at, self._jobs[last], robot)
        return self._times[key]


def duration(at: Point | None, job: Job, robot: str = "") -> float:
    """Return how long a robot that stands at `at` needs for a job [s]."""
    if job.held_by and job.held_by == robot:
        return drive(at, job.end) + PLACE_S
    return drive(at, job.start) + PICK_S + drive(job.start, job.end) + PLACE_S


def visits(at: Point | None, job: Job, robot: str = "") -> tuple[Visit, ...]:
    """Return where and when a robot that stands at `at` works for a job that it begins now."""
    whole = duration(at, job, robot)
    place = (job.end_area, whole - PLACE_S, whole)
    if job.held_by and job.held_by == robot:
        return (place,)
    there = drive(at, job.start)
    return (job.start_area, there, there + PICK_S), place


def meeting_s(one: Sequence[Visit], other: Sequence[Visit]) -> float:
    """Return for how long two robots may be in the same area [s], with a margin for what estimates are off."""
    return sum(
        max(0.0, min(end, end_there) - max(begin, begin_there) + MEETING_MARGIN_S)
        for area, begin, end in one
        for area_there, begin_there, end_there in other
        if area and area == area_there
    )


def drive(start: Point | None, end: Point | None) -> float:
    """Return the time of a way [s]; 0 when one end is not known."""
    return 0.0 if start is None or end is None else DRIVE_S_PER_M * math.dist(start, end)
