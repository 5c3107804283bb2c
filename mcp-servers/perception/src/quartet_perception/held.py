"""What hangs between the fingers, as the wrist camera sees it.

A held thing is tilted with the hand and cut off by the picture's edge, so it is not fitted like a standing one: its
colours say what it may be, and its front face, half its depth before the middle of the hand, says how large it is.
"""

from collections.abc import Sequence

import numpy as np

from quartet_perception.catalogue import Thing
from quartet_perception.colour import FULL, membership_table, quantised, white_balance
from quartet_perception.colour_shape import solids_of
from quartet_perception.gripped import explains
from quartet_perception.near_hand import near_hand
from quartet_perception.segmenter import Found
from quartet_perception.view import View
from quartet_site import RobotFile

_MEMBER = 0.4 * FULL
_MIN_PIXELS = 400
_SIDE_M = 0.09
_BEYOND_M = 0.16
"""The space looked at: this far to each side of the fingers, and this far beyond their tips."""
_BACK_M = 0.03
_MIDDLE_M, _MIDDLE_SHARE = 0.015, 0.15
"""At least this share of a held thing's pixels lies this near to the middle between the fingers."""
_SIZE_ERROR_M = 0.008
"""Error of a measured size at which the agreement has dropped to 1/e."""
_PLAUSIBLE = 0.1
_DISPUTED = 0.6
"""A colour must cover this much of what the best one covers."""
_OVERLAP, _CLOSE = 0.6, 0.15
"""Least overlap of a thing too near for depth with its expected picture, and how much worse than the best one it may be
and still be named."""
_WELL, _AS_WELL = 0.3, 0.65
"""Merit from which an explanation counts, and the share of the best merit that the others need."""
_BLIND_SHARE = 0.05
"""Part of the picture that lacks depth, from which something may be too near for it."""


def find_held(view: View, catalogue: Sequence[Thing], wanted: Sequence[Thing], file: RobotFile) -> list[Found]:
    """Those of `wanted` that the thing in the hand may be, best first, measured against the whole catalogue."""
    if view.camera != "arm" or view.tool_in_base is None:
        return []
    inverse = np.linalg.inv(view.tool_in_base).astype(np.float32)
    local = view.points @ inverse[:3, :3].T + inverse[:3, 3]
    x, y, z = local[..., 0], local[..., 1], local[..., 2]
    inside = view.valid & (np.abs(x) < file.gripper.stroke_m / 2) & (np.abs(y) < _SIDE_M)
    inside &= (z > _BACK_M) & (z < file.gripper.finger_offset_m + _BEYOND_M)
    index = quantised(view.rgb, white_balance(view.rgb))
    candidates: list[tuple[int, float, Thing, np.ndarray]] = []
    for thing in catalogue:
        if thing.kind != "object":
            continue
        mask = (membership_table(tuple(thing.appearance.colours))[index] > _MEMBER) & inside
        pixels = int(mask.sum())
        # What hangs between the fingers reaches up beyond their tips, which what stands below an open hand does not,
        # and fills the middle between them, which the fingers themselves do not.
        if pixels < _MIN_PIXELS or float((np.abs(x[mask]) < _MIDDLE_M).mean()) < _MIDDLE_SHARE:
            continue
        if float(np.percentile(z[mask], 2)) < file.gripper.finger_offset_m:
            candidates.append((pixels, _agreement(thing, y[mask]), thing, mask))
    most = max((pixels for pixels, agreement, *_ in candidates if agreement > _PLAUSIBLE), default=0)
    likely = [
        (agreement, thing, mask)
        for pixels, agreement, thing, mask in candidates
        if agreement > _PLAUSIBLE and pixels >= _DISPUTED * most
    ]
    if len(likely) > 1:
        likely = _best_explained(view, likely, index, file)
    found = [_found(thing, agreement, mask) for agreement, thing, mask in likely if thing in wanted]
    if most == 0:
        found = _too_near(view, [t for t in catalogue if t.kind == "object"], wanted, index, file)
    return sorted(found, key=lambda one: -one.score)


def _best_explained(
    view: View, likely: list[tuple[float, Thing, np.ndarray]], index: np.ndarray, file: RobotFile
) -> list[tuple[float, Thing, np.ndarray]]:
    """Those of several that explain the picture about as well as the best one; all where none explains it well."""
    merits: list[float] = []
    for agreement, thing, mask in likely:
        member = membership_table(thing.palette)[index]
        merits.append(agreement * explains(view, thing, solids_of(thing), mask, member, file))
    if max(merits) < _WELL:
        return likely
    return [one for one, merit in zip(likely, merits, strict=True) if merit >= _AS_WELL * max(merits)]


def _too_near(
    view: View, catalogue: Sequence[Thing], wanted: Sequence[Thing], index: np.ndarray, file: RobotFile
) -> list[Found]:
    """What depth does not show, because it reaches up to the camera."""
    if float((~view.valid).mean()) < _BLIND_SHARE:
        return []
    seen: list[tuple[float, Thing, np.ndarray]] = []
    for thing in catalogue:
        member = membership_table(tuple(thing.appearance.colours))[index] > _MEMBER
        overlap, mask = near_hand(view, thing, member, file)
        if overlap > _OVERLAP:
            seen.append((overlap, thing, mask))
    best = max((overlap for overlap, *_ in seen), default=0.0)
    return [
        _found(thing, overlap, mask) for overlap, thing, mask in seen if overlap > best - _CLOSE and thing in wanted
    ]


def _agreement(thing: Thing, across: np.ndarray) -> float:
    """How well the seen front face fits the thing, 0 to 1; the fingers close across its short side, or it has fallen.

    across: coordinates along the third axis of the hand (neither along the fingers nor between them) [m].
    """
    depth = 2 * abs(float(np.percentile(across, 2)))
    error = min(abs(depth - size) for size in thing.appearance.size_m)
    return float(np.exp(-((error / _SIZE_ERROR_M) ** 2)))


def _found(thing: Thing, score: float, mask: np.ndarray) -> Found:
    rows, columns = np.nonzero(mask)
    box = (float(columns.min()), float(rows.min()), float(columns.max()), float(rows.max()))
    return Found(thing.name, score, box, mask, thing=thing, visible=0.5, in_gripper=True)
