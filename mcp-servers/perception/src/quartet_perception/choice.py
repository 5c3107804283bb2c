"""Which segmenter a server uses: the environment first, then the site file, then colour_shape."""

import logging
from collections.abc import Sequence

# Importing them registers them.
from quartet_perception import colour_shape as _colour_shape
from quartet_perception import http_endpoint as _http_endpoint
from quartet_perception import open_vocabulary as _open_vocabulary
from quartet_perception import vision_llm as _vision_llm
from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import PerceptionError, SegmenterFailure, UnknownObject
from quartet_perception.segmenter import Found, Reporting, Segmenter, create_segmenter
from quartet_perception.settings import DEFAULT_SEGMENTER, PerceptionSettings
from quartet_perception.view import View

_ = _colour_shape, _http_endpoint, _open_vocabulary, _vision_llm
logger = logging.getLogger(__name__)


def choose_segmenter(catalogue: Catalogue, settings: PerceptionSettings, of_site: str | None = None) -> Segmenter:
    """The segmenter that the settings, else the site file, name; several names make a chain. Raises ValueError."""
    named = settings.segmenter or of_site or DEFAULT_SEGMENTER
    chain = [create_segmenter(name.strip(), catalogue, settings) for name in named.split(",")]
    return chain[0] if len(chain) == 1 else Chain(chain)


def health_of(segmenter: Segmenter) -> list[dict[str, str]]:
    """How the segmenter, or those of a chain, say that they are; those that are always ready say nothing."""
    return [s.health() for s in getattr(segmenter, "segmenters", [segmenter]) if isinstance(s, Reporting)]


class Chain:
    """Asks the next segmenter when one fails or does not know a name; one that finds nothing has not failed."""

    def __init__(self, segmenters: Sequence[Segmenter]) -> None:
        self.segmenters = segmenters
        self.free_text = any(s.free_text for s in segmenters)
        self.remote = any(s.remote for s in segmenters)

    def segment(self, view: View, prompts: Sequence[str]) -> list[Found]:
        """See Segmenter. Where none could answer, raises the first failure, else the last UnknownObject."""
        error: PerceptionError | None = None
        for segmenter in self.segmenters:
            try:
                return segmenter.segment(view, prompts)
            except (SegmenterFailure, UnknownObject) as failed:
                logger.warning("%s: %s", type(segmenter).__name__, failed)
                if not isinstance(error, SegmenterFailure):
                    error = failed
        assert error is not None
        raise error
