"""The chosen models together: boxes, one per place, then outlines."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.utils import logging as transformers_logging

from quartet_perception.errors import SegmenterWeightsError
from quartet_perception.scene.regions import MIN_PIXELS
from quartet_perception.scene.view import Box, Mask
from quartet_perception.segmenters.lift import inside
from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice
from quartet_perception.segmenters.open_vocabulary.models.grounding_dino import GroundingDino
from quartet_perception.segmenters.open_vocabulary.models.hub import (
    Place,
    Source,
    keep_off_the_network,
    memory_errors_typed,
    place_of,
)
from quartet_perception.segmenters.open_vocabulary.models.owlv2 import Owlv2
from quartet_perception.segmenters.open_vocabulary.models.sam import Sam2, Sam3
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection, one_per_place

logger = logging.getLogger(__name__)

_DETECTORS = {
    "grounding-dino": GroundingDino,
    "mm-grounding-dino": GroundingDino,
    "owlv2": Owlv2,
    "sam3": Sam3,
    "sam3_video": Sam3,
}
_OUTLINERS = {"sam2": Sam2, "sam2_video": Sam2}


class Detector(Protocol):
    """A model that finds boxes."""

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return what of `queries` is in the picture (HxWx3)."""
        ...


class Outliner(Protocol):
    """A model that makes masks of boxes."""

    def outline(self, rgb: NDArray[np.uint8], boxes: Sequence[Box]) -> list[Mask]:
        """Return one mask (HxW) for each box."""
        ...


class Finder:
    """A detector and, where it gives no masks, an outliner."""

    def __init__(self, detector: Detector, outliner: Outliner | None, place: Place) -> None:
        self._detector, self._outliner, self.place = detector, outliner, place

    @torch.inference_mode()
    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return what of `queries` is in the picture (HxWx3), best first, one per place.

        Raises SegmenterMemoryError.
        """
        with memory_errors_typed("looking at a picture", self.place):
            seen = one_per_place(_in_picture(self._detector.find(rgb, queries), rgb.shape[:2]))
            bare = [one.box for one in seen if one.mask is None]
            masks = iter(self._outliner.outline(rgb, bare) if self._outliner is not None and bare else ())
        # An outline of next to nothing is none: depth makes one of the box.
        return [_outlined(one, next(masks, None)) if one.mask is None else one for one in seen]


def _in_picture(seen: Sequence[QueryDetection], shape: tuple[int, int]) -> Iterator[QueryDetection]:
    for one in seen:
        box = inside(one.box, shape)
        if box is not None:
            yield replace(one, box=box)


def _outlined(one: QueryDetection, mask: Mask | None) -> QueryDetection:
    return one if mask is None or int(mask.sum()) < MIN_PIXELS else replace(one, mask=mask)


def load(choice: ModelChoice) -> Finder:
    """Load the models and try them once.

    Raises SegmenterWeightsError, SegmenterMemoryError, SegmenterUnavailableError.
    """
    transformers_logging.disable_progress_bar()
    keep_off_the_network(choice)
    place = place_of(choice)
    source = Source(choice.model, choice, place)
    detector = _one_of(_DETECTORS, source, "QUARTET_SEGMENTER_MODEL")(source, choice.threshold)
    outliner = None
    # SAM 3 makes masks itself.
    if choice.masks is not None and not isinstance(detector, Sam3):
        second = Source(choice.masks, choice, place)
        outliner = _one_of(_OUTLINERS, second, "QUARTET_SEGMENTER_MASK_MODEL")(second)
    finder = Finder(detector, outliner, place)
    # The first picture on a GPU takes seconds and the most memory; better now than in somebody's call.
    finder.find(np.zeros((480, 640, 3), dtype=np.uint8), ["thing"])
    logger.info("%s and %s run on %s in %s", choice.model, choice.masks, place.device, place.dtype)
    return finder


def _one_of(kinds: Mapping[str, Any], source: Source, setting: str) -> Any:
    if source.model_type not in kinds:
        raise SegmenterWeightsError(
            f"'{source.name}' is a model of type '{source.model_type}', which cannot be used as {setting}; valid "
            f"types: {', '.join(kinds)}"
        )
    return kinds[source.model_type]
