"""Pose fitting: where a solid of known size stands, from the points that are seen of it and from the whole picture."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quartet_perception.scene.fit_quality import FitQuality, fit_cost
from quartet_perception.scene.outline import smallest_rectangle
from quartet_perception.scene.solids import PosedSolid, Solid, signed_distances
from quartet_perception.scene.view import Mask, View

Array = NDArray[np.float64]

_MAX_POINTS = 140
_ITERATIONS = 9
_STARTS = 8
_SIZE_ERROR = 0.1
"""Sizes that are all off by this cost the prior; one pixel of the outline that contradicts costs 1 / its pixels."""
_SIZE_PRIOR, _FREE_PRIOR = 0.02, 0.003
"""The second only keeps sizes that the picture says nothing of where they are."""
_SEEN_ERROR = 0.05
"""How far a size is off as a picture from near tells it: below this in 95 of 100 pictures with typical sensors."""
_FREE_MOST = 0.5
_AT_LIMIT, _PINNED = 0.6, 0.95
"""A size that changed by less than the first share of what is believed is no other size; a guess that changed by more
than the second and does not fit either is one."""
_MOST_MOVED_M = 0.03
_FITS, _EXPLAINED, _UNLIKE = 0.05, 0.03, 0.45
"""With less than the first cost a thing has the catalogue's sizes: one in twenty of those that only look like it have
less than 0.061. With less than the second, once refined, nothing explains a picture much better; with more than the
third it shows something else."""
_REGULAR = 0.08
"""A thing is not irregular when the best simple shape explains it with less than this cost."""
_OTHER_SIZE, _OTHER_SHAPE = 0.006, 0.012
"""Cost by which another size or shape must explain a picture better. With typical sensors one of 128 things of the
catalogue and 35 of 37 that only looked like one were above 0.01; with harsh ones none of 90 and 20 of 23."""
_OTHER_ROUGHLY = 0.1
"""The same for something whose shape is only roughly what the catalogue says: a toy car is said to be a box."""
MEASURED = 0.05
"""Sizes that are off by no more than this share were measured."""


def fit_pose(solid: Solid, points: NDArray[np.floating], z: float, camera: NDArray[np.floating]) -> list[PosedSolid]:
    """Return up to three poses of `solid` at height `z` whose surface is nearest to the points (Nx3), best first.

    z: of its underside [m]. camera: position of the camera. All in the base frame.

    Levenberg-Marquardt over x, y (and yaw) with Cauchy weights, from several starts: the seen side lies towards the
    camera, so the middle is looked for behind it. Of an open container whose near walls are out of view, the inside of
    the far walls is seen, so the middle is looked for before it as well.
    """
    points = np.asarray(points, dtype=np.float64)
    if solid.irregular:
        return [_around(solid, points[:, :2], z, np.asarray(camera, dtype=np.float64)[:2])]
    if len(points) > _MAX_POINTS:
        points = points[np.linspace(0, len(points) - 1, _MAX_POINTS).astype(int)]
    middle = points[:, :2].mean(axis=0)
    away = middle - np.asarray(camera, dtype=np.float64)[:2]
    away = away / max(float(np.linalg.norm(away)), 1e-6)
    reach = min(solid.size[0], solid.size[1]) / 2
    if solid.round:
        starts = np.array([[*(middle + away * reach * k), 0.0] for k in (0.1, 0.6)])
        free = 2
    else:
        yaws = np.linspace(0, solid.turned, 16 if solid.turned > 4 else 8, endpoint=False)
        far = max(solid.size[0], solid.size[1]) / 2
        sides = [(0.15 * reach, 0.6 * reach, 0.8 * far)]
        if solid.hollow:
            sides.append((-0.15 * reach, -0.6 * reach, -0.8 * far))
        free = 3
        starts = np.concatenate([_likeliest(solid, points, middle, away, side, yaws, z) for side in sides])
    poses = _descend(solid, points, starts, z, free)
    residual = signed_distances(solid, points, poses, z)
    cost = np.log1p((residual / 0.005) ** 2).mean(axis=1)
    order = np.argsort(cost)
    kept: list[PosedSolid] = []
    for index in order:
        pose = poses[index]
        new = all(np.hypot(pose[0] - k.x, pose[1] - k.y) > 0.004 or abs(pose[2] - k.yaw) > 0.1 for k in kept)
        if new and cost[index] < cost[order[0]] + 0.7:
            kept.append(solid.place(pose[0], pose[1], z, pose[2]))
        if len(kept) == 3:
            break
    return kept


def _around(solid: Solid, xy: Array, z: float, camera: Array) -> PosedSolid:
    """Return the box of something irregular around Nx2 points, which lie anywhere in it and not on its surface.

    What is missing of its size is on the side away from the camera.
    """
    seen = smallest_rectangle(xy)
    sx, sy, _ = solid.size
    yaw = seen.yaw if sx >= sy else seen.yaw - np.pi / 2
    axes = np.array([[np.cos(seen.yaw), np.sin(seen.yaw)], [-np.sin(seen.yaw), np.cos(seen.yaw)]])
    away = axes @ (np.array([seen.x, seen.y]) - camera)
    missing = np.maximum(np.array([max(sx, sy), min(sx, sy)]) - (seen.along, seen.across), 0.0)
    share = np.abs(away) / max(float(np.linalg.norm(away)), 1e-6)
    x, y = np.array([seen.x, seen.y]) + (np.sign(away) * share * missing / 2) @ axes
    return solid.place(x, y, z, float(yaw))


def _likeliest(
    solid: Solid, points: Array, middle: Array, away: Array, distances: Sequence[float], yaws: Array, z: float
) -> Array:
    """Return the starts (Sx3: x, y, yaw) nearest to the points of those at `distances` [m] from `middle`."""
    starts = np.array([[*(middle + away * d), yaw] for yaw in yaws for d in distances])
    first = np.log1p((signed_distances(solid, points, starts, z) / 0.012) ** 2).mean(axis=1)
    return starts[np.argsort(first)[:_STARTS]]


def refine(
    view: View, posed: PosedSolid, region: Mask, size_error: float, start: PosedSolid | None = None
) -> PosedSolid:
    """Return the pose and size that explain the picture best, by a compass search from an already good one.

    Away from the sizes of `posed` costs a little, so that noise alone does not change them. Of parts and of hollow
    solids only the pose is refined. region: as in `evaluate_fit`. size_error: how far the sizes may be off,
    relative. start: another pose or size from which to search, too: the search may end in a local minimum.
    """
    starts = [posed] if start is None else [posed, start]
    found = [
        _search(view, posed, region, prior=_SIZE_PRIOR, most_off=_largest_change(size_error), start=one)
        for one in starts
    ]
    return min(found, key=lambda one: fit_cost(view, one, region))


def search_size(view: View, posed: PosedSolid, region: Mask) -> PosedSolid:
    """Return the pose and size that explain the picture best, where nothing is known of the size but what is seen.

    posed: about as large as it is seen. region: as in `evaluate_fit`.
    """
    return _search(view, posed, region, prior=_FREE_PRIOR, most_off=_FREE_MOST)


def is_explained(posed: PosedSolid, quality: FitQuality) -> bool:
    """Return whether a pose with the catalogue's sizes explains a picture too well for another thing."""
    return quality.cost < _FITS and not posed.solid.irregular


