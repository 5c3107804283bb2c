"""The default segmenter: named objects by colour, shape and metric size."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from quartet_perception.catalogue import Catalogue, CatalogueEntry
from quartet_perception.scene.colour import membership_table
from quartet_perception.scene.fit_quality import (
    attached,
    continues_above,
    covered_above,
    cut_off,
    enclosed,
    evaluate_fit,
    fit_cost,
    lost_in_noise,
)
from quartet_perception.scene.measured_shapes import LARGEST_M, MeasuredShapes, can_be_picked
from quartet_perception.scene.pose_fit import (
    MEASURED,
    fit_pose,
    is_another_thing,
    is_explained,
    refine,
    search_size,
    simple_cost,
)
from quartet_perception.scene.regions import (
    MEMBER,
    MIN_PIXELS,
    Blob,
    PreparedView,
    between_fingers,
    blobs_of,
    pieces_of,
    prepare,
    printed_of,
)
from quartet_perception.scene.solids import Solid, shapes_of, solids_of, standing_size
from quartet_perception.scene.view import Mask, View, box_of, depth_noise
from quartet_perception.segmenters.base import SegmentedObject, register
from quartet_perception.segmenters.flat import find_flat, find_mark, goes_on, is_flat, is_low
from quartet_perception.segmenters.hypothesis import ACCEPT, Hypothesis, is_fallen, without_overlap
from quartet_perception.segmenters.surfaces import find_surface, in_area
from quartet_perception.settings import PerceptionSettings

_WORTH_COMPARING = 0.3
_STANDS_M = 0.05
"""A region whose lowest part is at most this far above a plane stands on it."""
_UPRIGHT_ENOUGH = 0.7
"""Agreement of an upright pose from which fallen ones are not tried."""
_SPECK = 0.12
"""Part of an object's smallest outline that a region must cover to be looked at."""
_NO_SPECK = 500
"""A region of so many pixels is looked at in any case: of a can right under the camera little but the lid is seen."""
_EXACT, _WORTH_RESIZING, _MOST_RESIZED = 0.9, 0.1, 2
"""An object whose sizes are guesses is judged with the sizes that are seen where it agrees by less than the first and
more than the second, if it is among so many that explain a region best."""
_SAME_HEIGHT_M = 0.003
"""Heights that differ by less are the same [m]."""
_ATTACHED = (0.30, 0.60)
"""An object whose outline continues into something else by less than the first share stands free; by more than the
second it is a patch of something larger."""
_MOST_TOUCHING, _MOST_STACKED = 3, 5
"""Things that one region may have, side by side or also on each other."""
_RAISED_M, _SUNK_M = 0.01, 0.03
"""A thing whose underside is farther than the first from the plane under it may stand on another thing; the second is
how far below that plane it may reach."""
_NEAR_M, _SEEN_WELL = 1.8, 0.6
"""An object that is nearer to the camera and more visible is told from what only looks like it."""
_SURE, _ONE_THING = 0.7, 0.03
"""Where no object explains its part of a region with more than the first score, one simple shape explains all of it
instead, if its cost is less by more than the second."""
_WHOLE = 0.85
"""Share of a region with its print that a thing must explain, and share of a region that is then part of it."""
_LEAST_MEASURED = 60
"""Pixels of a region that tell the shape of a thing whose size nobody has written down."""
_HIDDEN, _ALONG, _ALONG_IRREGULAR = (0.22, 0.3), (0.55, 0.7), (0.1, 0.25)
"""Shares of such a region's outline that something nearer hides, and that go on into something as near, up to which it
is seen whole, and from which on it is a piece."""
_PIECE = 0.15
"""Share of a region that a piece has at least which may be a thing of its own."""
_COLOURED = (0.45, 0.55)
"""Membership of what is seen of it up to which it is something of another colour, and from which on it has its own."""
_AREA_MARGIN_M = 1.0
"""How far outside of its area a container may be seen."""


