"""Fit quality: how well a posed solid explains a picture, by what the camera should then have seen."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.scene.colour import FULL
from quartet_perception.scene.regions import MEMBER
from quartet_perception.scene.solids import PosedSolid
from quartet_perception.scene.view import Mask, View, depth_noise

Array = NDArray[np.float64]

_MAX_PIXELS = 1600
"""Of a rendering; a larger one is made with a stride."""
_MAX_GRID = 40_000
_MIN_PIXELS = 6
_PARTLY_FILLED, _IRREGULAR = 0.92, 0.8
"""Greatest agreement of an object that fills its bounding shape only in part, where that is known and where it is all
that is known."""
_LEAST_OPEN = 0.7
"""Least share of the box around something irregular that nothing nearer hides."""
_ROUGHLY = 0.9
"""Sizes of something irregular agree when they are off by no more than this factor."""
_RING_PX = 6
"""How far outside of a region its surroundings are looked at [pixels]."""
_COLOUR_SHARE = 0.5
"""Share of an object's visible pixels that must have its colours."""


_GAP_PX = 3
"""Half of the gap between parts of a vessel's wall over which they still enclose its floor [pixels]."""
_LID_M = 0.008
"""What is at most so far below an upright cylinder's top is its lid [m]; below that is its wall."""
_LEAST_WALL, _LEAST_WALL_PX = 0.05, 60
"""Share of what matches, and number of pixels, that must be wall for its colours to count."""
_MOST_WALL, _OWN_WALL = 0.5, 0.5
"""A lid of another colour belongs to the object where the wall is less than the first share, with such a membership."""
_OWN_COLOUR, _BESIDE_SHARE = 0.4, 0.3
"""Membership of a floor's pixel, and the most that what is beside a vessel may have of its colours."""


_SURELY_ABOVE_M, _ABOVE_M, _BESIDE_M = 0.02, 0.05, 0.01
"""What is so far above a top is not it, and is looked at so far up, within its outline and so much more."""
_WALL_M, _WALL_WITHIN_M, _MOST_SIDES = (0.08, 0.5), 0.25, 5
"""How high above the ground a wall is looked for, how far from an object, and in how many of eight directions."""
_MOST_COVERED = 0.5
"""Share of its top's outline above which something of its colours lies that is not behind it."""
_AROUND_PIXELS, _LEVEL_M, _MAD = 40, 0.15, 1.4826
"""What is around is looked at at least so far to each side, and up to this height above and below; from the median of
absolute deviations to a standard deviation."""
_STANDS_OUT, _MOST_ALIKE = 4.0, 0.15
"""A thing is higher than so many standard deviations of what is around, or no more than so much of that is alike."""
_MOST_NOISE = 4.0
"""Depth errs by no more than this times `depth_noise`; what varies more around a thing are walls and other things."""
_AS_WIDE = 0.6
"""A column has at least this share of its points there; a bottle's neck has less."""


@dataclass(frozen=True)
class FitQuality:
    """How well a posed solid explains a picture.

    score: 0 to 1, agreement of depth and colour over what should be visible. visible: part of its outline that is
    in the picture, has depth and is not behind something nearer. in_view: the same with what has its colours and no
    depth. explained: part of the coloured region that it accounts for.
    cost: for comparing poses of the same solid, smaller is better. box: u0, v0, u1, v1 [pixels]; mask: its pixels
    there, every `stride`-th one where the box is larger than the mask. coloured: share of its visible pixels that have
    its colours, of an upright cylinder's wall where that is more.
    """

    score: float
    visible: float
    in_view: float
    explained: float
    cost: float
    pixels: int
    box: tuple[int, int, int, int]
    mask: Mask
    coloured: float = 0.0


NO_FIT = FitQuality(0.0, 0.0, 0.0, 0.0, np.inf, 0, (0, 0, 0, 0), np.zeros((0, 0), dtype=bool))


