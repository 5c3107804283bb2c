"""Parser of a vision LLM's answer: the boxes in its text, whatever else the text says."""

import json
import logging
import math
import re
from typing import Any, get_args

from quartet_perception.catalogue import Kind
from quartet_perception.errors import UnreadableAnswerError
from quartet_perception.scene.view import Box
from quartet_perception.segmenters.lift import Detection2D
from quartet_perception.segmenters.requested_names import RequestedNames

logger = logging.getLogger(__name__)

MAX_TEXT = 65_536
MAX_BOXES = 100
_STARTS = 20
_LISTS = ("detections", "objects", "results", "boxes")
_LABELS = ("label", "name")
_BOXES = ("box", "box_2d", "bbox", "bbox_2d", "box_xyxy")
_DEFAULT_SCORE = 0.5


def read_boxes(text: str, names: RequestedNames, extent: tuple[float, float]) -> list[Detection2D]:
    """Return what the text says was seen of `names`, in the units of its boxes.

    extent: largest x and y of those units. Labels that were not asked for are dropped, and so are boxes outside of the
    picture. Raises UnreadableAnswerError when there is no list, or when no entry of it can be read.
    """
    entries = _entries(text)
    sights: list[Detection2D] = []
    faults: list[str] = []
    for entry in entries[:MAX_BOXES]:
        asked = names.of_label(_label(entry))
        if asked is None:
            logger.info("a label that was not asked for is dropped: %r", _label(entry)[:80])
            continue
        box = _box(entry)
        if box is None:
            faults.append(f"{asked.name!r} has no box of four numbers with x_min < x_max and y_min < y_max")
        elif box[0] >= extent[0] or box[1] >= extent[1] or box[2] <= 0 or box[3] <= 0:
            faults.append(f"the box of {asked.name!r} lies outside of the picture (0 to {extent[0]:g}, {extent[1]:g})")
        else:
            sights.append(Detection2D(asked.name, _score(entry), box, None, asked.entry, _kind(entry)))
    if faults and not sights:
        raise UnreadableAnswerError("; ".join(faults[:3]))
    return sights


def _entries(text: str) -> list[dict[str, Any]]:
    """The first JSON in the text that is, or holds, a list of entries."""
    if len(text) > MAX_TEXT:
        raise UnreadableAnswerError(f"the answer has {len(text)} characters, {MAX_TEXT} are taken")
    decoder = json.JSONDecoder()
    for count, match in enumerate(re.finditer(r"[\[{]", text)):
        if count == _STARTS:
            break
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            listed = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
            value = [value] if listed is None and _label(value) else listed
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            return value
    raise UnreadableAnswerError('there is no JSON like {"detections": [{"label": ..., "box": [...]}]} in it')


def _label(entry: dict[str, Any]) -> str:
    return str(next((entry[key] for key in _LABELS if isinstance(entry.get(key), str)), ""))


def _box(entry: dict[str, Any]) -> Box | None:
    value = next((entry[key] for key in _BOXES if key in entry), None)
    if not isinstance(value, list) or len(value) != 4:
        return None
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e5 for v in value):
        return None
    x0, y0, x1, y1 = (float(v) for v in value)
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _score(entry: dict[str, Any]) -> float:
    value = entry.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _DEFAULT_SCORE
    return min(max(float(value), 0.0), 1.0)


def _kind(entry: dict[str, Any]) -> Kind | None:
    return next((kind for kind in get_args(Kind) if kind == entry.get("kind")), None)
