"""Regions of one palette in a picture: connected pixels with depth that rise above their support plane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.scene.colour import (
    FULL,
    balance_by,
    membership_table,
    quantised,
    rather_than_table,
    white_balance,
)
from quartet_perception.scene.supports import SupportPlanes, find_support_planes, height_over
from quartet_perception.scene.view import Mask, View, depth_noise

MEMBER = 0.4 * FULL
"""Membership from which a pixel counts as having a colour."""
MIN_PIXELS = 16
_MAX_BLOBS, _MAX_POINTS = 40, 4000
_NECK, _MAX_SPLIT = 4, 40_000
"""Half the width of a neck at which a region may be two objects [pixels], and the largest region that is split."""
_LEAST_PRINTED, _PRINTED, _PLAIN = 100, 0.35, 0.95
"""Pixels of a region from which a print on it is looked at, and the share of a printed thing's own colours."""
_RANGE_M = 6.0
_ABOVE_TIP_M, _BELOW_TIP_M = 0.08, 0.12
"""How far above and below the finger tips a held object is looked for."""
_BLOB_MARGIN_M = 0.03
_BRIDGE_PX, _BRIDGE_M = 6, 0.02
"""A pixel without depth joins pixels of its colour up to so far away [pixels], whose depths differ by no more [m]."""
_LOW_M, _FOOT_RANGE_M = 0.04, 1.9
"""Height up to which the tolerance of a plane takes much of a thing, and up to what distance that is mended [m]."""
_FOOT_M, _MOST_FOOT = 0.1, 2.5
"""How far beside the rest of a low thing its foot is looked for [m], and its most pixels, relative to the rest."""
_MOST_ALIKE = 0.1
"""Share of the plane around it that may have its colours."""
_RISES_M, _RISES_PX = 0.004, 5
"""How far each pixel of a foot rises above the plane [m], which a mat does not, and the size of the median filter over
heights [pixels]."""
_CONTRAST, _CONTRAST_PX = 14, 61
"""Difference of a channel (0 to 255) to the mean of this window [pixels] from which a pixel differs from the ground."""
_SAME_HEIGHT_M = 0.03
"""A plane is a surface of the site when their heights differ by less [m]."""


@dataclass
class PreparedView:
    """A view with what is computed once for it."""

    view: View
    index: NDArray[np.int32]
    supports: SupportPlanes
    solidity: Mask
    """Pixels with depth that lie on no support and on no depth edge."""
    members: dict[tuple[str, ...], NDArray[np.uint8]]
    reference: str | None = None
    """Colour '#rrggbb' of the surface by which the light was measured."""
    rises: dict[int, NDArray[np.float32]] = field(default_factory=dict)
    """What `rises_over` has computed."""

    @cached_property
    def body_labels(self) -> NDArray[np.int32]:
        """HxW: number of the body that each solid pixel belongs to, 0 for none. No depth edge divides a body."""
        return ndimage.label(self.solidity)[0]

    @cached_property
    def bodies(self) -> list[tuple[int, tuple[slice, slice]]]:
        """Number and box of each body that may be a thing: not too small for a print and no wall."""
        sizes = np.bincount(self.body_labels.ravel())
        boxes = ndimage.find_objects(self.body_labels)
        return [(label, box) for label, box in enumerate(boxes, start=1) if _LEAST_PRINTED <= sizes[label] < _MAX_SPLIT]

    @cached_property
    def contrast(self) -> Mask:
        """HxW: pixels whose colour differs from what is around them, such as a white envelope on light tiles."""
        rgb, alike = self.view.rgb.astype(np.float32), np.ones(self.view.shape, dtype=np.float32)
        for _ in range(2):
            # The second time without what differs, which would make the ground beside it differ, too.
            share = np.maximum(ndimage.uniform_filter(alike, _CONTRAST_PX), 0.01)[..., None]
            mean = ndimage.uniform_filter(rgb * alike[..., None], (_CONTRAST_PX, _CONTRAST_PX, 0)) / share
            unlike = np.abs(rgb - mean).max(axis=2) > _CONTRAST
            alike = (~unlike).astype(np.float32)
        return unlike

    def rises_over(self, plane: int) -> NDArray[np.float32]:
        """Return HxW: how far each pixel rises over a support plane, given by its number [m], by a median filter."""
        if plane not in self.rises:
            over = height_over(self.view, self.supports.planes[plane])
            self.rises[plane] = ndimage.median_filter(over, _RISES_PX)
        return self.rises[plane]

    def member(self, colours: Sequence[str]) -> NDArray[np.uint8]:
        """Return HxW: how much each pixel has any of `colours`, 0 to FULL."""
        key = tuple(colours)
        if key not in self.members:
            own = self.reference is None or self.reference in key
            table = membership_table(key) if own else rather_than_table(key, self.reference)
            self.members[key] = table[self.index]
        return self.members[key]