class ColourShapeSegmenter:
    """Names what it finds by comparing all hypotheses of the catalogue, so that a red cup is not taken for a red can.

    Regions of an object's colours that stand on a support are cut out; every entry of the catalogue that has such
    colours and fits in size is posed there and evaluated by what the camera should have seen (analysis by synthesis).
    The best explanation gives the region its name; only then is it compared with what was asked for.
    """

    free_text = False
    remote = False

    def __init__(self, catalogue: Catalogue, *, stacked: bool = False, reference: str | None = None) -> None:
        """Prepare the tables of the catalogue's colours.

        Args:
            catalogue: what there may be.
            stacked: things may stand on and in other things, not on surfaces alone, which costs time and certainty.
            reference: name of a surface that most pictures show and whose '#rrggbb' is known: it tells the light.
        """
        self._catalogue = catalogue
        self._stacked = stacked
        self._reference = next(
            (
                (entry.size_m[2], colour)
                for entry in catalogue.entries
                for colour in entry.appearance.colours
                if entry.name == reference and colour.startswith("#")
            ),
            None,
        )
        self._heights = [t.size_m[2] for t in catalogue.entries if t.kind == "surface"]
        for entry in catalogue.entries:
            membership_table(tuple(entry.appearance.colours))
            membership_table(entry.palette)

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return all instances of the prompted entries, best first. Raises UnknownObjectError."""
        return self.find(view, self._wanted(prompts))

    def segment_with_doubts(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what `segment` does, and objects near by that may be one of the prompts, marked as doubtful."""
        return self.find(view, self._wanted(prompts), doubts=True)

    def _wanted(self, prompts: Sequence[str]) -> list[CatalogueEntry]:
        """Return the entries that the prompts match, each once. Raises UnknownObjectError."""
        wanted: list[CatalogueEntry] = []
        for prompt in prompts:
            wanted += [t for t in self._catalogue.match(prompt) if t not in wanted]
        return wanted

    def find(self, view: View, wanted: Sequence[CatalogueEntry], *, doubts: bool = False) -> list[SegmentedObject]:
        """Return all instances of `wanted`, best first; with `doubts` the doubtful objects too."""
        picture = prepare(view, self._heights, self._reference)
        found = [f for t in wanted if t.kind == "surface" for f in self._surfaces(picture, t)]
        # Where things may stand on each other, a rim or a shadow of some millimetres is everywhere: relief decides.
        low = [t for t in wanted if (is_flat(t) if self._stacked else is_low(t))]
        flat = [f for t in low for f in find_flat(picture, t, self._heights)]
        solids = self._solids(
            picture, [t for t in wanted if t.kind != "surface" and not (self._stacked and is_flat(t))], doubts
        )
        # The outline of a low thing tells its pose better than the few pixels that rise above the plane.
        rest = [f for f in solids if not any(f.label == one.label and (f.mask & one.mask).any() for one in flat)]
        found += [f for f in flat if self._stacked or not goes_on(picture, f, above=True)]
        found += [f for f in rest if self._stacked or not goes_on(picture, f, above=False)]
        return sorted(found, key=lambda f: -f.score)

    # --- objects and containers -----------------------------------------------------------------------
    def _solids(self, picture: PreparedView, wanted: list[CatalogueEntry], doubts: bool) -> list[SegmentedObject]:
        view = picture.view
        # A thing with a print is looked at twice, which takes longer than all else.
        from_near = cache(partial(self._from_near, view))
        fitted = [] if self._stacked else self._printed(picture, wanted, from_near)
        printed = _regions_of(fitted, view)
        for colours in dict.fromkeys(tuple(t.appearance.colours) for t in wanted):
            targets = [t for t in wanted if tuple(t.appearance.colours) == colours]
            for blob in blobs_of(picture, colours):
                if float(printed[blob.box][blob.inner & picture.solidity[blob.box]].mean()) > _WHOLE:
                    continue
                explained = self._explain(picture, blob, targets)
                good = sum(f.quality.pixels for f in explained if f.agreement >= ACCEPT)
                if good < 0.5 * blob.pixels:
                    for piece in pieces_of(picture, blob):
                        explained += self._explain(picture, piece, targets)
                fitted += explained
        kept = without_overlap(fitted, view.shape, contained=self._stacked, doubts=doubts)
        names = {(t.kind, t.name) for t in wanted}
        here = [f for f in kept if (f.entry.kind, f.entry.name) in names and _in_its_area(view, f)]
        found: list[SegmentedObject] = []
        for one in here:
            near = from_near(one)
            if near is not None and one.acceptable:
                found.append(self._found(view, near))
            elif doubts:
                found.append(replace(self._found(view, _with_seen_size(view, one)), doubtful=True))
        return found

    def _printed(
        self,
        picture: PreparedView,
        wanted: list[CatalogueEntry],
        from_near: Callable[[Hypothesis], Hypothesis | None],
    ) -> list[Hypothesis]:
        """Return the things that something is printed on, where one of the catalogue explains all of a region.

        All objects are tried that have a part in colours of `wanted`, since a region of a print may look like another
        one.
        """
        found: list[Hypothesis] = []
        objects = [t for t in self._catalogue.entries if t.kind == "object"]
        alike = np.zeros(picture.view.shape, dtype=bool)
        for colours in dict.fromkeys(tuple(t.appearance.colours) for t in wanted):
            alike |= picture.member(colours) > MEMBER
        for colours in dict.fromkeys(tuple(t.appearance.colours) for t in objects):
            targets = [t for t in objects if tuple(t.appearance.colours) == colours]
            for region in printed_of(picture, colours, alike):
                known = _regions_of(found, picture.view)[region.box] & region.inner
                if float(known.sum()) > _WHOLE * region.pixels:
                    continue
                explained = self._explain(picture, region, targets)
                if len(explained) != 1 or explained[0].quality.explained < _WHOLE or explained[0].agreement < _SURE:
                    continue
                if from_near(explained[0]) is not None:
                    found += explained
        return found

    def _stands_alone(self, view: View, fitted: Hypothesis) -> bool:
        """Return whether an object stands on something that is no other object, and leans on nothing.

        Where things stand on each other, what is seen of one thing may be of two; in a bin they lie in any pose, and on
        each other.
        """
        stands = fitted.entry.kind == "object" and fitted.support is not None and not self._stacked
        return stands and not enclosed(view, fitted.posed)

    def _from_near(self, view: View, fitted: Hypothesis) -> Hypothesis | None:
        """Return an object that is seen well from near, with its sizes as they are seen; None for one like it.

        From afar, and in part behind something, both look alike.
        """
        if fitted.entry.as_seen:
            return fitted
        near = float(np.linalg.norm(fitted.posed.centre - view.origin)) < _NEAR_M
        explained = fitted.stated is None and is_explained(fitted.posed, fitted.quality)
        if not near or fitted.quality.visible < _SEEN_WELL or explained:
            return fitted
        if not self._stands_alone(view, fitted):
            return fitted
        error = fitted.entry.appearance.size_error
        stated = fitted.stated or fitted.posed
        refined = refine(view, stated, fitted.region, error, fitted.posed)
        if is_another_thing(view, stated, refined, fitted.region, error):
            return None
        quality = evaluate_fit(view, refined, fitted.region, fitted.member)
        return replace(fitted, posed=refined, quality=quality, refined=True)

    def _explain(self, picture: PreparedView, blob: Blob, targets: list[CatalogueEntry]) -> list[Hypothesis]:
        """Return the best explanations of a region, one after the other when it has several objects."""
        explained: list[Hypothesis] = []
        likely = [t for t in targets if self._could_be(blob, t)]
        if not likely:
            return explained
        shapes = MeasuredShapes(picture.view, _region_of(blob, picture.view), blob.points, blob.support)
        for _ in range(_MOST_STACKED if self._stacked else _MOST_TOUCHING):
            best = self._best(picture, blob, shapes, likely)
            poor = best is None or best.quality.score < _WORTH_COMPARING
            if poor and float(blob.low[2]) - blob.support > _STANDS_M:
                break
            # A poor fit may hide behind something of its colour that it touches in the picture.
            rival = self._best(picture, blob, shapes, self._rivals(picture, blob, targets))
            if best is None or (rival is not None and rival.merit > best.merit):
                best = rival
            if best is None or best.quality.score < _WORTH_COMPARING:
                break
            if best.quality.score > ACCEPT:
                best = replace(best, free=self._freedom(picture, best))
            explained.append(best)
            rest = shapes.region & ~best.grown_mask(picture.view.shape)
            if rest.sum() < max(MIN_PIXELS, 0.25 * blob.pixels) or best.quality.explained > 0.8:
                break
            shapes = MeasuredShapes(picture.view, rest, picture.view.points[rest], blob.support)
        if len(explained) < 2:
            return explained
        return self._as_one(picture, blob, self._evaluated_apart(picture, blob, explained))

    def _freedom(self, picture: PreparedView, fitted: Hypothesis) -> float:
        """Return 1 for what stands free, 0 for a patch of something larger: of a sofa, a table's leg, the floor."""
        view, posed = picture.view, fitted.posed
        if self._stands_alone(view, fitted) and continues_above(
            view, posed, fitted.member, fitted.entry.appearance.size_error
        ):
            return 0.0
        on_surface = fitted.entry.kind == "object" and fitted.support is not None and not self._stacked
        if on_surface and (covered_above(view, posed, fitted.member) or lost_in_noise(view, posed, fitted.member)):
            return 0.0
        return _share_below(attached(view, posed, picture.supports.mask), _ATTACHED)

    def _as_one(self, picture: PreparedView, blob: Blob, explained: list[Hypothesis]) -> list[Hypothesis]:
        """Return the best explanation of a region's parts, evaluated by all of it, where it rather is one thing.

        Two blocks explain parts of a bowl, but a cylinder explains all of it, and better.
        """
        view, first = picture.view, explained[0]
        near = blob.range_m < _NEAR_M and first.quality.visible > _SEEN_WELL
        sure = max(one.quality.score for one in explained) > _SURE
        if sure or not near or not self._stands_alone(view, first):
            return explained
        region = _region_of(blob, view)
        pixels = [one.quality.pixels for one in explained]
        apart = float(np.average([one.quality.cost for one in explained], weights=pixels))
        if simple_cost(view, blob.points, blob.support, region) > apart - _ONE_THING:
            return explained
        return [replace(first, region=region, quality=evaluate_fit(view, first.posed, region, first.member))]

    def _evaluated_apart(self, picture: PreparedView, blob: Blob, explained: list[Hypothesis]) -> list[Hypothesis]:
        """Evaluate objects that touch in the picture, each by the part of the region that the others leave it."""
        grown = [f.grown_mask(picture.view.shape) for f in explained]
        result: list[Hypothesis] = []
        for index, item in enumerate(explained):
            region = _region_of(blob, picture.view)
            for other, mask in enumerate(grown):
                if other != index:
                    region &= ~mask
            quality = evaluate_fit(picture.view, item.posed, region, item.member)
            better = quality.score > item.quality.score
            result.append(replace(item, quality=quality, region=region) if better else item)
        return result

    def _best(
        self,
        picture: PreparedView,
        blob: Blob,
        shapes: MeasuredShapes,
        entries: list[CatalogueEntry],
    ) -> Hypothesis | None:
        fits = [
            self._fit(picture, blob, shapes, t) if t.sized else _as_measured(picture, blob, shapes, t) for t in entries
        ]
        ranked = sorted((f for f in fits if f is not None), key=lambda h: -h.merit)
        # What explains only a part of a region may be no thing at all: two blocks of some size explain a bowl.
        if not self._stacked and shapes.region.sum() > _WHOLE * blob.pixels:
            ranked = [_resized(picture.view, one) for one in ranked[:_MOST_RESIZED]]
        return max(ranked, key=lambda h: h.merit, default=None)

    def _rivals(self, picture: PreparedView, blob: Blob, targets: list[CatalogueEntry]) -> list[CatalogueEntry]:
        """Return every other object whose colours this region has about as much."""
        rivals: list[CatalogueEntry] = []
        rows, cols = blob.box
        inner = blob.inner
        for entry in self._catalogue.entries:
            if entry.kind == "surface" or entry in targets or not self._could_be(blob, entry):
                continue
            if float(picture.member(entry.appearance.colours)[rows, cols][inner].mean()) > MEMBER:
                rivals.append(entry)
        return rivals

    def _could_be(self, blob: Blob, entry: CatalogueEntry) -> bool:
        """Return whether the size fits roughly: not much larger than the entry, not wholly above it, no speck."""
        extent = blob.high - blob.low
        if not entry.sized:
            tall = float(blob.high[2]) - blob.support > LARGEST_M
            return blob.pixels >= _LEAST_MEASURED and not tall and float(extent.max()) < np.sqrt(2) * LARGEST_M
        largest = float(np.linalg.norm(entry.size_m))
        a, b, _ = sorted(entry.size_m)
        if blob.pixels < min(_SPECK * a * b * (blob.focal / blob.range_m) ** 2, _NO_SPECK):
            return False
        if float(blob.high[2]) - blob.support > largest + 0.03 and not blob.held and not self._stacked:
            return False
        slack = 0.02 + 4 * depth_noise(blob.range_m)
        if entry.kind == "container":
            slack += 0.05
        tall = float(extent[2]) > largest + slack and not self._stacked
        return float(max(extent[0], extent[1])) < 2.2 * largest + slack and not tall

    def _fit(
        self, picture: PreparedView, blob: Blob, shapes: MeasuredShapes, entry: CatalogueEntry
    ) -> Hypothesis | None:
        region, points = shapes.region, shapes.points
        member, size = picture.member(entry.palette), int(region.sum())
        best: Hypothesis | None = None
        top, bottom = float(np.percentile(points[:, 2], 98)), float(np.percentile(points[:, 2], 2))
        for solid in solids_of(entry.appearance):
            if best is not None and best.quality.score > _UPRIGHT_ENOUGH and is_fallen(solid, entry):
                break
            height = solid.size[2]
            slack = 0.012 + 3 * depth_noise(blob.range_m)
            slack += entry.appearance.size_error * height if _is_guessed(solid, entry) else 0.0
            standing = top - blob.support
            heights = []
            if standing < height + slack:
                heights.append(blob.support)
            if blob.held and entry.kind == "object":
                heights += [bottom, top - height] if abs(top - bottom - height) > 0.01 else [top - height]
            raised = top - height
            if self._stacked and not blob.held and raised > blob.support - _SUNK_M:
                # A container stands where it belongs; what is on it may hide the plane under it.
                above = raised > blob.support + _RAISED_M and entry.kind == "object"
                heights += [raised] if above or raised < blob.support - _RAISED_M else []
            for z in heights:
                poses = [(posed, None) for posed in fit_pose(solid, points, z, picture.view.origin)]
                whole = not (blob.held or self._stacked) and size > _WHOLE * blob.pixels
                if whole and (other := _as_high(solid, entry, top - z)) is not None:
                    poses += [(p, replace(p, solid=solid)) for p in fit_pose(other, points, z, picture.view.origin)]
                for posed, stated in poses:
                    quality = evaluate_fit(picture.view, posed, region, member, size)
                    support = z if z == blob.support or not blob.held else None
                    candidate = Hypothesis(entry, posed, quality, support, region, member, stated=stated)
                    # Of what is hidden in part, the size is not seen.
                    usable = stated is None or quality.visible > _SEEN_WELL
                    if usable and (best is None or candidate.merit > best.merit):
                        best = candidate
        return best

    def _found(self, view: View, fitted: Hypothesis) -> SegmentedObject:
        mask = fitted.mask(view.shape)
        visible = fitted.quality.visible
        score = fitted.agreement * min(1.0, 0.75 + visible / 3)
        return SegmentedObject(
            fitted.entry.name,
            float(np.clip(score, 0, 1)),
            box_of(mask),
            mask,
            entry=fitted.entry,
            solid=fitted.posed,
            support_z=fitted.support,
            visible=visible,
            in_view=fitted.quality.in_view,
            in_gripper=between_fingers(view, fitted.posed.centre),
            region=fitted.region,
            refined=fitted.refined or fitted.stated is not None,
        )

    # --- surfaces ---------------------------------------------------------------------------------------
    def _surfaces(self, picture: PreparedView, entry: CatalogueEntry) -> list[SegmentedObject]:
        others = [one for one in self._catalogue.entries if one.kind == "surface" and one != entry]
        return find_surface(picture, entry, others) or find_mark(picture, entry)


