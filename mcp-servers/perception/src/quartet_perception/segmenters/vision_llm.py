"""The segmenter `vision_llm`: a vision LLM gives boxes, through the model gateway; depth makes outlines of them."""

import base64
import io
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any, Literal

from PIL import Image

from quartet_contracts import GRANT_HEADER, TASK_HEADER
from quartet_perception.catalogue import Catalogue
from quartet_perception.errors import SegmenterAnswerError, UnreadableAnswerError
from quartet_perception.images import encode_jpeg
from quartet_perception.scene.view import View
from quartet_perception.segmenters.base import SegmentedObject, register
from quartet_perception.segmenters.json_client import Endpoint
from quartet_perception.segmenters.lift import Detection2D, lift_all, prepared
from quartet_perception.segmenters.requested_names import RequestedNames
from quartet_perception.segmenters.vision_llm_boxes import read_boxes
from quartet_perception.settings import PerceptionSettings
from quartet_process import find_secret, token_source
from quartet_tool_server import caller_token, current_grant

logger = logging.getLogger(__name__)

AGENT = "perception"
"""The name under which the gateway has model, key and budget."""
MAX_ANSWER_BYTES = 1024 * 1024
_MAX_PICTURE_BYTES = 400_000
_ATTEMPTS = 2


class VisionLlmSegmenter:
    """Asks for boxes of the names, once more with the error when the answer cannot be read."""

    free_text = True
    remote = True

    def __init__(
        self,
        catalogue: Catalogue,
        gateway_url: str,
        *,
        key: str | Callable[[], str | None] | None = None,
        timeout_s: float = 25.0,
        boxes: Literal["thousandths", "pixels"] = "thousandths",
    ) -> None:
        self._catalogue, self._timeout_s, self._boxes = catalogue, timeout_s, boxes
        self._gateway = Endpoint(
            f"{gateway_url.rstrip('/')}/v1/chat/completions",
            what="the model gateway",
            setting="QUARTET_GATEWAY_URL",
            key=key,
            max_bytes=MAX_ANSWER_BYTES,
        )
        self._prompt = Template((files("quartet_perception.segmenters") / "vision_llm.md").read_text(encoding="utf-8"))

    def segment(self, view: View, prompts: Sequence[str]) -> list[SegmentedObject]:
        """Return what the model finds, best first. Raises UnknownObjectError, SegmenterError."""
        deadline = time.monotonic() + self._timeout_s
        names = RequestedNames(self._catalogue, prompts)
        if not len(names):
            return []
        image = encode_jpeg(view.rgb, _MAX_PICTURE_BYTES)
        # A large picture is sent smaller; pixels are those of what the model sees.
        sent = Image.open(io.BytesIO(image)).size
        extent = (1000.0, 1000.0) if self._boxes == "thousandths" else (float(sent[0]), float(sent[1]))
        seen = self._ask(self._messages(image, names, sent), names, extent, deadline)
        height, width = view.shape
        sx, sy = width / extent[0], height / extent[1]
        sights = [replace(s, box=(s.box[0] * sx, s.box[1] * sy, s.box[2] * sx, s.box[3] * sy)) for s in seen]
        return lift_all(prepared(view, self._catalogue.entries), sights)

    def _ask(
        self, messages: list[dict[str, Any]], names: RequestedNames, extent: tuple[float, float], deadline: float
    ) -> list[Detection2D]:
        grant = current_grant.get()
        # Cost and tokens of the picture count for the task that asked for it.
        headers = {} if grant is None else {"X-Quartet-Request": grant.jti, TASK_HEADER: grant.task}
        if token := caller_token():
            headers[GRANT_HEADER] = token
        error = UnreadableAnswerError("")
        answer: Any = None
        for _ in range(_ATTEMPTS):
            answer = self._gateway.post({"model": AGENT, "messages": messages}, headers, deadline)
            text = _text(answer)
            try:
                return read_boxes(text, names, extent)
            except UnreadableAnswerError as unreadable:
                logger.warning("the vision model's answer cannot be read: %s", unreadable)
                error = unreadable
                again = f"That cannot be used: {unreadable}. Answer again, with the JSON and nothing else."
                messages = [
                    *messages,
                    {"role": "assistant", "content": text[:2000] or "(nothing)"},
                    {"role": "user", "content": again},
                ]
        raise SegmenterAnswerError(f"{_model(answer)} gave no usable boxes in {_ATTEMPTS} answers: {error}")

    def _messages(self, image: bytes, names: RequestedNames, sent: tuple[int, int]) -> list[dict[str, Any]]:
        units = "thousandths of the picture's width and height (0 to 1000)"
        if self._boxes == "pixels":
            units = f"pixels of the picture, which is {sent[0]} wide and {sent[1]} high"
        listed = json.dumps([asked.name for asked in names], ensure_ascii=False)
        picture = {"url": f"data:image/jpeg;base64,{base64.b64encode(image).decode()}"}
        content = [
            {"type": "text", "text": "Find the names in this picture."},
            {"type": "image_url", "image_url": picture},
        ]
        return [
            {"role": "system", "content": self._prompt.substitute(names=listed, units=units)},
            {"role": "user", "content": content},
        ]


def _text(answer: Any) -> str:
    """Return the text of a chat completion. Raises SegmenterAnswerError."""
    try:
        content = answer["choices"][0]["message"].get("content") or ""
        if isinstance(content, list):
            content = "".join(str(part.get("text") or "") for part in content)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise SegmenterAnswerError("the model gateway answered something that is not a chat completion") from error
    return str(content)


def _model(answer: Any) -> str:
    """Return the name of the model that answered, with a hint where it is not known to read pictures."""
    extra = answer.get("quartet") if isinstance(answer, dict) else None
    extra = extra if isinstance(extra, dict) else {}
    name = f"the model '{str(extra.get('model') or AGENT)[:80]}'"
    if extra.get("takes_images") is False:
        name += " (not known to read pictures: set QUARTET_MODEL_PERCEPTION to a vision model)"
    return name


@register("vision_llm")
def _make(catalogue: Catalogue, settings: PerceptionSettings) -> VisionLlmSegmenter:
    if settings.gateway_url is None:
        raise ValueError("segmenter 'vision_llm' asks the model gateway: set QUARTET_GATEWAY_URL to where it listens")
    key = token_source(find_secret(settings, "gateway_key"))
    return VisionLlmSegmenter(
        catalogue,
        settings.gateway_url,
        key=key,
        timeout_s=settings.segmenter_timeout_s,
        boxes=settings.segmenter_boxes,
    )
