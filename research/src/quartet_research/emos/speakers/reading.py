"""Reads what the speakers know from the parts of a prompt: goals, scene and resumes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quartet_research.emos.speakers.judging import Stairs, Values

_GOAL = re.compile(r"\b(any_at|is_detected|at)\(([^(),]+)(?:, ?([^(),]+))?\)")
_MESSAGE = re.compile(r"^\[(.+)\]\n((?:(?!\[.+\]\n).*\n?)*)", re.MULTILINE)
_OUTCOME = re.compile(r"^(?:(?P<robot>[^:\n]+): )?(?P<function>\w+)\((?P<arguments>[^()\n]*)\): (?P<result>.*)$", re.MULTILINE)
SUCCESS = "Success"


@dataclass(frozen=True)
class Subtask:
    """What is asked about a thing."""

    thing: str
    within_m: float | None = None
    """Largest straight distance of a robot."""
    seen: bool = False
    place: str | None = None
    goals: tuple[str, ...] = ()
    """Its goals in words."""

    def __str__(self) -> str:
        """Return the goals in one line."""
        return " AND ".join(self.goals)


@dataclass(frozen=True)
class Scene:
    """Objects and places with the numbers that the scene gives, and stairs."""

    objects: Mapping[str, Values]
    agents: Mapping[str, Values]
    stairs: Stairs

    def items(self, robot: str, subtasks: Sequence[Subtask]) -> Iterator[dict[str, Any]]:
        """Yield things and places of subtasks with what is asked about them; those that are not in the scene too."""
        for one in subtasks:
            yield self._item(robot, one.thing, one)
            if one.place is not None:
                yield self._item(robot, one.place, one)

    def _item(self, robot: str, name: str, subtask: Subtask) -> dict[str, Any]:
        known = self.objects.get(name, {})
        return {
            "name": name,
            "floor": known.get("floor", 0),
            "height": float(known.get("height", 0.0)),
            "distance": float(known.get("horizontal_distance", {}).get(robot, "inf")),
            "within": subtask.within_m,
            "seen": subtask.seen,
            "handled": subtask.place is not None,
        }


@dataclass(frozen=True)
class Said:
    """Outcomes of calls, as a conversation or the list of what has happened has them."""

    robot: str
    function: str
    arguments: tuple[str, ...]
    failed: bool


@dataclass(frozen=True)
class Talk:
    """Conversation of a prompt, oldest first."""

    messages: Sequence[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def by(self, speaker: str) -> list[str]:
        """Return the messages of a speaker."""
        return [text for name, text in self.messages if name == speaker]


def read_subtasks(text: str) -> list[Subtask]:
    """Return what a text asks about each thing, in its order."""
    found: dict[str, Subtask] = {}
    for match in _GOAL.finditer(text):
        kind, thing, other = match.groups()
        old = found.get(thing, Subtask(thing))
        within = float(other) if kind == "any_at" and other else old.within_m
        place = other if kind == "at" else old.place
        goals = dict.fromkeys((*old.goals, match[0]))
        found[thing] = Subtask(thing, within, old.seen or kind == "is_detected", place, tuple(goals))
    return list(found.values())


def read_scene(text: str) -> Scene:
    """Return the scene of the JSON object that a part of a prompt ends with."""
    data = json.loads(text[text.index("{") :])
    stairs = [
        (*one["floors"], float(one["step"]), float(one["slope"]))
        for one in data.get("regions_description", {}).get("stairs", ())
    ]
    return Scene(data["objects_description"], data["agent_description"], stairs)


def read_body(text: str, robot: str, scene: Scene) -> dict[str, Any] | None:
    """Return the numbers of a resume; None if it has none."""
    try:
        data = json.loads(text)
        moves, cameras = data["mobility"], data["perception"]["cameras_info"].values()
        return {
            "floor": scene.agents.get(robot, {}).get("floor", 0),
            "step": moves["step"],
            "slope": moves["slope"],
            "flies": moves["flies"],
            "height": moves["flying_height"],
            "reach": [(*band["height"], band["distance"][1]) for band in data["manipulation"]["reach"]],
            "cameras": [(one["height"], one["hfov"], one["tilt_below_horizon"]) for one in cameras],
        }
    except (ValueError, KeyError, TypeError):
        return None


def read_robots(text: str) -> dict[str, str]:
    """Return the description of each robot by its name."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)[1:]
    return {name.strip(): body.strip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def read_talk(text: str) -> Talk:
    """Return the conversation."""
    return Talk([(speaker, said.strip()) for speaker, said in _MESSAGE.findall(text)])


def read_outcomes(text: str) -> list[Said]:
    """Return the outcomes in a text, each on its line."""
    return [
        Said(
            match["robot"] or "",
            match["function"],
            tuple(part.strip() for part in match["arguments"].split(",") if part.strip()),
            match["result"] != SUCCESS,
        )
        for match in _OUTCOME.finditer(text)
    ]
