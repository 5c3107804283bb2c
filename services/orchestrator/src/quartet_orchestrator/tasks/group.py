"""Subtasks of a group of unlike robots: the errands that its leader gives each, and the numbers that decide."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quartet_contracts.journal import Happening, TeamStep, TeamSubtasks
from quartet_orchestrator.tasks.briefs import RobotBrief
from quartet_orchestrator.tasks.errands import Errand, TeamState
from quartet_orchestrator.tasks.scene import HomeScene, conflict
from quartet_site import Abilities, SiteFile, capabilities, summarised
from quartet_teams import Complaint, MalformedPlanError
from quartet_teams.emos import NOTHING, Assignment, Problem, Profile

SEPARATOR = ";"
"""Stands between the errands of a subtask."""
TASK = """<sentence>{sentence}</sentence>
These errands are left. Each carries one object from an area to a place:
{errands}
A subtask is a list of these errands, exactly as they are written here, separated by semicolons. The robot does them in
this order, one at a time. Each errand goes to one robot. A robot that holds an object brings it to its place first."""
RULES = """Only these numbers decide, in metres, for a robot and one errand:
- Way: its horizontal_distance to the object and to the place is a number. It is "inf" if the robot cannot go there.
- Pick: the width of the object is at most the robot's widest_grasp. An unknown width excludes nothing.
- Put down: the hand comes from above. The robot's reach has an item with distance[0] <= horizontal_distance of the
  place <= distance[1] and hand_height of the place for that object <= height[1].
- See: the height of one of the robot's cameras is more than the height of the place.
A robot without such a number in its description is not limited by it. The drive of a robot is how far it is from where
it begins the errand: among robots that can do it, a short drive is better."""


@dataclass
class GroupState(TeamState):
    """What has become of the errands, and which ones each robot has still to begin."""

    subtasks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    discussions: int = 0
    """Assignments that were carried out."""

    def apply(self, event: Happening) -> None:
        """Take note of an event."""
        super().apply(event)
        match event:
            case TeamSubtasks():
                self.subtasks = {robot: list(actions) for robot, actions in event.subtasks.items()}
                self.discussions += 1
            case TeamStep():
                for robot, action in event.plan.items():
                    self.subtasks[robot] = [one for one in self.subtasks.get(robot, []) if one != action]
            case _:
                pass

    @property
    def happened(self) -> str:
        """What the robots have done until now, '' at the beginning."""
        failed = [f"The {thing} is not moved: {why}" for thing, why in self.reasons.items() if thing not in self.done]
        left = [f"{robot} has dropped out: {why}" for robot, why in self.left.items()]
        ends = [step.outcome.replace(": NONE", ": done") for step in self.past]
        return "\n".join([*ends, *failed, *left])

    def next_errands(self, scene: HomeScene) -> dict[str, str]:
        """Return the next errand of each free robot that goes with what the others do."""
        plan: dict[str, str] = {}
        begun: list[tuple[str, Errand]] = []
        for robot in scene.robots:
            possible = set(scene.actions(robot))
            for action in self.subtasks.get(robot, []):
                errand = self.by_action(action)
                if action in possible and not any(conflict(one, other, robot, errand) for one, other in begun):
                    plan[robot] = action
                    begun.append((robot, errand))
                    break
        return plan


def problem_of(state: GroupState, scene: HomeScene, briefs: Mapping[str, RobotBrief]) -> Problem:
    """Return the errands that are left as a problem for the free robots of a scene."""
    errands = "\n".join(errand.action for errand in state.open)
    task = TASK.format(sentence=state.split.sentence, errands=errands)
    numbers = json.dumps(_numbers(state, scene, briefs))
    return Problem(task, numbers, [_profile(robot, briefs[robot]) for robot in scene.robots], RULES)


class SubtaskChecker:
    """Refuses subtasks that are no lists of open errands, or that the state's rules refuse."""

    def __init__(self, state: GroupState) -> None:
        self._state = state

    def check(self, plan: Assignment) -> Sequence[Complaint]:
        """Return what is wrong with an assignment."""
        try:
            subtasks = self.read(plan)
        except MalformedPlanError as error:
            return [("parse", str(error))]
        return [("constraints", reason) for reason in self._reasons(subtasks)]

    def read(self, plan: Assignment) -> dict[str, list[str]]:
        """Return the errands of each robot, in order. Raises MalformedPlanError."""
        valid = {_plain(errand.action): errand.action for errand in self._state.open}
        subtasks: dict[str, list[str]] = {}
        for robot, subtask in plan.items():
            parts = [part.strip() for part in subtask.split(SEPARATOR) if part.strip(" .")]
            nothing = [_plain(part) for part in parts] == [_plain(NOTHING)]
            if wrong := [part for part in parts if not nothing and _plain(part) not in valid]:
                raise MalformedPlanError(
                    f"'{wrong[0][:200]}' of {robot} is no errand; valid: {f'{SEPARATOR} '.join(valid.values())}."
                )
            subtasks[robot] = [] if nothing else [valid[_plain(part)] for part in parts]
        return subtasks

    def _reasons(self, subtasks: Mapping[str, Sequence[str]]) -> list[str]:
        state, wrong, taken = self._state, list[str](), dict[str, str]()
        actions_of = {errand.thing: errand.action for errand in state.open}
        for robot, actions in subtasks.items():
            held = state.holding.get(robot, "")
            if held in actions_of and actions[:1] != [actions_of[held]]:
                wrong.append(f"{robot} holds the {held}: {actions_of[held]} comes first in its subtask.")
            for action in actions:
                if action in taken:
                    wrong.append(f"{action} is there twice, of {taken[action]} and {robot}; give it to one robot.")
                taken[action] = robot
                if why := state.refusal(robot, state.by_action(action)):
                    wrong.append(f"{why}.")
        missing = [action for action in actions_of.values() if action not in taken]
        return [*wrong, *([f"No robot has {', '.join(missing)}."] if missing else [])]