@dataclass(frozen=True)
class _Rendering:
    """What a camera would see of a posed solid, on a grid of hxw pixels around it, also outside of the picture.

    u, v: columns (w) and rows (h) of the grid. enter, leave: depth at which the ray meets and leaves the solid [m],
    inf for a miss. rise: z of the rays with length 1 along the optical axis.
    """

    u: NDArray[np.integer]
    v: NDArray[np.integer]
    stride: int
    box: tuple[int, int, int, int]
    enter: Array
    leave: Array
    rise: Array

    @cached_property
    def hit(self) -> Mask:
        return np.isfinite(self.enter)


@dataclass(frozen=True)
class _Comparison:
    """A rendering beside the picture: hxw arrays.

    hit: the solid covers the pixel. inside: it is in the picture. known: the picture has depth there. region: the pixel
    is thought to be the object.
    match: the depths agree. through: the camera looks through where the solid should be. before: something nearer.
    error: depth seen minus expected [m], within `tolerance` for a match. reach: depth up to which a return is still the
    solid's (into the opening of a hollow one). small: the rendering has every pixel. rise: as in the rendering.
    """

    hit: Mask
    inside: Mask
    seen: NDArray[np.float32]
    known: Mask
    region: Mask
    match: Mask
    through: Mask
    before: Mask
    error: Array
    reach: Array
    noise: float
    tolerance: float
    small: bool
    rise: Array
    origin: NDArray[np.float32]
    """Of the camera, base frame [m]."""

    @cached_property
    def near(self) -> Mask:
        """Pixels within one or two of the solid."""
        once = _dilate(self.hit)
        return _dilate(once) if self.small else once

    @cached_property
    def height(self) -> Array:
        """Height of what is seen [m], base frame."""
        return self.origin[2] + self.seen * self.rise

    @cached_property
    def bulge(self) -> Mask:
        """Pixels of the region where the solid should be, but nearer: they belong to something larger or elsewhere."""
        return self.before & self.region


def evaluate_fit(
    view: View, posed: PosedSolid, region: Mask, member: NDArray[np.uint8], size: int | None = None
) -> FitQuality:
    """Compare what the camera would see of `posed` with what it saw.

    region: HxW pixels that are thought to be the object, `size` of them. member: HxW, how much each pixel has its
    colour, 0 to FULL.
    """
    rendering = _render(view, posed)
    if rendering is None:
        return NO_FIT
    c = _compare(view, posed, rendering, region)
    matched, total = int(c.match.sum()), int(c.hit.sum())
    if matched < _MIN_PIXELS:
        return NO_FIT
    here, through, bulge = float(c.region.sum()), float(c.through.sum()), float(c.bulge.sum())
    outside = (int(region.sum()) if size is None else size) / rendering.stride**2 - float((c.region & c.near).sum())
    outside = max(outside, 0.0)
    explained = float((c.region & c.near & ~c.bulge).sum()) / max(here + outside, 1.0)
    colours = member[_grid(view, rendering)]
    visible = (matched + through + bulge) / total
    # What has its colour is in view, though a glossy or dark part of it returns no depth.
    blank = c.hit & c.inside & ~c.known & (colours > MEMBER)
    coloured = _coloured(c, posed, colours)
    colour = min(1.0, coloured / _COLOUR_SHARE)
    score = float(_exactness(c, posed).sum()) / (matched + through + bulge + outside) * colour
    if posed.solid.irregular:
        own = view.points[_grid(view, rendering)][c.region & c.near & c.known]
        score = _IRREGULAR * _agrees_in_size(c, posed, own) * explained * colour
    # Most of what is seen of it must be the region itself, not a table that happens to be at the same depth.
    own = _with_floor(c, colours) if posed.solid.hollow else _with_lid(c, posed, colours)
    covered = float((c.match & own).sum()) / matched
    score *= float(np.clip((covered - 0.12) / 0.2, 0, 1))
    if posed.solid.hollow:
        score *= _hollowness(c, posed, view.origin[2] + np.where(c.hit, rendering.enter, 0) * rendering.rise)
    elif posed.solid.primitive != "sphere" and not posed.solid.irregular:
        score = max(score, _partly_filled(c, matched, explained) * colour)
    if visible > 0.85 and not posed.solid.irregular:
        # In plain view, so its top must be where the shape has it.
        top = float(np.percentile(c.height[c.match], 99))
        score *= float(np.exp(-((max(posed.top - top - 0.004 - c.noise, 0.0) / 0.012) ** 2)))
    return FitQuality(
        score=score,
        visible=min(visible, 1.0),
        in_view=min(visible + float(blank.sum()) / total, 1.0),
        explained=explained,
        cost=_cost(c, posed) / total,
        pixels=matched * rendering.stride * rendering.stride,
        box=rendering.box,
        mask=c.match,
        coloured=coloured,
    )


