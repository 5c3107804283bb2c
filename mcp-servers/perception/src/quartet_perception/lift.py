"""From what a remote segmenter saw, a box or a mask, to a thing in space: the depth picture decides its outline.

What depth contradicts is dropped: where there is depth and nothing stands in the box, nothing was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from quartet_perception.catalogue import Kind, Thing
from quartet_perception.regions import MIN_PIXELS, Picture, between_fingers, prepare
from quartet_perception.segmenter import Found
from quartet_perception.standing import known_solid, standing_solid
from quartet_perception.supports import Plane
from quartet_perception.view import Mask, View, depth_noise

Box = tuple[float, float, float, float]

_MIN_SIDE_PX = 3.0
_MIN_INSIDE = 0.3
"""Part of a box that must lie in the picture."""
_GROWN = 0.3
"""A component is followed this far beyond its box, to tell what ends in it from what only passes through."""
_MAIN_SHARE, _FURTHER_SHARE = 0.6, 0.8
"""Part of a component that lies in the box: of the thing itself, and of further pieces of it."""
_PIECE_GAP_M = 0.02
_NO_DEPTH = 0.3
"""Part of a box with depth below which depth says nothing about it."""
_SURFACE_SHARE = 0.10
_HEIGHT_TOLERANCE_M = 0.05
_ABOVE_FLOOR_M = 0.05
_SAME = 0.7
"""Overlap (intersection over union of the boxes) from which two sights of a name are one."""
_CUT_OFF = 0.6


@dataclass(frozen=True)
class Sight:
    """What was seen: pixels of the picture, a name that was asked for, and perhaps what it is."""

    label: str
    score: float
    box: Box
    mask: Mask | None = None
    thing: Thing | None = None
    kind: Kind | None = None


def lift_all(picture: Picture, sights: Sequence[Sight]) -> list[Found]:
    """The things behind the sights, best first; of several sights of one thing the best."""
    kept: list[Found] = []
    for sight in sorted(sights, key=lambda s: -s.score):
        found = lift(picture, sight)
        if found is not None and not any(
            f.label == found.label and overlap(f.box_xyxy, found.box_xyxy) > _SAME for f in kept
        ):
            kept.append(found)
    return kept


def lift(picture: Picture, sight: Sight) -> Found | None:
    """The thing behind a sight, or None where depth shows that there is none, or the box is not in the picture."""
    box = inside(sight.box, picture.view.shape)
    if box is None:
        return None
    kind = sight.thing.kind if sight.thing is not None else sight.kind
    found = None if kind == "surface" else _object(picture, sight, box, kind or "object")
    if found is None and kind in (None, "surface"):
        found = _surface(picture, sight, box)
    return found


def _object(picture: Picture, sight: Sight, box: Box, kind: Kind) -> Found | None:
    view = picture.view
    window = _slices(box, view.shape)
    if sight.mask is None:
        if float(view.valid[window].mean()) < _NO_DEPTH:
            # Glass, shining metal, far away: seen, but nobody can say where.
            return Found(
                sight.label, sight.score, box, np.zeros(view.shape, dtype=bool), thing=sight.thing, free_kind=kind
            )
        mask = _component(picture, box)
        if mask is None:
            return None
        sure = mask
    else:
        mask = sight.mask & view.valid
        sure = mask & picture.solidity
        if int(sure.sum()) < MIN_PIXELS:
            sure = mask
        if int(mask.sum()) < MIN_PIXELS:
            return Found(sight.label, sight.score, box, sight.mask, thing=sight.thing, free_kind=kind)
        box = _box_of(mask)
    points = view.points[sure]
    low = float(np.percentile(points[:, 2], 2))
    middle = np.median(points, axis=0)
    slack = 0.02 + 2 * depth_noise(float(np.median(view.depth[sure])))
    support = picture.supports.under(float(middle[0]), float(middle[1]), low + slack)
    solid = None if sight.thing is None else known_solid(sight.thing, points, support, view.origin)
    solid = solid or standing_solid(points, support)
    return Found(
        sight.label,
        sight.score,
        box,
        mask,
        thing=sight.thing,
        solid=solid,
        support_z=support,
        free_kind=kind,
        visible=_visible(box, view.shape),
        in_gripper=between_fingers(view, solid.centre, 0.07),
    )


def _component(picture: Picture, box: Box) -> Mask | None:
    """The connected pixels that stand off their support and fill the middle of the box, with further pieces of the
    same thing that depth edges cut off."""
    view = picture.view
    x0, y0, x1, y1 = box
    dx, dy = _GROWN * (x1 - x0) + 8, _GROWN * (y1 - y0) + 8
    outer = _slices((x0 - dx, y0 - dy, x1 + dx, y1 + dy), view.shape)
    labels, count = ndimage.label(picture.solidity[outer])
    if count == 0:
        return None
    rows = np.arange(outer[0].start, outer[0].stop)[:, None]
    cols = np.arange(outer[1].start, outer[1].stop)[None, :]
    inside = (cols >= x0 - 2) & (cols < x1 + 2) & (rows >= y0 - 2) & (rows < y1 + 2)
    off_x, off_y = (cols - (x0 + x1) / 2) / (x1 - x0), (rows - (y0 + y1) / 2) / (y1 - y0)
    central = np.exp(-4 * (off_x**2 + off_y**2)) * inside
    index = np.arange(1, count + 1)
    total = ndimage.sum_labels(np.ones(labels.shape), labels, index)
    within = ndimage.sum_labels(inside, labels, index)
    weight = ndimage.sum_labels(central, labels, index)
    share = within / np.maximum(total, 1)
    eligible = (share >= _MAIN_SHARE) & (within >= MIN_PIXELS)
    if not eligible.any():
        return None
    main = int(np.argmax(np.where(eligible, weight, -1.0)))
    chosen = labels == main + 1
    points = view.points[outer]
    low, high = points[chosen].min(axis=0) - _PIECE_GAP_M, points[chosen].max(axis=0) + _PIECE_GAP_M
    for other in np.flatnonzero((share >= _FURTHER_SHARE) & (within >= MIN_PIXELS)):
        piece = labels == other + 1
        near = ((points[piece] > low) & (points[piece] < high)).all(axis=1)
        if other != main and float(near.mean()) > 0.5:
            chosen |= piece
    mask = np.zeros(view.shape, dtype=bool)
    mask[outer] = chosen
    return mask


def _surface(picture: Picture, sight: Sight, box: Box) -> Found | None:
    """The horizontal plane that fills most of the box, at the thing's height where the catalogue has it."""
    view = picture.view
    window = np.zeros(view.shape, dtype=bool)
    window[_slices(box, view.shape)] = True
    if sight.mask is not None:
        window &= ndimage.binary_dilation(sight.mask, iterations=2)
    best: tuple[int, Plane, Mask] | None = None
    for plane in picture.supports.planes:
        if sight.thing is None and plane.z < _ABOVE_FLOOR_M:
            continue
        if sight.thing is not None and abs(plane.z - sight.thing.appearance.size_m[2]) > _HEIGHT_TOLERANCE_M:
            continue
        full = np.repeat(np.repeat(plane.mask, 2, axis=0), 2, axis=1)[: view.shape[0], : view.shape[1]]
        mask = full & window & view.valid
        pixels = int(mask.sum())
        if pixels >= _SURFACE_SHARE * int(window.sum()) and (best is None or pixels > best[0]):
            best = (pixels, plane, mask)
    if best is None:
        return None
    _, plane, mask = best
    return Found(
        sight.label,
        sight.score,
        _box_of(mask),
        mask,
        thing=sight.thing,
        support_z=plane.z,
        free_kind="surface",
    )


