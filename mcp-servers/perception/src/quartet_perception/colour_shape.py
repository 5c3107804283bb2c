"""The default segmenter: named things by colour, shape and metric size."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception import fit
from quartet_perception.catalogue import Catalogue, Thing
from quartet_perception.colour import membership_table
from quartet_perception.regions import MEMBER, MIN_PIXELS, Blob, Picture, between_fingers, blobs_of, pieces_of, prepare
from quartet_perception.segmenter import Found, register
from quartet_perception.settings import PerceptionSettings
from quartet_perception.solids import Part, Placed, Solid
from quartet_perception.surfaces import distance_to_outline, find_surface
from quartet_perception.view import Mask, View, depth_noise

_ACCEPT, _ACCEPT_FAR = 0.55, 0.70
"""Least agreement of a fit; below it the thing is taken as absent. The second holds beyond _FAR_M."""
_FAR_M = 2.0
_MIN_VISIBLE = 0.22
_MIN_VISIBLE_HELD, _HELD_ACCEPT = 0.35, 0.70
_WORTH_COMPARING = 0.3
_STANDS_M = 0.05
"""A region whose lowest part is at most this far above a plane stands on it."""
_UPRIGHT_ENOUGH = 0.7
"""Agreement of an upright pose from which fallen ones are not tried."""
_FALLEN_ACCEPT = 0.75
_SPECK = 0.12
"""Part of a thing's smallest outline that a region must cover to be looked at."""
_ATTACHED = (0.30, 0.60)
"""A thing whose outline runs on into something else by less than the first share stands free; by more than the second
it is a patch of something larger."""
_AREA_MARGIN_M = 1.0


@dataclass(frozen=True)
class _Fitted:
    thing: Thing
    placed: Placed
    judgement: fit.Judgement
    support: float | None
    region: Mask
    member: NDArray[np.uint8]
    free: float = 1.0
    """1 when it stands free, 0 when it is a patch of something larger."""