def fit_cost(view: View, posed: PosedSolid, region: Mask) -> float:
    """Return the cost of `evaluate_fit` alone, for a search: in half of the time."""
    rendering = _render(view, posed)
    if rendering is None:
        return np.inf
    c = _compare(view, posed, rendering, region)
    if np.count_nonzero(c.match) < _MIN_PIXELS:
        return np.inf
    return _cost(c, posed) / np.count_nonzero(c.hit)


def _render(view: View, posed: PosedSolid) -> _Rendering | None:
    """Return what the camera would see of `posed`; None where that is nothing, or it reaches behind the camera."""
    uv, ahead = view.project(posed.corners())
    if (ahead < 0.05).any():
        return None
    low = np.floor(uv.min(axis=0)).astype(int) - 3
    high = np.ceil(uv.max(axis=0)).astype(int) + 4
    height, width = view.shape
    if high[0] <= 0 or high[1] <= 0 or low[0] >= width or low[1] >= height:
        return None
    stride = max(1, int(np.sqrt((high[0] - low[0]) * (high[1] - low[1]) / _MAX_PIXELS)))
    u, v = np.arange(low[0], high[0], stride), np.arange(low[1], high[1], stride)
    if len(u) * len(v) > _MAX_GRID:
        return None
    rays = _rays(view, u, v)
    enter, leave = posed.intersect(view.origin, rays)
    if np.count_nonzero(np.isfinite(enter)) < _MIN_PIXELS:
        return None
    shape, box = (len(v), len(u)), (int(low[0]), int(low[1]), int(high[0]), int(high[1]))
    return _Rendering(u, v, stride, box, enter.reshape(shape), leave.reshape(shape), rays[:, 2].reshape(shape))


def _grid(view: View, rendering: _Rendering) -> tuple[slice, slice] | tuple[NDArray[np.integer], ...]:
    """Return the index of the rendering's pixels into the picture; those outside of it take the nearest."""
    height, width = view.shape
    u0, v0, u1, v1 = rendering.box
    if u0 >= 0 and v0 >= 0 and u1 <= width and v1 <= height:
        return np.s_[v0 : v1 : rendering.stride, u0 : u1 : rendering.stride]
    return np.ix_(np.clip(rendering.v, 0, height - 1), np.clip(rendering.u, 0, width - 1))


def _compare(view: View, posed: PosedSolid, rendering: _Rendering, region: Mask) -> _Comparison:
    height, width = view.shape
    u, v, enter, hit = rendering.u, rendering.v, rendering.enter, rendering.hit
    inside = ((u >= 0) & (u < width))[None, :] & ((v >= 0) & (v < height))[:, None]
    grid = _grid(view, rendering)
    seen = view.depth[grid]
    known = inside & view.valid[grid]
    noise = depth_noise(float(np.median(enter[hit])))
    tolerance = 0.006 + 3 * noise
    reach = rendering.leave if posed.solid.hollow or posed.solid.irregular else enter
    error = np.where(hit, seen - enter, 0.0)
    small = rendering.stride == 1
    core = _erode(hit) if small and np.count_nonzero(hit) > 40 else hit
    own = region[grid] & inside
    match = hit & known & (error > -tolerance) & (seen < reach + tolerance)
    through = core & known & (seen >= reach + tolerance)
    if posed.solid.irregular:
        # What it stands on is within the box around it as well, and is seen past it.
        match &= own
        through = core & known & ~match & (error > -tolerance)
    return _Comparison(
        hit=hit,
        inside=inside,
        seen=seen,
        known=known,
        region=own,
        match=match,
        through=through,
        before=hit & known & (error <= -tolerance),
        error=error,
        reach=reach,
        noise=noise,
        tolerance=tolerance,
        small=small,
        rise=rendering.rise,
        origin=view.origin,
    )