@register("colour_shape")
def _make(catalogue: Catalogue, _: PerceptionSettings) -> ColourShapeSegmenter:
    return ColourShapeSegmenter(catalogue)


def _as_measured(picture: PreparedView, blob: Blob, shapes: MeasuredShapes, entry: CatalogueEntry) -> Hypothesis | None:
    """Return an entry without a size, as large as it is seen; None where the region rather shows another shape."""
    member = picture.member(entry.palette)
    hidden, along = cut_off(picture.view, shapes.region, picture.supports.mask)
    # A piece of anything may look like something irregular.
    limits = _ALONG_IRREGULAR if entry.appearance.shape == "irregular" else _ALONG
    whole = _share_below(hidden, _HIDDEN) * _share_below(along, limits)
    if whole == 0.0:
        return None
    best: Hypothesis | None = None
    for shape in shapes_of(entry.appearance):
        seen = shapes.measured(shape)
        if seen is None or not can_be_picked(seen.posed.solid):
            continue
        if shape == "irregular" and _are_several(picture, blob):
            continue
        quality = evaluate_fit(picture.view, seen.posed, shapes.region, member)
        if quality.score < _WORTH_COMPARING or (likeness := shapes.likeness(shape)) == 0.0:
            continue
        one = Hypothesis(
            entry.measured(standing_size(seen.posed.solid)),
            seen.posed,
            quality,
            blob.support,
            shapes.region,
            member,
            refined=True,
            likeness=likeness * whole * (1 - _share_below(quality.coloured, _COLOURED)),
        )
        if best is None or one.merit > best.merit:
            best = one
    return best