class ColourShapeSegmenter:
    """Names what it finds by comparing every hypothesis of the catalogue, so that a red cup is not a red can.

    Regions of a thing's colours that stand on a support are cut out; every object of the catalogue that has such
    colours and fits in size is placed there and judged by what the camera should have seen (analysis by synthesis).
    The best explanation gives the region its name; only then is it compared with what was asked for.
    """

    free_text = False
    remote = False

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._heights = [t.appearance.size_m[2] for t in catalogue.things if t.kind == "surface"]
        for thing in catalogue.things:
            membership_table(tuple(thing.appearance.colours))
            membership_table(thing.palette)

    def segment(self, view: View, prompts: Sequence[str]) -> list[Found]:
        """All instances of the prompted things, best first. Raises UnknownObject."""
        wanted: list[Thing] = []
        for prompt in prompts:
            wanted += [t for t in self._catalogue.match(prompt) if t not in wanted]
        return self.find(view, wanted)

    def find(self, view: View, wanted: Sequence[Thing]) -> list[Found]:
        """All instances of `wanted`, best first."""
        picture = prepare(view, self._heights)
        found = [f for t in wanted if t.kind == "surface" for f in self._surfaces(picture, t)]
        found += self._solids(picture, [t for t in wanted if t.kind != "surface"])
        return sorted(found, key=lambda f: -f.score)

    # --- objects and containers -----------------------------------------------------------------------
    def _solids(self, picture: Picture, wanted: list[Thing]) -> list[Found]:
        fitted: list[_Fitted] = []
        for colours in dict.fromkeys(tuple(t.appearance.colours) for t in wanted):
            targets = [t for t in wanted if tuple(t.appearance.colours) == colours]
            for blob in blobs_of(picture, colours):
                explained = self._explain(picture, blob, targets)
                good = sum(f.judgement.pixels for f in explained if f.judgement.score * f.free >= _ACCEPT)
                if good < 0.5 * blob.pixels:
                    for piece in pieces_of(picture, blob):
                        explained += self._explain(picture, piece, targets)
                fitted += explained
        kept = [
            f
            for f in _without_overlap(fitted, picture.view.shape)
            if f.thing in wanted and _in_its_area(picture.view, f)
        ]
        return [self._found(picture.view, f) for f in kept]

    def _explain(self, picture: Picture, blob: Blob, targets: list[Thing]) -> list[_Fitted]:
        """The best explanations of a region, one after the other where it holds several things."""
        explained: list[_Fitted] = []
        likely = [t for t in targets if self._could_be(blob, t)]
        if not likely:
            return explained
        region, points = np.zeros(picture.view.shape, dtype=bool), blob.points
        region[blob.box] = blob.inner
        for _ in range(3):
            best = self._best(picture, blob, region, points, likely)
            poor = best is None or best.judgement.score < _WORTH_COMPARING
            if poor and float(blob.low[2]) - blob.support > _STANDS_M:
                break
            # A poor fit may hide behind something of its colour that it touches in the picture.
            rival = self._best(picture, blob, region, points, self._rivals(picture, blob, targets))
            if best is None or (rival is not None and _merit(rival) > _merit(best)):
                best = rival
            if best is None or best.judgement.score < _WORTH_COMPARING:
                break
            if best.judgement.score > _ACCEPT:
                low, high = _ATTACHED
                share = fit.attached(picture.view, best.placed, picture.supports.mask)
                best = replace(best, free=float(np.clip((high - share) / (high - low), 0, 1)))
            explained.append(best)
            rest = region & ~_grown(best, region.shape)
            if rest.sum() < max(MIN_PIXELS, 0.25 * blob.pixels) or best.judgement.explained > 0.8:
                break
            region = rest
            points = picture.view.points[region]
        return self._rejudged(picture, blob, explained) if len(explained) > 1 else explained

    def _rejudged(self, picture: Picture, blob: Blob, explained: list[_Fitted]) -> list[_Fitted]:
        """Things that touch in the picture, each judged by the part of the region that the others leave it."""
        grown = [_grown(f, picture.view.shape) for f in explained]
        result: list[_Fitted] = []
        for index, item in enumerate(explained):
            region = np.zeros(picture.view.shape, dtype=bool)
            region[blob.box] = blob.inner
            for other, mask in enumerate(grown):
                if other != index:
                    region &= ~mask
            judgement = fit.judge(picture.view, item.placed, region, item.member)
            better = judgement.score > item.judgement.score
            result.append(replace(item, judgement=judgement, region=region) if better else item)
        return result

    def _best(
        self, picture: Picture, blob: Blob, region: Mask, points: NDArray[np.float32], things: list[Thing]
    ) -> _Fitted | None:
        fits = [self._fit(picture, blob, region, points, t) for t in things]
        return max((f for f in fits if f is not None), key=_merit, default=None)

    def _rivals(self, picture: Picture, blob: Blob, targets: list[Thing]) -> list[Thing]:
        """Every other object whose colours this region has about as much."""
        rivals: list[Thing] = []
        rows, cols = blob.box
        inner = blob.inner
        for thing in self._catalogue.things:
            if thing.kind == "surface" or thing in targets or not self._could_be(blob, thing):
                continue
            if float(picture.member(thing.appearance.colours)[rows, cols][inner].mean()) > MEMBER:
                rivals.append(thing)
        return rivals

    @staticmethod
    def _could_be(blob: Blob, thing: Thing) -> bool:
        """Cheap look at the size: not much larger than the thing, not wholly above it, not a mere speck of it."""
        extent = blob.high - blob.low
        largest = float(np.linalg.norm(thing.appearance.size_m))
        a, b, _ = sorted(thing.appearance.size_m)
        if blob.pixels < _SPECK * a * b * (blob.focal / blob.range_m) ** 2:
            return False
        if float(blob.high[2]) - blob.support > largest + 0.03 and not blob.held:
            return False
        slack = 0.02 + 4 * depth_noise(blob.range_m)
        if thing.kind == "container":
            slack += 0.05
        return float(max(extent[0], extent[1])) < 2.2 * largest + slack and float(extent[2]) < largest + slack

    def _fit(
        self, picture: Picture, blob: Blob, region: Mask, points: NDArray[np.float32], thing: Thing
    ) -> _Fitted | None:
        member, size = picture.member(thing.palette), int(region.sum())
        best: _Fitted | None = None
        top, bottom = float(np.percentile(points[:, 2], 98)), float(np.percentile(points[:, 2], 2))
        for solid in solids_of(thing):
            if best is not None and best.judgement.score > _UPRIGHT_ENOUGH and _posture(solid, thing):
                break
            height = solid.size[2]
            slack = 0.012 + 3 * depth_noise(blob.range_m)
            standing = top - blob.support
            heights = []
            if standing < height + slack:
                heights.append(blob.support)
            if blob.held and thing.kind == "object":
                heights += [bottom, top - height] if abs(top - bottom - height) > 0.01 else [top - height]
            for z in heights:
                for placed in fit.fit_pose(solid, points, z, picture.view.origin):
                    judgement = fit.judge(picture.view, placed, region, member, size)
                    support = blob.support if z == blob.support else None
                    candidate = _Fitted(thing, placed, judgement, support, region, member)
                    if best is None or _merit(candidate) > _merit(best):
                        best = candidate
        return best

    def _found(self, view: View, fitted: _Fitted) -> Found:
        mask, box = _full_mask(fitted, view.shape)
        visible = fitted.judgement.visible
        score = fitted.judgement.score * fitted.free * min(1.0, 0.75 + visible / 3)
        return Found(
            fitted.thing.name,
            float(np.clip(score, 0, 1)),
            box,
            mask,
            thing=fitted.thing,
            solid=fitted.placed,
            support_z=fitted.support,
            visible=visible,
            in_gripper=between_fingers(view, fitted.placed.centre, 0.07),
            region=fitted.region,
            member=fitted.member,
        )

    # --- surfaces ---------------------------------------------------------------------------------------
    def _surfaces(self, picture: Picture, thing: Thing) -> list[Found]:
        return find_surface(picture.view, picture.supports, picture.member(thing.appearance.colours), thing)


