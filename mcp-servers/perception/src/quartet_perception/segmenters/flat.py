"""Detection of a low thing on a surface, such as a book or a painted square: by its outline in colour or relief.

Depth errs by about as much per pixel as a book is high, and the plane under it takes part of it or all. Its outline in
colour is exact, and its height is the mean of all of its pixels over the ground measured around it. That tells a book
from a painted patch; a mark has no height, and colour alone tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.colour import FULL
from quartet_perception.scene.regions import MEMBER, MIN_PIXELS, PreparedView
from quartet_perception.scene.solids import PosedSolid, Solid, solids_of
from quartet_perception.scene.supports import PLANE_M, fit_plane
from quartet_perception.scene.view import Mask, View, box_of, depth_noise
from quartet_perception.segmenters.base import SegmentedObject

FLAT_M = 0.012
"""Height up to which depth does not tell a thing from the surface that it lies on: the tolerance of a plane."""
LOW_M, _WIDE = 0.035, 2.0
"""Greatest height of a low thing, and least width of one, relative to its height."""
_TOLERANCE = 0.15
"""How far the sides of an outline may be off, relative to those of the catalogue."""
_PIXELS_OFF = 2.0
"""The same, in pixels of the picture."""
_LEAST_FILLED, _MOST_FILLED = 0.5, 1.3
"""Shares of its outline that a thing has to fill, and may fill; a frame or a ring has a hole."""
_PIXELS = (0.1, 2.0)
"""Least and greatest size of a region whose outline is measured, relative to the thing's upper side seen from above."""
_NEARER_M = 0.015
"""What is so far over a thing's upper side stands before it [m]."""
_MARK_M, _MARK_HEIGHT_M, _LARGEST_MARK_M = 0.001, 0.03, 0.3
"""Thickness of a mark, how far its height may be off, and its longest side [m]: what is larger is furniture."""
_MOST_RISE = 1.2
"""Greatest mean height of a thing, relative to its own; a box of 40 mm is no sponge of 29 mm."""
_LEAST_RELIEF_M = 0.006
"""Height from which a thing must rise over the ground around it, and is looked for in relief as well."""
_RELIEF, _RELIEF_HOLLOW = (0.5, 1.8), 0.2
"""Least and greatest height of its pixels over the ground, relative to its own; least height of a plate's."""
_SURE = 2.5
"""Standard errors of its mean height that a thing must rise over the ground: one in 160 painted patches seems to."""
_SAME_ERROR_PX = 40.0
"""Pixels over which the error of depth is the same: stereo matches windows of 7 pixels of its infrared picture."""
_GAP_PX, _AROUND_PX = 4.0, (8.0, 30.0)
"""Distance from a region to the ground that is measured around it, and least and greatest width of that [pixels]."""
_GOES_ON = 0.08
"""Share of what is around a low thing up to which it may be as high and have its colours."""
_RELIEF_NOISE = 2.2
"""A thing is looked for in relief where it is so many times as high as the noise of depth."""
_RELIEF_COLOUR = 0.3
"""Share of its raised pixels that must have its colours: light and wood make a gray thing and its table alike."""
_BESIDE_PLANE_M = 0.03
"""How far a thing may reach over the edge of the plane on which it lies."""
_LOW_FURNITURE_M = 0.1
"""Height over a plane up to which a surface of the site is looked for on it [m]: a plinth or a board."""
_MOST_POINTS = 4000
"""Pixels of an outline that are measured."""
_STEP_DEG = 2
_CLIPPED = 0.5
"""Percent of the pixels that are left out at either side of an outline."""


@dataclass(frozen=True)
class _Ground:
    """What is around a region: its height below the middle of it [m], and how far the region rises over it [m].

    error: standard error of the rise [m].
    """

    z: float
    rise: float
    error: float


def is_flat(entry: CatalogueEntry) -> bool:
    """Return whether a thing is too low to be told from what it lies on by depth."""
    return entry.kind != "surface" and entry.sized and entry.size_m[2] <= FLAT_M


def is_low(entry: CatalogueEntry) -> bool:
    """Return whether a thing is flat, or may lie so that it is low and wide."""
    return is_flat(entry) or (entry.kind == "object" and entry.sized and bool(_low_solids(entry)))


