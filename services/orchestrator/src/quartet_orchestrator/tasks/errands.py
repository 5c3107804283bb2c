"""Errands of a team: what is carried from where to where, what is left of it, and which errands go together."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from quartet_agent_runtime import load_prompt, render_prompt
from quartet_contracts import ApproachArguments, NextAction
from quartet_contracts.journal import Happening, RobotLeft, TeamErrands, TeamStep, TeamStepEnded
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.names import FLOOR
from quartet_orchestrator.tasks.terms import TermPolicy
from quartet_teams import PastStep, Plan

ANYWHERE = "anywhere"
MAX_ATTEMPTS = 2
"""Attempts of one errand, by whichever robot."""
WAY = re.compile(r"^\s*([^,()>]{1,64}?)\s*->\s*([^,()>]{1,64}?)\s*$")
RULES = """<sentence>{sentence}</sentence>
Robots carry objects, one each at a time. The robots that are free get something to do, the others go on meanwhile.
These are refused at the same time: the same object twice, two objects to the same place, and ways that cross or go in
opposite directions."""


@dataclass(frozen=True)
class Errand:
    """One object to carry: names of the site, or the person's words for an object."""

    thing: str
    area: str
    """Where it is; ANYWHERE when the person did not say."""
    target: str

    @property
    def action(self) -> str:
        """The action of the robot that does it."""
        return f"move({self.thing}, {self.area}, {self.target})"


class ErrandSplit:
    """The task as a scene without robots, whose plan is the list of errands: checks what a planner makes of it."""

    def __init__(self, sentence: str, brief: RobotBrief) -> None:
        self.sentence = sentence.replace("<", "‹").replace(">", "›")
        self._brief = brief
        self._terms = TermPolicy([sentence, *brief.site_names])
        self.rules = self.prompt()
        self.robots: Sequence[str] = ()

    def prompt(self) -> str:
        """Return what the planner is asked."""
        prompt = load_prompt("quartet_orchestrator", "errands.md")
        return render_prompt(prompt, self._brief.facts, sentence=self.sentence)

    def describe(self) -> str:
        """Return '': nothing has been done yet."""
        return ""

    def describe_robot(self, robot: str) -> str:
        """Return '': there are no robots in this scene."""
        return ""

    def actions(self, robot: str) -> Sequence[str]:
        """Return (): there are no robots in this scene."""
        return ()

    def complaints(self, plan: Plan) -> Sequence[str]:
        """Return what is wrong with a list of errands."""
        if not plan:
            return ["There is no errand in it."]
        wrong = [told for thing, way in plan.items() if (told := self._wrong(thing, way))]
        carried = {self._brief.names.thing(thing) for thing in plan}
        left = [name for name in self._brief.names.objects_in(self.sentence) if name not in carried]
        return [*wrong, *(f"The task names '{name}', which no errand carries." for name in left)]

    def errands(self, plan: Mapping[str, str]) -> dict[str, Errand]:
        """Return the errands of a list without complaints, by object."""
        found = (self._errand(thing, way) for thing, way in plan.items())
        return {errand.thing: errand for errand in found if errand is not None}

    def _wrong(self, thing: str, way: str) -> str:
        errand = self._errand(thing, way)
        if errand is None:
            return f"'{thing}': '{way}' is not of the form 'area -> place', with names of the lists above."
        asked = ApproachArguments(target_area=errand.area, object_name=thing, next_action=NextAction.PICK)
        return self._terms.refusal(asked) or ""

    def _errand(self, thing: str, way: str) -> Errand | None:
        parts = WAY.match(way)
        if not parts or not re.fullmatch(r"[^,()<>]{1,64}", thing):
            return None
        names, site = self._brief.names, self._brief.site
        area = next(
            (a.name for a in site.areas if parts[1].lower() in {a.name.lower(), *map(str.lower, a.aliases)}), ""
        )
        target = names.place(parts[2])
        if (not area and parts[1] != ANYWHERE) or target is None or target == FLOOR:
            return None
        return Errand(names.thing(thing), area or ANYWHERE, target)


@dataclass(frozen=True)
class Part:
    """Errand that a robot does now."""

    step: int
    action: str
    task: str
    """Id of the robot's task."""


