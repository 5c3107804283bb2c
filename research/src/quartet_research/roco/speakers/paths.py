"""Roles of a robot in the tasks with paths: packing and the rope."""

import math
import re
from collections.abc import Iterable, Mapping

import numpy as np

from quartet_research.roco.speakers.prompt import Prompt

Point = tuple[float, float, float]
_NUMBERS = r"\((-?[\d.]+), (-?[\d.]+), (-?[\d.]+)\)"
_POINT = re.compile(rf"^(\w+): {_NUMBERS}", re.MULTILINE)
_GRIPPER = re.compile(rf"^Gripper of (\w+): {_NUMBERS}, holding (\w+)", re.MULTILINE)
_ON_TABLE = re.compile(r"^(\w+): .+, on the table$", re.MULTILINE)
_IN_SLOT = re.compile(r"^\w+: .+, in (bin_\w+)$", re.MULTILINE)
_SIDE = re.compile(r"(\w+) stands on the side of the table with (small|large) y")
_END_OF_POINT = re.compile(r"[^,(]+\)")
TRAVEL = 0.55
"""Height at which a gripper passes above groceries [m]."""
OVER_WALL = 0.13
"""Height above the wall at which a gripper carries an end of the rope [m]."""
HIGHER = 0.05
"""Rise of the path after each plan that was refused or failed [m]."""
HIGHEST = 0.55
"""Height of the highest point of a path with the rope [m]."""
HOVER = 0.2
"""Height above an end of the rope at which a gripper comes [m]."""
SLACK = 0.012
"""How far each gripper moves towards the other once the rope is up [m]."""
INSIDE_TABLE = 0.12
"""Height of a point inside the table [m]."""


def pack(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return a PICK or PLACE that keeps the order of the arms along the table.

    Things and slots are sorted along it: the first robot takes the first one, the second the first of the other half.
    After a refusal they swap, and after another one the second robot takes the next.
    """
    points, (here, holds) = _points(prompt), _grippers(prompt)[robot]
    if holds == "nothing":
        names = _ON_TABLE.findall(prompt.own)
    else:
        full = _IN_SLOT.findall(prompt.own)
        names = [name for name in points if name.startswith("bin_") and name not in full]
    names.sort(key=lambda name: points[name])
    shift, swap = divmod(len(prompt.refused), 2)
    name = names[0]
    if (robot != prompt.robots[0]) != bool(swap) and len(names) > 1:
        name = names[1 + (len(names) // 2 - 1 + shift) % (len(names) - 1)]
    if holds == "nothing":
        return f"PICK {name} PATH {_over(here, points[name], TRAVEL)}"
    return f"PLACE {holds} {name} PATH {_over(here, points[name], TRAVEL, lift=True)}"


def pack_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return a PLACE of anything in any slot."""
    slots = [name for name in _points(prompt) if name.startswith("bin_")]
    things = [name for name in _points(prompt) if name not in slots]
    return f"PLACE {rng.choice(things)} {rng.choice(slots)} PATH {_over((0, 0, 0.5), (0.4, 0.5, 0.4), TRAVEL)}"


def move_rope(prompt: Prompt, robot: str, said: Mapping[str, str]) -> str:
    """Return a PICK of the end on the robot's side, or a PUT during which the rope keeps its length.

    After a plan that was refused or failed, the robots swap their ends, or carry them higher.
    """
    points, (here, holds) = _points(prompt), _grippers(prompt)[robot]
    ends = sorted(("rope_front_end", "rope_back_end"), key=lambda end: points[end][1])
    if holds not in ends:
        higher, swap = divmod(len(prompt.refused), 2)
        goal = ends[(dict(_SIDE.findall(prompt.own))[robot] == "large") != bool(swap)]
        return f"PICK {goal} PATH {_over(here, points[goal], points[goal][2] + HOVER + higher * HIGHER)}"
    other = points[next(end for end in ends if end != holds)]
    target = "groove_left_end" if here[0] < other[0] else "groove_right_end"
    share = SLACK / max(SLACK, math.dist(here[:2], other[:2]))
    loose = (here[0] + share * (other[0] - here[0]), here[1] + share * (other[1] - here[1]))
    carry = min(points["wall_front_top"][2] + OVER_WALL + len(prompt.refused) * HIGHER, HIGHEST)
    (x, y), (goal_x, goal_y, _) = loose, points[target]
    way = ((0.0, 0.0, min(carry, here[2] + HOVER)), (1 / 3, 2 / 3, carry), (2 / 3, 1.0, carry), (1.0, 1.0, carry))
    return f"PUT {holds} {target} PATH {_path((x + a * (goal_x - x), y + b * (goal_y - y), z) for a, b, z in way)}"


def move_rope_wrongly(prompt: Prompt, rng: np.random.Generator) -> str:
    """Return a PUT of any end to any end of the groove."""
    ends = [rng.choice([name for name in _points(prompt) if name.startswith(what)]) for what in ("rope", "groove")]
    return f"PUT {' '.join(ends)} PATH {_over((0, 0, 0.5), (0.4, 0.5, 0.4), TRAVEL)}"


def through_table(action: str) -> str:
    """Return an action whose PATH goes through the table."""
    words, path, points = action.partition(" PATH ")
    return words + path + _END_OF_POINT.sub(f" {INSIDE_TABLE})", points)


def _points(prompt: Prompt) -> dict[str, Point]:
    return {name: (float(x), float(y), float(z)) for name, x, y, z in _POINT.findall(prompt.own)}


def _grippers(prompt: Prompt) -> dict[str, tuple[Point, str]]:
    """Return where the tip of each gripper is and what it holds."""
    return {name: ((float(x), float(y), float(z)), held) for name, x, y, z, held in _GRIPPER.findall(prompt.own)}


def _over(here: Point, goal: Point, height: float, *, lift: bool = False) -> str:
    """Return a path at a height to above a goal; with `lift`, its first point is above where the gripper is."""
    shares = np.linspace(0, 1, 4) if lift else np.linspace(0, 1, 5)[1:]
    (x, y, _), (goal_x, goal_y, _) = here, goal
    return _path((x + share * (goal_x - x), y + share * (goal_y - y), height) for share in shares)


def _path(points: Iterable[Point]) -> str:
    return f"[{', '.join(f'({x:.3f}, {y:.3f}, {z:.3f})' for x, y, z in points)}]"