def is_another_thing(
    view: View,
    posed: PosedSolid,
    refined: PosedSolid,
    region: Mask,
    size_error: float,
) -> bool:
    """Return whether a simple shape that `posed` cannot have explains the picture clearly better than it does.

    What counts is any size of its own shape, beyond those that it can have, and a box, a cylinder and a sphere of any
    size; something irregular is another thing where one of these explains it well. Where its sizes were measured
    (`size_error` up to MEASURED), its parts are taken to be known as well, so that less is enough.

    Args:
        view: a picture from near: from afar, noise hides the difference.
        posed: with the sizes of the catalogue.
        refined: what `refine` made of it with the same `size_error`.
        region: as in `evaluate_fit`.
        size_error: how far the catalogue's sizes may be off, relative.
    """
    if posed.solid.irregular:
        points = view.points[region & view.valid]
        return simple_cost(view, points, posed.z, region) < _REGULAR
    cost = fit_cost(view, refined, region)
    if cost < _EXPLAINED or cost > _UNLIKE:
        return cost > _UNLIKE
    solid, limit = refined.solid, _largest_change(size_error)

    def best(start: PosedSolid, most_off: float) -> tuple[PosedSolid, float]:
        free = _search(view, start, region, prior=_FREE_PRIOR, most_off=most_off)
        return free, cost - fit_cost(view, free, region)

    if size_error > MEASURED and cost > _FITS and size_change(refined, posed) > _PINNED * limit:
        return True
    if not solid.parts and size_change(refined, posed) > _AT_LIMIT * limit:
        free, gain = best(refined, max(_FREE_MOST, 2 * limit))
        if size_change(free, posed) > limit and gain > _OTHER_SIZE:
            return True
    if solid.hollow or solid.lying:
        return False
    enough = _OTHER_SHAPE if size_error <= MEASURED else _OTHER_ROUGHLY
    others = [one for one in _simple(solid.size) if solid.parts or one.primitive != solid.primitive]
    return any(best(replace(refined, solid=one), _FREE_MOST)[1] > enough for one in others)


