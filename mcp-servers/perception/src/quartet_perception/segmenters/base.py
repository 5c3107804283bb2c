"""The interface of a segmenter, which finds named objects in a picture, and the registry of implementations."""

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from quartet_perception.catalogue import Catalogue, CatalogueEntry, Kind
from quartet_perception.scene.solids import PosedSolid
from quartet_perception.scene.view import View
from quartet_perception.settings import PerceptionSettings

caller_left: ContextVar[threading.Event | None] = ContextVar("caller_left", default=None)
"""Set once no caller waits for the segmenter's answer: work that has not begun need not begin."""


@dataclass(frozen=True)
class SegmentedObject:
    """One object, surface or container in one picture.

    label: its name in the catalogue, or the prompt where a segmenter takes free text.
    score: 0 to 1. box_xyxy: pixels. mask: HxW bool.
    solid: the fitted shape in the base frame, where the segmenter knows one; geometry falls back to the points.
    """

    label: str
    score: float
    box_xyxy: tuple[float, float, float, float]
    mask: NDArray[np.bool_]
    entry: CatalogueEntry | None = None
    solid: PosedSolid | None = None
    support_z: float | None = None
    """Height of what it stands on, base frame [m]; None when unknown or held."""
    free_kind: Kind = "object"
    """Its kind when it is not in the catalogue."""
    visible: float = 1.0
    """Part of its outline that is in view and not covered by something nearer."""
    in_view: float | None = None
    """The same with what has its colours and no depth; None where that is not known."""
    in_gripper: bool = False
    object_id: str | None = None
    """Its id in the caller's task, which the tracker adds."""
    region: NDArray[np.bool_] | None = field(default=None, repr=False)
    """HxW: all connected pixels of its colours, also those that the mask leaves out."""
    refined: bool = False
    """Whether `solid` has the size that is seen; otherwise that of the catalogue."""
    doubtful: bool = False
    """Whether it agrees too little with its entry to be taken for it; a person may tell."""

    @property
    def kind(self) -> Kind:
        """Whether it is an object, a surface or a container."""
        return self.free_kind if self.entry is None else self.entry.kind


class Segmenter(Protocol):
    """Finds named objects. Implementations keep no state between calls and are safe to call from any thread."""

    free_text: bool
    """Whether it understands prompts outside of the catalogue."""
    remote: bool
    """Whether it mostly waits for another process, so that other work can go on meanwhile."""

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return all instances of all prompts, best first. Raises UnknownObjectError, SegmenterError."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A segmenter that can name objects of which it is not sure."""

    def segment_with_doubts(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what `segment` does, and what may be one of the prompts, marked as doubtful."""
        ...


@runtime_checkable
class HealthReporting(Protocol):
    """A segmenter that reports its health, which /health of the server includes."""

    def health(self) -> dict[str, str]:
        """Return `state`: loading, ready or failed, and `detail`: why it failed."""
        ...


Factory = Callable[[Catalogue, PerceptionSettings], Segmenter]
_REGISTRY: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Return a decorator that makes a segmenter available by name.

    The factory that it decorates raises ValueError for settings that it cannot work with.
    """

    def add(factory: Factory) -> Factory:
        _REGISTRY[name] = factory
        return factory

    return add


def create_segmenter(name: str, catalogue: Catalogue, settings: PerceptionSettings | None = None) -> Segmenter:
    """Return a segmenter by name. Raises ValueError with the valid names, or with the setting that is missing."""
    if name not in _REGISTRY:
        raise ValueError(
            f"segmenter '{name}' is not known; valid: {', '.join(sorted(_REGISTRY))}. Set QUARTET_SEGMENTER, or "
            "segmenter in site.yaml, to one of them"
        )
    return _REGISTRY[name](catalogue, settings or PerceptionSettings())


def segmenter_names() -> list[str]:
    """Return the names of the registered segmenters."""
    return sorted(_REGISTRY)