def _low_solids(entry: CatalogueEntry) -> list[Solid]:
    """Return the poses in which a thing is low and wide; the first one of a flat thing."""
    solids = solids_of(entry.appearance)
    if is_flat(entry) or entry.kind == "surface":
        return solids[:1]
    return [
        one
        for one in solids
        if one.size[2] <= LOW_M
        and min(one.size[:2]) >= _WIDE * one.size[2]
        and not (one.irregular or one.lying or one.primitive == "sphere")
    ]


def find_flat(picture: PreparedView, entry: CatalogueEntry, heights: Sequence[float] = ()) -> list[SegmentedObject]:
    """Return the low things of a view that may be `entry`, best first: those that are seen whole.

    heights: of the site's surfaces [m], on which they may lie though too little of a surface is seen to make a plane.
    """
    found: list[SegmentedObject] = []
    for solid in _low_solids(entry):
        for mask in chain(_coloured(picture, entry, solid), _in_relief(picture, entry, solid, heights)):
            if not any((mask & other.mask).any() for other in found):
                found += _described(picture.view, mask, entry, solid)
    return sorted(found, key=lambda one: -one.score)


def goes_on(picture: PreparedView, found: SegmentedObject, *, above: bool) -> bool:
    """Return whether what is as high as a low thing and has its colours goes on beside it, as a threshold does.

    above: only what is clearly higher counts, as the rest of a box of which a region is the foot.
    """
    if found.entry is None or found.solid is None or not is_low(found.entry):
        return False
    ring = ndimage.binary_dilation(found.mask, iterations=6) & ~ndimage.binary_dilation(found.mask, iterations=2)
    ring &= picture.view.valid
    own = picture.member(found.entry.appearance.colours) > MEMBER
    least = found.solid.z + found.solid.height / 2
    if above:
        least = found.solid.top + 2 * depth_noise(float(np.median(picture.view.depth[ring]))) if ring.any() else least
    higher = picture.view.heights > least
    return float((ring & own & higher).sum()) > _GOES_ON * float(ring.sum())


def _coloured(picture: PreparedView, entry: CatalogueEntry, solid: Solid) -> Iterator[Mask]:
    """Yield the regions that have the colours of `entry` and rise over a plane by no more than `solid` does.

    Where the ground has about its colours, too, a region is what differs from the ground around it.
    """
    view = picture.view
    low = ~view.valid | picture.supports.mask | ~picture.solidity
    slack = 2.5 * depth_noise(np.where(view.valid, view.depth, np.float32(0)))
    for plane in picture.supports.planes:
        over = view.heights - np.float32(plane.z)
        low |= (over > -slack) & (over < np.float32(solid.size[2]) + slack)
    wanted = (picture.member(entry.appearance.colours) > MEMBER) & low
    yield from _regions(wanted)
    yield from _regions(wanted & picture.contrast)


def _regions(wanted: Mask) -> Iterator[Mask]:
    """Yield the connected pixels, each region as a mask of the picture."""
    # Opened, so that no thin line of noise joins two things.
    labels, _ = ndimage.label(ndimage.binary_dilation(ndimage.binary_erosion(wanted)))
    sizes = np.bincount(labels.ravel())
    for label, box in enumerate(ndimage.find_objects(labels), start=1):
        if sizes[label] >= 2 * MIN_PIXELS:
            mask = np.zeros(wanted.shape, dtype=bool)
            mask[box] = labels[box] == label
            yield mask


def _in_relief(picture: PreparedView, entry: CatalogueEntry, solid: Solid, heights: Sequence[float]) -> Iterator[Mask]:
    """Yield the regions that rise over a plane by the height of `solid` and have about the colours of `entry`."""
    view, height = picture.view, solid.size[2]
    if height < _LEAST_RELIEF_M:
        return
    member = picture.member(entry.appearance.colours)
    seen = view.valid & (height > _RELIEF_NOISE * depth_noise(view.depth))
    least, most = (share * height for share in _RELIEF)
    known = [plane.z for plane in picture.supports.planes]
    for index, plane in enumerate(picture.supports.planes):
        x, y = view.points[..., 0], view.points[..., 1]
        (x0, y0), (x1, y1) = plane.low - _BESIDE_PLANE_M, plane.high + _BESIDE_PLANE_M
        here = seen & (x > x0) & (x < x1) & (y > y0) & (y < y1)
        if not here.any():
            continue
        over = picture.rises_over(index)
        raised = [z - plane.z for z in heights if height < z - plane.z < _LOW_FURNITURE_M]
        for step in (0.0, *(up for up in raised if min(abs(plane.z + up - z) for z in known) > height)):
            for mask in _regions(here & (over > step + least) & (over < step + most)):
                if float(member[mask].mean()) > _RELIEF_COLOUR * FULL:
                    yield mask