@dataclass
class TeamState:
    """What has become of a team's errands, from the events of its journal."""

    split: ErrandSplit
    errands: dict[str, Errand] = field(default_factory=dict[str, Errand])
    done: set[str] = field(default_factory=set[str])
    attempts: dict[str, int] = field(default_factory=dict[str, int])
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    """Why the last attempt of an errand failed."""
    codes: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])
    """Where each robot has put something down last."""
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Robots that have dropped out, with the reason."""
    past: list[PastStep] = field(default_factory=list[PastStep])
    steps: int = 0
    rested: dict[str, int] = field(default_factory=dict[str, int])
    """Number of errands of all robots that had ended when a robot's last one ended."""
    running: dict[str, Part] = field(default_factory=dict[str, Part])
    """What each robot that is at work does."""
    stops: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])

    def apply(self, event: Happening) -> None:
        """Take note of an event; events of other kinds tell nothing."""
        match event:
            case TeamErrands():
                self.errands = self.split.errands(event.errands)
            case TeamStep():
                self.steps, self.stops = event.step, event.stops
                for robot, action in event.plan.items():
                    self.running[robot] = Part(event.step, action, event.tasks[robot])
            case TeamStepEnded():
                self._ended(event)
            case RobotLeft():
                self.left[event.robot] = f"{event.error_code}: {event.reason}"
            case _:
                pass

    def _ended(self, ended: TeamStepEnded) -> None:
        before, plan, told = self.describe(), list[str](), list[str]()
        for robot, code in ended.outcomes.items():
            part = self.running.pop(robot, None)
            if part is None:
                continue
            thing = self.by_action(part.action).thing
            plan.append(f"{robot}: {part.action}")
            told.append(f"{robot}: {part.action}: {code}")
            self.attempts[thing] = self.attempts.get(thing, 0) + 1
            self.rested[robot] = sum(self.attempts.values())
            if code == "NONE":
                self.done.add(thing)
                self.places[robot] = self.errands[thing].target
            else:
                self.codes[thing], self.reasons[thing] = code, ended.reasons.get(robot, "")
        self.past.append(PastStep(before, "; ".join(plan), "\n".join(told)))

    @property
    def open(self) -> list[Errand]:
        """Errands that are neither done nor given up, and that no robot does now."""
        carried = {part.action for part in self.running.values()}
        return [
            errand
            for thing, errand in self.errands.items()
            if thing not in self.done and errand.action not in carried and self.attempts.get(thing, 0) < MAX_ATTEMPTS
        ]

    def by_action(self, action: str) -> Errand:
        """Return the errand of an action. Raises KeyError."""
        return {errand.action: errand for errand in self.errands.values()}[action]

    def describe(self) -> str:
        """Return the errands by what has become of them."""
        still = [errand.thing for errand in self.open]
        carried = {self.by_action(part.action).thing: robot for robot, part in self.running.items()}
        over = self.done | {*still, *carried}
        parts = {
            "Still to be moved": still,
            "Being moved": [f"{thing} (by {robot})" for thing, robot in carried.items()],
            "Moved": sorted(self.done),
            "Given up": [f"{thing} ({self.codes[thing]})" for thing in self.errands if thing not in over],
        }
        return "\n".join(f"{heading}: {', '.join(things)}" for heading, things in parts.items() if things)


class HomeScene:
    """The errands as what a team of robots sees."""

    def __init__(self, state: TeamState, robots: Sequence[str], brief: RobotBrief) -> None:
        self._state = state
        self.robots = robots
        self.rules = RULES.format(sentence=state.split.sentence)
        self._entries = {area.name: (area.entry.x, area.entry.y) for area in brief.site.areas}
        self._area_of = {place.name: place.area for place in (*brief.site.surfaces, *brief.site.containers)}

    def describe(self) -> str:
        """Return the errands by what has become of them, and which of the open ones do not go together."""
        pairs = combinations(self._possible(), 2)
        apart = [f"{one.thing} + {other.thing}" for one, other in pairs if self._conflict("", one, "", other)]
        told = f"\nDo not go together: {'; '.join(apart)}" if apart and len(self.robots) > 1 else ""
        return self._state.describe() + told

    def describe_robot(self, robot: str) -> str:
        """Return where a robot is, as far as the team knows."""
        place = self._state.places.get(robot)
        return f"You stand before the {place}." if place else "You are free."

    def actions(self, robot: str) -> Sequence[str]:
        """Return the actions for the open errands that go with what the others do, those that begin nearest first."""
        place = self._state.places.get(robot)
        here = self._entries[self._area_of[place]] if place else None

        def distance(errand: Errand) -> float:
            there = self._entries.get(errand.area)
            return 0.0 if here is None or there is None else math.dist(here, there)

        return [errand.action for errand in sorted(self._possible(), key=distance)]

    def complaints(self, plan: Plan) -> Sequence[str]:
        """Return what is wrong with a plan: names, the same object or place twice, ways that cross."""
        if not plan and not self._state.running:
            return ["No robot acts in it, and there are objects left to move."]
        wrong: list[str] = []
        valid = {errand.action: errand for errand in self._state.open}
        going = [(robot, self._state.by_action(part.action)) for robot, part in self._state.running.items()]
        for robot, action in plan.items():
            if robot not in self.robots:
                wrong.append(f"There is no robot '{robot}' that is free; valid: {', '.join(self.robots)}.")
            elif action not in valid:
                wrong.append(f"'{action}' is no action of {robot}; valid: {'; '.join(valid)}.")
            else:
                wrong += [
                    told for other, theirs in going if (told := self._conflict(other, theirs, robot, valid[action]))
                ]
                going.append((robot, valid[action]))
        return wrong

    def _possible(self) -> list[Errand]:
        """Return the open errands that go with what robots do now."""
        at_work = [self._state.by_action(part.action) for part in self._state.running.values()]
        return [one for one in self._state.open if not any(self._conflict("", other, "", one) for other in at_work)]

    def _conflict(self, one: str, first: Errand, other: str, second: Errand) -> str:
        """Return why two errands do not go together, '' when they do."""
        if first.thing == second.thing:
            return f"{one} and {other} would both take the {first.thing}."
        if first.target == second.target:
            return f"{one} and {other} would both put something down at the {first.target}; let one wait."
        ways = self._way(first), self._way(second)
        if ways[0] is not None and ways[1] is not None and cross(ways[0], ways[1]):
            return (
                f"The ways of {one} ({first.area} to {first.target}) and {other} ({second.area} to {second.target}) "
                "cross; let one wait."
            )
        return ""

    def _way(self, errand: Errand) -> "Way | None":
        """Return the way with the object, between the entries of two areas; None within one area, or when unknown."""
        start, end = self._entries.get(errand.area), self._entries.get(self._area_of[errand.target])
        return None if start is None or end is None or start == end else (start, end)


Point = tuple[float, float]
"""x, y [m] in the map frame."""
Way = tuple[Point, Point]


def cross(one: Way, other: Way) -> bool:
    """Whether two straight ways cross inside of both, or are the same in opposite directions."""
    (a, b), (c, d) = one, other
    return one == (d, c) or (_side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0)


def _side(a: Point, b: Point, c: Point) -> float:
    """Return on which side of the line from `a` to `b` the point `c` is: positive to the left."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
