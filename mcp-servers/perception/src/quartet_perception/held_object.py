"""The held object: what hangs between the fingers, as the wrist camera sees it.

A held object is tilted with the hand and cut off by the picture's edge, so it is not fitted like a standing one. Its
colours say what it may be; how large it is, the fingers say, which are as far apart as it is wide, and its front face,
half its depth before the middle of the hand.
Several candidates are told apart by fitting each one's solid as it would hang, and a long object that reaches up to the
camera, too near for depth, by the outline of its box where depth is missing.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.colour import FULL, membership_table, quantised, white_balance
from quartet_perception.scene.fit_quality import evaluate_fit
from quartet_perception.scene.pose_fit import fit_pose
from quartet_perception.scene.regions import between
from quartet_perception.scene.solids import solids_of
from quartet_perception.scene.view import Mask, View
from quartet_perception.segmenters.base import SegmentedObject
from quartet_site import RobotFile

_MEMBER = 0.4 * FULL
_MIN_PIXELS = 400
_SIDE_M = 0.09
_BEYOND_M = 0.16
"""The space looked at: this far to each side of the fingers, and this far beyond their tips."""
_BACK_M = 0.03
_MIDDLE_M, _MIDDLE_SHARE = 0.015, 0.15
"""At least this share of a held object's pixels lies this near to the middle between the fingers."""
_DEPTH_ERROR_M, _WIDTH_ERROR_M = 0.016, 0.006
"""Error of a size at which the agreement has dropped to 1/e: as the front face tells it, and as the fingers do.

A camera that hangs 3 mm and 0.3 degrees beside where it was meant to be sees a face at 0.3 m off by 3.4 mm (RMS), and
the size is twice the distance of that face. The fingers know nothing of cameras.
"""
_TOLD_ERROR = 0.7
"""Share of the most that a size in the site file may be off at which the agreement has dropped to 1/e; at most it has
dropped to an eighth."""
_PLAUSIBLE = 0.1
"""Least agreement in size of a candidate."""
_ANY_SIZE, _LEAST_M = 0.5, 0.005
"""Agreement of a thing whose size nobody has written down; least size that is measured of it [m]."""
_DISPUTED = 0.6
"""A candidate's colours must cover this share of what the best candidate's cover."""
_WELL, _AS_WELL = 0.3, 0.65
"""Merit from which an explanation counts, and the share of the best merit that the others need."""
_SLIPS_M = (-0.012, 0.0, 0.012)
"""How far the object may have slipped along the fingers."""
_MIN_POINTS = 30
_BLIND_SHARE = 0.05
"""Share of the picture that lacks depth, from which something may be too near for it."""
_BLIND_OUTLINE = 0.6
"""Least share of an expected outline that lacks depth; otherwise depth says more."""
_MIN_OVERLAP, _CLOSE = 0.6, 0.15
"""Least overlap of an object too near for depth with its expected outline, and how much worse than the best one it may
be and still be named."""
_OWN_SHARE = 0.5
"""Share of an object's own colours from which other ones between them count as its print."""
_AHEAD_M = 0.02
_SAME_LINE_PX = 1e-9
"""Points that are off a line by less lie on it."""
_UPRIGHT_HAND = np.diag([1.0, -1.0, -1.0, 1.0])
"""Turns the frame of a hand that points down, so that its z axis points up."""

_Candidate = tuple[float, CatalogueEntry, Mask]
"""Agreement (0 to 1), what it may be, HxW pixels."""


def find_held_object(
    view: View, catalogue: Sequence[CatalogueEntry], wanted: Sequence[CatalogueEntry], file: RobotFile
) -> list[SegmentedObject]:
    """Return those of `wanted` that the held object may be, best first, compared with the whole catalogue.

    Empty for the front camera, and where the pose of the tool flange is unknown.
    """
    if view.camera != "arm" or view.tool_in_base is None:
        return []
    index = quantised(view.rgb, white_balance(view.rgb))
    objects = [entry for entry in catalogue if entry.kind == "object"]
    likely = _by_colour_and_size(view, objects, index, file)
    if likely:
        if len(likely) > 1:
            likely = _best_explained(view, likely, index, file)
    else:
        likely = _without_depth(view, objects, index, file)
    names = {entry.name for entry in wanted if entry.kind == "object"}
    found = [_segmented(entry, agreement, mask) for agreement, entry, mask in likely if entry.name in names]
    return sorted(found, key=lambda one: -one.score)


