"""Fusion: several looks at one object, of both cameras and from several stops, combined by what is not known of each.

Generalised least squares (Aitken 1935): the noise of each look is its own, the mounting of a camera is off alike in all
of its looks, the arm misses alike whatever it was told by, and odometry has drifted in all looks from before a drive.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quartet_perception.estimate import Estimate
from quartet_perception.pose_memory import MAX_SHIFT_M, MAX_TURN_RAD, Base, same_place
from quartet_perception.uncertainty import PoseUncertainty

Array = NDArray[np.float64]

_KEEP_S, _RECALL_S = 180.0, 30.0
"""Looks are kept so long, and an object that was seen so long ago may have been exchanged meanwhile [robot's clock]."""
_MOST_LOOKS, _MOST_OBJECTS = 6, 256
_GATE = 13.8
"""Squared Mahalanobis distance in two dimensions above which a look contradicts: one in a thousand by chance."""
_SAME_EYE_M = 0.03
"""A camera that has moved less than this sees the same side with the same errors of the fit."""
_DRIFT_SHARE, _DRIFT_RAD_M, _DRIFT_TURN = 0.02, 0.01, 0.02
"""Standard deviations of odometry by way, of yaw by way [rad/m], of yaw by turn: assumptions."""


@dataclass(frozen=True)
class Look:
    """One look at an object.

    seen: in the base frame of that moment. base: of the base then, in the odometry frame. eye: of the camera then, base
    frame [m]. stamp: [s, robot's clock].
    """

    seen: Estimate
    base: Base
    eye: tuple[float, float, float]
    stamp: float


@dataclass(frozen=True)
class Fused:
    """What all looks tell together, in the base frame of the newest one."""

    seen: Estimate
    looks: int
    stops: int
    """Number of places of the base from which the object was looked at."""


class LookMemory:
    """The looks at each object, by id or name."""

    def __init__(self, tool_error_m: float) -> None:
        """`tool_error_m`: how far the arm misses its target, RMS on the floor plane."""
        self._tool_error_m = tool_error_m
        self._looks: OrderedDict[str, list[Look]] = OrderedDict()

    def add(self, name: str, new: Look) -> Fused:
        """Take in a look and return what it and the earlier ones tell.

        Where it contradicts them, the object was moved: the newest counts. A look from where the camera was before
        that says the same is no new one, so that a pose stays as it is while nothing happens.
        """
        kept = [one for one in self._looks.get(name, []) if self._comparable(one, new)]
        again = next((one for one in kept if _same_view(one, new)), None)
        if again is not None and _says_the_same(again.seen, new.seen):
            looks = [*(one for one in kept if one is not again), replace(again, stamp=new.stamp)]
        else:
            earlier = [one for one in kept if one is not again]
            looks = [*(earlier if self._agrees(earlier, new) else []), new]
        self._looks[name] = looks[-_MOST_LOOKS:]
        self._looks.move_to_end(name)
        while len(self._looks) > _MOST_OBJECTS:
            self._looks.popitem(last=False)
        return self._fused(self._looks[name])

    def recall(self, name: str, base: Base, stamp: float) -> Fused | None:
        """Return what is known of `name` for a picture taken at `stamp` [s]; None without it, and once the base moved.

        It is forgotten after half a minute.
        """
        looks = self._looks.get(name)
        if not looks or not same_place(looks[-1].base, base) or stamp - looks[-1].stamp > _RECALL_S:
            return None
        return self._fused(looks)

    def forget(self, name: str) -> None:
        """Drop the looks at an object: it is in the gripper, and will be elsewhere."""
        self._looks.pop(name, None)

    @staticmethod
    def _comparable(old: Look, new: Look) -> bool:
        return old.base is not None and new.base is not None and 0 <= new.stamp - old.stamp <= _KEEP_S

    def _agrees(self, earlier: Sequence[Look], new: Look) -> bool:
        if not earlier:
            return True
        looks = [*earlier, new]
        places, covariance = self._stacked(looks)
        weights = _weights(covariance[:-2, :-2])
        # The difference of the new look from what the others tell together, with all that they share.
        difference = np.hstack([-weights, np.eye(2)])
        off = difference @ places.ravel()
        if float(off @ np.linalg.solve(difference @ covariance @ difference.T, off)) > _GATE:
            return False
        best = _best_known(earlier)
        return not _turned(_in_frame(best, new), best, new)

    def _fused(self, looks: Sequence[Look]) -> Fused:
        newest = looks[-1]
        stops: list[Base] = []
        for one in looks:
            if not any(same_place(one.base, stop) for stop in stops):
                stops.append(one.base)
        if len(looks) == 1:
            return Fused(newest.seen, 1, 1)
        places, covariance = self._stacked(looks)
        weights = _weights(covariance)
        x, y = weights @ places.ravel()
        best = _best_known(looks)
        _, _, yaw = _in_frame(best, newest)
        noise = newest.seen.uncertainty.covariance.copy()
        noise[:2], noise[:, :2] = 0.0, 0.0
        noise[:2, :2] = weights @ covariance @ weights.T
        noise[3, :], noise[:, 3] = 0.0, 0.0
        noise[3, 3] = best.seen.uncertainty.yaw_sd**2 + _yaw_drift(best, newest) ** 2
        uncertainty = PoseUncertainty(noise, np.zeros((4, 6)), best.seen.uncertainty.size, of_hand=True)
        solid = best.seen.solid.solid.place(float(x), float(y), newest.seen.solid.z, yaw)
        return Fused(replace(newest.seen, solid=solid, uncertainty=uncertainty), len(looks), len(stops))

    def _stacked(self, looks: Sequence[Look]) -> tuple[Array, Array]:
        """Return the places (Nx2) [m] of N looks, in the base frame of the last, and their covariance (2N x 2N)."""
        newest = looks[-1]
        frames = [_in_frame(one, newest) for one in looks]
        places = np.array([frame[:2] for frame in frames])
        covariance = np.zeros((2 * len(looks), 2 * len(looks)))
        shared: dict[str, Array] = {camera: np.zeros((2 * len(looks), 6)) for camera in ("front", "arm")}
        arm = np.zeros((2 * len(looks), 2))
        for index, one in enumerate(looks):
            rows = slice(2 * index, 2 * index + 2)
            turn = _turn(one, newest)
            covariance[rows, rows] = turn @ one.seen.uncertainty.noise[:2, :2] @ turn.T
            shared[one.seen.camera][rows] = turn @ one.seen.uncertainty.mounting[:2]
            if not one.seen.from_above:
                arm[rows] = np.eye(2) * self._tool_error_m / np.sqrt(2)
        drives = _drives(looks, places)
        for effect in (*shared.values(), arm, *drives):
            covariance += effect @ effect.T
        return places, covariance


def _drives(looks: Sequence[Look], places: Array) -> list[Array]:
    """Return for each drive between two looks what one standard deviation of its drift does to the places (2N x 3)."""
    newest, effects = looks[-1], list[Array]()
    for index, (before, after) in enumerate(pairwise(looks)):
        if same_place(before.base, after.base):
            continue
        length, turn = _driven(before, after)
        yaw = _DRIFT_RAD_M * length + _DRIFT_TURN * turn
        stood = _place_in_frame(before.base, newest.base)
        effect = np.zeros((2 * len(looks), 3))
        for earlier in range(index + 1):
            x, y = places[earlier] - stood
            effect[2 * earlier : 2 * earlier + 2] = [
                [_DRIFT_SHARE * length, 0.0, -y * yaw],
                [0.0, _DRIFT_SHARE * length, x * yaw],
            ]
        effects.append(effect)
    return effects


def _driven(before: Look, after: Look) -> tuple[float, float]:
    """Return the least way [m] and turn [rad] between two looks."""
    assert before.base is not None
    assert after.base is not None
    x, y, yaw = np.subtract(after.base, before.base)
    return float(np.hypot(x, y)), abs(float((yaw + np.pi) % (2 * np.pi) - np.pi))


def _yaw_drift(look: Look, newest: Look) -> float:
    """Return the standard deviation of how far odometry has turned since a look [rad]."""
    if look is newest or same_place(look.base, newest.base):
        return 0.0
    length, turn = _driven(look, newest)
    return _DRIFT_RAD_M * length + _DRIFT_TURN * turn


def _turn(look: Look, newest: Look) -> Array:
    """Return the rotation (2x2) from the base frame of a look to that of the newest."""
    yaw = 0.0 if look.base is None or newest.base is None else float(look.base[2] - newest.base[2])
    return np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]], dtype=np.float64)