@dataclass(frozen=True)
class Blob:
    """A connected region of one palette."""

    box: tuple[slice, slice]
    inner: Mask
    """Its pixels in the box."""
    points: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    range_m: float
    support: float
    pixels: int
    focal: float
    held: bool
    """Between the fingers."""


def prepare(view: View, heights: Sequence[float], reference: tuple[float, str] | None = None) -> PreparedView:
    """Return the prepared view; `heights` are those of the site's surfaces [m].

    reference: height [m] and colour '#rrggbb' of a surface that is likely to be in view; its pixels tell the light.
    """
    supports = find_support_planes(view, heights)
    gains = _measured_light(view, supports, reference) if reference else None
    index = quantised(view.rgb, white_balance(view.rgb) if gains is None else gains)
    depth = np.where(view.valid, view.depth, np.float32(0))
    solidity = view.valid & ~supports.mask & (depth < _RANGE_M) & (view.heights < 2.0)
    jump = 0.012 + 0.012 * depth
    # Beside a pixel without depth there is no edge: dark and glossy things are full of them.
    right = view.valid[:, 1:] & view.valid[:, :-1] & (np.abs(depth[:, 1:] - depth[:, :-1]) > jump[:, 1:])
    down = view.valid[1:] & view.valid[:-1] & (np.abs(depth[1:] - depth[:-1]) > jump[1:])
    # The farther pixel of an edge is dropped: it mixes two objects.
    solidity[:, 1:] &= ~(right & (depth[:, 1:] > depth[:, :-1]))
    solidity[:, :-1] &= ~(right & (depth[:, 1:] < depth[:, :-1]))
    solidity[1:] &= ~(down & (depth[1:] > depth[:-1]))
    solidity[:-1] &= ~(down & (depth[1:] < depth[:-1]))
    by = reference[1] if reference is not None and gains is not None else None
    return PreparedView(view, index, supports, solidity, {}, by)


def _measured_light(view: View, supports: SupportPlanes, reference: tuple[float, str]) -> NDArray[np.float64] | None:
    """Return the gains of the channels by the surface of known height and colour, None where it is not in view."""
    height, sample = reference
    masks = [plane.mask for plane in supports.planes if abs(plane.z - height) < _SAME_HEIGHT_M]
    return balance_by(view.rgb[::2, ::2][np.any(masks, axis=0)], sample) if masks else None


def blobs_of(picture: PreparedView, colours: tuple[str, ...]) -> Iterator[Blob]:
    """Yield the regions of some colours, largest first."""
    member = picture.member(colours) > MEMBER
    labels, count = _connected(picture, member)
    if count == 0:
        return
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    boxes = ndimage.find_objects(labels)
    yielded = np.zeros(member.shape, dtype=bool)
    for label in np.argsort(sizes[1:])[::-1][:_MAX_BLOBS] + 1:
        if sizes[label] < MIN_PIXELS:
            return
        blob = _with_foot(picture, member, _blob(picture, labels, int(label), boxes[label - 1]))
        # Several regions of one low thing come to be the same.
        if not yielded[blob.box][blob.inner].all():
            yielded[blob.box] |= blob.inner
            yield blob