def _dilate(mask: Mask) -> Mask:
    """Return what scipy.ndimage.binary_dilation does, in a fifth of its time on a mask of some 1000 pixels."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown


def _erode(mask: Mask) -> Mask:
    """Return what scipy.ndimage.binary_erosion does."""
    shrunk = np.zeros_like(mask)
    inner = mask[1:-1, 1:-1]
    shrunk[1:-1, 1:-1] = inner & mask[:-2, 1:-1] & mask[2:, 1:-1] & mask[1:-1, :-2] & mask[1:-1, 2:]
    return shrunk


def _coloured(c: _Comparison, posed: PosedSolid, member: NDArray[np.uint8]) -> float:
    """Return the share of the matching pixels that have the object's colours; lids may have others."""
    share = float(member[c.match].mean()) / FULL
    wall = _wall_under_lid(c, posed)
    return share if wall is None else max(share, 0.8 * float(member[wall].mean()) / FULL)


def _wall_under_lid(c: _Comparison, posed: PosedSolid) -> Mask | None:
    """Return the matching pixels of an upright cylinder below its top; None where too few of them are seen."""
    if posed.solid.primitive != "cylinder" or posed.solid.lying:
        return None
    wall = c.match & ~(c.height > posed.top - _LID_M)
    enough = max(_LEAST_WALL_PX, _LEAST_WALL * int(c.match.sum()))
    return wall if int(wall.sum()) >= enough else None


def _with_lid(c: _Comparison, posed: PosedSolid, member: NDArray[np.uint8]) -> Mask:
    """Return the region of a solid with the lid on it, which may have any colour where the wall under it has its own.

    From above a can shows its lid and a crescent of its wall. Where more of the wall is seen, its colours must do.
    """
    wall = _wall_under_lid(c, posed)
    if wall is None or int(wall.sum()) > _MOST_WALL * int(c.match.sum()):
        return c.region
    if float(member[wall].mean()) < _OWN_WALL * FULL:
        return c.region
    return c.region | (c.match & ~wall)


def _with_floor(c: _Comparison, member: NDArray[np.uint8]) -> Mask:
    """Return the region of a vessel with its floor, which may lie too low to be told from what the vessel stands on.

    The floor is what the walls enclose, and what has the vessel's colours where those end at its outline.
    """
    enclosed = ndimage.binary_fill_holes(ndimage.binary_closing(np.pad(c.region, _GAP_PX), iterations=_GAP_PX))
    own = c.region | (enclosed[_GAP_PX:-_GAP_PX, _GAP_PX:-_GAP_PX] & c.hit)
    beside = ndimage.binary_dilation(c.near, iterations=3) & ~c.near & c.known
    if int(beside.sum()) >= _MIN_PIXELS and float(member[beside].mean()) < _BESIDE_SHARE * FULL:
        own |= c.hit & (member > _OWN_COLOUR * FULL)
    return own


def _exactness(c: _Comparison, posed: PosedSolid) -> Array:
    """Return for each matching pixel 1 for an exact depth down to 0.4 at the tolerance.

    A ball laid over a bottle's side meets it within the tolerance, but not as exactly as a bottle does.
    """
    exact = 0.002 + c.noise
    quality = 1 - 0.6 * np.clip((np.abs(c.error[c.match]) - exact) / (c.tolerance - exact), 0, 1)
    return np.where(c.error[c.match] > 0, 1.0, quality) if posed.solid.hollow else quality