def _by_colour_and_size(
    view: View, objects: Sequence[CatalogueEntry], index: NDArray[np.int32], file: RobotFile
) -> list[_Candidate]:
    """Return what has the colours of the pixels between the fingers, and sides as long as they are wide and deep."""
    assert view.tool_in_base is not None
    inverse = np.linalg.inv(view.tool_in_base).astype(np.float32)
    local = view.points @ inverse[:3, :3].T + inverse[:3, 3]
    x, y, z = local[..., 0], local[..., 1], local[..., 2]
    inside = view.valid & (np.abs(x) < file.gripper.stroke_m / 2) & (np.abs(y) < _SIDE_M)
    inside &= (z > _BACK_M) & (z < file.gripper.finger_offset_m + _BEYOND_M)
    seen: list[tuple[CatalogueEntry, Mask, float]] = []
    for entry in objects:
        mask = (membership_table(tuple(entry.appearance.colours))[index] > _MEMBER) & inside
        # What hangs between the fingers reaches up beyond their tips, which what stands below an open hand does not,
        # and fills the middle between them, which the fingers themselves do not.
        if (
            int(mask.sum()) >= _MIN_PIXELS
            and float((np.abs(x[mask]) < _MIDDLE_M).mean()) >= _MIDDLE_SHARE
            and float(np.percentile(z[mask], 2)) < file.gripper.finger_offset_m
        ):
            depth = 2 * abs(float(np.percentile(y[mask], 2)))
            hanging = max(float(np.percentile(z[mask], 98) - np.percentile(z[mask], 2)), _LEAST_M)
            width = view.held_width_m or max(float(np.ptp(x[mask])), _LEAST_M)
            seen.append((entry if entry.sized else _as_held(entry, width, depth, hanging), mask, depth))
    plausible: list[_Candidate] = []
    # A neck, a rim and a handle are as wide as none of a thing's sides.
    for gap in dict.fromkeys((view.held_width_m, None)):
        agreed = [(_agreement(entry, depth, gap), entry, mask) for entry, mask, depth in seen]
        plausible = [one for one in agreed if one[0] > _PLAUSIBLE]
        if plausible:
            break
    most = max((int(mask.sum()) for *_, mask in plausible), default=0)
    return [one for one in plausible if int(one[2].sum()) >= _DISPUTED * most]


def _as_held(entry: CatalogueEntry, width_m: float, depth_m: float, height_m: float) -> CatalogueEntry:
    """Return an entry without a size as large as the fingers and the wrist camera measure what hangs there."""
    if entry.appearance.shape in ("sphere", "cylinder", "bowl"):
        return entry.measured((width_m, width_m, width_m if entry.appearance.shape == "sphere" else height_m))
    return entry.measured((width_m, max(depth_m, _LEAST_M), height_m))


def _agreement(entry: CatalogueEntry, depth_m: float, width_m: float | None) -> float:
    """Return how well the sizes fit, 0 to 1: the fingers close across any side, since it may have fallen.

    depth_m: as the front face tells it. width_m: as the fingers do.
    """
    if entry.as_seen:
        return _ANY_SIZE
    sides, size_error = entry.size_m, entry.appearance.size_error
    if width_m is None:
        return max(_near(depth_m, side, _DEPTH_ERROR_M, size_error) for side in sides)
    return max(
        _near(width_m, one, _WIDTH_ERROR_M, size_error) * _near(depth_m, other, _DEPTH_ERROR_M, size_error)
        for one, other in permutations(sides, 2)
    )


def _near(measured: float, side: float, error: float, size_error: float) -> float:
    """Return how well a measurement with that error [m] fits a side that may be off by that share, 0 to 1."""
    error = float(np.hypot(error, _TOLD_ERROR * size_error * side))
    return float(np.exp(-(((measured - side) / error) ** 2)))


def _best_explained(
    view: View, likely: list[_Candidate], index: NDArray[np.int32], file: RobotFile
) -> list[_Candidate]:
    """Return those that explain the picture about as well as the best one; all where none explains it well."""
    merits: list[float] = []
    for agreement, entry, mask in likely:
        member = membership_table(entry.palette)[index]
        # Where the camera hangs moves a face and leaves a shape as it is, so that the fit counts more.
        merits.append(agreement * _hanging_fit(view, entry, mask, member, file) ** 2)
    if max(merits) < _WELL:
        return likely
    least = _AS_WELL * max(merits)
    return [(merit, entry, mask) for (_, entry, mask), merit in zip(likely, merits, strict=True) if merit >= least]


def _hanging_fit(view: View, entry: CatalogueEntry, region: Mask, member: NDArray[np.uint8], file: RobotFile) -> float:
    """Return the agreement (0 to 1) of the best pose of `entry` between the fingers with the picture.

    This tells a ball from a box of the same colour and width. region: HxW pixels that may be it. member: HxW, how much
    each has its colour. The hand's own frame, turned so that up is up, takes the place of the base's: however the hand
    is tilted, the object hangs upright in it.
    """
    assert view.tool_in_base is not None
    hand = replace(view, base_from_camera=_UPRIGHT_HAND @ np.linalg.inv(view.tool_in_base) @ view.base_from_camera)
    points = hand.points[region & hand.valid]
    if len(points) < _MIN_POINTS:
        return 0.0
    best = 0.0
    for solid in solids_of(entry.appearance):
        height = solid.size[2]
        bottom = -(file.gripper.finger_offset_m + height - file.gripper.grasp_depth(height))
        for slip in _SLIPS_M:
            for posed in fit_pose(solid, points, bottom + slip, hand.origin):
                best = max(best, evaluate_fit(hand, posed, region, member).score)
    return best


