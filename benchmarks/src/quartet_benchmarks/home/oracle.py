"""Whether a body of a robot's size and reach can do a job at all, by geometry and ground truth alone.

The oracle shares no code with the robot's planners and imports nothing of the project. Its conditions are meant to be
necessary, not sufficient: it calls a job impossible only if no place to stand or no direction of the hand is left. It
takes the directions of a hand from above, inclined by 45 degrees, and level.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CELL_M = 0.05
"""Width of the cells of the floor, and distance of points tried on a target [m]."""
GROUND_M = 0.03
"""Height up to which the base drives over what lies on the floor [m]."""
BAND_M = 0.05
"""How far above and below a band of heights its distances count too: it states what is reached, not the limit [m]."""
PALM_M = 0.04
"""Half of the hand's narrower width [m]."""
ARM_M = 0.12
"""Free height that a hand from the front needs above what the object stands on [m]."""
EDGE_M = 0.02
"""Distance of an object from the edge of the top on which it is put down [m]."""
SKIN_M = 0.01
"""Depth to which an object may touch what it stands on or beside [m]."""
_STEPS = np.linspace(0.0, 1.0, 24)[:, None]
"""Shares of a hand's way at which it is checked, shape (steps, 1)."""


@dataclass(frozen=True)
class Arm:
    """What an arm reaches, as its robot's resume states it, and its gripper."""

    bands: Sequence[Mapping[str, Any]]
    """Each with `height` [from, to] and the distances `from_above` and `any_angle` [[from, to], ...] of the finger
    tips from the origin of the base [m]."""
    hand_m: float
    """Length of the hand from flange to finger tips [m]."""
    finger_m: float
    """Room that each of two opposite fingers needs beside an object [m]."""


@dataclass(frozen=True)
class Verdict:
    """Why a job is impossible."""

    step: str
    """pick or put."""
    reason: str
    """gone: there is no such object; way: no floor leads there; reach: the arm is too short; clearance: no direction of
    the hand is free; room: nothing has room on the target."""


