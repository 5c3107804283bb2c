"""A table at which a RoCo team works: what each robot observes there, and what a joint plan may be."""

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from pydantic import ValidationError

from quartet_agent_runtime import ToolOutcome
from quartet_contracts.tools.moveit import GraspState
from quartet_contracts.tools.perception import Detection, DetectResult, clearly_held
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.errands import Errand, TeamState
from quartet_teams import Complaint, check_in_order
from quartet_teams.roco import Action, Form, JointPlan, Verb

DETECT, GRIPPER, IK = "perception__detect_objects", "moveit__get_grasp_state", "moveit__compute_ik"
MOST_STEPS = 20
"""Joint plans of one task."""
HANDS_APART_M = 0.29
"""Distance between the goals of two hands [m]; nearer ones would wait for each other at their servers."""
LARGEST_M = 0.6
"""Longest side of a place that is a target [m], unless the task names it: where on a larger one is not said."""
DOWN = ([1.0, 0.0, 0.0, 0.0], [0.7071, 0.7071, 0.0, 0.0])
"""Orientations of a flange whose fingers point down, a quarter turn apart."""
RULES = """{sentence}
{deliveries}
Where no robot reaches both a thing and its target, hand it over: one robot puts it down at a place that both reach, and
the other picks it up there.
In one round, two robots must not pick the same thing, put things down at the same place, or work less than {apart:g} m
from each other. A place with a thing on it has no room for another one. In each round at least one robot acts; the
others WAIT. An action that failed may succeed in a round in which the others WAIT.
Positions are (x, y) in metres, in one frame for all robots."""
Ask = Callable[[str, dict[str, Any]], Awaitable[ToolOutcome]]
"""Calls a tool of a robot that only reads."""


@dataclass
class TableState(TeamState):
    """Deliveries of a RoCo team, each in single actions of any robots: `PICK thing`, `PLACE thing target`."""

    grasped: dict[str, str] = field(default_factory=dict[str, str])
    """What each robot holds if its gripper holds anything, by its own actions."""
    rounds: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    """How the actions of each joint plan have ended, as prompts show it."""

    @property
    def open(self) -> list[Errand]:
        """Deliveries that are not done, [] after the last step."""
        return [one for thing, one in self.errands.items() if thing not in self.done and self.steps < MOST_STEPS]

    def by_action(self, action: str) -> Errand:
        """Return the delivery that an action is a part of."""
        _, _, said = action.partition(" ")
        return self.errands[max((thing for thing in self.errands if f"{said} ".startswith(f"{thing} ")), key=len)]

    def target(self, action: str) -> str:
        """Return where an action puts its thing down, '' for a PICK."""
        return action.partition(f" {self.by_action(action).thing}")[2].strip()

    def count(self, robot: str, action: str, code: str) -> None:
        """Take note of how an action of a robot has ended."""
        errand, target = self.by_action(action), self.target(action)
        outcome = "done" if code == "NONE" else f"failed ({code})"
        self.rounds.setdefault(self.steps, []).append(f"{robot}: {action}: {outcome}")
        if code == "NONE":
            (self.done.add if target == errand.target else self.done.discard)(errand.thing)
            self.grasped.pop(robot, None)
        if not target:
            self.grasped.setdefault(robot, errand.thing)


