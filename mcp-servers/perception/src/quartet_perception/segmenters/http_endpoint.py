"""The segmenter `http`: any endpoint that takes a picture and names and gives boxes or masks (docs/perception.md)."""

import base64
import io
import logging
import time
from collections.abc import Sequence
from typing import Annotated, Any

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quartet_perception.catalogue import Catalogue, Kind
from quartet_perception.errors import SegmenterAnswerError
from quartet_perception.scene.view import View
from quartet_perception.segmenters.base import SegmentedObject, register
from quartet_perception.segmenters.json_client import Endpoint
from quartet_perception.segmenters.lift import Detection2D, lift_all, prepared
from quartet_perception.segmenters.masks import EncodedMask
from quartet_perception.segmenters.requested_names import RequestedNames
from quartet_perception.settings import PerceptionSettings

logger = logging.getLogger(__name__)

MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_DETECTIONS = 100
_QUALITY = 92

Pixel = Annotated[float, Field(ge=-1e5, le=1e5, allow_inf_nan=False)]


class Detection(BaseModel):
    """One object that the endpoint found."""

    model_config = ConfigDict(extra="ignore")

    label: Annotated[str, Field(max_length=1000)]
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.5
    box_xyxy: tuple[Pixel, Pixel, Pixel, Pixel]
    mask: EncodedMask | None = None
    kind: Kind | None = None


class Answer(BaseModel):
    """The endpoint's answer."""

    model_config = ConfigDict(extra="ignore")

    detections: Annotated[list[Detection], Field(max_length=MAX_DETECTIONS)]


class HttpSegmenter:
    """Asks an endpoint; where it gives no mask, depth makes one of the box."""

    free_text = True
    remote = True

    def __init__(self, catalogue: Catalogue, url: str, *, key: str | None = None, timeout_s: float = 25.0) -> None:
        self._catalogue, self._timeout_s = catalogue, timeout_s
        self._endpoint = Endpoint(
            url, what="the segmenter", setting="QUARTET_SEGMENTER_URL", key=key, max_bytes=MAX_ANSWER_BYTES
        )

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what the endpoint finds, best first. Raises UnknownObjectError, SegmenterError."""
        deadline = time.monotonic() + self._timeout_s
        names = RequestedNames(self._catalogue, prompts)
        if not len(names):
            return []
        answer = self._endpoint.post(_request(view, names), {}, deadline)
        picture = prepared(view, self._catalogue.entries)
        return lift_all(picture, _sights(_parsed(answer), names, view.shape))


def _request(view: View, names: RequestedNames) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.fromarray(view.rgb).save(buffer, "JPEG", quality=_QUALITY)
    height, width = view.shape
    data = base64.b64encode(buffer.getvalue()).decode()
    image = {"media_type": "image/jpeg", "data": data, "width": width, "height": height}
    return {"image": image, "prompts": [asked.name for asked in names]}


def _parsed(answer: Any) -> Answer:
    try:
        return Answer.model_validate(answer)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, e['loc'])) or 'answer'}: {e['msg']}" for e in error.errors(include_url=False)]
        raise SegmenterAnswerError(
            f"the segmenter's answer is not as documented: {'; '.join(faults[:4])}; wanted: "
            '{"detections": [{"label", "score", "box_xyxy", "mask"?}]}'
        ) from error


def _sights(answer: Answer, names: RequestedNames, shape: tuple[int, int]) -> list[Detection2D]:
    sights = []
    for number, seen in enumerate(answer.detections):
        asked = names.of_label(seen.label)
        if asked is None:
            logger.info("a label that was not asked for is dropped: %r", seen.label[:80])
            continue
        x0, y0, x1, y1 = seen.box_xyxy
        if x1 <= x0 or y1 <= y0:
            raise SegmenterAnswerError(f"the segmenter's detections.{number}.box_xyxy has no area: {seen.box_xyxy}")
        try:
            mask = None if seen.mask is None else seen.mask.decode(shape)
        except ValueError as error:
            raise SegmenterAnswerError(f"the segmenter's detections.{number}.mask: {error}") from error
        sights.append(Detection2D(asked.name, seen.score, seen.box_xyxy, mask, asked.entry, seen.kind))
    return sights


@register("http")
def _make(catalogue: Catalogue, settings: PerceptionSettings) -> HttpSegmenter:
    if settings.segmenter_url is None:
        raise ValueError("segmenter 'http' needs the address of the endpoint: set QUARTET_SEGMENTER_URL")
    key = settings.segmenter_key.get_secret_value() if settings.segmenter_key else None
    return HttpSegmenter(catalogue, settings.segmenter_url, key=key, timeout_s=settings.segmenter_timeout_s)
