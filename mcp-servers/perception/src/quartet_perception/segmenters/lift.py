"""Lifting of 2D detections, boxes or masks, to objects in space: the depth picture decides their outline.

A detection that depth contradicts is dropped: where there is depth, something must stand in the box.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry, Kind
from quartet_perception.scene.regions import MIN_PIXELS, PreparedView, between_fingers, prepare
from quartet_perception.scene.shapes import fit_known_solid, solid_from_points
from quartet_perception.scene.supports import SupportPlane
from quartet_perception.scene.view import Box, Mask, View, box_of, depth_noise
from quartet_perception.segmenters.base import SegmentedObject

_MIN_SIDE_PX = 3.0
_MIN_INSIDE = 0.3
"""Part of a box that must lie in the picture."""
_GROWN = 0.3
"""A component is followed this far beyond its box, to tell an object inside it from one that passes through."""
_MAIN_SHARE, _FURTHER_SHARE = 0.6, 0.8
"""Share of a component inside the box: of the main piece of an object, and of its further pieces."""
_PIECE_GAP_M = 0.02
_NO_DEPTH = 0.3
"""Part of a box with depth below which depth says nothing about it."""
_SURFACE_SHARE = 0.10
_HEIGHT_TOLERANCE_M = 0.05
_ABOVE_FLOOR_M = 0.05
_SAME = 0.7
"""Overlap (intersection over union of the boxes) from which two detections of a name are one."""
_CUT_OFF = 0.6


@dataclass(frozen=True)
class Detection2D:
    """A box or mask in the picture [pixels] for a name that was asked for, and its kind where that is known."""

    label: str
    score: float
    box: Box
    mask: Mask | None = None
    entry: CatalogueEntry | None = None
    kind: Kind | None = None


def lift_all(picture: PreparedView, detections: Sequence[Detection2D]) -> list[SegmentedObject]:
    """Return the objects behind the detections, best first; of several detections of one object the best."""
    kept: list[SegmentedObject] = []
    for detection in sorted(detections, key=lambda s: -s.score):
        found = lift(picture, detection)
        if found is not None and not any(
            f.label == found.label and overlap(f.box_xyxy, found.box_xyxy) > _SAME for f in kept
        ):
            kept.append(found)
    return kept


def lift(picture: PreparedView, detection: Detection2D) -> SegmentedObject | None:
    """Return the object behind a detection, None where depth shows none or the box is outside of the picture."""
    box = inside(detection.box, picture.view.shape)
    if box is None:
        return None
    kind = detection.entry.kind if detection.entry is not None else detection.kind
    found = None if kind == "surface" else _object(picture, detection, box, kind or "object")
    if found is None and kind in (None, "surface"):
        found = _surface(picture, detection, box)
    return found


def _object(picture: PreparedView, detection: Detection2D, box: Box, kind: Kind) -> SegmentedObject | None:
    view = picture.view
    window = _slices(box, view.shape)
    if detection.mask is None:
        if float(view.valid[window].mean()) < _NO_DEPTH:
            # Glass, shining metal, far away: it is seen, but its position is unknown.
            return SegmentedObject(
                detection.label,
                detection.score,
                box,
                np.zeros(view.shape, dtype=bool),
                entry=detection.entry,
                free_kind=kind,
            )
        mask = _component(picture, box)
        if mask is None:
            return None
        sure = mask
    else:
        mask = detection.mask & view.valid
        sure = mask & picture.solidity
        if int(sure.sum()) < MIN_PIXELS:
            sure = mask
        if int(mask.sum()) < MIN_PIXELS:
            return SegmentedObject(
                detection.label, detection.score, box, detection.mask, entry=detection.entry, free_kind=kind
            )
        box = box_of(mask)
    points = view.points[sure]
    low = float(np.percentile(points[:, 2], 2))
    middle = np.median(points, axis=0)
    slack = 0.02 + 2 * depth_noise(float(np.median(view.depth[sure])))
    support = picture.supports.under(float(middle[0]), float(middle[1]), low + slack)
    solid = (
        None
        if detection.entry is None or not detection.entry.sized
        else fit_known_solid(detection.entry.appearance, points, support, view.origin)
    )
    solid = solid or solid_from_points(points, support)
    return SegmentedObject(
        detection.label,
        detection.score,
        box,
        mask,
        entry=detection.entry,
        solid=solid,
        support_z=support,
        free_kind=kind,
        visible=_visible(box, view.shape),
        in_gripper=between_fingers(view, solid.centre),
    )


def _component(picture: PreparedView, box: Box) -> Mask | None:
    """Return the connected pixels that rise above their support and fill the middle of the box.

    Further pieces of the same object that depth edges cut off are included; None where there is no such region.
    """
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


def _surface(picture: PreparedView, detection: Detection2D, box: Box) -> SegmentedObject | None:
    """Return the horizontal plane that fills most of the box, at the catalogue's height where that is known."""
    view = picture.view
    window = np.zeros(view.shape, dtype=bool)
    window[_slices(box, view.shape)] = True
    if detection.mask is not None:
        window &= ndimage.binary_dilation(detection.mask, iterations=2)
    best: tuple[int, SupportPlane, Mask] | None = None
    for plane in picture.supports.planes:
        if detection.entry is None and plane.z < _ABOVE_FLOOR_M:
            continue
        if detection.entry is not None and abs(plane.z - detection.entry.size_m[2]) > _HEIGHT_TOLERANCE_M:
            continue
        full = np.repeat(np.repeat(plane.mask, 2, axis=0), 2, axis=1)[: view.shape[0], : view.shape[1]]
        mask = full & window & view.valid
        pixels = int(mask.sum())
        if pixels >= _SURFACE_SHARE * int(window.sum()) and (best is None or pixels > best[0]):
            best = (pixels, plane, mask)
    if best is None:
        return None
    _, plane, mask = best
    return SegmentedObject(
        detection.label,
        detection.score,
        box_of(mask),
        mask,
        entry=detection.entry,
        support_z=plane.z,
        free_kind="surface",
    )


def inside(box: Box, shape: tuple[int, int]) -> Box | None:
    """Return the part of a box that lies in the picture, None where that is too little."""
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


def _visible(box: Box, shape: tuple[int, int]) -> float:
    """Return the visible share: less where the picture's edge cuts the box off."""
    cut = box[0] <= 1 or box[1] <= 1 or box[2] >= shape[1] - 1 or box[3] >= shape[0] - 1
    return _CUT_OFF if cut else 1.0


def overlap(a: Box, b: Box) -> float:
    """Return the intersection over union of two boxes, 0 to 1."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def prepared(view: View, entries: Sequence[CatalogueEntry]) -> PreparedView:
    """Return the prepared view that `lift` works on."""
    return prepare(view, [t.size_m[2] for t in entries if t.kind == "surface"])
