"""Hypotheses of the colour-and-shape segmenter: a catalogue entry placed in the picture, and which of them to keep."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from quartet_perception.catalogue import CatalogueEntry
from quartet_perception.scene.fit_quality import FitQuality
from quartet_perception.scene.pose_fit import size_change
from quartet_perception.scene.regions import MIN_PIXELS
from quartet_perception.scene.solids import PosedSolid, Solid
from quartet_perception.scene.view import Mask

ACCEPT, _ACCEPT_FAR = 0.55, 0.70
"""Least agreement; below it the object is taken as absent. The second holds beyond _FAR_M."""
_FAR_M = 2.0
_DOUBTFUL, _MIN_VISIBLE_DOUBTFUL = 0.3, 0.5
"""Least agreement and visible part of an object near by that a person may recognise, though it is not reported."""
_ACCEPT_FALLEN = 0.75
_ACCEPT_HELD, _MIN_VISIBLE_HELD = 0.70, 0.35
_MIN_VISIBLE, _MIN_VISIBLE_MEASURED = 0.22, 0.5
"""Least part that must be visible; the second holds where the picture has to tell the size."""
_COLOUR_COUNTS = 6.0
"""What all of an object's pixels having its colours adds to its merit, for each unit of its size error."""
_CHANGE_COUNTS = 0.5
"""What a change of its sizes takes from its merit, for each unit of the logarithm of the factor."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A catalogue entry at a pose, and how well that explains the picture. Compared by identity.

    support: height of the plane that it stands on, base frame [m]; None when it hangs between the fingers.
    region: HxW pixels that it was fitted to. member: HxW, how much each pixel has its colours, 0 to 255.
    free: 1 when it stands free, 0 when it is a patch of something larger.
    refined: whether its size is as it is seen, not as the catalogue has it.
    likeness: 1 where its shape explains the region clearly better than others do, 0 where it does not; of things whose
        size the catalogue has, the size tells.
    stated: where `posed` has the sizes that are seen, its pose with the catalogue's sizes.
    """

    entry: CatalogueEntry
    posed: PosedSolid
    quality: FitQuality
    support: float | None
    region: Mask
    member: NDArray[np.uint8]
    free: float = 1.0
    refined: bool = False
    likeness: float = 1.0
    stated: PosedSolid | None = None

    @property
    def agreement(self) -> float:
        """Score of the fit, less where the object does not stand free or may have another shape: 0 to 1."""
        return self.quality.score * self.free * self.likeness

    @property
    def fallen(self) -> bool:
        """Whether the object is fallen over."""
        return is_fallen((self.stated or self.posed).solid, self.entry)

    @property
    def merit(self) -> float:
        """Rank among explanations of the same region: agreement, and how much of the region is explained.

        Of things whose sizes are guesses, colours tell more: a green apple may be as large as a tennis ball.
        """
        q = self.quality
        floating = 0.06 if self.support is None else 0.0
        fallen = 0.08 if self.fallen else 0.0
        changed = 0.0 if self.stated is None else _CHANGE_COUNTS * size_change(self.posed, self.stated)
        by_colour = _COLOUR_COUNTS * self.entry.appearance.size_error * (q.coloured - 1)
        return (
            self.likeness * q.score * (0.6 + 0.4 * q.explained) * min(1.0, 0.6 + q.visible)
            + by_colour
            - floating
            - fallen
            - changed
        )

    @property
    def acceptable(self) -> bool:
        """Whether it agrees with the picture well enough to be reported."""
        if self.support is None and self.agreement < _ACCEPT_HELD:
            return False
        if self.fallen and self.agreement < _ACCEPT_FALLEN:
            return False
        least = ACCEPT if np.hypot(self.posed.x, self.posed.y) < _FAR_M else _ACCEPT_FAR
        least_visible = _MIN_VISIBLE if self.support is not None else _MIN_VISIBLE_HELD
        if self.entry.as_seen:
            least_visible = _MIN_VISIBLE_MEASURED
        q = self.quality
        return self.agreement >= least and q.in_view >= least_visible and q.pixels >= MIN_PIXELS

    @property
    def doubtful(self) -> bool:
        """Whether it stands near by in full view, and agrees too little to be reported."""
        q, near = self.quality, np.hypot(self.posed.x, self.posed.y) < _FAR_M
        stands = self.entry.kind == "object" and self.support is not None and near
        seen = q.in_view >= _MIN_VISIBLE_DOUBTFUL and q.pixels >= MIN_PIXELS
        return bool(stands and seen and self.agreement >= _DOUBTFUL and not self.acceptable)

    def mask(self, shape: tuple[int, int]) -> Mask:
        """Return its pixels in the full picture (HxW)."""
        u0, v0, u1, v1 = self.quality.box
        small = self.quality.mask
        stride = max(1, round((u1 - u0) / max(small.shape[1], 1)))
        big = np.repeat(np.repeat(small, stride, axis=0), stride, axis=1)[: v1 - v0, : u1 - u0]
        mask = np.zeros(shape, dtype=bool)
        top, left = max(v0, 0), max(u0, 0)
        bottom, right = min(v0 + big.shape[0], shape[0]), min(u0 + big.shape[1], shape[1])
        if bottom > top and right > left:
            mask[top:bottom, left:right] = big[top - v0 : bottom - v0, left - u0 : right - u0]
        return mask

    def grown_mask(self, shape: tuple[int, int]) -> Mask:
        """Return its pixels in the full picture (HxW) and those within three pixels of them."""
        return ndimage.binary_dilation(self.mask(shape), iterations=3)


def is_fallen(solid: Solid, entry: CatalogueEntry) -> bool:
    """Return whether the solid is the catalogue entry fallen over."""
    return solid.lying or abs(solid.size[2] - entry.size_m[2]) > 1e-6


def without_overlap(
    hypotheses: Iterable[Hypothesis], shape: tuple[int, int], *, contained: bool = False, doubts: bool = False
) -> list[Hypothesis]:
    """Return the acceptable hypotheses, of several in the same place the one with the most merit.

    contained: things may lie in containers, so that those two are not rivals for a place.
    doubts: doubtful ones too, where no acceptable one is.
    """
    kept: list[Hypothesis] = []
    places = {False: np.zeros(shape, dtype=bool), True: np.zeros(shape, dtype=bool)}
    for candidate in sorted(hypotheses, key=lambda h: (h.acceptable, h.merit), reverse=True):
        if candidate.acceptable or (doubts and candidate.doubtful):
            taken = places[contained and candidate.entry.kind == "container"]
            mask = candidate.mask(shape)
            if float((mask & taken).sum()) < 0.3 * float(mask.sum()):
                kept.append(candidate)
                taken |= mask
    return kept
