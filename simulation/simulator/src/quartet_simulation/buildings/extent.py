"""How wide and high a body is, by the boxes around its shapes in its posture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from quartet_simulation.bodies.body import FLOOR, Body
from quartet_simulation.described.reading import data_of
from quartet_simulation.described.shapes import collides
from quartet_simulation.described.structure import lineage
from quartet_simulation.navigation.costmap import HEIGHTS


@dataclass(frozen=True)
class Extent:
    """Half the width of a body that drives ahead, and the heights between which it meets furniture [m]."""

    half_width: float
    heights: tuple[float, float]


@lru_cache(maxsize=32)
def extent_of(body: Body) -> Extent:
    """Return the extent of a body; its arm does not count, since a robot folds it before it drives."""
    model, data, inverse = body.model, data_of(body.model, body.posture), np.linalg.inv(body.base)
    moved, floor = moved_by_arm(body), model.body(FLOOR).id
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for geom in range(model.ngeom):
        link = int(model.geom_bodyid[geom])
        if not collides(model, geom) or moved[link] or link == floor:
            continue
        turn, box = inverse[:3, :3] @ data.geom_xmat[geom].reshape(3, 3), model.geom_aabb[geom]
        middle = inverse[:3, :3] @ data.geom_xpos[geom] + inverse[:3, 3] + turn @ box[:3]
        half = np.abs(turn) @ box[3:]
        low, high = np.minimum(low, middle - half), np.maximum(high, middle + half)
    mobility = body.file.mobility
    if not np.isfinite(low).all():
        # A model without solid shapes is as wide as its footprint.
        return Extent(mobility.footprint_radius_m, HEIGHTS)
    half_width = float(max(-low[1], high[1]))
    if mobility.kind == "rotors":
        flying = mobility.flying_height_m
        return Extent(half_width, (float(flying + low[2]), float(flying + high[2])))
    return Extent(half_width, (HEIGHTS[0], max(HEIGHTS[1], float(high[2]))))


def moved_by_arm(body: Body) -> np.ndarray:
    """Return for each body of the model whether a joint of the arm moves it (B,)."""
    model = body.model
    links = set[int]() if body.arm is None else set(model.jnt_bodyid[list(body.arm.joints)].tolist())
    return np.array([not links.isdisjoint(lineage(model, one)) for one in range(model.nbody)])
