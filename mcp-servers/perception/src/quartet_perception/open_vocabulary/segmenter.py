"""Names to queries, queries to boxes and masks by models of our own, boxes and masks to things in space."""

import threading
import time
import weakref
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from quartet_perception.asked import Names
from quartet_perception.catalogue import Catalogue
from quartet_perception.lift import Sight, lift_all, prepared
from quartet_perception.open_vocabulary.background import Background
from quartet_perception.open_vocabulary.choice import ModelChoice, choice_of
from quartet_perception.open_vocabulary.queries import query_of
from quartet_perception.open_vocabulary.seen import Seen
from quartet_perception.segmenter import Found, register
from quartet_perception.settings import PerceptionSettings
from quartet_perception.view import View


class Finder(Protocol):
    """Loaded models."""

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[Seen]:
        """What of `queries` is in the picture (HxWx3), best first, one find per place. Raises SegmenterFailure."""
        ...


class OpenVocabularySegmenter:
    """Asks models that run in this process, one picture at a time."""

    free_text = True
    # It has a thread of its own, and the processor or GPU that the models run on is not the one that geometry needs.
    remote = True

    def __init__(self, catalogue: Catalogue, models: Background[Finder], *, timeout_s: float = 25.0) -> None:
        self._catalogue, self._timeout_s, self.models = catalogue, timeout_s, models

    def health(self) -> dict[str, str]:
        """Whether the weights are loaded."""
        return self.models.health()

    def segment(self, view: View, prompts: Sequence[str]) -> list[Found]:
        """See Segmenter. Raises SegmenterFailure."""
        deadline = time.monotonic() + self._timeout_s
        names = list(Names(self._catalogue, prompts))
        if not names:
            return []
        queries = [query_of(asked) for asked in names]
        # A name of nothing but signs leaves no words to look for.
        asked = [name for name, query in zip(names, queries, strict=True) if query]
        wanted = [query for query in queries if query]
        seen = self.models.use(lambda finder: finder.find(view.rgb, wanted), deadline) if wanted else []
        sights = [Sight(asked[s.query].name, s.score, s.box, s.mask, asked[s.query].thing) for s in seen]
        return lift_all(prepared(view, self._catalogue.things), sights)


def shared(choice: ModelChoice) -> Background[Finder]:
    """The models of a choice, loaded once for all robots of this process: their weights are what takes the memory.

    They go when the last segmenter goes that uses them.
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
    from quartet_perception.open_vocabulary.models import load

    return load(choice)


@register("open_vocabulary")
def _make(catalogue: Catalogue, settings: PerceptionSettings) -> OpenVocabularySegmenter:
    return OpenVocabularySegmenter(catalogue, shared(choice_of(settings)), timeout_s=settings.segmenter_timeout_s)
