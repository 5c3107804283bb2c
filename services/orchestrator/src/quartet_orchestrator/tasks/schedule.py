"""Estimate of when all errands of a team are done, and of who does which so that it is soonest.

Minimising the makespan of robots with different ways is NP-hard; this inserts each errand where it costs least, then
moves and swaps errands while that helps, and does so in several orders: exact enough for times that are rough.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from random import Random

from quartet_orchestrator.tasks.course import PICK_S, PLACE_S, Course, Stop, course, meeting_s
from quartet_orchestrator.tasks.ways import Point, Ways, blocks, meet

ENCOUNTER_S = 10.0
"""How much longer a robot takes that meets another one on its way [s]: they stop, wait and let each other pass.

Of 25 pairs of drives that began together in the simulated home, the 9 that meet by the estimate lost 8 s a robot, with
two that were given up; the other 16 lost 0.2 s.
"""
MEETING_MOST_S = 20.0
"""Largest cost of two robots that work in the same area at the same time [s]: about every second time one of them
has to leave it and wait. Less than an errand takes, so that all robots work where there is one area only."""
MEETING_WEIGHT = 0.1
"""Weight of the sum of all meetings beside the longest one: robots wait at the same time."""
DRIVE_WEIGHT = 0.05
"""Weight of the sum of all robots' work beside the end of the last: of plans that end together, the shorter ways."""
IMPOSSIBLE_S = 1e6
ORDERS = 6
"""Orders in which the jobs are inserted."""
MOST_TRIED = 5_000
"""Schedules that are compared, in all of them, before the best so far is taken."""

Queues = dict[str, tuple[str, ...]]
"""Errands of each robot, in order."""
Begun = tuple[str, str]
"""A robot and the job that it begins when it is free; '' for what it does already."""


@dataclass(frozen=True)
class Job:
    """One errand: where its object is and where it goes; None and '' where that is not known."""

    start: Point | None
    end: Point | None
    start_area: str = ""
    end_area: str = ""
    held_by: str = ""
    """The robot that holds the object already."""

    def stops(self, robot: str = "") -> tuple[Stop, ...]:
        """Return where a robot works for it."""
        place = Stop(self.end, self.end_area, PLACE_S)
        if self.held_by and self.held_by == robot:
            return (place,)
        return Stop(self.start, self.start_area, PICK_S), place

    def course(self, ways: Ways, at: Point | None, robot: str = "", begin_s: float = 0.0) -> Course:
        """Return the course of a robot that is at `at` and begins it at `begin_s`."""
        return course(ways, at, self.stops(robot), begin_s)

    def duration(self, ways: Ways, at: Point | None, robot: str = "") -> float:
        """Return how long a robot that stands at `at` needs for it [s]."""
        took = 0.0
        for stop in self.stops(robot):
            took += ways.seconds(at, stop.at) + stop.work_s
            at = stop.at
        return took