def _place_in_frame(base: Base, frame: Base) -> Array:
    """Return where a base stood [m] in the base frame of another one."""
    if base is None or frame is None:
        return np.zeros(2)
    c, s = float(np.cos(frame[2])), float(np.sin(frame[2]))
    x, y = base[0] - frame[0], base[1] - frame[1]
    return np.array([c * x + s * y, c * y - s * x], dtype=np.float64)


def _in_frame(look: Look, newest: Look) -> tuple[float, float, float]:
    """Return x, y [m] and yaw [rad] of the object as a look saw it, in the base frame of the newest."""
    solid = look.seen.solid
    if look is newest:
        return solid.x, solid.y, solid.yaw
    turn = _turn(look, newest)
    x, y = _place_in_frame(look.base, newest.base) + turn @ (solid.x, solid.y)
    return float(x), float(y), solid.yaw + float(np.arctan2(turn[1, 0], turn[0, 0]))


def _weights(covariance: Array) -> Array:
    """Return the weights (2 x 2N) of the best linear unbiased estimate of one place from N with a covariance."""
    every = np.tile(np.eye(2), (len(covariance) // 2, 1))
    inverse = np.linalg.solve(covariance, every)
    return np.asarray(np.linalg.solve(every.T @ inverse, inverse.T), dtype=np.float64)


def _best_known(looks: Sequence[Look]) -> Look:
    """Return the look that tells size and yaw best, the newest of equals."""

    def unknown(look: Look) -> float:
        sure, solid = look.seen.uncertainty, look.seen.solid
        turned = 0.0 if solid.solid.round else sure.yaw_sd * max(solid.solid.size[:2])
        return float(np.trace(sure.size)) + turned**2

    return min(reversed(looks), key=unknown)


def _same_view(old: Look, new: Look) -> bool:
    """Return whether a camera is where it was, so that its noise alone is new."""
    same = old.seen.camera == new.seen.camera and same_place(old.base, new.base)
    return same and float(np.linalg.norm(np.subtract(old.eye, new.eye))) < _SAME_EYE_M


def _says_the_same(old: Estimate, new: Estimate) -> bool:
    near = float(np.linalg.norm(np.subtract(old.centre, new.centre))) < MAX_SHIFT_M
    return near and _yaw_between(old.solid.yaw, new) < MAX_TURN_RAD


def _turned(frame: tuple[float, float, float], old: Look, new: Look) -> bool:
    """Return whether an object was turned where it stands since an old look, whose yaw is that in `frame`."""
    if old.seen.solid.solid.round or new.seen.solid.solid.round:
        return False
    sure = float(np.hypot(old.seen.uncertainty.yaw_sd, new.seen.uncertainty.yaw_sd) + _yaw_drift(old, new))
    return _yaw_between(frame[2], new.seen) > max(np.sqrt(_GATE) * sure, MAX_TURN_RAD / 3)


def _yaw_between(yaw: float, seen: Estimate) -> float:
    """Return the angle [rad] from a yaw to that of an estimate, as far as its shape shows it."""
    if seen.solid.solid.round:
        return 0.0
    period = seen.solid.solid.turned
    return abs((yaw - seen.solid.yaw + period / 2) % period - period / 2)
