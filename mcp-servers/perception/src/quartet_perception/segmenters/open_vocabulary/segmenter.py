"""The open-vocabulary segmenter: names to queries, queries to boxes and masks by local models, lifted by depth."""

import threading
import time
import weakref
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quartet_perception.catalogue import Catalogue
from quartet_perception.scene.view import View
from quartet_perception.segmenters.base import SegmentedObject, register
from quartet_perception.segmenters.lift import Detection2D, lift_all, prepared
from quartet_perception.segmenters.open_vocabulary.background import Background
from quartet_perception.segmenters.open_vocabulary.model_choice import ModelChoice, choice_of
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection, query_of
from quartet_perception.segmenters.requested_names import RequestedNames
from quartet_perception.settings import PerceptionSettings


class Finder(Protocol):
    """Loaded models."""

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return what of `queries` is in the picture (HxWx3), best first, one per place. Raises SegmenterError."""
        ...


class OpenVocabularySegmenter:
    """Runs models in this process, one picture at a time."""

    free_text = True
    # It has a thread of its own, and the processor or GPU that the models run on is not the one that geometry needs.
    remote = True

    def __init__(self, catalogue: Catalogue, models: Background[Finder], *, timeout_s: float = 25.0) -> None:
        self._catalogue, self._timeout_s, self.models = catalogue, timeout_s, models

    def health(self) -> dict[str, str]:
        """Return whether the weights are loaded."""
        return self.models.health()

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what the models find, best first. Raises UnknownObjectError, SegmenterError."""
        deadline = time.monotonic() + self._timeout_s
        names = list(RequestedNames(self._catalogue, prompts))
        if not names:
            return []
        queries = [query_of(asked) for asked in names]
        # A name of nothing but signs leaves no words to look for.
        asked = [name for name, query in zip(names, queries, strict=True) if query]
        wanted = [query for query in queries if query]
        seen = self.models.use(lambda finder: finder.find(view.rgb, wanted), deadline) if wanted else []
        sights = [Detection2D(asked[s.query].name, s.score, s.box, s.mask, asked[s.query].entry) for s in seen]
        return lift_all(prepared(view, self._catalogue.entries), sights)


def shared(choice: ModelChoice) -> Background[Finder]:
    """Return the models of a choice, loaded once for all robots of this process: their weights take the memory.

    They are dropped with the last segmenter that uses them.
    """
    with _LOCK:
        models = _SHARED.get(choice)
        if models is None:
            models = _SHARED[choice] = Background(lambda: _load(choice), what="the open-vocabulary model")
        return models


_LOCK = threading.Lock()
_SHARED: "weakref.WeakValueDictionary[ModelChoice, Background[Finder]]" = weakref.WeakValueDictionary()


def _load(choice: ModelChoice) -> Finder:
    # Here and not above: torch takes seconds, and this runs in the thread that waits for it.
    from quartet_perception.segmenters.open_vocabulary.models import load

    return load(choice)


@register("open_vocabulary")
def _make(catalogue: Catalogue, settings: PerceptionSettings) -> OpenVocabularySegmenter:
    return OpenVocabularySegmenter(catalogue, shared(choice_of(settings)), timeout_s=settings.segmenter_timeout_s)