def _with_foot(picture: PreparedView, member: Mask, blob: Blob) -> Blob:
    """Return the region of a low thing with its foot: the pixels that the tolerance of the plane under it has taken.

    Of a banana, 3 cm high, as little as half shows above the tolerance where depth is noisy. The region stays as it is
    where the plane has that colour, too.

    member: HxW pixels of these colours.
    """
    low_m = _LOW_M + 2.5 * depth_noise(blob.range_m)
    if blob.held or blob.range_m > _FOOT_RANGE_M or not 0.0 < float(blob.high[2]) - blob.support < low_m:
        return blob
    around = int(np.ceil(_FOOT_M * blob.focal / blob.range_m))
    rows, columns = blob.box
    window = (
        slice(max(rows.start - around, 0), rows.stop + around),
        slice(max(columns.start - around, 0), columns.stop + around),
    )
    own = np.zeros(picture.view.shape, dtype=bool)
    own[blob.box] = blob.inner
    plane = picture.supports.mask[window]
    solid, alike = (member & picture.solidity)[window], member[window] & plane
    if not (plane & ~alike).any():
        return blob
    heights = ndimage.median_filter(picture.view.heights[window], _RISES_PX)
    low = alike & (heights > float(np.median(heights[plane & ~alike])) + _RISES_M)
    labels, _ = ndimage.label(solid | low)
    whole = np.isin(labels, np.unique(labels[own[window]]))
    foot, beside = int((whole & low).sum()), plane & ~whole
    # What goes on beyond the window is of the plane, or of something larger.
    goes_on = whole[0].any() or whole[-1].any() or whole[:, 0].any() or whole[:, -1].any()
    if foot == 0 or foot > _MOST_FOOT * int((whole & solid).sum()) or goes_on:
        return blob
    if float((alike & beside).sum()) > _MOST_ALIKE * float(beside.sum()):
        return blob
    grown = np.zeros(picture.view.shape, dtype=np.int32)
    grown[window] = whole
    (box,) = ndimage.find_objects(grown)
    more = _blob(picture, grown, 1, box)
    same = abs(more.support - blob.support) < _SAME_HEIGHT_M and float(more.high[2]) - more.support < low_m
    return more if same else blob


def _connected(picture: PreparedView, member: Mask) -> tuple[NDArray[np.int32], int]:
    """Return HxW: the number of the region that each solid pixel of some colours belongs to, and how many there are.

    member: HxW pixels of these colours. Those of them that have no depth join what is beside them, where that is as far
    away: of a glossy bottle in a dim room one pixel in six returns depth, and no two of them touch.
    """
    solid = member & picture.solidity
    blank = member & ~picture.view.valid
    if not blank.any() or not solid.any():
        return ndimage.label(solid)
    labels = np.zeros(member.shape, dtype=np.int32)
    (box,) = ndimage.find_objects(member.astype(np.int32))
    solid, blank = solid[box], blank[box]
    away, (rows, columns) = ndimage.distance_transform_edt(~solid, return_indices=True)
    filled = picture.view.depth[box][rows, columns]
    joined = solid | (blank & (away <= _BRIDGE_PX))
    jump = _BRIDGE_M + 2 * depth_noise(filled)
    for near, far in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        step = joined[near] & joined[far] & (np.abs(filled[near] - filled[far]) > jump[near])
        joined[near] &= ~(step & blank[near])
        joined[far] &= ~(step & blank[far])
    found, count = ndimage.label(joined)
    labels[box] = found * solid
    return labels, count