@dataclass(frozen=True)
class View:
    """What one robot observes."""

    seen: Mapping[str, Detection] = field(default_factory=dict[str, Detection])
    """By the site's name; each has its positions."""
    held: str = ""
    unreachable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why the arm does not get above something that is near enough."""
    trouble: str = ""
    """Why its cameras have shown nothing."""


async def observe(ask: Ask, brief: RobotBrief, expected: str) -> View:
    """Return what a robot observes with its own cameras, which are asked twice, and its gripper.

    `expected`: what it held last, which counts where the gripper holds something that no camera recognises.
    """
    looked = await ask(DETECT, {"camera": "both"})
    if not looked.ok:
        looked = await ask(DETECT, {"camera": "both"})
    try:
        found = DetectResult.model_validate(looked.content).detections
    except ValidationError:
        found = []
    in_hand, robot, names = clearly_held(found), brief.setup.robot, brief.names
    held = (in_hand and names.known(in_hand.label)) or expected
    seen: dict[str, Detection] = {}
    for one in sorted(found, key=lambda one: -one.score):
        name = names.known(one.label) or names.place(one.label)
        if name and not one.in_gripper and one.position_map and one.position_base:
            seen.setdefault(name, one)
    unreachable: dict[str, str] = {}
    for name, one in seen.items():
        if one.position_base and _away(one) <= robot.arm.reach_top_down_m:
            x, y, z = one.position_base
            above = [x, y, z + robot.manipulation.pre_grasp_height_m + robot.gripper.finger_offset_m]
            for turned in DOWN:
                answer = await ask(IK, {"position": above, "orientation": turned, "attempts": 3, "timeout": 2.0})
                if answer.ok:
                    unreachable.pop(name, None)
                    break
                unreachable[name] = str(answer.content.get("message", answer.error_code))[:300]
    holds = (await ask(GRIPPER, {})).content.get("state") == GraspState.HOLDING
    trouble = "" if looked.ok else f"{looked.error_code}: {looked.content.get('message', '')}"[:300]
    return View(seen, held if holds else "", unreachable, trouble)


class TableScene:
    """What a RoCo team sees: a `Scene` of quartet_teams.roco.

    Args:
        state: what has become of the deliveries.
        briefs: of the robots of the team, in speaking order.
        views: what each of them observes.
    """

    path_rules = ""
    equal_paths = False

    def __init__(self, state: TableState, briefs: Mapping[str, RobotBrief], views: Mapping[str, View]) -> None:
        self._state, self._briefs, self._views = state, briefs, views
        self.robots: Sequence[str] = list(briefs)
        site = next(iter(briefs.values())).site
        sizes = {place.name: place.appearance.size_m for place in (*site.surfaces, *site.containers)}
        named = {one.target for one in state.errands.values()}
        self._sizes = {
            name: size for name, size in sizes.items() if name in named or max((size or ())[:2], default=0) < LARGEST_M
        }
        deliveries = [f"Bring the {one.thing} to the {one.target}." for one in state.errands.values()]
        deliveries += [f"Done: {', '.join(sorted(state.done))}."] if state.done else []
        self.rules = RULES.format(sentence=state.split.sentence, deliveries="\n".join(deliveries), apart=HANDS_APART_M)

    @property
    def forms(self) -> Mapping[Verb, Form]:
        """PICK a thing of the task, PLACE it at a place of the site, WAIT."""
        things, places = tuple(self._state.errands), tuple(self._sizes)
        return {
            "PICK": Form(things, meaning="grasp it from above and lift it"),
            "PLACE": Form(things, places, meaning="put down there what the robot holds"),
            "WAIT": Form(meaning="stay"),
        }

    def capability(self, robot: str) -> str:
        """Return what a robot is and how far it reaches."""
        file = self._briefs[robot].setup.robot
        return f"{file.description} It reaches {file.arm.reach_top_down_m:g} m from its foot and holds one thing."

    def describe(self) -> str:
        """Return what all robots observe."""
        return "\n".join(f"{robot} observes:\n{self.describe_robot(robot)}" for robot in self.robots)

    def describe_robot(self, robot: str) -> str:
        """Return what a robot holds and sees, in the frame of the map, which all share."""
        view = self._views[robot]
        lines = [
            f"You hold the {view.held}." if view.held else "Your gripper is empty.",
            f"You see: {view.trouble}".strip(),
        ]
        for name, one in view.seen.items():
            place, (x, y, _) = self._place_under(view, name), one.position_map or (math.nan,) * 3
            problem = self._problem(robot, name)[1] or "you reach it"
            lines.append(f"- {name}{f' on the {place}' if place else ''} at ({x:.2f}, {y:.2f}): {problem}")
        return "\n".join(lines)

    def held(self, robot: str) -> Sequence[str]:
        """Return what a robot's gripper holds."""
        return [held] if (held := self._views[robot].held) else []

    def check(self, plan: JointPlan) -> Sequence[Complaint]:
        """Return what the rules, the reach of the arms and their goals have against a plan."""
        acting = {robot: one for robot, one in plan.items() if one.verb != "WAIT"}
        problems = [self._problem(robot, one.target or one.object) for robot, one in acting.items()]
        return check_in_order(
            plan,
            {
                "constraints": lambda _: self._conflicts(acting),
                "reach": lambda _: [text for stage, text in problems if stage == "reach"],
                "ik": lambda _: [text for stage, text in problems if stage == "ik"],
                "collision": lambda _: self._near(acting),
            },
        )

    def _conflicts(self, acting: Mapping[str, Action]) -> Iterable[str]:
        if not acting:
            yield "No robot acts in it."
        for (one, first), (other, second) in combinations(acting.items(), 2):
            if first.object == second.object:
                yield f"{one} and {other} would both take the {first.object}."
            if first.target and first.target == second.target:
                yield f"{one} and {other} would both put something down at the {first.target}."
        for robot, action in acting.items():
            if action.verb == "PICK" and action.object in self._state.done:
                yield f"The {action.object} is where it belongs; {robot} leaves it there."

    def _near(self, acting: Mapping[str, Action]) -> Iterable[str]:
        goals = [(robot, one.target or one.object) for robot, one in acting.items()]
        for (one, first), (other, second) in combinations(goals, 2):
            at, there = self._views[one].seen[first].position_map, self._views[other].seen[second].position_map
            if at and there and (apart := math.dist(at[:2], there[:2])) < HANDS_APART_M:
                yield (
                    f"{one} at the {first} and {other} at the {second} would be {apart:.2f} m apart; the hands need "
                    f"{HANDS_APART_M:g} m. Let one of them WAIT."
                )

    def _problem(self, robot: str, name: str) -> tuple[str, str]:
        """Return the stage at which a robot's way above something fails, and why; ('', '') where it gets there."""
        view, reach = self._views[robot], self._briefs[robot].setup.robot.arm.reach_top_down_m
        if name not in view.seen:
            return "reach", f"{robot} does not see the {name}."
        if (away := _away(view.seen[name])) > reach:
            return "reach", f"{robot} does not reach the {name}: {away:.2f} m from its foot, at most {reach:g} m."
        return ("ik", f"{robot}: {view.unreachable[name]}") if name in view.unreachable else ("", "")

    def _place_under(self, view: View, name: str) -> str:
        """Return the smallest place on which a thing is seen, '' without one."""
        at, under = view.seen[name].position_map, dict[str, float]()
        if at is None or name in self._sizes:
            return ""
        for place, size in self._sizes.items():
            middle = view.seen[place].position_map if place in view.seen else None
            if size and middle and abs(at[0] - middle[0]) <= size[0] / 2 and abs(at[1] - middle[1]) <= size[1] / 2:
                under[place] = size[0] * size[1]
        return min(under, key=lambda place: under[place], default="")


def _away(one: Detection) -> float:
    """Return the distance of something seen from a robot's foot, on the floor plane [m]."""
    return math.hypot(*one.position_base[:2]) if one.position_base else math.inf
