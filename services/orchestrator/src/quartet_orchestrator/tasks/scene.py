"""What a team of robots sees of its errands: who stands where, which errands go together, and how all end soonest."""

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations, product

from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.course import PICK_S, PLACE_S, Course, Stop, course
from quartet_orchestrator.tasks.errands import Errand, Part, TeamState
from quartet_orchestrator.tasks.schedule import Job, Schedule, Scheduler, Worker
from quartet_orchestrator.tasks.ways import Point, Ways
from quartet_site import SiteFile, inside
from quartet_teams import Complaint, Plan

LATE_S = 10.0
"""How much later than by the best schedule all may be moved with a plan, by the estimate [s]."""
LEAST_LATE_S = 1.0
"""The same where robots would meet on their ways: those of the better plan need not pass each other [s]."""
LEAST_BUSY_S = 1.0
"""Least time after which a robot at work counts as free again [s]."""
AT_SPOT_M = 0.6
"""A robot this near to a parking pose stands there."""
SPOT_APART_M = 1.2
"""A parking pose with another robot nearer than this is taken."""
RULES = """<sentence>{sentence}</sentence>
Robots carry objects, one each at a time. The robots that are free get actions; the others continue theirs meanwhile.
A plan is refused if
- no robot acts in it while all are free;
- a robot gets an object that it is not able to move or that another robot holds, or holds an object and gets another;
- a robot gets an object again at which it has failed, while another one is able to move it;
- two robots carry the same object, or carry objects to the same place at the same time;
- two robots would meet on their ways, and all would be moved sooner without that;
- the last object would be put down more than {late:g} s later than by the best plan. This is estimated from all errands
  that are left: their ways, picks and places."""