def _is_guessed(solid: Solid, entry: CatalogueEntry) -> bool:
    """Return whether the sizes of a solid are guesses that the picture can correct."""
    guessed = entry.kind == "object" and entry.sized and entry.appearance.size_error > MEASURED
    return guessed and not (solid.parts or solid.hollow or solid.irregular)


def _as_high(solid: Solid, entry: CatalogueEntry, seen_m: float) -> Solid | None:
    """Return a guessed solid with the height that is seen [m]; None where its own does, or the error is too large."""
    off = abs(seen_m - solid.size[2])
    most = entry.appearance.size_error * solid.size[2] + _SAME_HEIGHT_M
    if not _is_guessed(solid, entry) or solid.primitive == "sphere" or solid.lying or not _SAME_HEIGHT_M < off < most:
        return None
    return replace(solid, size=(*solid.size[:2], float(seen_m)))


def _resized(view: View, fitted: Hypothesis) -> Hypothesis:
    """Return an object with its sizes as they are seen, within their error, where that explains the picture better."""
    if not _is_guessed(fitted.posed.solid, fitted.entry) or not _WORTH_RESIZING < fitted.quality.score < _EXACT:
        return fitted
    if fitted.quality.visible < _SEEN_WELL:
        return fitted
    stated = fitted.stated or fitted.posed
    posed = refine(view, stated, fitted.region, fitted.entry.appearance.size_error, fitted.posed)
    quality = evaluate_fit(view, posed, fitted.region, fitted.member)
    resized = replace(fitted, posed=posed, quality=quality, refined=True, stated=stated)
    return max(fitted, resized, key=lambda one: one.merit) if quality.explained > _WHOLE else fitted