def printed_of(picture: PreparedView, colours: tuple[str, ...], sought: Mask) -> Iterator[Blob]:
    """Yield regions of some colours with the pixels of others that lie between them on one body, in a row or column.

    A body is what no depth edge divides. What is printed on a thing divides it into regions of its own colour. Only
    regions with at least MIN_PIXELS of the pixels `sought` (HxW) are looked for.
    """
    bodies = [body for body in picture.bodies if int(sought[body[1]].sum()) >= MIN_PIXELS]
    if not bodies:
        return
    wanted = picture.member(colours) > MEMBER
    for label, box in bodies:
        inner = picture.body_labels[box] == label
        own = inner & wanted[box]
        if int(own.sum()) < MIN_PIXELS or int((inner & sought[box]).sum()) < MIN_PIXELS:
            continue
        filled = inner & (between(own, 0) | between(own, 1))
        pixels = int(filled.sum())
        if pixels < _LEAST_PRINTED or not _PRINTED < float(own.sum()) / pixels < _PLAIN:
            continue
        if int((filled & sought[box]).sum()) < MIN_PIXELS:
            continue
        labels = np.zeros(picture.view.shape, dtype=np.int32)
        labels[box] = filled
        (part,) = ndimage.find_objects(labels)
        yield _blob(picture, labels, 1, part)


def between(own: Mask, axis: Literal[0, 1]) -> Mask:
    """Return the pixels of a mask and those that lie between two of them in their column (axis 0) or row (axis 1)."""
    after = np.logical_or.accumulate(own, axis=axis)
    before = np.flip(np.logical_or.accumulate(np.flip(own, axis), axis=axis), axis)
    return after & before


def _blob(picture: PreparedView, labels: NDArray[np.int32], label: int, box: tuple[slice, slice]) -> Blob:
    inner = labels[box] == label
    core = ndimage.binary_erosion(inner)
    sure = core if core.sum() >= 30 else inner
    points = picture.view.points[box][sure]
    points = points[:: 1 + len(points) // _MAX_POINTS]
    low, high = np.percentile(points, 2, axis=0), np.percentile(points, 98, axis=0)
    middle = points[:, :2].mean(axis=0)
    range_m = float(np.median(picture.view.depth[box][sure]))
    slack = 0.02 + 2 * depth_noise(range_m)
    support = picture.supports.under(float(middle[0]), float(middle[1]), float(low[2]) + slack)
    # The hand itself has colours too; where it is empty, nothing hangs in the air beside it.
    held = not picture.view.hand_is_empty and between_fingers(picture.view, points.mean(axis=0), _BLOB_MARGIN_M)
    focal = picture.view.intrinsics.fx
    return Blob(box, inner, points, low, high, range_m, support, int(inner.sum()), focal, held)


def pieces_of(picture: PreparedView, blob: Blob) -> list[Blob]:
    """Return the parts of a region that only a narrow neck joins: objects that touch in the picture."""
    if blob.pixels < 10 * MIN_PIXELS or blob.pixels > _MAX_SPLIT:
        return []
    core = ndimage.binary_erosion(np.pad(blob.inner, 1), iterations=_NECK)[1:-1, 1:-1]
    labels, count = ndimage.label(core)
    if count < 2:
        return []
    labels = ndimage.grey_dilation(labels, size=2 * _NECK + 1) * blob.inner
    full = np.zeros(picture.view.shape, dtype=np.int32)
    full[blob.box] = labels
    boxes = ndimage.find_objects(full)
    return [
        _blob(picture, full, label, box)
        for label, box in enumerate(boxes, start=1)
        if box is not None and int((full[box] == label).sum()) >= 2 * MIN_PIXELS
    ]


def between_fingers(view: View, point: NDArray[np.floating], margin_m: float = 0.0) -> bool:
    """Return whether a point of the base frame lies between the fingers or just beyond their tips.

    margin_m: how far it may lie beyond the open fingers.
    """
    if view.tool_in_base is None:
        return False
    local = (np.asarray(point, dtype=np.float64) - view.tool_in_base[:3, 3]) @ view.tool_in_base[:3, :3]
    side, tip = view.gripper.stroke_m / 2 + margin_m, view.gripper.finger_offset_m
    return bool(max(abs(local[0]), abs(local[1])) < side and tip - _ABOVE_TIP_M < local[2] < tip + _BELOW_TIP_M)