def _cost(c: _Comparison, posed: PosedSolid) -> float:
    """Return the sum over pixels of squared depth errors, in tolerances, and of 1 for each contradiction."""
    contradictions = np.count_nonzero(c.bulge) + np.count_nonzero(c.region & ~_dilate(c.hit))
    if posed.solid.irregular:
        return float(contradictions)
    loss = np.minimum((np.where(c.match, c.error, 0.0) / c.tolerance) ** 2, 1.0)
    if posed.solid.hollow:
        loss = np.where(c.error > 0, 0.0, loss)
    deeper = c.hit & c.known & (c.seen >= c.reach + c.tolerance)
    return float(loss[c.match].sum()) + float(np.count_nonzero(deeper) + contradictions)


def _partly_filled(c: _Comparison, matched: int, explained: float) -> float:
    """Return the agreement of an object that fills its bounding shape only in part (a bottle's neck, a toy).

    Its region must span the whole outline, though the camera sees past it in places.
    """
    clear = c.known & ~c.before
    if matched < 0.4 * (matched + int(c.through.sum())) or float((c.hit & clear).sum()) < 0.8 * float(c.hit.sum()):
        return 0.0
    expected, seen = _span(c.hit), _span(c.region & _dilate(c.hit))
    if expected is None or seen is None:
        return 0.0
    overlap = 1.0
    for (a0, a1), (b0, b1) in zip(expected, seen, strict=True):
        overlap *= max(min(a1, b1) - max(a0, b0), 0) / max(max(a1, b1) - min(a0, b0), 1)
    return _PARTLY_FILLED * overlap * explained


def _agrees_in_size(c: _Comparison, posed: PosedSolid, points: NDArray[np.float32]) -> float:
    """Return how well what is seen of something irregular fills the box around it along each of its sides, 0 to 1.

    points: Nx3 points of its region, base frame.
    """
    open_hit = c.hit & c.known & ~(c.before & ~c.region)
    if len(points) < _MIN_PIXELS or float(open_hit.sum()) < _LEAST_OPEN * float(c.hit.sum()):
        return 0.0
    cos, sin = np.cos(posed.yaw), np.sin(posed.yaw)
    local = (points[:, :2] - (posed.x, posed.y)) @ np.array([[cos, -sin], [sin, cos]])
    along, across = np.percentile(local, 99, axis=0) - np.percentile(local, 1, axis=0)
    rise = max(float(np.percentile(points[:, 2], 98)) - posed.z, 1e-3)
    shares = [min(rise, posed.height) / max(rise, posed.height)]
    for seen, size in ((along, posed.solid.size[0]), (across, posed.solid.size[1])):
        shares.append(1 - max(abs(float(seen) - size) - c.noise, 0.0) / max(float(seen), size))
    return float(np.prod([min(1.0, share / _ROUGHLY) for share in shares]))


