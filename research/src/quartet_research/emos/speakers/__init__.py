"""Reference speakers of EMOS: leader and robots by rules, from their own prompts, with faults at a given rate.

Their figures say nothing about a language model. A speaker decides by the numbers of resumes and scene. Without numbers
the leader draws lots, and robots accept.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quartet_research.emos.speakers.judging import POSSIBLE, SLIPS, Values, find_obstacle, write_program
from quartet_research.emos.speakers.reading import (
    Said,
    Scene,
    Subtask,
    read_body,
    read_outcomes,
    read_robots,
    read_scene,
    read_subtasks,
    read_talk,
)
from quartet_research.harness.speakers import RuleSpeakers
from quartet_teams.emos import LEADER, NOTHING

WAIT = {"function": "wait"}
NO_ITEM, NO_BRACES, NO_CALL = "I share the goals out.", "Yes, I think so.", "I go on with my list."
"""Malformed replies of the leader, of a robot that checks, and of one that acts."""
Talk = Sequence[tuple[str, str]]
"""Speaker and text of each message, oldest first."""


@dataclass(frozen=True)
class Rates:
    """Rates of the faults, from 0 to 1; each is drawn separately."""

    wrong_robot: float = 0.0
    """The leader gives a subtask to another robot than the numbers say."""
    forgotten: float = 0.0
    """The leader leaves a subtask out."""
    wrong_verdict: float = 0.0
    """A robot says yes for no, or no for yes."""
    slip: float = 0.0
    """A robot's program has one of `SLIPS`."""
    malformed: float = 0.0
    """A reply has no braces, or is no call."""

    @classmethod
    def equal(cls, rate: float) -> "Rates":
        """Return one rate for all faults."""
        return cls(rate, rate, rate, rate, rate)


class Speakers(RuleSpeakers[Rates]):
    """Answers the prompts of leader and robots.

    Args:
        rates: of the faults.
        seed: of the faults and lots.
    """

    def _answer(self, participant: str, parts: dict[str, str]) -> str:
        talk = read_talk(parts["Conversation"])
        happened = read_outcomes(parts.get("What the robots have done until now", ""))
        if participant == LEADER:
            return NO_ITEM if self._chance(self._rates.malformed) else self._assign(parts, talk, happened)
        if "Functions" in parts:
            return self._act(participant, parts, talk, happened)
        return self._check(participant, parts, talk)

    def _assign(self, parts: Mapping[str, str], talk: Talk, happened: Sequence[Said]) -> str:
        """Return the leader's items."""
        scene, robots = read_scene(parts["Scene"]), read_robots(parts["Robots"])
        bodies = {robot: read_body(text, robot, scene) for robot, text in robots.items()}
        plan: dict[str, list[Subtask]] = {robot: [] for robot in robots}
        able: dict[Subtask, list[str]] = {}
        for one in _left(read_subtasks(parts["Task"]), happened):
            # Those whose numbers allow it; all, if no robot's do.
            able[one] = [name for name, body in bodies.items() if body and _can(name, body, scene, one)] or list(robots)
        for one, names in sorted(able.items(), key=lambda item: len(item[1])):
            robot = _choose(one, names, plan, talk, happened) if all(bodies.values()) else self._draw(robots)
            if len(robots) > 1 and self._chance(self._rates.wrong_robot):
                robot = self._draw(name for name in robots if name != robot)
            if not self._chance(self._rates.forgotten):
                plan[robot].append(one)
        goals = {robot: " AND ".join(goal for one in own for goal in one.goals) for robot, own in plan.items()}
        return "\n".join(f"{{{robot}||{text or NOTHING}}}" for robot, text in goals.items())

    def _draw(self, names: Iterable[str]) -> str:
        return str(self._rng.choice(list(names)))

    def _check(self, robot: str, parts: Mapping[str, str], talk: Talk) -> str:
        """Return a robot's program, or its verdict."""
        scene = read_scene(parts["Scene"])
        subtask = [text for speaker, text in talk if speaker == LEADER][-1]
        items = list(scene.items(robot, read_subtasks(subtask)))
        body, refusal = read_body(parts["Your body"], robot, scene), ""
        if body is not None and items:
            speaker, said = talk[-1]
            if speaker == LEADER:
                slip = SLIPS[int(self._rng.integers(len(SLIPS)))] if self._chance(self._rates.slip) else {}
                return f"I compute it.\n```python\n{write_program(body, scene.stairs, items, slip)}\n```"
            refusal = _refusal(said, [item["name"] for item in items])
        if self._chance(self._rates.malformed):
            return NO_BRACES
        if items and self._chance(self._rates.wrong_verdict):
            refusal = "" if refusal else f"{items[0]['name']}: I cannot do this"
        return f"{{no||{refusal}}}" if refusal else "{yes}"

    def _act(self, robot: str, parts: Mapping[str, str], talk: Talk, happened: Sequence[Said]) -> str:
        """Return a robot's list of calls, or its next one."""
        failed = [one for one in happened if one.robot == robot and one.failed]
        left = _left(read_subtasks(parts["Your subtask"]), happened)
        # What it has failed at comes last, and things at which it stays after those that it moves.
        left.sort(key=lambda one: (any(_about(said, one) for said in failed), one.place is None))
        calls = [call for one in left for call in _calls(one)]
        if parts["Your answer"].startswith("First write the list"):
            return "\n".join(map(json.dumps, [*calls, WAIT]))
        if self._chance(self._rates.malformed):
            return NO_CALL
        results = [one for speaker, text in talk if speaker == "result" for one in read_outcomes(text)]
        made = [one for one in results if one.function != WAIT["function"]]
        over = len(made) >= len(calls) or any(one.failed for one in made)
        return json.dumps(WAIT if over else calls[len(made)])


