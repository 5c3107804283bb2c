"""Talk of a group of unlike robots (EMOS): the leader shares errands out, each robot checks its own with numbers.

Only the numbers of the prompt decide: widths, heights, distances and reach.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_LEADER, _ROBOT = "You lead a group of robots:", "A leader proposes a subtask to you."
_ERRAND = re.compile(r"move\(([^,()]+), ([^,()]+), ([^,()]+)\)")
_RESUME = re.compile(r"^## (\S+)\n(\{.*\})$", re.MULTILINE)
_NO = re.compile(r"(\S+) (?:is not able|has failed) to move the ([^:,]+)")
"""Rules that keep an errand from a robot."""
_REFUSES = re.compile(r"^\[(\S+)\]\nI refuse my subtask: (.*)$", re.MULTILINE)
_MINE = "[leader]\nYour subtask: "
_OUTPUT = "[output of your program]\n"
_NOTHING = "Nothing to do"
_FAR_M = 1e6
_CHECK = """reach, widest, cameras = {reach}, {widest}, {cameras}
for name, width, away, height, hand, pick in {rows}:
    highest = max([top for (_, top), (near, far) in reach if near <= away <= far], default=0.0)
    print(name, pick < {far} and width <= widest and hand <= highest and (height < max(cameras) if cameras else True))
"""
"""Program of a robot; the numbers come from its prompt."""


def answer(prompt: str) -> str | None:
    """Return what a leader or a robot says, None for a prompt of another kind."""
    if _LEADER in prompt:
        return _assign(prompt)
    return _judge(prompt) if _ROBOT in prompt else None


def _assign(prompt: str) -> str:
    """Give each errand to the robot with the least to do of those that can do it; those that few can do come first."""
    errands = _ERRAND.findall(_section(prompt, "Task"))
    talk, scene = _section(prompt, "Conversation"), _object(_section(prompt, "Scene"))
    robots = {name: json.loads(text) for name, text in _RESUME.findall(_section(prompt, "Robots"))}
    names = prompt.partition(_LEADER)[2].partition(". They differ")[0].strip().split(", ")
    refused = set(_NO.findall(talk)) | {
        (robot, thing) for robot, why in _REFUSES.findall(talk) for thing, _, _ in errands if thing in why
    }
    holders = {one["holds"]: name for name, one in scene["agent_description"].items() if one["holds"]}
    able: dict[str, list[str]] = {}
    for thing, _, target in errands:
        can = [name for name in names if _row_fits(scene, name, robots.get(name, {}), thing, target)]
        free = [name for name in can if (name, thing) not in refused]
        able[thing] = [holders[thing]] if thing in holders else free or can or names
    load, subtasks = dict.fromkeys(names, 0.0), {name: list[str]() for name in names}
    for thing, area, target in sorted(errands, key=lambda one: (one[0] not in holders, len(able[one[0]]))):
        chosen = min(able[thing], key=lambda name: load[name])
        load[chosen] += 1 + scene["objects_description"][thing]["drive"].get(chosen, 0.0) / 100
        subtasks[chosen].append(f"move({thing}, {area}, {target})")
    return "\n".join(f"{{{name}||{'; '.join(actions) or _NOTHING}}}" for name, actions in subtasks.items())


def _judge(prompt: str) -> str:
    """Write a program that checks the last subtask; with its output, agree or name what fails."""
    subtask, _, after = _section(prompt, "Conversation").rpartition(_MINE)[2].partition("\n")
    errands, scene = _ERRAND.findall(subtask), _object(_section(prompt, "Scene"))
    body = _object(_section(prompt, "Your body"))
    if _OUTPUT not in after and "```python" in prompt:
        me = prompt.partition("You are ")[2].partition(",")[0]
        rows = [(thing, *_row(scene, me, thing, target)) for thing, _, target in errands]
        return f"I check my numbers.\n```python\n{_CHECK.format(rows=rows, far=_FAR_M, **_body(body))}```"
    failed = [thing for thing, _, _ in errands if f"{thing} False" in after]
    return f"{{no||I cannot move the {' and the '.join(failed)}: the numbers do not allow it}}" if failed else "{yes}"


def _row(scene: dict[str, Any], robot: str, thing: str, target: str) -> tuple[float, float, float, float, float]:
    """Return width, distance to the place, its height, the height of the hand there, and distance to the object."""
    place, known = scene["places_description"][target], scene["objects_description"][thing]
    return (
        _number(known["width"], 0.0),
        _number(place["horizontal_distance"][robot]),
        _number(place["height"]),
        _number(place["hand_height"][thing][robot]),
        _number(known["horizontal_distance"][robot]),
    )


def _row_fits(scene: dict[str, Any], robot: str, body: dict[str, Any], thing: str, target: str) -> bool:
    width, away, height, hand, pick = _row(scene, robot, thing, target)
    own = _body(body)
    highest = max((top for (_, top), (near, far) in own["reach"] if near <= away <= far), default=0.0)
    sees = not own["cameras"] or height < max(own["cameras"])
    return not own["reach"] or (pick < _FAR_M and width <= own["widest"] and hand <= highest and sees)


def _body(body: dict[str, Any]) -> dict[str, Any]:
    hand = body.get("manipulation", {})
    return {
        "reach": [(tuple(one["height"]), tuple(one["distance"])) for one in hand.get("reach", [])],
        "widest": hand.get("widest_grasp", body.get("widest_grasp", _FAR_M)),
        "cameras": [one["height"] for one in body.get("perception", {}).get("cameras_info", {}).values()],
    }


def _number(value: Any, unknown: float = _FAR_M) -> float:
    return float(value) if isinstance(value, int | float) else unknown


def _section(prompt: str, heading: str) -> str:
    """Return the text below a heading, up to the next; of the conversation, which quotes prompts, up to the last."""
    text = prompt.partition(f"# {heading}\n")[2]
    return text.rpartition("\n# Your answer")[0] if heading == "Conversation" else re.split(r"\n# ", text)[0]


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object of a text, {} without one."""
    return next(_objects(text), {})


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            yield json.loads(line)