def _span(mask: Mask) -> list[tuple[int, int]] | None:
    """Return first and last + 1 row and column of a mask, None for an empty one."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return None
    return [(int(rows[0]), int(rows[-1]) + 1), (int(cols[0]), int(cols[-1]) + 1)]


def _hollowness(c: _Comparison, posed: PosedSolid, expected_height: Array) -> float:
    """Return 1 when the camera looks into the opening or the opening is not in view, 0 when it is closed.

    expected_height: hxw height at which the rays meet the solid [m].
    """
    opening = c.hit & c.known & (expected_height > posed.top - 0.004)
    if float(opening.sum()) < 0.15 * float(c.hit.sum()):
        return 1.0
    # `error` is depth seen minus where the ray meets the solid.
    inside = float((opening & (c.error > 0.02)).sum()) / float(opening.sum())
    return float(np.clip(inside / 0.5, 0, 1))


def attached(view: View, posed: PosedSolid, support: Mask) -> float:
    """Return how much of the outline continues into something else at the same depth, 0 to 1.

    A thing that stands free ends at its outline: beyond it comes what it stands on (HxW `support`), something farther
    or something nearer. A patch of a sofa does not end there.
    """
    uv, ahead = view.project(posed.corners())
    if (ahead < 0.05).any():
        return 1.0
    height, width = view.shape
    low = np.maximum(np.floor(uv.min(axis=0)).astype(int) - 7, 0)
    high = np.minimum(np.ceil(uv.max(axis=0)).astype(int) + 8, (width, height))
    if (high <= low).any():
        return 1.0
    stride = max(1, int(np.sqrt((high[0] - low[0]) * (high[1] - low[1]) / 9000)))
    u, v = np.arange(low[0], high[0], stride), np.arange(low[1], high[1], stride)
    enter = posed.intersect(view.origin, _rays(view, u, v))[0].reshape(len(v), len(u))
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


def cut_off(view: View, region: Mask, support: Mask) -> tuple[float, float]:
    """Return the shares of a region's outline that something nearer hides, and that go on into something as near.

    The rest ends before what it stands on (HxW `support`) or something farther. What is seen of a thing that is cut off
    is not as large as the thing. Both are 1 where the picture's edge cuts it off.
    """
    rows, cols = np.flatnonzero(region.any(axis=1)), np.flatnonzero(region.any(axis=0))
    height, width = region.shape
    top, left = max(rows[0] - _RING_PX, 0), max(cols[0] - _RING_PX, 0)
    bottom, right = min(rows[-1] + 1 + _RING_PX, height), min(cols[-1] + 1 + _RING_PX, width)
    crop = np.s_[top:bottom, left:right]
    own, known, depth = region[crop], view.valid[crop], view.depth[crop]
    inner = ndimage.binary_dilation(own, iterations=2)
    ring = ndimage.binary_dilation(inner, iterations=3) & ~inner & known
    # The picture's edge hides what is beyond it, and nobody knows how much that is.
    edges = ((top == 0, own[0]), (bottom == height, own[-1]), (left == 0, own[:, 0]), (right == width, own[:, -1]))
    at_edge = sum(int(side.sum()) for there, side in edges if there)
    total = int(ring.sum())
    if total < _MIN_PIXELS or at_edge > _MIN_PIXELS or not (own & known).any():
        return 1.0, 1.0
    far = ndimage.maximum_filter(np.where(own & known, depth, -np.inf), size=2 * _RING_PX - 1)
    near = ndimage.minimum_filter(np.where(own & known, depth, np.inf), size=2 * _RING_PX - 1)
    slack = 0.012 + 2 * depth_noise(float(np.median(depth[own & known])))
    off = ring & ~support[crop]
    hidden = off & (depth < near - slack)
    along = off & ~hidden & (depth < far + slack)
    return int(hidden.sum()) / total, int(along.sum()) / total


def continues_above(view: View, posed: PosedSolid, member: NDArray[np.uint8], size_error: float) -> bool:
    """Return whether what is taken for a standing object goes on above its top in its colours, as a table's leg does.

    member: as in `evaluate_fit`. size_error: how far its height may be off, relative.
    """
    begins = posed.top + max(_SURELY_ABOVE_M, 2 * size_error * posed.height)
    ends = begins + min(_ABOVE_M, posed.height)
    corners = posed.corners()
    uv, ahead = view.project(np.vstack([corners, np.add(corners, (0.0, 0.0, ends - posed.top))]))
    if (ahead < 0.05).any():
        return False
    height, width = view.shape
    (u0, v0), (u1, v1) = np.floor(uv.min(axis=0)).astype(int), np.ceil(uv.max(axis=0)).astype(int) + 1
    crop = np.s_[max(v0, 0) : min(v1, height), max(u0, 0) : min(u1, width)]
    own = view.valid[crop] & (member[crop] > _OWN_COLOUR * FULL)
    points = view.points[crop][own]
    if len(points) == 0:
        return False
    low, high = posed.bounds
    within = (np.abs(points[:, :2] - (low + high)[:2] / 2) < 0.5 * (high - low)[:2] + _BESIDE_M).all(axis=1)
    z = points[within, 2]
    above = int(((z > begins) & (z < ends)).sum())
    below = int(((z > posed.top - (ends - begins)) & (z < posed.top)).sum())
    return above >= _MIN_PIXELS and above > _AS_WIDE * below


def covered_above(view: View, posed: PosedSolid, member: NDArray[np.uint8]) -> bool:
    """Return whether most of what is above its top has its colours and is not behind it.

    A table's top hides a leg but for its lower end.

    member: as in `evaluate_fit`.
    """
    outline = posed.footprint
    rim = np.column_stack([outline, np.full(len(outline), posed.top + _SURELY_ABOVE_M)])
    pixels, ahead, _ = view.pixels_of(rim)
    if len(ahead) == 0:
        return False
    slack = 0.012 + 2 * depth_noise(float(np.median(ahead)))
    covered = view.valid[pixels] & (view.depth[pixels] < ahead + slack) & (member[pixels] > _OWN_COLOUR * FULL)
    return float(covered.mean()) > _MOST_COVERED


def lost_in_noise(view: View, posed: PosedSolid, member: NDArray[np.uint8]) -> bool:
    """Return whether neither its height nor its colours tell something from what is around it.

    So it is with a cube of 3 cm on a floor of its colour: from far away depth errs by more than its height, and each
    patch of the floor may be one. How much depth errs is measured on what is around, up to what is plausible.

    member: as in `evaluate_fit`.
    """
    uv, ahead = view.project(posed.corners())
    if (ahead < 0.05).any():
        return False
    height, width = view.shape
    side = np.maximum(uv.max(axis=0) - uv.min(axis=0), _AROUND_PIXELS)
    low = np.clip(np.floor(uv.min(axis=0) - side), 0, (width, height)).astype(int)
    high = np.clip(np.ceil(uv.max(axis=0) + side), 0, (width, height)).astype(int)
    crop = np.s_[low[1] : high[1], low[0] : high[0]]
    around = view.valid[crop].copy()
    own_low, own_high = np.floor(uv.min(axis=0)).astype(int) - low, np.ceil(uv.max(axis=0)).astype(int) - low
    around[max(0, own_low[1]) : own_high[1], max(0, own_low[0]) : own_high[0]] = False
    above = view.points[crop][around][:, 2] - posed.z
    level = np.abs(above) < _LEVEL_M
    if int(level.sum()) < _AROUND_PIXELS:
        return False
    above = above[level]
    away = float(np.median(ahead))
    most = _MOST_NOISE * depth_noise(away) * abs(float(view.origin[2]) - posed.z) / away
    errs = min(most, _MAD * float(np.median(np.abs(above - np.median(above)))))
    alike = float((member[crop][around][level] > _OWN_COLOUR * FULL).mean())
    return posed.top - posed.z < _STANDS_OUT * errs and alike > _MOST_ALIKE


def enclosed(view: View, posed: PosedSolid) -> bool:
    """Return whether walls stand around an object on most sides, as a bin's: it may lean on them in any pose."""
    low, high = posed.bounds
    heights = view.heights[::2, ::2]
    above = view.valid[::2, ::2] & (heights > posed.z + _WALL_M[0]) & (heights < posed.z + _WALL_M[1])
    away = view.points[::2, ::2][above][:, :2] - (posed.x, posed.y)
    beside = np.hypot(*away.T) > float(np.hypot(*(high - low)[:2])) / 2
    walls = away[beside & (np.abs(away) < _WALL_WITHIN_M).all(axis=1)]
    sectors = np.floor((np.arctan2(walls[:, 1], walls[:, 0]) + np.pi) / (2 * np.pi) * 8).astype(int) % 8
    return int((np.bincount(sectors, minlength=8) >= _MIN_PIXELS).sum()) >= _MOST_SIDES


def _rays(view: View, u: NDArray[np.integer], v: NDArray[np.integer]) -> Array:
    """Return Nx3 directions of a grid of pixels, row by row, with length 1 along the optical axis, base frame."""
    k = view.intrinsics
    rays = np.ones((len(v), len(u), 3))
    rays[..., 0] = (u - k.cx) / k.fx
    rays[..., 1] = ((v - k.cy) / k.fy)[:, None]
    return rays.reshape(-1, 3) @ view.base_from_camera[:3, :3].T
