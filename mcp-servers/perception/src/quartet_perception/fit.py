"""Fits a solid of known size to seen points, and judges the fit by what the camera should then have seen."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.colour import FULL
from quartet_perception.solids import Placed, Solid, signed_distances
from quartet_perception.view import Mask, View, depth_noise

Array = NDArray[np.float64]

_MAX_POINTS = 140
_ITERATIONS = 9
_STARTS = 8
_MAX_PIXELS = 1600
_LOOSE = 0.92
"""Greatest agreement of a thing that fills its bounding shape only in part."""
_COLOUR_SHARE = 0.5
"""Part of what is seen of a thing that must have its colours."""


@dataclass(frozen=True)
class Judgement:
    """How well a placed solid explains a picture.

    score: 0 to 1, agreement of depth and colour over what should be visible. visible: part of its outline that is
    in the picture and not behind something nearer. explained: part of the coloured region that it accounts for.
    cost: for comparing poses of the same solid, smaller is better. box: u0, v0, u1, v1; mask: its pixels there.
    """

    score: float
    visible: float
    explained: float
    cost: float
    pixels: int
    box: tuple[int, int, int, int]
    mask: Mask


NOTHING = Judgement(0.0, 0.0, 0.0, np.inf, 0, (0, 0, 0, 0), np.zeros((0, 0), dtype=bool))


def fit_pose(solid: Solid, points: NDArray[np.floating], z: float, camera: NDArray[np.floating]) -> list[Placed]:
    """Poses of `solid` on the height `z` that bring its surface nearest to the points (Nx3), best first.

    Levenberg-Marquardt over x, y (and yaw) with Cauchy weights, from several starts: the seen side lies towards the
    camera, so the middle is looked for behind it.
    """
    points = np.asarray(points, dtype=np.float64)
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
        starts = np.array([[*(middle + away * d), yaw] for yaw in yaws for d in (0.15 * reach, 0.6 * reach, 0.8 * far)])
        free = 3
        first = np.log1p((signed_distances(solid, points, starts, z) / 0.012) ** 2).mean(axis=1)
        starts = starts[np.argsort(first)[:_STARTS]]
    poses = _descend(solid, points, starts, z, free)
    residual = signed_distances(solid, points, poses, z)
    cost = np.log1p((residual / 0.005) ** 2).mean(axis=1)
    order = np.argsort(cost)
    kept: list[Placed] = []
    for index in order:
        pose = poses[index]
        new = all(np.hypot(pose[0] - k.x, pose[1] - k.y) > 0.004 or abs(pose[2] - k.yaw) > 0.1 for k in kept)
        if new and cost[index] < cost[order[0]] + 0.7:
            kept.append(solid.place(pose[0], pose[1], z, pose[2]))
        if len(kept) == 3:
            break
    return kept


def _descend(solid: Solid, points: Array, poses: Array, z: float, free: int) -> Array:
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


def judge(view: View, placed: Placed, region: Mask, member: NDArray[np.uint8], size: int | None = None) -> Judgement:
    """Compare what the camera would see of `placed` with what it saw.

    region: HxW pixels that are thought to be the thing, `size` of them. member: HxW, how much each pixel has its
    colour, 0 to FULL.
    """
    uv, ahead = view.project(placed.corners())
    if (ahead < 0.05).any():
        return NOTHING
    low = np.floor(uv.min(axis=0)).astype(int) - 3
    high = np.ceil(uv.max(axis=0)).astype(int) + 4
    height, width = view.shape
    if high[0] <= 0 or high[1] <= 0 or low[0] >= width or low[1] >= height:
        return NOTHING
    stride = max(1, int(np.sqrt((high[0] - low[0]) * (high[1] - low[1]) / _MAX_PIXELS)))
    u, v = np.arange(low[0], high[0], stride), np.arange(low[1], high[1], stride)
    if len(u) * len(v) > 40_000:
        return NOTHING
    enter, leave = placed.intersect(view.origin, _rays(view, u, v))
    enter, leave = enter.reshape(len(v), len(u)), leave.reshape(len(v), len(u))
    hit = np.isfinite(enter)
    total = int(hit.sum())
    if total < 6:
        return NOTHING

    iu, iv = np.clip(u, 0, width - 1), np.clip(v, 0, height - 1)
    inside = ((u >= 0) & (u < width))[None, :] & ((v >= 0) & (v < height))[:, None]
    grid = np.ix_(iv, iu)
    seen = view.depth[grid]
    known = inside & view.valid[grid]
    here = region[grid] & inside
    noise = depth_noise(float(np.median(enter[hit])))
    tolerance = 0.006 + 3 * noise
    reach = leave if placed.solid.hollow else enter
    error = np.where(hit, seen - enter, 0.0)
    match = hit & known & (error > -tolerance) & (seen < reach + tolerance)
    core = ndimage.binary_erosion(hit) if stride == 1 and total > 40 else hit
    through = core & known & (seen >= reach + tolerance)
    before = hit & known & (error <= -tolerance)
    wide = ndimage.binary_dilation(hit, iterations=2 if stride == 1 else 1)
    # Same-coloured pixels right where the solid should be, but nearer, belong to something larger or elsewhere.
    bulge = before & here
    outside = (int(region.sum()) if size is None else size) / stride**2 - float((here & wide).sum())
    outside = max(outside, 0.0)
    matched = int(match.sum())
    if matched < 6:
        return NOTHING
    # Lids, labels and highlights may have other colours than the catalogue names.
    share = float(member[grid][match].mean()) / FULL
    if placed.solid.primitive == "cylinder" and not placed.solid.lying:
        lid = view.origin[2] + seen * _rays(view, u, v)[:, 2].reshape(enter.shape) > placed.top - 0.008
        wall = match & ~lid
        if float(wall.sum()) > 0.15 * matched:
            share = max(share, 0.8 * float(member[grid][wall].mean()) / FULL)
    colour = float(np.clip(share / _COLOUR_SHARE, 0, 1))
    explained = float((here & wide & ~bulge).sum()) / max(float(here.sum() + outside), 1.0)
    against = float(through.sum()) + float(bulge.sum()) + outside
    # A ball laid over a bottle's side meets it within the tolerance, but not as exactly as a bottle does.
    exact = 0.002 + noise
    quality = 1 - 0.6 * np.clip((np.abs(error[match]) - exact) / (tolerance - exact), 0, 1)
    if placed.solid.hollow:
        quality = np.where(error[match] > 0, 1.0, quality)
    score = float(quality.sum()) / (matched + against) * colour
    # Most of what is seen of it must be the region itself, not a table that happens to be at the same depth.
    covered = float((match & here).sum()) / matched
    score *= float(np.clip((covered - 0.12) / 0.2, 0, 1))
    if placed.solid.hollow:
        score *= _hollowness(view, placed, u, v, enter, known, seen, hit)
    elif placed.solid.primitive != "sphere":
        score = max(score, _loose(hit, here, known & ~before, matched, through, explained) * colour)
    visible = (matched + float(through.sum()) + float(bulge.sum())) / total
    if visible > 0.85:
        # In plain view, so its top must be where the shape has it.
        rise = _rays(view, u, v)[:, 2].reshape(enter.shape)
        top = float(np.percentile((view.origin[2] + seen * rise)[match], 99))
        score *= float(np.exp(-((max(placed.top - top - 0.004 - noise, 0.0) / 0.012) ** 2)))
    loss = np.minimum((np.where(match, error, 0.0) / tolerance) ** 2, 1.0)
    if placed.solid.hollow:
        loss = np.where(error > 0, 0.0, loss)
    stray = here & ~ndimage.binary_dilation(hit)
    deeper = hit & known & (seen >= reach + tolerance)
    cost = (float(loss[match].sum()) + 1.0 * float(deeper.sum() + before[here].sum() + stray.sum())) / total
    return Judgement(
        score=score,
        visible=min(visible, 1.0),
        explained=explained,
        cost=cost,
        pixels=matched * stride * stride,
        box=(int(low[0]), int(low[1]), int(high[0]), int(high[1])),
        mask=match,
    )


def _loose(hit: Mask, here: Mask, clear: Mask, matched: int, through: Mask, explained: float) -> float:
    """Agreement of a thing that fills its bounding shape only in part (a bottle's neck, a toy): its region must span
    the whole outline, though the camera sees past it in places."""
    if matched < 0.4 * (matched + int(through.sum())) or float((hit & clear).sum()) < 0.8 * float(hit.sum()):
        return 0.0
    predicted, seen = _span(hit), _span(here & ndimage.binary_dilation(hit))
    if predicted is None or seen is None:
        return 0.0
    overlap = 1.0
    for (a0, a1), (b0, b1) in zip(predicted, seen, strict=True):
        overlap *= max(min(a1, b1) - max(a0, b0), 0) / max(max(a1, b1) - min(a0, b0), 1)
    return _LOOSE * overlap * explained


def _span(mask: Mask) -> list[tuple[int, int]] | None:
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return None
    return [(int(rows[0]), int(rows[-1]) + 1), (int(cols[0]), int(cols[-1]) + 1)]


def _hollowness(
    view: View, placed: Placed, u: NDArray[np.integer], v: NDArray[np.integer], enter: Array, known: Mask,
    seen: NDArray[np.float32], hit: Mask,
) -> float:  # fmt: skip
    """1 when the camera looks into the opening, 0 when that is closed; 1 also where the opening is not in view."""
    rise = _rays(view, u, v)[:, 2].reshape(enter.shape)
    opening = hit & known & (view.origin[2] + np.where(hit, enter, 0) * rise > placed.top - 0.004)
    if float(opening.sum()) < 0.15 * float(hit.sum()):
        return 1.0
    inside = float((opening & (seen > enter + 0.02)).sum()) / float(opening.sum())
    return float(np.clip(inside / 0.5, 0, 1))


def attached(view: View, placed: Placed, support: Mask) -> float:
    """How much of the outline runs on into something else at the same depth, 0 to 1.

    A thing that stands free ends at its outline: beyond it comes what it stands on (HxW `support`), something farther
    or something nearer. A patch of a sofa does not end there.
    """
    uv, ahead = view.project(placed.corners())
    if (ahead < 0.05).any():
        return 1.0
    height, width = view.shape
    low = np.maximum(np.floor(uv.min(axis=0)).astype(int) - 7, 0)
    high = np.minimum(np.ceil(uv.max(axis=0)).astype(int) + 8, (width, height))
    if (high <= low).any():
        return 1.0
    stride = max(1, int(np.sqrt((high[0] - low[0]) * (high[1] - low[1]) / 9000)))
    u, v = np.arange(low[0], high[0], stride), np.arange(low[1], high[1], stride)
    enter = placed.intersect(view.origin, _rays(view, u, v))[0].reshape(len(v), len(u))
    hit = np.isfinite(enter)
    if not hit.any():
        return 1.0
    inner = ndimage.binary_dilation(hit, iterations=2)
    ring = ndimage.binary_dilation(inner, iterations=3) & ~inner
    far = ndimage.maximum_filter(np.where(hit, enter, -np.inf), size=11)
    near = ndimage.minimum_filter(np.where(hit, enter, np.inf), size=11)
    grid = np.ix_(v, u)
    seen, known = view.depth[grid], view.valid[grid]
    slack = 0.012 + 2 * depth_noise(float(np.median(enter[hit])))
    open_ring = ring & known & ~(seen < near - slack)
    total = int(open_ring.sum())
    if total < 8:
        return 0.0
    return float((open_ring & (seen < far + slack) & ~support[grid]).sum()) / total


def refine(view: View, placed: Placed, region: Mask, member: NDArray[np.uint8]) -> Placed:
    """Compass search for the pose that explains the picture best, from an already good one."""
    size = int(region.sum())
    best, cost = placed, judge(view, placed, region, member, size).cost
    step, turn = 0.004, 0.06
    while step > 0.0004:
        moves = [(step, 0.0, 0.0), (-step, 0.0, 0.0), (0.0, step, 0.0), (0.0, -step, 0.0)]
        if not placed.solid.round:
            moves += [(0.0, 0.0, turn), (0.0, 0.0, -turn)]
        improved = False
        for move in moves:
            trial = best.moved(*move)
            value = judge(view, trial, region, member, size).cost
            if value < cost - 1e-6:
                best, cost, improved = trial, value, True
        if not improved:
            step, turn = step / 2, turn / 2
        if np.hypot(best.x - placed.x, best.y - placed.y) > 0.03:
            return placed
    return best


def _rays(view: View, u: NDArray[np.integer], v: NDArray[np.integer]) -> Array:
    """Nx3 directions of a grid of pixels, also outside of the picture."""
    k = view.intrinsics
    x, y = np.meshgrid((u - k.cx) / k.fx, (v - k.cy) / k.fy)
    return np.stack([x.ravel(), y.ravel(), np.ones(x.size)], axis=1) @ view.base_from_camera[:3, :3].T
