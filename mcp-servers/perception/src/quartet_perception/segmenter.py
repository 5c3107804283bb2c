"""What finds named things in a picture, and the registry of the ways to do it."""

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from quartet_perception.catalogue import Catalogue, Kind, Thing
from quartet_perception.settings import PerceptionSettings
from quartet_perception.solids import Placed
from quartet_perception.view import View

caller_left: ContextVar[threading.Event | None] = ContextVar("caller_left", default=None)
"""Set once nobody waits for the segmenter's answer any more: what has not begun need not begin."""


@dataclass(frozen=True)
class Found:
    """One thing in one picture.

    label: its name in the catalogue, or the prompt where a segmenter takes free text.
    score: 0 to 1. box_xyxy: pixels. mask: HxW bool.
    solid: the fitted shape in the base frame, where the segmenter knows one; geometry falls back to the points.
    """

    label: str
    score: float
    box_xyxy: tuple[float, float, float, float]
    mask: NDArray[np.bool_]
    thing: Thing | None = None
    solid: Placed | None = None
    support_z: float | None = None
    """Height of what it stands on, base frame [m]."""
    free_kind: Kind = "object"
    """What it is where the catalogue does not say."""
    visible: float = 1.0
    """Part of its outline that is in view and not covered by something nearer."""
    in_gripper: bool = False
    object_id: str | None = None
    """Which thing of the caller's task it is; segmenters leave it out."""
    region: NDArray[np.bool_] | None = field(default=None, repr=False)
    """HxW: all connected pixels of its colours, also those that the mask leaves out."""
    member: NDArray[np.uint8] | None = field(default=None, repr=False)
    """HxW: how much each pixel has its colours, 0 to 255."""

    @property
    def kind(self) -> Kind:
        return self.free_kind if self.thing is None else self.thing.kind


class Segmenter(Protocol):
    """Finds named things. Implementations hold no state between calls and are safe to call from any thread."""

    free_text: bool
    """Whether prompts outside of the catalogue are understood."""
    remote: bool
    """Whether it mostly waits for another process, so that other work goes on meanwhile."""

    def segment(self, view: View, prompts: Sequence[str]) -> list[Found]:
        """All instances of all prompts, best first. Raises UnknownObject, SegmenterFailure."""
        ...


@runtime_checkable
class Reporting(Protocol):
    """A segmenter that can say how it is; /health of the server passes it on."""

    def health(self) -> dict[str, str]:
        """`state`: loading, ready or failed; `detail`: why it failed."""
        ...


Factory = Callable[[Catalogue, PerceptionSettings], Segmenter]
_REGISTRY: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Decorator of a factory: makes a segmenter available by name. The factory raises ValueError for settings that it
    cannot work with."""

    def add(factory: Factory) -> Factory:
        _REGISTRY[name] = factory
        return factory

    return add


def create_segmenter(name: str, catalogue: Catalogue, settings: PerceptionSettings | None = None) -> Segmenter:
    """The segmenter of that name. Raises ValueError with the valid names, or saying which setting is missing."""
    if name not in _REGISTRY:
        raise ValueError(
            f"segmenter '{name}' is not known; valid: {', '.join(sorted(_REGISTRY))}. Set QUARTET_SEGMENTER, or "
            "segmenter in site.yaml, to one of them"
        )
    return _REGISTRY[name](catalogue, settings or PerceptionSettings())


def segmenter_names() -> list[str]:
    return sorted(_REGISTRY)
