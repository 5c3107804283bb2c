"""Errands of a team: what is carried from where to where, and what has become of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quartet_agent_runtime import load_prompt, render_prompt
from quartet_contracts import ApproachArguments, Budget, NextAction, TaskCode, Usage
from quartet_contracts.journal import Happening, RobotLeft, TeamErrands, TeamStep, TeamStepEnded
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.names import FLOOR
from quartet_orchestrator.tasks.terms import TermPolicy
from quartet_teams import Complaint, PastStep, Plan

ANYWHERE = "anywhere"
MAX_ATTEMPTS = 2
"""Attempts of one errand, by whichever robot."""
WAY = re.compile(r"^\s*([^,()>]{1,64}?)\s*->\s*([^,()>]{1,64}?)\s*$")
PARK = re.compile(r"park\((.+)\)")


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

    def check(self, plan: Plan) -> Sequence[Complaint]:
        """Return what is wrong with a list of errands."""
        return [("constraints", reason) for reason in self._reasons(plan)]

    def _reasons(self, plan: Plan) -> list[str]:
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
    """What a robot does now: an errand, or the way to a parking pose."""

    step: int
    action: str
    task: str
    """Id of the robot's task."""
    budget: Budget | None = None
    """Its share of the team's budget; None for a drive, which asks no model of the orchestrator."""

    @property
    def parks_in(self) -> str:
        """The area with the parking pose; '' for an errand."""
        found = PARK.fullmatch(self.action)
        return found[1] if found else ""


def park(area: str) -> str:
    """Return the action of a robot that waits in the parking pose of an area."""
    return f"park({area})"