def simple_cost(view: View, points: NDArray[np.floating], z: float, region: Mask) -> float:
    """Return the cost of the simple shape that explains a region best, standing at height `z` [m].

    points: Nx3, those of the region. region: as in `evaluate_fit`.
    """
    low, high = np.percentile(points, 1, axis=0), np.percentile(points, 99, axis=0)
    x, y, top = (float(v) for v in (high[0] - low[0], high[1] - low[1], high[2]))
    fits = [
        _search(view, posed, region, prior=_FREE_PRIOR, most_off=_FREE_MOST)
        for solid in _simple((max(x, 0.01), max(y, 0.01), max(top - z, 0.01)))
        for posed in fit_pose(solid, points, z, view.origin)[:1]
    ]
    return min((fit_cost(view, fit, region) for fit in fits), default=np.inf)


def _simple(size: tuple[float, float, float]) -> list[Solid]:
    """Return a box, a cylinder and a sphere about as large as `size` [m]."""
    x, y, z = size
    across = (x + y) / 2
    return [Solid("box", size), Solid("cylinder", (across, across, z)), Solid("sphere", (z, z, z))]


def _largest_change(size_error: float) -> float:
    """Return how much of a change of a size is believed, as the logarithm of the factor."""
    return float(np.log1p(size_error)) + _SEEN_ERROR


def size_change(posed: PosedSolid, of: PosedSolid) -> float:
    """Return the largest change of a size, as the logarithm of the factor."""
    return float(np.abs(np.log(np.divide(posed.solid.size, of.solid.size))).max())


def _search(
    view: View, posed: PosedSolid, region: Mask, *, prior: float, most_off: float, start: PosedSolid | None = None
) -> PosedSolid:
    """Search for the pose and size of least cost, each size within a factor of exp(most_off) of that of `posed`.

    prior: cost of sizes that are all off by _SIZE_ERROR. start: where the search begins, `posed` if None.
    """
    axes = _free_axes(posed.solid)

    def cost_of(trial: PosedSolid) -> float:
        off = np.log(np.divide(trial.solid.size, posed.solid.size)) / _SIZE_ERROR
        return fit_cost(view, trial, region) + prior * float((off**2).mean())

    best = first = start or posed
    cost = cost_of(best)
    step, turn, growth = 0.004, 0.06, 0.04
    while step > 0.0004:
        moves = [(step, 0.0, 0.0), (-step, 0.0, 0.0), (0.0, step, 0.0), (0.0, -step, 0.0)]
        if not posed.solid.round:
            moves += [(0.0, 0.0, turn), (0.0, 0.0, -turn)]
        changes = [partial(PosedSolid.moved, dx=x, dy=y, dyaw=yaw) for x, y, yaw in moves]
        changes += [partial(_resized, view, axis, 1 + sign * growth) for axis in axes for sign in (1, -1)]
        improved = False
        for change in changes:
            trial = change(best)
            if size_change(trial, posed) > most_off:
                continue
            value = cost_of(trial)
            if value < cost - 1e-6:
                best, cost, improved = trial, value, True
        if not improved:
            step, turn, growth = step / 2, turn / 2, growth / 2
        if np.hypot(best.x - first.x, best.y - first.y) > _MOST_MOVED_M:
            return first
    return best