def _with_seen_size(view: View, fitted: Hypothesis) -> Hypothesis:
    """Return a doubtful object with the pose and size that the picture shows, since the catalogue's may be wrong.

    Its score stays that of the catalogue's sizes.
    """
    region = fitted.region
    shapes = MeasuredShapes(view, region, view.points[region & view.valid], fitted.posed.z)
    measured = [shapes.measured(shape) for shape in shapes_of(fitted.entry.appearance)]
    # The fit of a wrong size may be too far off for a search that starts there.
    poses = [search_size(view, fitted.posed, region), *(one.posed for one in measured if one is not None)]
    posed = min(poses, key=lambda one: fit_cost(view, one, region))
    quality = evaluate_fit(view, posed, region, fitted.member)
    return replace(fitted, posed=posed, quality=replace(quality, score=fitted.quality.score), refined=True)


def _are_several(picture: PreparedView, blob: Blob) -> bool:
    """Return whether a region that no simple shape explains rather is two things that touch in the picture."""
    return sum(piece.pixels > _PIECE * blob.pixels for piece in pieces_of(picture, blob)) > 1


def _share_below(value: float, limits: tuple[float, float]) -> float:
    """Return 1 up to the first limit, 0 from the second on, and between them what lies between."""
    low, high = limits
    return float(np.clip((high - value) / (high - low), 0, 1))


def _region_of(blob: Blob, view: View) -> Mask:
    """Return the pixels of a blob in the whole picture (HxW), as a mask of its own."""
    region = np.zeros(view.shape, dtype=bool)
    region[blob.box] = blob.inner
    return region


def _regions_of(fitted: list[Hypothesis], view: View) -> Mask:
    """Return the pixels of the whole picture (HxW) that some things were fitted to."""
    pixels = np.zeros(view.shape, dtype=bool)
    for one in fitted:
        pixels |= one.region
    return pixels


def _in_its_area(view: View, fitted: Hypothesis) -> bool:
    """Return whether a container is in or near its area; objects may be anywhere."""
    return in_area(view, fitted.posed.centre, fitted.entry, _AREA_MARGIN_M)