@dataclass
class TeamState:
    """What has become of a team's errands, from the events of its journal."""

    split: ErrandSplit
    robots: Sequence[str] = ()
    """All robots of the team."""
    unable: Callable[[str, Errand], str] = lambda _robot, _errand: ""
    """Returns why a robot's body cannot do an errand, '' where it can."""
    errands: dict[str, Errand] = field(default_factory=dict[str, Errand])
    done: set[str] = field(default_factory=set[str])
    attempts: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Robots that have failed at an errand, by its object."""
    reasons: dict[str, str] = field(default_factory=dict[str, str])
    """Why the last attempt of an errand failed."""
    codes: dict[str, str] = field(default_factory=dict[str, str])
    holding: dict[str, str] = field(default_factory=dict[str, str])
    """What each robot still holds after an errand that failed."""
    parked: set[str] = field(default_factory=set[str])
    """Robots that have been sent out of the others' way since their last errand."""
    usage: Usage = field(default_factory=Usage)
    """Of the tasks that have ended, with their sub-agents."""
    spent: Usage = field(default_factory=Usage)
    """What of it counts for the budget."""
    left: dict[str, RobotLeft] = field(default_factory=dict[str, RobotLeft])
    """Robots that have dropped out."""
    past: list[PastStep] = field(default_factory=list[PastStep])
    steps: int = 0
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
                    part = Part(event.step, action, event.tasks[robot], event.budgets.get(robot))
                    self.running[robot] = part
                    (self.parked.add if part.parks_in else self.parked.discard)(robot)
            case TeamStepEnded():
                self._ended(event)
            case RobotLeft():
                self.left[event.robot] = event
            case _:
                pass

    def _ended(self, ended: TeamStepEnded) -> None:
        before, plan, told = self.describe(), list[str](), list[str]()
        for robot, code in ended.outcomes.items():
            part = self.running.pop(robot, None)
            if part is None:
                continue
            self.usage = self.usage.plus(ended.usage.get(robot, Usage()))
            self.spent = self.spent.plus(ended.spent.get(robot, Usage()))
            if part.parks_in:
                continue
            thing = self.by_action(part.action).thing
            plan.append(f"{robot}: {part.action}")
            told.append(f"{robot}: {part.action}: {code}")
            self.attempts[thing] = self.attempts.get(thing, 0) + 1
            self.holding.pop(robot, None)
            if held := ended.holding.get(robot):
                self.holding[robot] = held
            self.count(robot, part.action, code)
            if code != "NONE":
                self.failed.setdefault(thing, set()).add(robot)
                self.codes[thing], self.reasons[thing] = code, ended.reasons.get(robot, "")
        if plan:
            self.past.append(PastStep(before, "; ".join(plan), "\n".join(told)))

    def count(self, robot: str, action: str, code: str) -> None:
        """Take note of how an action has ended."""
        if code == "NONE":
            self.done.add(self.by_action(action).thing)

    @property
    def carrying(self) -> dict[str, Errand]:
        """The errand of each robot that does one now."""
        return {robot: self.by_action(part.action) for robot, part in self.running.items() if not part.parks_in}

    @property
    def open(self) -> list[Errand]:
        """Errands that are neither done nor given up, and that no robot does now."""
        carried = {part.action for part in self.running.values()}
        return [
            errand
            for thing, errand in self.errands.items()
            if thing not in self.done and errand.action not in carried and self.attempts.get(thing, 0) < MAX_ATTEMPTS
            if not self.no_robot(errand)
        ]

    @property
    def present(self) -> list[str]:
        """Robots that have not dropped out."""
        return [robot for robot in self.robots if robot not in self.left]

    def no_robot(self, errand: Errand) -> str:
        """Return why none of the present robots is able to do an errand, '' if one is."""
        reasons = {robot: self.unable(robot, errand) for robot in self.present}
        return "; ".join(f"{robot}: {why}" for robot, why in reasons.items()) if all(reasons.values()) else ""

    def refusal(self, robot: str, errand: Errand) -> str:
        """Return why a robot does not get an errand, '' if it may.

        It is not able to do it, or it has failed at it and another present robot is able. A robot that holds the
        object may always bring it to its place.
        """
        thing = errand.thing
        if self.holding.get(robot) == thing:
            return ""
        if why := self.unable(robot, errand):
            return f"{robot} is not able to move the {thing}: {why}"
        failed = self.failed.get(thing, set())
        others = [name for name in self.present if name not in failed and not self.unable(name, errand)]
        if robot not in failed or not others:
            return ""
        return f"{robot} has failed to move the {thing}, so {' or '.join(others)} tries it"

    @property
    def stuck(self) -> str:
        """Why no robot continues although errands are open."""
        names = ", ".join(self.present)
        return f"None of {names} can go on with what is left." if names else "No robot of the team is left."

    @property
    def task_code(self) -> TaskCode:
        """STOPPED if an errand has attempts left and a robot that is able to do it has left because it was stopped."""
        stopped = [robot for robot, left in self.left.items() if left.error_code == "ROBOT_STOPPED"]
        not_done = (
            errand
            for thing, errand in self.errands.items()
            if thing not in self.done and self.attempts.get(thing, 0) < MAX_ATTEMPTS
        )
        waits = any(not self.unable(robot, errand) for errand in not_done for robot in stopped)
        return TaskCode.STOPPED if waits else TaskCode.NONE

    def code(self, thing: str) -> str:
        """Return the code of an errand that is not done."""
        return self.codes.get(thing) or ("ROBOT_UNABLE" if self.no_robot(self.errands[thing]) else "UNKNOWN")

    def reason(self, thing: str) -> str:
        """Return why an errand is not done."""
        if why := self.reasons.get(thing):
            return why
        unable = self.no_robot(self.errands[thing])
        return f"no robot is able to do it: {unable}" if unable else "not tried"

    def by_action(self, action: str) -> Errand:
        """Return the errand of an action. Raises KeyError."""
        return {errand.action: errand for errand in self.errands.values()}[action]

    def describe(self) -> str:
        """Return the errands by what has become of them."""
        still = [errand.thing for errand in self.open]
        carried = {errand.thing: robot for robot, errand in self.carrying.items()}
        over = self.done | {*still, *carried}
        parts = {
            "Still to be moved": still,
            "Being moved": [f"{thing} (by {robot})" for thing, robot in carried.items()],
            "Moved": sorted(self.done),
            "Given up": [f"{thing} ({self.code(thing)})" for thing in self.errands if thing not in over],
        }
        return "\n".join(f"{heading}: {', '.join(things)}" for heading, things in parts.items() if things)