def inside(box: Box, shape: tuple[int, int]) -> Box | None:
    """The part of a box that lies in the picture, None where that is too little of it."""
    x0, y0, x1, y1 = box
    left, top = max(x0, 0.0), max(y0, 0.0)
    right, bottom = min(x1, float(shape[1])), min(y1, float(shape[0]))
    if right - left < _MIN_SIDE_PX or bottom - top < _MIN_SIDE_PX:
        return None
    return (
        (left, top, right, bottom) if (right - left) * (bottom - top) >= _MIN_INSIDE * (x1 - x0) * (y1 - y0) else None
    )


def _slices(box: Box, shape: tuple[int, int]) -> tuple[slice, slice]:
    x0, y0, x1, y1 = box
    return (
        slice(max(int(np.floor(y0)), 0), min(int(np.ceil(y1)), shape[0])),
        slice(max(int(np.floor(x0)), 0), min(int(np.ceil(x1)), shape[1])),
    )


def _box_of(mask: Mask) -> Box:
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(cols[0]), float(rows[0]), float(cols[-1] + 1), float(rows[-1] + 1)


def _visible(box: Box, shape: tuple[int, int]) -> float:
    """Less where the picture's edge cuts it off."""
    cut = box[0] <= 1 or box[1] <= 1 or box[2] >= shape[1] - 1 or box[3] >= shape[0] - 1
    return _CUT_OFF if cut else 1.0


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def prepared(view: View, things: Sequence[Thing]) -> Picture:
    """What `lift` works on."""
    return prepare(view, [t.appearance.size_m[2] for t in things if t.kind == "surface"])