def _without_depth(
    view: View, objects: Sequence[CatalogueEntry], index: NDArray[np.int32], file: RobotFile
) -> list[_Candidate]:
    """Return what depth does not show, because it reaches up to the camera."""
    if float((~view.valid).mean()) < _BLIND_SHARE:
        return []
    seen: list[_Candidate] = []
    for entry in (one for one in objects if one.sized):
        member = membership_table(tuple(entry.appearance.colours))[index] > _MEMBER
        overlap, mask = _outline_overlap(view, entry, member, file)
        if overlap > _MIN_OVERLAP:
            seen.append((overlap, entry, mask))
    best = max((overlap for overlap, *_ in seen), default=0.0)
    return [one for one in seen if one[0] > best - _CLOSE]


def _outline_overlap(view: View, entry: CatalogueEntry, member: Mask, file: RobotFile) -> tuple[float, Mask]:
    """Return the overlap of a held box's expected outline with the pixels that have its colours and no depth.

    member: HxW pixels with its colours. The overlap is an intersection over union, 0 to 1; the mask has the pixels
    that are in both.
    """
    nothing = np.zeros(view.shape, dtype=bool)
    best: tuple[float, Mask] = (0.0, nothing)
    if view.tool_in_base is None or entry.appearance.shape not in {"box", "irregular"}:
        return best
    blind = ~view.valid
    regions, count = ndimage.label(member & blind)
    if count == 0:
        return best
    for corners in _corners_in_hand(entry, file):
        expected = _hull(view, corners @ view.tool_in_base[:3, :3].T + view.tool_in_base[:3, 3])
        total = int(expected.sum())
        if total == 0 or int((expected & blind).sum()) < _BLIND_OUTLINE * total:
            continue
        touching = np.unique(regions[expected])
        own = np.isin(regions, touching[touching > 0])
        # With what is printed on it.
        filled = (between(own, 0) | between(own, 1)) & blind
        seen = filled if float(own.sum()) > _OWN_SHARE * float(filled.sum()) else own
        both = expected & seen
        overlap = float(both.sum()) / float((expected | seen).sum())
        if overlap > best[0]:
            best = overlap, both
    return best


def _corners_in_hand(entry: CatalogueEntry, file: RobotFile) -> list[NDArray[np.float64]]:
    """Return the corners (8x3) of the box in the tool frame, for each side that the fingers may close across."""
    x, y, height = entry.size_m
    top = file.gripper.finger_offset_m - file.gripper.grasp_depth(height)
    unit = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (0.0, 1.0)])
    sides = [(a, b) for a, b in dict.fromkeys(((x, y), (y, x))) if a < file.gripper.stroke_m]
    return [unit * (a, b, height) + (0.0, 0.0, top) for a, b in sides]


def _hull(view: View, corners: NDArray[np.float64]) -> Mask:
    """Return the pixels inside the convex outline of points of the base frame; none when one is behind the camera."""
    height, width = view.shape
    mask = np.zeros((height, width), dtype=bool)
    uv, ahead = view.project(corners)
    if (ahead < _AHEAD_M).any():
        return mask
    low = np.clip(np.floor(uv.min(axis=0)).astype(int), 0, (width, height))
    high = np.clip(np.ceil(uv.max(axis=0)).astype(int) + 1, 0, (width, height))
    if (high <= low).any():
        return mask
    u, v = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]))
    inside = np.ones(u.shape, dtype=bool)
    for a, b, c in _edges(uv):
        inside &= a * u + b * v + c < _SAME_LINE_PX
    mask[low[1] : high[1], low[0] : high[0]] = inside
    return mask


def _edges(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lines (Mx3: a, b, c) of the convex outline of a few points (Nx2): a u + b v + c <= 0 inside.

    They are the lines through two of the points that have all others on one side.
    """
    one, other = (grid.ravel() for grid in np.meshgrid(*[np.arange(len(points))] * 2))
    along = points[other] - points[one]
    length = np.hypot(along[:, 0], along[:, 1])
    one, along, length = one[length > 0], along[length > 0], length[length > 0]
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / length[:, None]
    offset = -(normal * points[one]).sum(axis=1)
    outer = (points @ normal.T + offset < _SAME_LINE_PX).all(axis=0)
    return np.column_stack([normal, offset])[outer]


def _segmented(entry: CatalogueEntry, score: float, mask: Mask) -> SegmentedObject:
    rows, columns = np.nonzero(mask)
    box = (float(columns.min()), float(rows.min()), float(columns.max()), float(rows.max()))
    return SegmentedObject(entry.name, score, box, mask, entry=entry, visible=0.5, in_gripper=True)
