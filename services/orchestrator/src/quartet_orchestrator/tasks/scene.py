"""What a team of robots sees of its errands: who stands where, which errands go together, and who is nearest."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.errands import Errand, TeamState
from quartet_site import inside
from quartet_teams import Plan

DETOUR_M = 2.0
"""How much less two robots have to drive with each other's errands for a plan to be refused."""
AT_SPOT_M = 0.6
"""A robot this near to a parking pose stands there."""
SPOT_APART_M = 1.2
"""A parking pose with another robot nearer than this is taken."""
RULES = """<sentence>{sentence}</sentence>
Robots carry objects, one each at a time. The robots that are free get something to do, the others go on meanwhile.
These are refused at the same time: the same object twice, two objects to the same place, ways that go in opposite
directions, and ways that cross if they begin together. A robot that holds an object brings that one to its place first.
An errand goes to the free robot that is nearest to where it begins: a plan is refused in which two robots drive more
than {detour:g} m farther than with each other's errands."""

Point = tuple[float, float]
"""x, y [m] in the map frame."""
Way = tuple[Point, Point]


class HomeScene:
    """The errands as what a team of robots sees."""

    def __init__(
        self, state: TeamState, robots: Sequence[str], brief: RobotBrief, positions: Mapping[str, Point] | None = None
    ) -> None:
        """`robots` are free; `positions` are those of the robots whose pose is known."""
        self._state = state
        self.robots = robots
        self.rules = RULES.format(sentence=state.split.sentence, detour=DETOUR_M)
        self._site = brief.site
        self._positions = positions or {}
        self._entries = {area.name: (area.entry.x, area.entry.y) for area in brief.site.areas}
        self._area_of = {place.name: place.area for place in (*brief.site.surfaces, *brief.site.containers)}

    def describe(self) -> str:
        """Return the errands by what has become of them, which of them do not go together, and how far each is."""
        told, possible = [self._state.describe()], self._possible()
        if len(self.robots) > 1:
            pairs = list(combinations(possible, 2))
            apart = [f"{one.thing} + {other.thing}" for one, other in pairs if self._conflict("", one, "", other)]
            near = [f"{one.thing} + {other.thing}" for one, other in pairs if self._areas(one) & self._areas(other)]
            told += [f"Do not go together: {'; '.join(apart)}"] if apart else []
            told += [f"In the same room, so better one after the other: {'; '.join(near)}"] if near else []
        for robot in self.robots:
            if held := self._state.holding.get(robot):
                told.append(f"{robot} holds the {held}.")
            ways = [(errand.thing, self._distance(robot, errand)) for errand in self._for(robot)]
            metres = [f"{thing} {away:.1f}" for thing, away in ways if away is not None]
            told += [f"Metres from {robot} to where it would begin: {', '.join(metres)}"] if metres else []
        return "\n".join(told)

    def describe_robot(self, robot: str) -> str:
        """Return where a robot is and what it holds, as far as the team knows."""
        at, held = self._positions.get(robot), self._state.holding.get(robot)
        area = at and next((area.name for area in self._site.areas if inside(area.outline, *at)), None)
        return f"You {f'stand in the {area}' if area else 'are free'}{f' and hold the {held}' if held else ''}."

    def actions(self, robot: str) -> Sequence[str]:
        """Return the actions for the open errands that go with what the others do, those that begin nearest first."""
        return [errand.action for errand in sorted(self._for(robot), key=lambda one: self._distance(robot, one) or 0.0)]

    def complaints(self, plan: Plan) -> Sequence[str]:
        """Return what is wrong with a plan: names, the same object or place twice, ways that cross, detours."""
        if not plan and not self._state.running:
            return ["No robot acts in it, and there are objects left to move."]
        wrong: list[str] = []
        valid = {errand.action: errand for errand in self._state.open}
        begun, beginning = list(self._state.carrying.items()), list[tuple[str, Errand]]()
        for robot, action in plan.items():
            if robot not in self.robots:
                wrong.append(f"There is no robot '{robot}' that is free; valid: {', '.join(self.robots)}.")
            elif action not in valid:
                wrong.append(f"'{action}' is no action of {robot}; valid: {'; '.join(valid)}.")
            else:
                mine = valid[action]
                told = [self._conflict(other, theirs, robot, mine, begun=True) for other, theirs in begun]
                told += [self._conflict(other, theirs, robot, mine) for other, theirs in beginning]
                wrong += filter(None, told)
                beginning.append((robot, mine))
        return wrong or self._held_elsewhere(plan, valid) or self._detour(plan, valid)

    def parking(self, robot: str) -> str | None:
        """Return the area whose parking pose a robot without an errand drives to; None when there is none for it.

        The poses of its own area come first, then the nearest. None, too, for a robot that stands in one already or
        whose pose is not known.
        """
        at = self._positions.get(robot)
        if at is None:
            return None
        spots = [((pose.x, pose.y), self._area_at((pose.x, pose.y))) for pose in self._site.parking]
        if any(math.dist(at, spot) < AT_SPOT_M for spot, _ in spots):
            return None
        reserved = [part.parks_in for part in self._state.running.values() if part.parks_in]
        others = [where for name, where in self._positions.items() if name != robot]
        free = [
            (area != self._area_at(at), math.dist(at, spot), area)
            for spot, area in spots
            if area and area not in reserved and not any(math.dist(spot, other) < SPOT_APART_M for other in others)
        ]
        return min(free)[2] if free else None

    def _area_at(self, at: Point) -> str:
        return next((area.name for area in self._site.areas if inside(area.outline, *at)), "")

    def _possible(self) -> list[Errand]:
        """Return the open errands that go with what robots do now."""
        at_work = self._state.carrying.values()
        return [
            one
            for one in self._state.open
            if not any(self._conflict("", other, "", one, begun=True) for other in at_work)
        ]

    def _for(self, robot: str) -> list[Errand]:
        """Return the errands that a robot may do now: that of what it holds, else those of what nobody holds."""
        possible, held = self._possible(), self._held_by()
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

    def _detour(self, plan: Plan, valid: Mapping[str, Errand]) -> list[str]:
        """Return how much less the free robots would drive with each other's errands, where that is much."""
        held = self._held_by()
        known = {robot: at for robot in self.robots if robot not in held and (at := self._positions.get(robot))}
        told: list[str] = []
        for robot, other in permutations(known, 2):
            if robot not in plan or (other in plan and other < robot):
                continue
            mine, theirs = valid[plan[robot]], valid[plan[other]] if other in plan else None
            now = self._begins(known[robot], mine) + (self._begins(known[other], theirs) if theirs else 0.0)
            then = self._begins(known[other], mine) + (self._begins(known[robot], theirs) if theirs else 0.0)
            if now - then > DETOUR_M:
                errands = "each other's errands" if theirs else f"{other} in the place of {robot}"
                told.append(f"With {errands}, {robot} and {other} would drive {now - then:.1f} m less.")
        return told

    def _begins(self, at: Point, errand: Errand) -> float:
        there = self._entries.get(errand.area)
        return 0.0 if there is None else math.dist(at, there)

    def _distance(self, robot: str, errand: Errand) -> float | None:
        """Return how far it is to where an errand begins [m]; None when that or the robot's pose is not known."""
        at = self._positions.get(robot)
        if at is None or errand.area not in self._entries:
            return None
        return 0.0 if self._state.holding.get(robot) == errand.thing else self._begins(at, errand)

    def _areas(self, errand: Errand) -> set[str]:
        return {errand.area, self._area_of[errand.target]} & self._entries.keys()

    def _conflict(self, one: str, first: Errand, other: str, second: Errand, *, begun: bool = False) -> str:
        """Return why two errands do not go together, '' when they do.

        With `begun` the first one has been begun before: its robot may be past the point where the ways cross, so that
        only the same way in the opposite direction counts.
        """
        if first.thing == second.thing:
            return f"{one} and {other} would both take the {first.thing}."
        if first.target == second.target:
            return f"{one} and {other} would both put something down at the {first.target}; let one wait."
        ways = self._way(first), self._way(second)
        meet = opposite if begun else cross
        if ways[0] is not None and ways[1] is not None and meet(ways[0], ways[1]):
            return (
                f"The ways of {one} ({first.area} to {first.target}) and {other} ({second.area} to {second.target}) "
                "cross; let one wait."
            )
        return ""

    def _way(self, errand: Errand) -> Way | None:
        """Return the way with the object, between the entries of two areas; None within one area, or when unknown."""
        start, end = self._entries.get(errand.area), self._entries.get(self._area_of[errand.target])
        return None if start is None or end is None or start == end else (start, end)


def cross(one: Way, other: Way) -> bool:
    """Whether two straight ways cross inside of both, or are the same in opposite directions."""
    (a, b), (c, d) = one, other
    return opposite(one, other) or (_side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0)


def opposite(one: Way, other: Way) -> bool:
    """Whether two ways are the same in opposite directions."""
    return one == other[::-1]


def _side(a: Point, b: Point, c: Point) -> float:
    """Return on which side of the line from `a` to `b` the point `c` is: positive to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