def _plain(text: str) -> str:
    """Return a text without what a model may change in it: case, spaces and a full stop."""
    return "".join(text.lower().split()).strip(".")


def _profile(robot: str, brief: RobotBrief) -> Profile:
    setup = brief.setup
    role, widest = setup.robot.description or robot, round(setup.abilities.widest_m, 3)
    if setup.resume is None:
        return Profile(robot, json.dumps({"role": role, "widest_grasp": widest}), role, role)
    resume = summarised(setup.resume)
    known: dict[str, Any] = json.loads(capabilities(resume, numbers=True, from_above=True))
    known["manipulation"] = {"widest_grasp": widest, "reach": known["manipulation"]["reach"]}
    return Profile(robot, json.dumps(known), capabilities(resume, numbers=False), role)


def _numbers(state: GroupState, scene: HomeScene, briefs: Mapping[str, RobotBrief]) -> dict[str, Any]:
    """Return what the errands need of each free robot: heights above the floor, widths and distances [m]."""
    able = {robot: briefs[robot].setup.abilities for robot in scene.robots}
    site = next(iter(briefs.values())).site
    objects, places = dict[str, Any](), dict[str, Any]()
    for errand in state.open:
        thing = site.object(errand.thing)
        place = next(one for one in (*site.surfaces, *site.containers) if one.name == errand.target)
        size = thing.appearance.size_m if thing else None
        drives = {robot: scene.distance(robot, errand) for robot in able}
        objects[errand.thing] = {
            "region": errand.area,
            "width": min(size[:2]) if size else "unknown",
            "horizontal_distance": {
                robot: _distance(one, site, errand.area, one.robot.approach.standoff_m.pick)
                for robot, one in able.items()
            },
            "drive": {robot: round(away, 1) for robot, away in drives.items() if away is not None},
        }
        stands = {robot: _distance(one, site, place.area, one.put_distance(place)) for robot, one in able.items()}
        known = {"region": place.area, "height": place.appearance.known_size_m[2], "horizontal_distance": stands}
        heights = {robot: round(one.put_height(place, thing), 3) for robot, one in able.items()}
        places.setdefault(place.name, {**known, "hand_height": {}})["hand_height"][errand.thing] = heights
    agents = {robot: {"region": scene.where(robot), "holds": state.holding.get(robot, "")} for robot in able}
    return {"objects_description": objects, "places_description": places, "agent_description": agents}


def _distance(able: Abilities, site: SiteFile, area: str, stands: float) -> float | str:
    """Return how far from the hand's target a robot stands, "inf" in an area that it cannot enter."""
    known = site.area(area)
    return "inf" if known and able.no_entry(known) else stands