def _ground_of(view: View, mask: Mask) -> _Ground | None:
    """Return the ground around a region; None where too little of either has depth."""
    width = int(np.clip(0.4 * np.sqrt(mask.sum()), *_AROUND_PX))
    x0, y0, x1, y1 = (int(value) for value in box_of(mask))
    margin = int(_GAP_PX) + width + 1
    crop = np.s_[max(y0 - margin, 0) : y1 + margin, max(x0 - margin, 0) : x1 + margin]
    own, valid, points = mask[crop], view.valid[crop], view.points[crop]
    seen = own & valid
    if seen.sum() < MIN_PIXELS:
        return None
    noise = depth_noise(float(np.median(view.depth[crop][seen])))
    away = ndimage.distance_transform_edt(~own)
    level = np.abs(points[..., 2] - np.median(points[seen][:, 2])) < LOW_M + 3 * noise
    around = valid & level & (away > _GAP_PX) & (away < _GAP_PX + width)
    if around.sum() < 4 * MIN_PIXELS:
        return None
    a, b, c = fit_plane(points[around], PLANE_M + noise)

    def over(where: Mask) -> NDArray[np.float64]:
        x, y, z = points[where].astype(np.float64).T
        return z - (a * x + b * y + c)

    rise = over(seen)
    errs = 1.4826 * float(np.median(np.abs(over(around))))
    x, y = points[seen][:, :2].astype(np.float64).mean(axis=0)
    error = errs * float(np.sqrt(_SAME_ERROR_PX / len(rise) + _SAME_ERROR_PX / around.sum()))
    return _Ground(float(a * x + b * y + c), float(np.median(rise)), error)


def _described(view: View, mask: Mask, entry: CatalogueEntry, solid: Solid) -> list[SegmentedObject]:
    """Return the thing with this outline on the ground around it, none where its sizes differ."""
    away = float(np.median(view.depth[mask & view.valid])) if (mask & view.valid).any() else 0.0
    pixels = solid.size[0] * solid.size[1] * (view.intrinsics.fx / max(away, 0.02)) ** 2
    if not _PIXELS[0] * pixels < mask.sum() < _PIXELS[1] * pixels:
        return []
    ground = _ground_of(view, mask)
    if ground is None:
        return []
    fitted = _fit(view, mask, ground.z, solid, entry.appearance.size_error)
    if fitted is None:
        return []
    posed, score = fitted
    height = solid.size[2]
    if height >= _LEAST_RELIEF_M:
        least, most = (_RELIEF_HOLLOW if solid.hollow else _RELIEF[0]) * height, _MOST_RISE * height
        doubt = _SURE * ground.error
        if not max(least, doubt) < ground.rise < most + doubt:
            return []
    return [
        SegmentedObject(
            entry.name,
            score,
            box_of(mask),
            mask,
            entry=entry,
            solid=posed,
            support_z=ground.z,
            visible=1.0,
            refined=posed.solid != solid,
        )
    ]


def find_mark(picture: PreparedView, entry: CatalogueEntry) -> list[SegmentedObject]:
    """Return the patches of larger planes that may be `entry`, a surface: a square that is drawn on a table."""
    x, y, height = entry.size_m
    if max(x, y) > _LARGEST_MARK_M:
        return []
    thin = entry.appearance.model_copy(update={"shape": "box", "size_m": (x, y, _MARK_M)})
    found = find_flat(picture, replace(entry, appearance=thin))
    there = [one for one in found if one.support_z is not None and abs(one.support_z - height) < _MARK_HEIGHT_M]
    # As of any surface, its pixels tell its extent.
    return [replace(one, entry=entry, solid=None) for one in there]