@register("colour_shape")
def _make(catalogue: Catalogue, _: PerceptionSettings) -> ColourShapeSegmenter:
    return ColourShapeSegmenter(catalogue)


def solids_of(thing: Thing) -> list[Solid]:
    """The solids that a thing may look like, upright first, then fallen over."""
    x, y, h = thing.appearance.size_m
    parts = tuple(Part(p.shape, p.size_m, p.offset_m) for p in thing.appearance.parts)
    match thing.appearance.shape:
        case "sphere":
            return [Solid("sphere", (h, h, h))]
        case "cylinder":
            r = (x + y) / 2
            lying = [Solid("cylinder", (h, r, r), lying=True)] if h > 1.2 * r else []
            return [Solid("cylinder", (r, r, h), parts=parts), *lying]
        case "bowl":
            r = (x + y) / 2
            return [Solid("cylinder", (r, r, h), hollow=True)]
        case "container":
            solids = [Solid("box", (x, y, h), hollow=True)]
            return [*solids, Solid("cylinder", (x, y, h), hollow=True)] if abs(x - y) < 0.02 else solids
        case _:
            # Only poses with a lower middle: a thin thing does not stand on its end.
            fallen = [size for size in ((x, h, y), (y, h, x)) if size[2] < h - 1e-6]
            return [Solid("box", (x, y, h), parts=parts), *(Solid("box", size) for size in dict.fromkeys(fallen))]


def _in_its_area(view: View, fitted: _Fitted) -> bool:
    """Containers belong to an area; objects may be anywhere."""
    if fitted.thing.outline is None or view.map_from_base is None:
        return True
    x, y = (view.map_from_base @ np.array([*fitted.placed.centre, 1.0]))[:2]
    return distance_to_outline(float(x), float(y), fitted.thing.outline) < _AREA_MARGIN_M


def _merit(fitted: _Fitted) -> float:
    """For comparing explanations of the same region: agreement, and how much of the region is explained."""
    j = fitted.judgement
    floating = 0.06 if fitted.support is None else 0.0
    fallen = 0.08 if _posture(fitted.placed.solid, fitted.thing) else 0.0
    return j.score * (0.6 + 0.4 * j.explained) * min(1.0, 0.6 + j.visible) - floating - fallen


def _posture(solid: Solid, thing: Thing) -> bool:
    """Whether the solid is the thing fallen over."""
    return solid.lying or abs(solid.size[2] - thing.appearance.size_m[2]) > 1e-6


def _without_overlap(fitted: list[_Fitted], shape: tuple[int, int]) -> list[_Fitted]:
    """Good enough ones only, and of several in the same place the best."""
    kept: list[_Fitted] = []
    taken = np.zeros(shape, dtype=bool)
    for candidate in sorted(fitted, key=_merit, reverse=True):
        j = candidate.judgement
        if candidate.support is None and j.score * candidate.free < _HELD_ACCEPT:
            continue
        if _posture(candidate.placed.solid, candidate.thing) and j.score * candidate.free < _FALLEN_ACCEPT:
            continue
        enough = _ACCEPT if np.hypot(candidate.placed.x, candidate.placed.y) < _FAR_M else _ACCEPT_FAR
        least = _MIN_VISIBLE if candidate.support is not None else _MIN_VISIBLE_HELD
        if j.score * candidate.free < enough or j.visible < least or j.pixels < MIN_PIXELS:
            continue
        mask = _full_mask(candidate, shape)[0]
        if float((mask & taken).sum()) < 0.3 * float(mask.sum()):
            kept.append(candidate)
            taken |= mask
    return kept


def _full_mask(fitted: _Fitted, shape: tuple[int, int]) -> tuple[Mask, tuple[float, float, float, float]]:
    """The judged pixels in the full picture, and their box."""
    u0, v0, u1, v1 = fitted.judgement.box
    small = fitted.judgement.mask
    stride = max(1, round((u1 - u0) / max(small.shape[1], 1)))
    big = np.repeat(np.repeat(small, stride, axis=0), stride, axis=1)[: v1 - v0, : u1 - u0]
    mask = np.zeros(shape, dtype=bool)
    top, left = max(v0, 0), max(u0, 0)
    bottom, right = min(v0 + big.shape[0], shape[0]), min(u0 + big.shape[1], shape[1])
    if bottom > top and right > left:
        mask[top:bottom, left:right] = big[top - v0 : bottom - v0, left - u0 : right - u0]
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return mask, (0.0, 0.0, 0.0, 0.0)
    return mask, (float(cols[0]), float(rows[0]), float(cols[-1] + 1), float(rows[-1] + 1))


def _grown(fitted: _Fitted, shape: tuple[int, int]) -> Mask:
    return ndimage.binary_dilation(_full_mask(fitted, shape)[0], iterations=3)