def _free_axes(solid: Solid) -> list[tuple[int, ...]]:
    """Return which sizes of a solid change together, each as indices of `size`."""
    if solid.parts or solid.hollow:
        return []
    if solid.primitive == "sphere":
        return [(0, 1, 2)]
    if solid.primitive == "cylinder":
        return [(0,), (1, 2)] if solid.lying else [(0, 1), (2,)]
    return [(0,), (1,), (2,)]


def _resized(view: View, axis: tuple[int, ...], factor: float, posed: PosedSolid) -> PosedSolid:
    """Return it with some sizes multiplied, and moved so that the side that faces the camera stays where it is seen."""
    size = tuple(s * factor if index in axis else s for index, s in enumerate(posed.solid.size))
    solid = replace(posed.solid, size=(size[0], size[1], size[2]))
    away = np.array([posed.x, posed.y]) - view.origin[:2]
    away = away / max(float(np.linalg.norm(away)), 1e-6)
    c, s = np.cos(posed.yaw), np.sin(posed.yaw)
    grown = np.subtract(solid.size, posed.solid.size)[:2] / 2
    if solid.round:
        shift = away * grown[0]
    else:
        local = np.array([c * away[0] + s * away[1], c * away[1] - s * away[0]])
        along = grown * np.sign(local) * (np.abs(local) > 0.3)
        shift = np.array([c * along[0] - s * along[1], s * along[0] + c * along[1]])
    return replace(posed, solid=solid).moved(float(shift[0]), float(shift[1]))


def _descend(solid: Solid, points: Array, poses: Array, z: float, free: int) -> Array:
    """Return `poses` (Sx3: x, y, yaw) after nine steps of Levenberg-Marquardt over their first `free` columns."""
    poses = poses.copy()
    damping = np.full(len(poses), 1e-2)
    steps = np.array([1e-4, 1e-4, 1e-3])[:free]
    residual = signed_distances(solid, points, poses, z)
    for iteration in range(_ITERATIONS):
        scale = 0.012 if iteration < 4 else 0.005
        weight = 1.0 / (1.0 + (residual / scale) ** 2)
        jacobian = np.empty((len(poses), len(points), free))
        for k in range(free):
            moved = poses.copy()
            moved[:, k] += steps[k]
            jacobian[..., k] = (signed_distances(solid, points, moved, z) - residual) / steps[k]
        if free == 3:
            jacobian[..., 2] *= 20.0  # yaw in units of 0.05 rad, so that damping weighs it like 1 m
        weighted = jacobian * weight[..., None]
        normal = np.einsum("snk,snl->skl", weighted, jacobian)
        gradient = np.einsum("snk,sn->sk", weighted, residual)
        normal += np.eye(free) * (damping[:, None, None] * len(points) + 1e-9)
        delta = -np.linalg.solve(normal, gradient[..., None])[..., 0]
        if free == 3:
            delta[:, 2] *= 20.0
        delta[:, :2] = np.clip(delta[:, :2], -0.03, 0.03)
        if free == 3:
            delta[:, 2] = np.clip(delta[:, 2], -0.3, 0.3)
        trial = poses.copy()
        trial[:, :free] += delta
        new = signed_distances(solid, points, trial, z)
        better = np.log1p((new / scale) ** 2).sum(axis=1) < np.log1p((residual / scale) ** 2).sum(axis=1)
        poses[better], residual[better] = trial[better], new[better]
        damping = np.where(better, damping * 0.3, damping * 6.0)
    return poses