@dataclass(frozen=True)
class Worker:
    """One robot: where it will be free, and what it does until then; a position that is not known costs no way."""

    at: Point | None
    busy: Course = field(default_factory=Course)
    """Ends at 0 for a robot that is free."""

    @property
    def ready_s(self) -> float:
        """When it will be free [s]."""
        return self.busy.end_s


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
        ways: those of each robot.
        may_begin: whether a free robot may do a job now.
        together: whether two jobs may begin together.
        able: whether a robot can do a job at any time; each job has one that can.
    """

    def __init__(
        self,
        workers: Mapping[str, Worker],
        jobs: Mapping[str, Job],
        ways: Mapping[str, Ways] | None = None,
        may_begin: Callable[[str, str], bool] = lambda _robot, _job: True,
        together: Callable[[str, str], bool] = lambda _one, _other: True,
        able: Callable[[str, str], bool] = lambda _robot, _job: True,
    ) -> None:
        self._workers, self._jobs = workers, jobs
        self._ways = defaultdict(Ways, ways or {})
        self._may_begin, self._together, self._able = may_begin, together, able
        self._times: dict[tuple[str, tuple[str, ...]], float] = {}
        self._courses: dict[tuple[str, str], Course] = {}
        self._delays: dict[tuple[Begun, Begun], tuple[float, float]] = {}
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
        return Schedule(best, self._end(best), possible=self._cost(best) < IMPOSSIBLE_S)

    def delays(self, one: Begun, other: Begun) -> tuple[float, float]:
        """Return how much later each of two robots is done since they meet on their ways [s]; 0 for none."""
        if (one, other) not in self._delays:
            mine, theirs = self._course(*one), self._course(*other)
            met = any(meet(drive, way) for drive, way in product(mine.drives, theirs.drives))
            waits = met or any(blocks(stay, drive) for stay, drive in product(theirs.stays, mine.drives))
            keeps = met or any(blocks(stay, drive) for stay, drive in product(mine.stays, theirs.drives))
            self._delays[one, other] = ENCOUNTER_S * waits, ENCOUNTER_S * keeps
        return self._delays[one, other]

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
            if self._able(one, changed[one][at]) and self._able(other, changed[other][there]):
                yield {robot: tuple(queue) for robot, queue in changed.items()}

    def _inserted(self, queues: Queues, name: str, bound: set[str]) -> Iterator[Queues]:
        for robot, queue in queues.items():
            places = range(1 if robot in bound else 0, len(queue) + 1) if self._able(robot, name) else ()
            for place in places:
                yield {**queues, robot: (*queue[:place], name, *queue[place:])}

    def _cost(self, queues: Queues) -> float:
        work = sum(self._time(robot, queue) - self._workers[robot].ready_s for robot, queue in queues.items())
        return self._end(queues) + DRIVE_WEIGHT * work + self._meetings(queues)

    def _end(self, queues: Queues) -> float:
        """Return when all is done [s], with the longest delay by two robots that soon meet on their ways.

        The longest, not the sum: robots wait at the same time, and an errand that is put off may meet somebody, too.
        """
        delay = max((max(self.delays(one, other)) for one, other in self._soon_together(queues)), default=0.0)
        return max((self._time(robot, queue) for robot, queue in queues.items()), default=0.0) + delay

    def _begun(self, queues: Queues) -> dict[str, str]:
        """Return the job that each free robot begins now."""
        return {
            robot: queue[0]
            for robot, queue in queues.items()
            if queue and self._workers[robot].ready_s <= 0 and robot not in self._waits_until
        }

    def _soon_together(self, queues: Queues) -> Iterator[tuple[Begun, Begun]]:
        """What two robots do soon, pair by pair: their jobs of now, and the first ones of those that are at work.

        Without these, an errand would be left to a robot at work only because then nobody asks whom that one meets.
        """
        soon = [(robot, "") for robot, worker in self._workers.items() if worker.ready_s > 0]
        soon += [(robot, queue[0]) for robot, queue in queues.items() if queue and robot not in self._waits_until]
        return (pair for pair in combinations(soon, 2) if pair[0][0] != pair[1][0] and any(job for _, job in pair))

    def _meetings(self, queues: Queues) -> float:
        """Return what it costs that robots are soon in each other's areas, or may not begin so at all [s]."""
        free = self._begun(queues)
        cost = sum(IMPOSSIBLE_S for robot, job in free.items() if not self._may(robot, job))
        cost += sum(IMPOSSIBLE_S for one, other in combinations(free.values(), 2) if not self._together(one, other))
        pairs = [(self._course(*one).visits, self._course(*other).visits) for one, other in self._soon_together(queues)]
        meetings = [min(MEETING_MOST_S, meeting_s(one, other)) for one, other in pairs]
        return cost + max(meetings, default=0.0) + MEETING_WEIGHT * sum(meetings)

    def _course(self, robot: str, job: str) -> Course:
        """Return the course of a job that a robot begins when it is free; '' is what it does already."""
        worker = self._workers[robot]
        if not job:
            return worker.busy
        if (robot, job) not in self._courses:
            self._courses[robot, job] = self._jobs[job].course(self._ways[robot], worker.at, robot, worker.ready_s)
        return self._courses[robot, job]

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
                self._times[key] = begin + self._jobs[last].duration(self._ways[robot], at, robot)
        return self._times[key]
