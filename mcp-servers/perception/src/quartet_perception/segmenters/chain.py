"""The choice of a segmenter: the environment first, then the site file, then colour_shape; and chains of several."""

import logging
from collections.abc import Sequence

from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import PerceptionError, SegmenterError, UnknownObjectError
from quartet_perception.scene.view import View

# Importing them registers them.
from quartet_perception.segmenters import colour_shape as _colour_shape
from quartet_perception.segmenters import http_endpoint as _http_endpoint
from quartet_perception.segmenters import open_vocabulary as _open_vocabulary
from quartet_perception.segmenters import vision_llm as _vision_llm
from quartet_perception.segmenters.base import Doubting, HealthReporting, SegmentedObject, Segmenter, create_segmenter
from quartet_perception.settings import DEFAULT_SEGMENTER, PerceptionSettings

_ = _colour_shape, _http_endpoint, _open_vocabulary, _vision_llm
logger = logging.getLogger(__name__)


def choose_segmenter(catalogue: Catalogue, settings: PerceptionSettings, of_site: str | None = None) -> Segmenter:
    """Return the segmenter that the settings, else the site file, name; several names make a chain.

    Raises ValueError for an unknown name or a setting that is missing.
    """
    named = settings.segmenter or of_site or DEFAULT_SEGMENTER
    chain = [create_segmenter(name.strip(), catalogue, settings) for name in named.split(",")]
    return chain[0] if len(chain) == 1 else SegmenterChain(chain)


def health_of(segmenter: Segmenter) -> list[dict[str, str]]:
    """Return the health of the segmenter, or of those of a chain, without those that are always ready."""
    return [s.health() for s in getattr(segmenter, "segmenters", [segmenter]) if isinstance(s, HealthReporting)]


def segment(segmenter: Segmenter, view: View, prompts: Sequence[str], *, doubts: bool) -> list[SegmentedObject]:
    """Return what a segmenter finds, with `doubts` also what it is not sure of. Raises as `Segmenter.segment` does."""
    if doubts and isinstance(segmenter, Doubting):
        return segmenter.segment_with_doubts(view, prompts)
    return segmenter.segment(view, prompts)


class SegmenterChain:
    """Asks the next segmenter when one fails or does not know a name; finding nothing is not a failure."""

    def __init__(self, segmenters: Sequence[Segmenter]) -> None:
        self.segmenters = segmenters
        self.free_text = any(s.free_text for s in segmenters)
        self.remote = any(s.remote for s in segmenters)

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what the first segmenter that works finds.

        Raises the first SegmenterError when none works, the last UnknownObjectError when none knows a name.
        """
        return self._first(view, prompts, doubts=False)

    def segment_with_doubts(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what `segment` does, and the doubts of that segmenter if it has any."""
        return self._first(view, prompts, doubts=True)

    def _first(self, view: View, prompts: Sequence[str], *, doubts: bool) -> list[SegmentedObject]:
        error: PerceptionError | None = None
        for segmenter in self.segmenters:
            try:
                return segment(segmenter, view, prompts, doubts=doubts)
            except (SegmenterError, UnknownObjectError) as failed:
                logger.warning("%s: %s", type(segmenter).__name__, failed)
                if not isinstance(error, SegmenterError):
                    error = failed
        assert error is not None
        raise error