class HomeScene:
    """The errands as what a team of robots sees."""

    def __init__(
        self,
        state: TeamState,
        robots: Sequence[str],
        brief: RobotBrief,
        positions: Mapping[str, Point] | None = None,
        picked: Set[str] = frozenset(),
        ways: Mapping[str, Ways] | None = None,
    ) -> None:
        """`robots` are free; `positions` are those of the robots whose pose is known.

        `picked` are the robots at work that have picked up the object of their errand. `ways` are those of each robot
        between the entries of areas.
        """
        self._state = state
        self.robots = robots
        self.rules = RULES.format(sentence=state.split.sentence, late=LATE_S)
        self._site = brief.site
        self._positions = positions or {}
        self._picked = picked
        self._ways = defaultdict(Ways, ways or {})
        self._entries = {area.name: (area.entry.x, area.entry.y) for area in brief.site.areas}
        self._area_of = {place.name: place.area for place in (*brief.site.surfaces, *brief.site.containers)}

    def describe(self) -> str:
        """Return the errands' states, which do not go together, how far each is, who cannot do it, and an estimate."""
        told, possible = [self._state.describe()], self._possible()
        if len(self.robots) > 1:
            pairs = list(combinations(possible, 2))
            apart = [f"{one.thing} + {other.thing}" for one, other in pairs if conflict("", one, "", other)]
            near = [f"{one.thing} + {other.thing}" for one, other in pairs if self._areas(one) & self._areas(other)]
            told += [f"Do not go together: {'; '.join(apart)}"] if apart else []
            told += [f"In the same room, where robots may wait for each other: {'; '.join(near)}"] if near else []
        for robot in self.robots:
            if held := self._state.holding.get(robot):
                told.append(f"{robot} holds the {held}.")
            ways = [(errand.thing, self.distance(robot, errand)) for errand in self._for(robot)]
            metres = [f"{thing} {away:.1f}" for thing, away in ways if away is not None]
            told += [f"Metres from {robot} to where it would begin: {', '.join(metres)}"] if metres else []
        for robot in (*self.robots, *self._state.running):
            told += [f"{why}." for one in self._state.open if (why := self._state.refusal(robot, one))]
        return "\n".join([*told, f"Soonest done, by an estimate ({self._best.end_s:.0f} s): {self._told(self._best)}"])

    def describe_robot(self, robot: str) -> str:
        """Return where a robot is and what it holds, as far as the team knows."""
        at, held = self._positions.get(robot), self._state.holding.get(robot)
        area = at and next((area.name for area in self._site.areas if inside(area.outline, *at)), None)
        return f"You {f'stand in the {area}' if area else 'are free'}{f' and hold the {held}' if held else ''}."

    def where(self, robot: str) -> str:
        """Return the area in which a robot stands, '' if that is not known."""
        at = self._positions.get(robot)
        return self._area_at(at) if at else ""

    def actions(self, robot: str) -> Sequence[str]:
        """Return the actions for the open errands that go with what the others do, those that begin nearest first."""
        return [errand.action for errand in sorted(self._for(robot), key=lambda one: self.distance(robot, one) or 0.0)]

    def check(self, plan: Plan) -> Sequence[Complaint]:
        """Return what is wrong with a plan: names, the same object or place twice, lateness, as by robots that meet."""
        return [("constraints", reason) for reason in self._reasons(plan)]

    def _reasons(self, plan: Plan) -> list[str]:
        if not plan and not self._state.running:
            return ["No robot acts in it, and there are objects left to move."]
        wrong: list[str] = []
        valid = {errand.action: errand for errand in self._state.open}
        others = list(self._state.carrying.items())
        for robot, action in plan.items():
            if robot not in self.robots:
                wrong.append(f"There is no robot '{robot}' that is free; valid: {', '.join(self.robots)}.")
            elif action not in valid:
                wrong.append(f"'{action}' is no action of {robot}; valid: {'; '.join(valid)}.")
            else:
                mine = valid[action]
                if why := self._state.refusal(robot, mine):
                    wrong.append(f"{why}.")
                wrong += filter(None, (conflict(other, theirs, robot, mine) for other, theirs in others))
                others.append((robot, mine))
        return wrong or self._held_elsewhere(plan, valid) or self._late(plan, valid)

    def parking(self, robot: str) -> str | None:
        """Return the area whose parking pose a robot without an errand drives to; None when there is none for it.

        Those where no other robot has to go come first, of these the poses of its own area, then the nearest. None
        also for a robot that stands in one already, whose pose is not known, or that waits for an errand where it is
        in nobody's way; and while the others are all in other rooms, where they put something down, since nobody
        has to come by: the team's task would only end later.
        """
        at = self._positions.get(robot)
        if at is None:
            return None
        spots = [((pose.x, pose.y), self._area_at((pose.x, pose.y))) for pose in self._site.parking]
        if any(math.dist(at, spot) < AT_SPOT_M for spot, _ in spots):
            return None
        needed = {area for other, errand in self._state.carrying.items() for area in self._to_enter(other, errand)}
        used = {self._area_of[errand.target] for errand in self._state.carrying.values()}
        if used and not needed and self._area_at(at) not in used:
            return None
        if self._state.open and self._area_at(at) not in needed:
            return None
        reserved = [part.parks_in for part in self._state.running.values() if part.parks_in]
        others = [where for name, where in self._positions.items() if name != robot]
        free = [
            (area in needed, area != self._area_at(at), math.dist(at, spot), area)
            for spot, area in spots
            if area and area not in reserved and not any(math.dist(spot, other) < SPOT_APART_M for other in others)
        ]
        return min(free)[-1] if free else None

    def _to_enter(self, robot: str, errand: Errand) -> set[str]:
        """Return the areas of its errand that a robot at work has still to drive to."""
        if robot not in self._picked:
            return self._areas(errand)
        at = self._positions.get(robot)
        target = self._area_of[errand.target]
        return self._areas(errand) & {target} if at is None or self._area_at(at) != target else set()

    def _area_at(self, at: Point) -> str:
        return next((area.name for area in self._site.areas if inside(area.outline, *at)), "")

    def _possible(self) -> list[Errand]:
        """Return the open errands that go with what robots do now."""
        at_work = self._state.carrying.values()
        return [one for one in self._state.open if not any(conflict("", other, "", one) for other in at_work)]

    def _for(self, robot: str) -> list[Errand]:
        """Return the errands that a robot may do now: that of what it holds, else those of what nobody holds."""
        possible = [errand for errand in self._possible() if not self._state.refusal(robot, errand)]
        held = self._held_by()
        if held.get(robot) in {errand.thing for errand in self._state.open}:
            return [errand for errand in possible if errand.thing == held[robot]]
        return [errand for errand in possible if errand.thing not in held.values()]

    def _held_by(self) -> dict[str, str]:
        """Return what each robot of the team holds, of those that have not left it."""
        return {robot: thing for robot, thing in self._state.holding.items() if robot not in self._state.left}

    def _held_elsewhere(self, plan: Plan, valid: Mapping[str, Errand]) -> list[str]:
        wrong: list[str] = []
        for robot, action in plan.items():
            if action not in {errand.action for errand in self._for(robot)}:
                holder = next((name for name, held in self._held_by().items() if held == valid[action].thing), robot)
                wrong.append(f"{holder} holds the {self._held_by()[holder]}: it brings that to its place first.")
        return wrong

    def _late(self, plan: Plan, valid: Mapping[str, Errand]) -> list[str]:
        """Return how much sooner all could be moved than with a plan, where that is much or where robots would meet."""
        best = self._best
        later = self._scheduler.best({robot: valid[action].thing for robot, action in plan.items()})
        met = self._meetings(plan, valid)
        if later.end_s - best.end_s <= (LEAST_LATE_S if met else LATE_S) or not best.possible:
            return []
        return [
            f"{met}With it, all would be moved after about {later.end_s:.0f} s; it would be after about "
            f"{best.end_s:.0f} s if {self._told(best)}."
        ]

    def _meetings(self, plan: Plan, valid: Mapping[str, Errand]) -> str:
        """Return which robots would meet on their ways with a plan, '' when none would."""
        begun = [(robot, valid[action]) for robot, action in plan.items()]
        ways = {robot: f"{errand.area} to {errand.target}" for robot, errand in [*self._state.carrying.items(), *begun]}
        mine = [(robot, errand.thing) for robot, errand in begun]
        busy = [(robot, "") for robot in self._state.running]
        return "".join(
            f"{one[0]} ({ways.get(one[0], 'parks')}) and {other[0]} ({ways[other[0]]}) would meet on their ways. "
            for one, other in [*combinations(mine, 2), *product(busy, mine)]
            if any(self._scheduler.delays(one, other))
        )

    @functools.cached_property
    def _best(self) -> Schedule:
        return self._scheduler.best()

    @functools.cached_property
    def _scheduler(self) -> Scheduler:
        state, held = self._state, self._held_by()
        holder = {thing: robot for robot, thing in held.items()}
        workers = {robot: Worker(self._positions.get(robot)) for robot in self.robots}
        workers |= {robot: self._at_work(robot, part) for robot, part in state.running.items()}
        able = {robot: {one.thing for one in state.open if not state.refusal(robot, one)} for robot in workers}
        jobs = {
            errand.thing: Job(
                *self._ends(errand), errand.area, self._area_of[errand.target], holder.get(errand.thing, "")
            )
            for errand in state.open
            if any(errand.thing in things for things in able.values())
        }
        allowed = {robot: {errand.thing for errand in self._for(robot)} for robot in self.robots}
        errands = {errand.thing: errand for errand in state.open}
        return Scheduler(
            workers,
            jobs,
            self._ways,
            lambda robot, thing: thing in allowed[robot],
            lambda one, other: not conflict("", errands[one], "", errands[other]),
            lambda robot, thing: thing in able[robot],
        )

    def _at_work(self, robot: str, part: Part) -> Worker:
        """Return when and where a robot at work will be free: half of a pick or place is left to one that is there."""
        at = self._positions.get(robot)
        if part.parks_in:
            spot = self._entries[part.parks_in]
            drive = course(self._ways[robot], at, [Stop(spot, "", 0.0)])
            return Worker(spot, Course(max(LEAST_BUSY_S, drive.end_s), drive.drives))
        errand = self._state.by_action(part.action)
        start, end = self._ends(errand)
        stops = [Stop(start, errand.area, PICK_S), Stop(end, self._area_of[errand.target], PLACE_S)]
        first, *rest = stops[1:] if robot in self._picked else stops
        if at is not None and self._area_at(at) == first.area:
            first = Stop(at, first.area, first.work_s / 2)
        return Worker(end, course(self._ways[robot], at, [first, *rest]))

    def _told(self, schedule: Schedule) -> str:
        """Return who does what by a schedule, in words."""
        told: list[str] = []
        for robot, things in schedule.queues.items():
            free = robot in self.robots
            if things:
                told.append(f"{robot} {'takes' if free else 'later takes'} {', then '.join(things)}")
            elif free:
                told.append(f"{robot} waits")
        return "; ".join(told)

    def _ends(self, errand: Errand) -> tuple[Point | None, Point | None]:
        """Return the entries of the areas where an errand begins and ends, None where they are not known."""
        return self._entries.get(errand.area), self._entries.get(self._area_of[errand.target])

    def distance(self, robot: str, errand: Errand) -> float | None:
        """Return how far it is to where an errand begins [m]; None when that or the robot's pose is not known."""
        at = self._positions.get(robot)
        if at is None or errand.area not in self._entries:
            return None
        holds = self._state.holding.get(robot) == errand.thing
        return 0.0 if holds else math.dist(at, self._entries[errand.area])

    def _areas(self, errand: Errand) -> set[str]:
        return {errand.area, self._area_of[errand.target]} & self._entries.keys()


def conflict(one: str, first: Errand, other: str, second: Errand) -> str:
    """Return why two errands do not go together, whoever does them; '' when they do."""
    if first.thing == second.thing:
        return f"{one} and {other} would both take the {first.thing}."
    if first.target == second.target:
        return f"{one} and {other} would both put something down at the {first.target}; let one wait."
    return ""


def ends_of(errands: Iterable[Errand], site: SiteFile) -> list[Point]:
    """Return the entries of the areas where errands begin and end."""
    area_of = {place.name: place.area for place in (*site.surfaces, *site.containers)}
    named = {area for errand in errands for area in (errand.area, area_of[errand.target])}
    return [(area.entry.x, area.entry.y) for area in site.areas if area.name in named]