def _fit(view: View, mask: Mask, z: float, solid: Solid, size_error: float) -> tuple[PosedSolid, float] | None:
    """Return the thing with the outline of the pixels and how well it fits, 0 to 1; None for another size.

    z: height of the ground [m]. size_error: how far its sizes may be off, relative.
    """
    rays = view.rays[mask].astype(np.float64)
    steep = float(np.median(np.abs(rays[:, 2]) / np.linalg.norm(rays, axis=1)))
    # Where the rays meet the ground and its upper side: the outline has no noise of depth then.
    away = [(height - float(view.origin[2])) / rays[:, 2] for height in (z, z + solid.size[2])]
    range_m = float(np.median(away[1]))
    pixel = range_m / view.intrinsics.fx
    sx, sy, height = solid.size
    foot, upper = ((rays[:, :2] * one[:, None])[:: 1 + len(rays) // _MOST_POINTS] for one in away)
    best: tuple[float, float, float, float, float, float] | None = None
    for angle in np.radians(np.arange(0, 90, _STEP_DEG)):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s], [s, c]])
        (low, high), (low_up, high_up) = (
            (np.percentile(xy @ turn, _CLIPPED, axis=0), np.percentile(xy @ turn, 100 - _CLIPPED, axis=0))
            for xy in (foot, upper)
        )
        # Seen from the origin of `foot`, a side that faces the camera ends at the ground, the others at the top.
        low, high = np.where(low > 0, low, low_up), np.where(high < 0, high, high_up)
        # A pixel has its own width.
        a, b = high - low + pixel
        if best is None or a * b < best[0]:
            u, v = (low + high) / 2
            best = (float(a * b), float(a), float(b), float(c * u - s * v), float(s * u + c * v), float(angle))
    assert best is not None
    area, a, b, x, y, yaw = best
    if abs(a - sx) + abs(b - sy) > abs(a - sy) + abs(b - sx):
        a, b, yaw = b, a, yaw + np.pi / 2
    slack = _PIXELS_OFF * pixel / steep
    worst = max((abs(have - want) - slack) / want for have, want in ((a, sx), (b, sy)))
    # Area of the upper side's plane that the pixels cover, with the sides that face the camera.
    covered = float((away[1] ** 2 / np.abs(rays[:, 2])).sum()) / (view.intrinsics.fx * view.intrinsics.fy)
    sides = height / steep * max(a, b)
    placed = solid.place(x + view.origin[0], y + view.origin[1], z, yaw)
    free = sx * sy * (1 - _hidden(view, mask, placed))
    if worst > _TOLERANCE or covered < _LEAST_FILLED * free or covered > _MOST_FILLED * area + sides:
        return None
    if not solid.parts:
        a, b = ((a + b) / 2,) * 2 if solid.primitive == "cylinder" else (a, b)
        seen = (float(np.clip(have, w * (1 - size_error), w * (1 + size_error))) for have, w in ((a, sx), (b, sy)))
        placed = replace(placed, solid=replace(solid, size=(*seen, height)))
    return placed, float(np.clip(1 - max(worst - size_error, 0.0), 0, 1))


def _hidden(view: View, mask: NDArray[np.bool_], placed: PosedSolid) -> float:
    """Return the share of a thing's upper side that something nearer hides, as a peg does of a ring round it."""
    x0, y0, x1, y1 = (int(value) for value in box_of(mask))
    rays = view.rays[y0:y1, x0:x1].astype(np.float64)
    xy = rays[..., :2] * ((placed.top - float(view.origin[2])) / rays[..., 2])[..., None] + view.origin[:2]
    c, s = np.cos(placed.yaw), np.sin(placed.yaw)
    away = np.abs((xy - (placed.x, placed.y)) @ np.array([[c, -s], [s, c]]))
    sx, sy, _ = placed.solid.size
    within = (away[..., 0] < sx / 2) & (away[..., 1] < sy / 2)
    clear = view.valid[y0:y1, x0:x1] & (view.points[y0:y1, x0:x1, 2] < placed.top + _NEARER_M)
    return float((within & ~clear).sum()) / max(int(within.sum()), 1)
