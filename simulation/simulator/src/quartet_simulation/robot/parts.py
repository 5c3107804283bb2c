"""Shapes that robots are built of, and the group that marks them."""

from __future__ import annotations

import math
from typing import Any

import mujoco

GROUP = 2
"""Geom group of everything that belongs to the robot."""
DARK, GREY, LIGHT, BLUE = (0.13, 0.13, 0.14, 1), (0.45, 0.46, 0.48, 1), (0.80, 0.81, 0.83, 1), (0.25, 0.42, 0.60, 1)
HIDDEN = (0.0, 0.0, 0.0, 0.0)
"""Colour of what collides and is not to be seen."""


def quaternion(axis: tuple[float, float, float], angle: float) -> list[float]:
    """MuJoCo quaternion (w, x, y, z) of a turn by `angle` about the unit vector `axis`."""
    s = math.sin(angle / 2)
    return [math.cos(angle / 2), *(a * s for a in axis)]


def box(body: Any, name: str, pos: Any, half: Any, rgba: Any, mass: float = 0.0, **more: Any) -> Any:
    """Add a box of half sizes `half` to a body; return it."""
    return body.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=half, rgba=rgba, mass=mass, group=GROUP, **more
    )


def capsule(body: Any, name: str, start: Any, end: Any, radius: float, rgba: Any, mass: float) -> Any:
    """Add a capsule from one point to another to a body; return it."""
    return body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        fromto=[*start, *end],
        size=[radius, 0, 0],
        rgba=rgba,
        mass=mass,
        group=GROUP,
    )
