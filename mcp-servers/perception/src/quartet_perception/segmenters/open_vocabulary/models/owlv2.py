"""Boxes by OWLv2 (Minderer et al. 2023, arXiv:2306.09683)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from transformers import Owlv2ForObjectDetection
from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil

from quartet_perception.segmenters.open_vocabulary.models.hub import Source
from quartet_perception.segmenters.open_vocabulary.models.tensors import corners
from quartet_perception.segmenters.open_vocabulary.queries import QueryDetection

THRESHOLD = 0.2
_TEMPLATE = "a photo of a {}"
"""One of those that the authors trained and evaluated with."""


class Owlv2:
    """Takes every query as a text of its own and sees the picture once."""

    def __init__(self, source: Source, threshold: float | None) -> None:
        self._model = source.model(Owlv2ForObjectDetection)
        self._tokenizer = source.tokenizer(self._model.config.text_config.vocab_size)
        self._images = source.images(Owlv2ImageProcessorPil)
        self._place = source.place
        self._threshold = THRESHOLD if threshold is None else threshold
        self._longest = int(self._model.config.text_config.max_position_embeddings)

    def find(self, rgb: NDArray[np.uint8], queries: Sequence[str]) -> list[QueryDetection]:
        """Return boxes above the threshold."""
        pixels = self._images(Image.fromarray(rgb), return_tensors="pt")["pixel_values"]
        text = self._tokenizer(
            [_TEMPLATE.format(query) for query in queries],
            padding="max_length",
            truncation=True,
            max_length=self._longest,
            return_tensors="pt",
        )
        output = self._model(
            pixel_values=pixels.to(self._place.device, self._place.dtype),
            input_ids=text["input_ids"].to(self._place.device),
            attention_mask=text["attention_mask"].to(self._place.device),
        )
        scores, best = output.logits[0].float().sigmoid().max(dim=1)
        keep = scores >= self._threshold
        # The picture was made square with grey below or to the right of it: boxes are parts of the longer side.
        side = float(max(rgb.shape[:2]))
        boxes = corners(output.pred_boxes[0][keep].float(), side, side)
        return [
            QueryDetection(query, score, box)
            for query, score, box in zip(best[keep].tolist(), scores[keep].tolist(), boxes, strict=True)
        ]