@dataclass(frozen=True)
class _Solid:
    x: float
    y: float
    yaw: float
    half: tuple[float, float]
    z: tuple[float, float]
    is_round: bool = False

    def distance(self, x: Array, y: Array) -> Array:
        """Return the horizontal distance of points to its outline, 0 inside [m]."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        along, across = c * (x - self.x) + s * (y - self.y), c * (y - self.y) - s * (x - self.x)
        if self.is_round:
            return np.maximum(np.hypot(along, across) - self.half[0], 0.0)
        return np.hypot(np.maximum(abs(along) - self.half[0], 0.0), np.maximum(abs(across) - self.half[1], 0.0))

    def between(self, low: float, high: float) -> bool:
        """Return whether a part of it is between two heights."""
        return self.z[0] < high and self.z[1] > low


class Oracle:
    """Judges jobs in one state of a world."""

    def __init__(self, truth: Mapping[str, Any], arm: Arm, moved: Collection[str] = ()) -> None:
        """`truth` is ground truth with `layout`, `robot` and `objects`; those `moved` by the job are no obstacles."""
        self._arm, self._objects, layout = arm, truth["objects"], truth["layout"]
        self._layout = layout
        self._solids = [
            _Solid(x, y, yaw, (a, b), (low, high), disc) for x, y, yaw, a, b, low, high, disc in layout["solids"]
        ]
        self._things = [_thing(one) for name, one in self._objects.items() if name not in moved and not one["held"]]
        # The body alone: arm and mast are narrower, and reach over tables and below wall boards as they fit.
        solids = [one for one in (*self._solids, *self._things) if one.between(GROUND_M, layout["body_height"])]
        corners = np.array([corner for outline in layout["areas"].values() for corner in outline])
        low, high = corners.min(axis=0), corners.max(axis=0)
        x, y = np.meshgrid(*(np.arange(a, b + CELL_M, CELL_M) for a, b in zip(low, high, strict=True)))
        clearance = np.min([one.distance(x, y) for one in solids], axis=0) if solids else np.full(x.shape, np.inf)
        # The base may stand sideways, and up to half the diagonal of a cell beside the cell's middle.
        free = clearance >= min(layout["footprint"]) / 2 - CELL_M / math.sqrt(2)
        # The base reaches ahead by half of its length, but not into what is nearest.
        front = np.minimum(max(layout["footprint"]) / 2, clearance)
        self._anywhere = np.column_stack([x[free], y[free], front[free]])
        flooded = _flood(free, x, y, truth["robot"]["pose"][:2])
        self._stands = np.column_stack([x[flooded], y[flooded], front[flooded]])

    def judge(self, name: str, kind: str, target: str) -> Verdict | None:
        """Return why an object cannot be brought to a target, or None if nothing says so.

        `kind` is "on" a surface, "in" a container, or "floor" of an area.
        """
        if name not in self._objects:
            return Verdict("pick", "gone")
        thing = self._objects[name]
        if not thing["held"] and (reason := self._barred([thing["position"][:2]], thing["bottom_z"], thing["size"])):
            return Verdict("pick", reason)
        points, height = self._free_points(kind, target, thing["size"])
        if not len(points):
            return Verdict("put", "room")
        reason = self._barred(points, height, thing["size"])
        return Verdict("put", reason) if reason else None

    def _barred(self, points: Sequence[Any] | Array, bottom: float, size: Sequence[float]) -> str:
        """Return why the hand gets to none of the points, at which an object stands at a height; "" if it does."""
        if any(not self._hindrance(self._stands, point, bottom, size) for point in points):
            return ""
        everywhere = {self._hindrance(self._anywhere, point, bottom, size) for point in points}
        return "way" if "" in everywhere else "clearance" if "clearance" in everywhere else "reach"

    def _hindrance(self, stands: Array, point: Any, bottom: float, size: Sequence[float]) -> str:
        """Return "reach" or "clearance" for a hand from any of the stands, or "" if one is free.

        stands: x, y, and how far the base reaches ahead there [m], shape (n, 3).
        """
        away = np.hypot(stands[:, 0] - point[0], stands[:, 1] - point[1])
        at, top = np.array(point, dtype=float), bottom + size[2]
        half = min(size[:2]) / 2 - SKIN_M
        # The object itself, and the hand above it.
        columns = ((bottom + SKIN_M, top, half), (top + SKIN_M, top + self._arm.hand_m, max(half, PALM_M)))
        filled, covered = (
            any(one.between(low, high) and one.distance(at[:1], at[1:])[0] < wide for one in self._solids)
            for low, high, wide in columns
        )
        if not filled and not covered and self._within(away, "from_above", bottom, top).any():
            return ""
        near = self._within(away, "any_angle", bottom, top)
        if not near.any():
            return "reach"
        is_open = self._open_from(stands[near], at, bottom, top, is_level=True) or (
            not filled and self._open_from(stands[near], at, bottom, top, is_level=False)
        )
        return "" if is_open else "clearance"

    def _within(self, away: Array, hand: str, bottom: float, top: float) -> Mask:
        """Return which distances are at most the farthest that the resume states around these heights."""
        farthest = [
            high
            for band in self._arm.bands
            if band["height"][0] - BAND_M <= top and band["height"][1] + BAND_M > bottom + SKIN_M
            for _, high in band[hand]
        ]
        return away <= max(farthest, default=-1.0)

    def _open_from(self, stands: Array, at: Array, bottom: float, top: float, *, is_level: bool) -> bool:
        """Return whether a level or else an inclined hand gets to a point from one of the stands."""
        offset = stands[:, :2] - at
        away = np.maximum(np.hypot(*offset.T), CELL_M)
        ahead = offset / away[:, None]
        rest = np.maximum(away - stands[:, 2], 0.0)
        if is_level:
            return not self._blocked(at, ahead, _STEPS * rest, bottom + SKIN_M, max(top, bottom + ARM_M)).all()
        # At 45 degrees from the finger tips, on any height of the object, to the flange; the arm goes on from there.
        side = self._arm.hand_m / math.sqrt(2)
        onward = _STEPS * np.maximum(rest - side, 0.0)
        for tip in np.linspace(bottom + SKIN_M, top, 3):
            hand = self._blocked(at, ahead, _STEPS * side, tip + _STEPS * side, tip + _STEPS * side)
            ways = [(side + onward, slope * onward) for slope in (0.0, 0.5, 1.0)] + [(side, _STEPS)]
            rises = [(along, tip + side + rise) for along, rise in ways]
            arm = [self._blocked(at, ahead, along, up - PALM_M + SKIN_M, up + PALM_M - SKIN_M) for along, up in rises]
            if not (hand | np.all(arm, axis=0)).all():
                return True
        return False

    def _blocked(self, at: Array, ahead: Array, along: Array | float, low: Array | float, high: Array | float) -> Mask:
        """Return for each direction from a point, shape (n, 2), whether a solid is in a palm's way.

        The way is `along` the direction [m], between heights from `low` to `high` [m]; all broadcast to (steps, n).
        """
        x, y = at[0] + along * ahead[:, 0], at[1] + along * ahead[:, 1]
        blocked = np.zeros(len(ahead), dtype=bool)
        for one in self._solids:
            is_near = one.distance(at[:1], at[1:])[0] < float(np.max(along)) + PALM_M
            if is_near and one.between(float(np.min(low)), float(np.max(high))):
                level = (one.z[0] < high) & (one.z[1] > low)
                blocked |= ((one.distance(x, y) < PALM_M - SKIN_M) & level).reshape(-1, len(ahead)).any(axis=0)
        return blocked

    def _free_points(self, kind: str, target: str, size: Sequence[float]) -> tuple[Array, float]:
        """Return points on which an object has room at a target, shape (n, 2), and the height of the target [m]."""
        half = min(size[:2]) / 2
        if kind == "in":
            box = self._layout["containers"][target]
            return _grid(box["rect"], min(half + 2 * SKIN_M, _narrow(box["rect"]) / 2)), box["height"]
        if kind == "on":
            top = self._layout["surfaces"][target]
            points, height = _grid(top["rect"], half + EDGE_M), top["height"]
        else:
            outline, height = np.array(self._layout["areas"][target]), 0.0
            points = _grid((*outline.min(axis=0), *outline.max(axis=0)), half)
            points = points[np.array([_inside(outline, *point) for point in points], dtype=bool)]
        for one in (*self._solids, *self._things):
            if one.between(height + SKIN_M, height + size[2]):
                points = points[one.distance(points[:, 0], points[:, 1]) >= half]
        things = [one for one in self._things if one.between(height + SKIN_M, height + size[2])]
        has_room = np.zeros(len(points), dtype=bool)
        for turn in np.linspace(0.0, math.pi, 16, endpoint=False):
            finger = (half + self._arm.finger_m) * np.array([math.cos(turn), math.sin(turn)])
            tips = [points + finger, points - finger]
            has_room |= np.all([one.distance(*tip.T) > 0 for one in things for tip in tips], axis=0)
        return points[has_room], height


def _thing(one: Mapping[str, Any]) -> _Solid:
    (x, y, _), (_, _, z, w) = one["position"], one["quaternion"]
    a, b, height = one["size"]
    bottom = one["bottom_z"]
    return _Solid(x, y, 2 * math.atan2(z, w), (a / 2, b / 2), (bottom, bottom + height), is_round=a == b)


def _flood(free: Mask, x: Array, y: Array, start: Sequence[float]) -> Mask:
    """Return the free cells that are connected to the one nearest to the start, by edges."""
    found = np.zeros_like(free)
    if not free.any():
        return found
    found[np.unravel_index(np.argmin(np.where(free, np.hypot(x - start[0], y - start[1]), np.inf)), free.shape)] = True
    count = 0
    while count != (count := int(found.sum())):
        for axis in (0, 1):
            for step in (1, -1):
                # Cells enter along whole rows and columns at a time, so that few rounds suffice.
                found |= _spread(found, free, axis, step)
    return found


def _spread(found: Mask, free: Mask, axis: int, step: int) -> Mask:
    lines, open_ = np.moveaxis(found, axis, 0)[::step].copy(), np.moveaxis(free, axis, 0)[::step]
    for number in range(1, len(lines)):
        lines[number] |= lines[number - 1] & open_[number]
    return np.moveaxis(lines[::step], 0, axis)


def _grid(rect: Sequence[float], inset: float) -> Array:
    """Return points of a rectangle at least `inset` from its sides, the nearest of both sides where it is narrower."""
    x0, y0, x1, y1 = rect
    sides = [_points(x0, x1, inset), _points(y0, y1, inset)]
    return np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def _points(low: float, high: float, inset: float) -> Array:
    if high - low < 2 * inset:
        return np.array([])
    return np.linspace(low + inset, high - inset, 1 + math.ceil((high - low - 2 * inset) / CELL_M))


def _narrow(rect: Sequence[float]) -> float:
    return min(rect[2] - rect[0], rect[3] - rect[1])


def _inside(outline: Array, x: float, y: float) -> bool:
    ends = zip(outline, np.roll(outline, -1, axis=0), strict=True)
    crossed = [(ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax for (ax, ay), (bx, by) in ends]
    return sum(crossed) % 2 == 1
