"""Rules by which a robot judges a subtask from numbers. Their source is also the program that robots write.

A body is a mapping with `floor`, `step`, `slope`, `flies`, `height` (at which it flies, else 0), `reach` (lowest and
greatest height, greatest distance) and `cameras` (height, field of view, tilt below the horizon). An item is a thing or
place with `name`, `floor`, `distance` (horizontal, inf without a route), `height`, and what is asked: `within`
(straight distance or None), `seen`, `handled`. Lengths in m, angles in degrees.
"""

import inspect
from collections.abc import Mapping, Sequence
from math import atan2, degrees, hypot, inf
from typing import Any

Values = Mapping[str, Any]
Stairs = Sequence[tuple[Any, Any, float, float]]
"""Floors that stairs connect, their step [m] and slope [degrees]."""


def find_floors(body: Values, stairs: Stairs) -> set[Any]:
    """Return the floors that a body gets to."""
    found = {body["floor"]}
    for _ in stairs:
        for low, high, step, slope in stairs:
            climbs = body["flies"] or (step <= body["step"] and slope <= body["slope"])
            if climbs and found & {low, high}:
                found |= {low, high}
    return found


def find_obstacle(body: Values, stairs: Stairs, item: Values) -> str:
    """Return why a body cannot do what is asked about an item, "" if it can."""
    d, h = item["distance"], item["height"]
    if d == inf or item["floor"] not in find_floors(body, stairs):
        return "I find no route to it"
    if item["handled"] and not any(low <= h < high and d <= far for low, high, far in body["reach"]):
        return f"my hand does not reach {h} m high at {d} m"
    straight = hypot(d, h - body["height"])
    if item["within"] is not None and straight > item["within"]:
        return f"the straight distance is {straight:.2f} m, more than {item['within']} m"
    angles = [(degrees(atan2(top - h, d)), view, tilt) for top, view, tilt in body["cameras"]]
    if item["seen"] and not any(abs(angle - tilt) < view / 2 for angle, view, tilt in angles):
        return "no camera of mine sees it"
    return ""


POSSIBLE = "possible"
"""Printed by a program for an item about which the body can do all."""
SLIPS = (
    {
        "hypot(d, h - body": "d + 0 * (h - body",
        "low <= h < high and d <= far": "d <= far",
    },
    {"low <= h < high and d <= far": "low <= h < high and hypot(d, h) <= far"},
)
"""Slips in a program, as replacements: the height difference is forgotten; the straight distance is compared with a
horizontal reach."""


def write_program(body: Values, stairs: Stairs, items: Sequence[Values], slip: Mapping[str, str] | None = None) -> str:
    """Return a program that prints a line for each item: its name, and why the body cannot do what is asked."""
    functions = "\n\n".join(inspect.getsource(function) for function in (find_floors, find_obstacle))
    for right, wrong in (slip or {}).items():
        functions = functions.replace(right, wrong)
    return (
        "from __future__ import annotations\nfrom math import atan2, degrees, hypot, inf\n\n"
        f"{functions}\n"
        f"body = {dict(body)!r}\nstairs = {list(stairs)!r}\nitems = {[dict(item) for item in items]!r}\n"
        "for item in items:\n"
        f"    print(item['name'] + ':', find_obstacle(body, stairs, item) or {POSSIBLE!r})"
    )