def _choose(
    subtask: Subtask,
    able: Sequence[str],
    plan: Mapping[str, Sequence[Subtask]],
    talk: Talk,
    happened: Sequence[Said],
) -> str:
    """Return the able robot that has not failed at a subtask or refused it, and has the fewest others."""
    failed = {one.robot for one in happened if one.failed and _about(one, subtask)}
    refused = {speaker for speaker, text in talk if speaker in able and subtask.thing in text}

    def cost(robot: str) -> tuple[bool, bool, bool, int]:
        # A robot cannot stay at two things.
        stays = subtask.place is None and any(one.place is None for one in plan[robot])
        return robot in failed, robot in refused, stays, len(plan[robot])

    return min(able, key=cost)


def _left(subtasks: Sequence[Subtask], happened: Sequence[Said]) -> list[Subtask]:
    """Return the subtasks whose thing was not put at its place."""
    done = {one.arguments for one in happened if one.function == "place" and not one.failed}
    return [one for one in subtasks if one.place is None or (one.thing, one.place) not in done] or list(subtasks)


def _can(robot: str, body: Values, scene: Scene, subtask: Subtask) -> bool:
    return not any(find_obstacle(body, scene.stairs, item) for item in scene.items(robot, [subtask]))


def _about(said: Said, subtask: Subtask) -> bool:
    return bool({subtask.thing, subtask.place} & set(said.arguments))


def _calls(subtask: Subtask) -> list[dict[str, str]]:
    go = {"function": "nav_to_obj", "target_obj": subtask.thing}
    if subtask.place is None:
        return [go]
    return [
        go,
        {"function": "pick", "target_obj": subtask.thing},
        {"function": "nav_to_obj", "target_obj": subtask.place},
        {"function": "place", "target_obj": subtask.thing, "target_location": subtask.place},
    ]


def _refusal(output: str, names: Collection[str]) -> str:
    """Return why a robot refuses by the output of its program, "" if it accepts."""
    found = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line)
    for name in names:
        if (reason := found.get(name, "my program printed nothing about it")) != POSSIBLE:
            return f"{name}: {reason}"
    return ""
