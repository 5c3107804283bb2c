"""Reads what the speakers know from the parts of a prompt: goals, scene, resumes, conversation and outcomes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quartet_research.emos.speakers.judging import Stairs, Values

_GOAL = re.compile(r"\b(any_at|is_detected|at)\(([^(),]+)(?:, ?([^(),]+))?\)")
_MESSAGE = re.compile(r"^\[(.+)\]\n((?:(?!\[.+\]\n).*\n?)*)", re.MULTILINE)
_OUTCOME = re.compile(r"^(?:([^:\n]+): )?(\w+)\(([^()\n]*)\): (.*)$", re.MULTILINE)
SUCCESS = "Success"


@dataclass(frozen=True)
class Subtask:
    """Goals about one thing."""

    thing: str
    within_m: float | None = None
    """Largest straight distance of a robot."""
    seen: bool = False
    place: str | None = None
    goals: tuple[str, ...] = ()
    """Its goals as the task states them."""


@dataclass(frozen=True)
class Scene:
    """Numbers of the scene by the names of things and robots, and the stairs."""

    objects: Mapping[str, Values]
    agents: Mapping[str, Values]
    stairs: Stairs

    def items(self, robot: str, subtasks: Sequence[Subtask]) -> Iterator[dict[str, Any]]:
        """Yield the things and places of subtasks for a robot, as `judging` describes them."""
        for one in subtasks:
            for name in filter(None, (one.thing, one.place)):
                known = self.objects.get(name, {})
                yield {
                    "name": name,
                    "floor": known.get("floor"),
                    "height": float(known.get("height", 0.0)),
                    "distance": float(known.get("horizontal_distance", {}).get(robot, "inf")),
                    "within": one.within_m,
                    "seen": one.seen,
                    "handled": one.place is not None,
                }


@dataclass(frozen=True)
class Said:
    """Outcome of a call."""

    robot: str
    function: str
    arguments: tuple[str, ...]
    failed: bool


def read_subtasks(text: str) -> list[Subtask]:
    """Return the subtasks of a text, in its order."""
    found: dict[str, Subtask] = {}
    for match in _GOAL.finditer(text):
        kind, thing, other = match.groups()
        old = found.get(thing, Subtask(thing))
        within = float(other) if kind == "any_at" else old.within_m
        place = other if kind == "at" else old.place
        goals = (*old.goals, match[0])
        found[thing] = Subtask(thing, within, old.seen or kind == "is_detected", place, goals)
    return list(found.values())


def read_scene(text: str) -> Scene:
    """Return the scene of the JSON object at the end of a text."""
    data = json.loads(text[text.index("{") :])
    stairs = [
        (*(end["floor"] for end in one["connects"]), float(one["height_of_steps"]), float(one["slope_in_degrees"]))
        for one in data.get("regions_description", {}).get("stairs", ())
    ]
    return Scene(data["objects_description"], data["agent_description"], stairs)


def read_body(text: str, robot: str, scene: Scene) -> dict[str, Any] | None:
    """Return the numbers of a robot, as `judging` describes them; None if its resume has none."""
    try:
        data = json.loads(text)
        moves, cameras = data["mobility"], data["perception"]["cameras_info"].values()
        return {
            "floor": scene.agents[robot]["floor"],
            **{name: moves[name] for name in ("step", "slope", "flies")},
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


def read_talk(text: str) -> list[tuple[str, str]]:
    """Return speaker and text of each message of a conversation, oldest first."""
    return [(speaker, said.strip()) for speaker, said in _MESSAGE.findall(text)]


def read_outcomes(text: str) -> list[Said]:
    """Return the outcomes in a text, each on its line."""
    return [
        Said(robot, function, tuple(part.strip() for part in arguments.split(",")), result != SUCCESS)
        for robot, function, arguments, result in _OUTCOME.findall(text)
    ]
